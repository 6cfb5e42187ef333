package host

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/temporal/shared"
)

// DefaultRest limits how long an idle run stays open. Reopening costs more than keeping it open. But background
// processes of its agents and gates live until it is closed.
const DefaultRest = 10 * time.Minute

type place struct {
	mu     sync.Mutex // held while the run is opened or closed, and while events are fetched
	worker *shared.Worker
	closed func()

	atWork int         // number of activities; guarded by the host's lock
	over   bool        // the run needs no further work; guarded by the host's lock
	rest   *time.Timer // closes the run; guarded by the host's lock
}

// enter opens a run, or reuses the open one, and fetches its events up to seq. The run stays open until leave, and
// for the rest time after that; with over it closes at once.
func (h *Host) enter(ctx context.Context, run string, seq int) (w *shared.Worker, leave func(over bool), err error) {
	h.mu.Lock()
	if h.runs == nil {
		h.runs = map[string]*place{}
	}
	p := h.runs[run]
	if p == nil {
		p = &place{}
		h.runs[run] = p
	}
	p.atWork++
	h.mu.Unlock()
	leave = func(over bool) { h.leave(p, over) }
	defer func() {
		if err != nil {
			h.leave(p, false)
		}
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.worker == nil {
		if p.worker, p.closed, err = h.Open(ctx, run); err != nil {
			p.worker = nil
			return nil, nil, err
		}
	}
	return p.worker, leave, Follow(ctx, h.Client, run, seq, p.worker.Mirror)
}

// leave closes a run without activities after its rest time.
func (h *Host) leave(p *place, over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.over = p.over || over
	if p.atWork--; p.atWork > 0 {
		return
	}
	after := h.Rest
	if after <= 0 {
		after = DefaultRest
	}
	if p.over {
		after, p.over = 0, false
	}
	if p.rest != nil {
		p.rest.Stop()
	}
	p.rest = time.AfterFunc(after, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		h.mu.Lock()
		busy := p.atWork > 0
		h.mu.Unlock()
		if !busy {
			p.close()
		}
	})
}

// close closes the worker of a run. The caller holds the lock of the place.
func (p *place) close() {
	if p.worker == nil {
		return
	}
	p.worker.Leave()
	p.closed()
	p.worker = nil
}

// close closes all runs, even those with activities.
func (h *Host) close() {
	h.mu.Lock()
	places := slices.Collect(maps.Values(h.runs))
	h.mu.Unlock()
	for _, p := range places {
		p.mu.Lock()
		p.close()
		p.mu.Unlock()
	}
}

// stopped reports whether a run must stop, according to its events after seq. A cancelled command may be the last
// that a host hears of a run.
func (h *Host) stopped(ctx context.Context, run string, seq int) bool {
	page, err := ask(context.WithoutCancel(ctx), h.Client, run, seq+1)
	return err == nil && slices.ContainsFunc(page.Events, func(e runner.Event) bool {
		return e.Kind == runner.StopAsked || e.Kind == runner.RunFinished
	})
}
