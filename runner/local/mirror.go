package local

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// Mirror keeps a local journal of a run that another machine executes. It also writes the files of a local driver:
// the data for briefs and receipts, progress.txt, failure patterns and attempt rows. Readers of the journal need not
// know which driver wrote it.
type Mirror struct {
	s    *session
	mu   sync.Mutex
	hear func(runner.Event) // called for each new event in order; nil calls nothing
}

// NewMirror opens the mirror of a run and replays the events that the local journal already has.
func NewMirror(ctx context.Context, c Config, run string, info runner.Info) (*Mirror, error) {
	s := New(c).open(ctx, run, info)
	if _, err := s.recall(ctx, info); err != nil {
		return nil, err
	}
	return &Mirror{s: s}, nil
}

// Seq returns the number of the last event in the local journal.
func (m *Mirror) Seq() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.s.recorder.Seq()
}

// Take writes the events that follow the last known one to the journal. It skips events that the journal already has.
func (m *Mirror) Take(ctx context.Context, events []runner.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.s.recorder.Seq()
	events = slices.Clone(events)
	events = slices.DeleteFunc(events, func(e runner.Event) bool { return e.Seq <= known })
	if len(events) == 0 {
		return nil
	}
	for i, e := range events {
		if e.Seq != known+1+i || e.Run != m.s.run {
			return fmt.Errorf("run %s: event %d of run %s does not follow event %d", m.s.run, e.Seq, e.Run, known+i)
		}
	}
	records, err := encode(events)
	if err != nil {
		return err
	}
	if known == 0 {
		first := events[0]
		if first.Job == nil {
			return fmt.Errorf("run %s: its first event does not describe the run", m.s.run)
		}
		err = m.s.addRun(ctx, *first.Job, first.At, records)
	} else {
		err = m.s.Journal.Append(ctx, records...)
	}
	if err != nil {
		return err
	}
	for _, e := range events {
		m.s.recorder.Recall(e)
		if m.hear != nil {
			m.hear(e)
		}
		if err := m.s.show([]runner.Event{e}); err != nil {
			return err
		}
	}
	return nil
}

// Close writes the report of a run with the last event last. Call it before [Mirror.Take] gets that event, because each
// run that is finished in the journal must have a report.
func (m *Mirror) Close(last runner.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.s.report(last)
}

// Summary returns the summary of the run from the events known so far.
func (m *Mirror) Summary() runner.Summary {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.s.work.summary()
}

// Replay calls hear for each event of the local journal, and from then on for each new one.
func (m *Mirror) Replay(ctx context.Context, hear func(runner.Event)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ev, err := range journal.Events(ctx, m.s.Journal, m.s.run, 0) {
		if err != nil {
			return err
		}
		hear(ev)
	}
	m.hear = hear
	return nil
}

// Events returns the events of the local journal.
func (m *Mirror) Events(ctx context.Context) ([]runner.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var events []runner.Event
	for ev, err := range journal.Events(ctx, m.s.Journal, m.s.run, 0) {
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// Sweep removes leftovers of killed processes of the run in this clone. Call it before the first [Mirror.Do].
func (m *Mirror) Sweep() { m.s.work.sweep() }

// Do executes a command in this clone, as [Engine] does. It also returns the usage of failed tries and new notes, both
// for the journal.
func (m *Mirror) Do(ctx context.Context, c runner.Command) (ev runner.Event, lost []runner.Event, notes []string) {
	ev, lost = m.s.do(ctx, c)
	m.s.work.pool.Rest(c.Place(), false)
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	notes, m.s.notes = m.s.notes, nil
	return ev, lost, notes
}

// Leave cancels all running work of this clone and waits for its end.
func (m *Mirror) Leave() {
	m.s.cancel(errStopped)
	m.s.stop()
	m.s.clearing.Wait()
}

// MoveBranch moves a branch of this clone to the commit to. The check for foreign changes expects it there.
func (m *Mirror) MoveBranch(ctx context.Context, branch, to string) error {
	now, err := m.s.Repo.Resolve(ctx, "refs/heads/"+branch)
	if err != nil {
		return err
	}
	at := m.s.work.refs.move(branch)
	if now != to {
		if err := m.s.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: "refs/heads/" + branch, New: to}); err != nil {
			at(unknown)
			return err
		}
	}
	at(to)
	return nil
}

// Tip returns the commit of the run branch according to the journal.
func (m *Mirror) Tip() string { return m.s.machine.Tip() }

// Verify returns an event for each merged batch that is no longer valid on the run branch at tip.
func (m *Mirror) Verify(ctx context.Context, tip string) ([]runner.Event, error) {
	return m.s.work.verify(ctx, tip)
}

// Redacted returns text without the secrets of this machine.
func (m *Mirror) Redacted(text string) string { return m.s.work.redact.String(text) }
