package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/runner"
)

// job is a running command. A place has one job at a time: after a cancelled command, the next one waits until the
// first has left the workspace.
type job struct {
	runner.Command
	cancel context.CancelCauseFunc
	ended  chan struct{}
	over   bool // the end of the job was recorded
	stale  bool // cancelled; its result is ignored
}

type result struct {
	*job
	event runner.Event
	lost  []runner.Event // usage of failed tries
}

// errWithdrawn is the cause of a context that ends because the machine cancelled its command.
var errWithdrawn = errors.New(runner.WithdrawnReason)

// start starts a job after the previous job of the same place.
func (s *session) start(c runner.Command) {
	j := &job{Command: c, ended: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(s.ctx)
	j.cancel = cancel
	before := s.last[c.Place()]
	s.jobs[c.ID], s.last[c.Place()] = j, j
	if c.Kind == runner.Wait && c.Batch == "" { // it uses no workspace
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

// done records the end of a job, unless the job was cancelled.
func (s *session) done(r result) ([]runner.Command, error) {
	if s.jobs[r.ID] == r.job {
		delete(s.jobs, r.ID)
	}
	r.over = true
	var cmds []runner.Command
	var err error
	if r.stale && r.Kind == runner.Execute && r.event.Usage != nil {
		r.lost = append(r.lost, r.Spending(r.event)) // the result is ignored, but the cost counts
	}
	for _, e := range r.lost {
		if _, err := s.record(e); err != nil {
			return nil, err
		}
	}
	if !r.stale {
		cmds, err = s.record(r.event)
	}
	if s.erred = len(cmds) == 0 && (s.erred || r.event.Outcome == runner.OutcomeError && !r.stale); s.erred &&
		s.onlyWaits() {
		s.stop() // the error stopped the run, so waiting for the end of a limit is useless
	}
	s.settle()
	return cmds, err
}

// onlyWaits reports whether all running jobs wait for limits to end.
func (s *session) onlyWaits() bool {
	return !slices.ContainsFunc(s.underWay(), func(c runner.Command) bool { return c.Kind != runner.Wait })
}

// settle updates the workspaces without a running job: it retires or rests them. It then drops finished jobs that
// hold no workspace.
func (s *session) settle() {
	held := s.work.pool.Held()
	for _, place := range held {
		j := s.last[place]
		if j == nil || !j.over {
			continue
		}
		switch v, _ := s.machine.Batch(j.Batch); {
		case v.Status == runner.Waiting, j.Slot != nil && v.Status != runner.Working: // losers keep patches (SAMP-19)
			s.retire(place, j.Command)
		case v.Status == runner.Failed:
			s.work.pool.Rest(place, true)
		default:
			s.work.pool.Rest(place, false)
		}
	}
	maps.DeleteFunc(s.last, func(place string, j *job) bool { return j.over && !slices.Contains(held, place) })
}

// retire removes the workspace files and branch of a batch that was put back. The next job of the place waits for it.
func (s *session) retire(place string, last runner.Command) {
	j := &job{Command: last, ended: make(chan struct{})}
	s.last[place] = j
	s.clearing.Go(func() {
		defer close(j.ended)
		if err := s.work.pool.Retire(context.WithoutCancel(s.ctx), place, s.work.info.Base); err != nil {
			s.note(fmt.Sprintf("the leftovers of batch %s could not be removed: %v", place, err))
		}
	})
}

// underWay lists the commands of the running jobs, sorted by id.
func (s *session) underWay() []runner.Command {
	return lists.Map(slices.Sorted(maps.Keys(s.jobs)), func(id string) runner.Command { return s.jobs[id].Command })
}

// callOff cancels jobs whose results the machine no longer needs.
func (s *session) callOff(cmds []runner.Command) {
	for _, c := range cmds {
		j := s.jobs[c.ID]
		delete(s.jobs, c.ID)
		j.stale = true
		j.cancel(errWithdrawn)
	}
}

// execute runs an agent when enough memory for it is available.
func (s *session) execute(ctx context.Context, c runner.Command, p runner.Progress) (runner.Event, error) {
	leave, err := s.guard.enter(ctx, s.stopping)
	if err != nil {
		return runner.Event{}, err
	}
	defer leave()
	return s.work.Execute(ctx, c, p)
}

// wait waits until an agent's limit ends. It uses wall-clock time, because a monotonic clock stops while the
// machine sleeps.
func (s *session) wait(ctx context.Context, c runner.Command, _ runner.Progress) (runner.Event, error) {
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

const waitLook = 10 * time.Second

// guard delays agents that would run in parallel while memory is short. It always admits one, so that the run
// continues.
type guard struct {
	floor  uint64
	memory func() (uint64, error)
	note   func(string)

	mu     sync.Mutex
	inside int
	short  bool // the user was notified
}

// guardPause sets how often the guard checks memory again.
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
				g.note(fmt.Sprintf("%sonly %.1f GB of memory are available, but a worker needs %.1f: no further agent starts "+
					"until there is more or one has ended", runner.FallbackNote, gigabytes(available), gigabytes(g.floor)))
			default:
				g.note(fmt.Sprintf("%.1f GB of memory are available: agents run concurrently again", gigabytes(available)))
			}
		}
		if g.short {
			return false
		}
	}
	g.inside++
	return true
}

// stop ends jobs that only wait for a limit or for memory. Running work continues.
func (s *session) stop() { s.stopOnce.Do(func() { close(s.stopping) }) }

func gigabytes(n uint64) float64 { return float64(n) / (1 << 30) }
