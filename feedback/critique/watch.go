package critique

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
)

// errLate cancels open calls at the time limit.
var errLate = errors.New("the time limit after the end of the agent was reached")

// Watcher reviews one attempt. Its methods are safe for concurrent use, but Step must not be called after Close.
type Watcher struct {
	o      Options
	a      Attempt
	ctx    context.Context
	cancel context.CancelCauseFunc
	queue  chan agents.Step
	done   chan struct{}

	mu   sync.Mutex
	seen Seen
	took int // steps for which a call was reserved
}

// Step queues a step and never blocks. If the queue is full, the step is counted and skipped.
func (w *Watcher) Step(s agents.Step) {
	if !Changes(s) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Steps++
	if w.took >= w.o.MaxCalls {
		w.seen.OverCap++
		return
	}
	select {
	case w.queue <- s:
		w.took++
	default:
		w.seen.OverFull++
	}
}

// Close must be called when the agent ends. It reviews waiting steps until the time limit and returns the result.
func (w *Watcher) Close() Seen {
	close(w.queue)
	limit := time.AfterFunc(w.o.Wait, func() { w.cancel(errLate) })
	<-w.done
	limit.Stop()
	w.cancel(nil)
	return w.seen // the worker has ended
}

// work asks about one step at a time.
func (w *Watcher) work() {
	defer close(w.done)
	for s := range w.queue {
		if w.ctx.Err() != nil {
			w.note(func(seen *Seen) { seen.Late++ })
			continue
		}
		r, call, err := w.ask(s)
		w.note(func(seen *Seen) { seen.take(r, call, err, w.ctx.Err() != nil, w.clean) })
	}
}

func (w *Watcher) note(f func(*Seen)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.seen)
}

// said returns the findings so far, so that none is repeated.
func (w *Watcher) said() []gates.Finding {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(append([]gates.Finding(nil), w.seen.High...), w.seen.Kept...)
}

type call struct {
	made          bool
	input, output *int
	took          time.Duration
}

// take counts one step and sorts its remark by confidence (FIX-29).
func (s *Seen) take(r *remark, c call, err error, stopped bool, clean func(string) string) {
	if c.made {
		s.Calls++
		s.Took += c.took
		first := s.Calls == 1
		s.Input, s.Output = plus(s.Input, c.input, first), plus(s.Output, c.output, first)
	}
	switch {
	case err != nil && stopped:
		s.Late++
		return
	case err != nil:
		s.Looked++
		s.Failed++
		if s.Why == "" {
			s.Why = clean(err.Error())
		}
		return
	}
	s.Looked++
	switch {
	case r == nil:
	case r.Confidence < Floor:
		s.Dropped++
	case r.Confidence < Sure:
		s.Kept = append(s.Kept, r.finding(clean))
	default:
		s.High = append(s.High, r.finding(clean))
	}
}

// plus adds the count of a call. If one call has no count, the sum stays unknown.
func plus(sum *int64, n *int, first bool) *int64 {
	if n == nil || sum == nil && !first {
		return nil
	}
	total := int64(*n)
	if sum != nil {
		total += *sum
	}
	return &total
}
