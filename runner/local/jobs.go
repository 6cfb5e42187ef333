package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/runplan/runplan/runner"
)

// job is a command that is under way. A batch has one at a time: where a command was called off, the next one of
// the batch waits until the first has let go of the workspace.
type job struct {
	runner.Command
	cancel context.CancelCauseFunc
	ended  chan struct{}
	over   bool // its end was taken note of
	stale  bool // called off; nobody waits for what comes of it
}

// result is how a job ended.
type result struct {
	*job
	event runner.Event
	lost  []runner.Event // what was spent on tries that came to nothing
}

// errWithdrawn is the cause of a context that ends because its command was called off.
var errWithdrawn = errors.New(runner.WithdrawnReason)

// start begins a job.
func (s *session) start(c runner.Command) {
	j := &job{Command: c, ended: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(s.ctx)
	j.cancel = cancel
	before := s.last[c.Place()]
	s.jobs[c.ID], s.last[c.Place()] = j, j
	if c.Kind == runner.Wait && c.Batch == "" { // it works nowhere
		before = nil
	}
	go func() {
		if before != nil {
			<-before.ended
		}
		ev, lost := s.do(ctx, c)
		cancel(nil)
		close(j.ended)
		s.results <- result{j, ev, lost}
	}()
}

// done takes the end of a job to the journal, unless it was called off meanwhile.
func (s *session) done(r result) ([]runner.Command, error) {
	if s.jobs[r.ID] == r.job {
		delete(s.jobs, r.ID)
	}
	r.over = true
	var cmds []runner.Command
	var err error
	if r.stale && r.Kind == runner.Execute && r.event.Usage != nil {
		r.lost = append(r.lost, r.Spending(r.event)) // nobody waits for what it did, but it was paid for
	}
	for _, e := range r.lost {
		if _, err := s.record(e); err != nil {
			return nil, err
		}
	}
	if !r.stale {
		cmds, err = s.record(r.event)
	}
	if s.erred = len(cmds) == 0 && (s.erred || r.event.Outcome == runner.OutcomeError && !r.stale); s.erred && s.onlyWaits() {
		s.stop() // whatever went wrong, it has stopped the run, and nobody waits for the end of a limit then
	}
	s.settle()
	return cmds, err
}

// onlyWaits tells whether nothing is under way but waiting for limits to end.
func (s *session) onlyWaits() bool {
	for _, j := range s.jobs {
		if j.Kind != runner.Wait {
			return false
		}
	}
	return true
}

// settle says of the workspaces in which nobody works what may be done with them. Of jobs that are over and hold none,
// nothing is kept.
func (s *session) settle() {
	held := s.work.pool.Held()
	for _, place := range held {
		j := s.last[place]
		if j == nil || !j.over {
			continue
		}
		switch v, _ := s.machine.Batch(j.Batch); {
		case v.Status == runner.Waiting, j.Slot != nil && v.Status != runner.Working: // of losers, patches are kept (SAMP-19)
			s.retire(place, j.Command)
		case v.Status == runner.Failed:
			s.work.pool.Rest(place, true)
		default:
			s.work.pool.Rest(place, false)
		}
	}
	maps.DeleteFunc(s.last, func(place string, j *job) bool { return j.over && !slices.Contains(held, place) })
}

// retire clears away what a batch left that was put back. Its next job waits for that.
func (s *session) retire(place string, last runner.Command) {
	j := &job{Command: last, ended: make(chan struct{})}
	s.last[place] = j
	s.clearing.Go(func() {
		defer close(j.ended)
		if err := s.work.pool.Retire(context.WithoutCancel(s.ctx), place, s.work.info.Base); err != nil {
			s.note(fmt.Sprintf("what batch %s left could not be cleared away: %v", place, err))
		}
	})
}

// underWay lists the commands of the jobs at work.
func (s *session) underWay() []runner.Command {
	out := make([]runner.Command, 0, len(s.jobs))
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		out = append(out, s.jobs[id].Command)
	}
	return out
}

// callOff stops jobs that the machine does not wait for any more.
func (s *session) callOff(cmds []runner.Command) {
	for _, c := range cmds {
		j := s.jobs[c.ID]
		delete(s.jobs, c.ID)
		j.stale = true
		j.cancel(errWithdrawn)
	}
}

// execute lets an agent work once the machine has the memory for one more.
func (s *session) execute(ctx context.Context, c runner.Command) (runner.Event, error) {
	leave, err := s.guard.enter(ctx, s.stopping)
	if err != nil {
		return runner.Event{}, err
	}
	defer leave()
	return s.work.Execute(ctx, c, lines(s.Line))
}

// wait waits until an agent's limit is over: by the clock on the wall, as a machine that sleeps meanwhile does not count.
func (s *session) wait(ctx context.Context, c runner.Command) (runner.Event, error) {
	e := runner.Event{Agent: c.Agent}
	for {
		left := c.Until.Round(0).Sub(s.Now().Round(0))
		if left <= 0 {
			e.Outcome = runner.OutcomeOK
			return e, nil
		}
		select {
		case <-time.After(min(left, waitLook)):
		case <-s.stopping:
			return e, errStopped
		case <-ctx.Done():
			return e, context.Cause(ctx)
		}
	}
}

// waitLook is how often somebody who waits looks at the clock.
const waitLook = 10 * time.Second

// guard keeps agents from being started beside others while the machine is short of memory. One is always let
// through, so that a run goes on however little there is.
type guard struct {
	floor  uint64
	memory func() (uint64, error)
	note   func(string)

	mu     sync.Mutex
	inside int
	short  bool // and people were told
}

// guardPause is how often the guard looks again.
const guardPause = time.Second

func (g *guard) enter(ctx context.Context, stopping <-chan struct{}) (leave func(), err error) {
	for {
		if g.admit() {
			return func() {
				g.mu.Lock()
				g.inside--
				g.mu.Unlock()
			}, nil
		}
		select {
		case <-time.After(guardPause):
		case <-stopping:
			return nil, errStopped
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (g *guard) admit() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside > 0 && g.floor > 0 && g.memory != nil {
		available, err := g.memory()
		if short := err != nil || available < g.floor; short != g.short {
			g.short = short
			switch {
			case err != nil:
				g.note(fmt.Sprintf("%sno further agent is started while others work: %v", runner.FallbackNote, err))
			case short:
				g.note(fmt.Sprintf("%sonly %.1f GB of memory are available, and a worker is given %.1f: no further agent is started until there is more or one has ended",
					runner.FallbackNote, gigabytes(available), gigabytes(g.floor)))
			default:
				g.note(fmt.Sprintf("%.1f GB of memory are available: agents are started side by side again", gigabytes(available)))
			}
		}
		if g.short {
			return false
		}
	}
	g.inside++
	return true
}

// stop ends what has not really begun: waiting for a limit to end, or for memory. What is at work goes on.
func (s *session) stop() { s.stopOnce.Do(func() { close(s.stopping) }) }

func gigabytes(n uint64) float64 { return float64(n) / (1 << 30) }
