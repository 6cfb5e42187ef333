package host

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// DefaultRest is how long a run without work here stays open: to open it costs more than to keep it, but what its agents and
// gates left in the background lives for as long as it is open.
const DefaultRest = 10 * time.Minute

// place is one run on this host.
type place struct {
	mu     sync.Mutex // held while it is opened and closed, and while events are brought here
	worker *local.Worker
	closed func()

	atWork int         // activities; under the lock of the host
	over   bool        // nothing more is expected of the run; under the lock of the host
	rest   *time.Timer // closes it; under the lock of the host
}

// enter returns what works for a run here, and knows all events up to seq. It stays open until leave is called, and for a
// while after; with over not even that.
func (h *Host) enter(ctx context.Context, run string, seq int) (w *local.Worker, leave func(over bool), err error) {
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

// leave has a place closed that nobody works in any more.
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

// close puts away what works here. The lock of the place is held.
func (p *place) close() {
	if p.worker == nil {
		return
	}
	p.worker.Leave()
	p.closed()
	p.worker = nil
}

// close closes all places, whoever works in them.
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

// stopped tells whether a run is to stop, as far as its events after seq say so. A command that was called off may be the
// last that a host hears of a run.
func (h *Host) stopped(ctx context.Context, run string, seq int) bool {
	page, err := ask(context.WithoutCancel(ctx), h.Client, run, seq+1)
	return err == nil && slices.ContainsFunc(page.Events, func(e runner.Event) bool {
		return e.Kind == runner.StopAsked || e.Kind == runner.RunFinished
	})
}
