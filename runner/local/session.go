package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// ErrPlanChanged means that the plan has changed since the start of the run.
var ErrPlanChanged = errors.New("the plan was changed since the run started")

// begin writes a new run to the journal, or replays an old one, and returns the first commands.
func (s *session) begin(ctx context.Context, info runner.Info) ([]runner.Command, error) {
	s.work.sweep()
	known, err := s.recall(ctx, info)
	if err != nil {
		return nil, err
	}
	if known {
		return s.resume(ctx)
	}
	s.live = true
	first := s.recorder.Begin(info)
	records, err := encode(first.Events)
	if err != nil {
		return nil, err
	}
	if err := s.addRun(ctx, info, first.Events[0].At, records); err != nil {
		return nil, err
	}
	// The first agents wait for the rooms. The run is in the journal, so a resume can clean up after a kill.
	s.work.background.Go(func() { _, _ = s.work.sealed(ctx) })
	if err := s.runBranch(ctx, info.Base); err != nil {
		return nil, err
	}
	s.work.noteOutward(ctx)
	return first.Commands, s.show(first.Events)
}

// addRun writes a new run and its first events to the journal.
func (s *session) addRun(ctx context.Context, info runner.Info, started time.Time, records []store.Record) error {
	text := []byte(s.work.redact.String(string(s.PlanText)))
	return s.Journal.AddRun(ctx,
		store.Run{ID: s.run, Slug: info.Slug, Plan: info.Plan, PlanText: text, Started: started}, records...)
}

// recall makes the machine, the recorder and the fold of the run, and applies the journal's events of it. info
// describes a new run; a known one has the limits of its first event.
func (s *session) recall(ctx context.Context, info runner.Info) (known bool, err error) {
	for ev, err := range journal.Events(ctx, s.Journal, s.run, 0) {
		if err != nil {
			return false, err
		}
		if ev.Job != nil {
			info = *ev.Job
		}
		break
	}
	if s.machine, err = runner.New(info); err != nil {
		return false, err
	}
	s.recorder, s.work.fold = runner.NewRecorder(s.run, s.machine, s.Now), runner.FoldOf(s.machine)
	for ev, err := range journal.Events(ctx, s.Journal, s.run, 0) {
		if err != nil {
			return false, err
		}
		known = true
		s.recorder.Recall(ev)
		s.heard = max(s.heard, ev.Post)
		if ev.Job != nil {
			if ev.Kind != runner.PlanChanged { // the machine uses only the batches of this event
				s.settings = settingsOf(*ev.Job)
			}
			for _, b := range ev.Job.Batches {
				s.digests[b.Key] = b.Digest
			}
		}
		if err := s.work.add(ev, false); err != nil {
			return false, err
		}
		s.watch.Recall(ev)
	}
	return known, nil
}

// resume checks that the journal still matches the repository, and continues the run.
func (s *session) resume(ctx context.Context) ([]runner.Command, error) {
	info := s.work.info
	if err := s.Repo.UnlockBranches("runplan/" + info.Slug); err != nil {
		return nil, err
	}
	for _, k := range s.Redo { // before the plan change: if a kill loses this event, it loses the plan change too
		if _, err := s.record(runner.Event{Kind: runner.Reopened, Batch: k, Base: s.machine.Tip(),
			Reason: "requested with --redo"}); err != nil {
			return nil, err
		}
	}
	if err := s.replan(info); err != nil {
		return nil, err
	}
	if err := s.work.lookAfterCutOff(ctx, s.machine.Tip(), s.machine.Pending()); err != nil {
		return nil, err
	}
	if err := s.runBranch(ctx, s.machine.Tip()); err != nil {
		return nil, err
	}
	if err := sweepRooms(ctx, s.Home, s.Repo, s.Layout); err != nil {
		s.note("rooms of a run that was killed could not be removed: " + err.Error())
	}
	tip, err := s.Repo.Resolve(ctx, "refs/heads/"+info.Branch)
	if err != nil {
		return nil, err
	}
	reopened, err := s.work.verify(ctx, tip)
	if err != nil {
		return nil, err
	}
	for _, e := range reopened {
		if _, err := s.record(e); err != nil {
			return nil, err
		}
	}
	resumed := runner.Event{Kind: runner.RunResumed, Commit: tip}
	if s.settings != settingsOf(info) {
		resumed.Job = &info
	}
	for _, b := range info.Batches {
		if s.digests[b.Key] != b.Digest {
			resumed.Job = &info // the changed plan was accepted
		}
	}
	if _, err := s.record(resumed); err != nil {
		return nil, err
	}
	s.live = true
	for _, text := range s.Notes {
		s.note(text)
	}
	if _, err := s.hear(ctx, true); err != nil {
		return nil, err
	}
	return s.machine.Pending(), nil
}

// replan records that a changed plan was accepted, and keeps a copy of it. The copy of the first plan stays.
func (s *session) replan(info runner.Info) error {
	if s.Change == nil {
		return nil
	}
	text := []byte(s.work.redact.String(string(s.PlanText)))
	path := s.Layout.PlanCopy(s.run, checksum.SHA256(text))
	if err := writeFile(path, text); err != nil {
		return fmt.Errorf("keep a copy of the changed plan: %w", err)
	}
	_, err := s.record(runner.Event{
		Kind: runner.PlanChanged, Job: &info, Anew: s.Change.Anew, Reports: s.work.trim([]gates.Report{s.Change.Report}),
		Log: s.Layout.Rel(path), Fingerprint: checksum.SHA256(text),
	})
	for _, b := range info.Batches {
		s.digests[b.Key] = b.Digest
	}
	return err
}

// runBranch makes the run branch if it is missing. Only merges may move an existing one.
func (s *session) runBranch(ctx context.Context, at string) error {
	ref := "refs/heads/" + s.work.info.Branch
	now, err := s.Repo.Resolve(ctx, ref)
	if err != nil {
		return err
	}
	if now != "" {
		s.work.refs.move(s.work.info.Branch)(now)
		return nil
	}
	if err := s.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: ref, New: at}); err != nil {
		return fmt.Errorf("make the run branch %s: %w", s.work.info.Branch, err)
	}
	s.work.refs.move(s.work.info.Branch)(at)
	return nil
}

// finish cleans up, writes the report and records the last event of this session. The cleanup comes first, so that
// a finished run leaves nothing behind.
func (s *session) finish(ctx context.Context, res runner.Result) error {
	ctx = context.WithoutCancel(ctx)
	s.work.sweepStashes(ctx)
	// Remove rooms before the run is finished: if runplan is killed after that, no resume would remove them.
	s.cancel(errStopped)
	s.work.background.Wait()
	s.work.closeRooms(ctx)
	if res.Status != runner.RunStopped {
		if err := s.tidy(ctx); err != nil {
			s.note("tidying up: " + err.Error())
		}
	} else if err := s.work.pool.DetachLost(ctx, s.machine.Tip()); err != nil {
		s.note("tidying up: " + err.Error())
	}
	if err := os.RemoveAll(s.Layout.Temp(s.run)); err != nil {
		s.note("tidying up: " + err.Error())
	}
	if err := s.writeNotes(); err != nil {
		return err
	}
	last := res.Ending()
	last.At = s.Now().UTC()
	if err := s.report(last); err != nil {
		return err
	}
	_, err := s.record(last)
	return err
}

// report writes the report of a run with the event last. Every run that is finished in the journal has a report, so the
// report comes first.
func (s *session) report(last runner.Event) error {
	if s.Report == nil {
		return nil
	}
	if err := s.work.fold.Apply(last); err != nil {
		return err
	}
	if err := s.Report(s.work.fold.Summary()); err != nil {
		s.Note("the report could not be written: " + err.Error())
	}
	return nil
}

// tidy removes worktrees and branches (TEAM-08). It keeps those of failed batches for people to inspect, and
// unmerged branches that belong to no batch.
func (s *session) tidy(ctx context.Context) error {
	failed := func(batch string) bool {
		v, _ := s.machine.Batch(batch)
		return v.Status == runner.Failed
	}
	if err := s.work.pool.Remove(ctx, failed); err != nil {
		return err
	}
	slug := s.work.info.Slug
	branches, err := s.Repo.Branches(ctx, "runplan/"+slug+"/")
	if err != nil {
		return err
	}
	spent := map[string]bool{journal.CandidateBranch(slug): true}
	s.machine.EachStatus(func(batch string, _ runner.Status) { spent[journal.BatchBranch(slug, batch)] = !failed(batch) })
	var drop []git.RefUpdate
	for _, name := range slices.Sorted(maps.Keys(branches)) {
		if name == s.work.info.Branch {
			continue
		}
		gone, known := spent[name]
		if of := candidateBranch.FindStringSubmatch(name); of != nil && !known {
			_, known = spent[of[1]]
			gone = known
		}
		if !known {
			in, err := s.Repo.IsAncestor(ctx, branches[name], s.machine.Tip())
			gone = err == nil && in
		}
		if gone {
			drop = append(drop, git.RefUpdate{Ref: "refs/heads/" + name, Old: branches[name]})
		}
	}
	return s.removeBranches(ctx, drop)
}

// removeBranches deletes branches in one transaction, or one by one if that fails, so that one locked or moved branch
// does not keep all others. If the run is killed meanwhile, a resume deletes the rest.
func (s *session) removeBranches(ctx context.Context, drop []git.RefUpdate) error {
	if len(drop) == 0 || s.Repo.UpdateRefs(ctx, drop...) == nil {
		return nil
	}
	var stay []error
	for _, u := range drop {
		if err := s.Repo.UpdateRefs(ctx, u); err != nil {
			stay = append(stay, fmt.Errorf("branch %s stays: %w", strings.TrimPrefix(u.Ref, "refs/heads/"), err))
		}
	}
	return errors.Join(stay...)
}

// settingsOf describes the settings that a resume may change, and the agents.
func settingsOf(i runner.Info) string { // fmt prints maps in key order
	return fmt.Sprint(i.Workers, i.OnLimit, i.MaxCostUSD, i.UnknownCost, i.Agents, i.ConfigDigest)
}

// starting counts the workers that prepare an attempt or record its result. Gates let them go first: a worker that
// waits for a processor delays all its later batches, but nothing waits for the gates of one batch except its merge.
type starting struct{ workers atomic.Int32 }

const maxYield = 100 * time.Millisecond

// enter counts one more worker. leave may be called more than once.
func (s *starting) enter() (leave func()) {
	s.workers.Add(1)
	return sync.OnceFunc(func() { s.workers.Add(-1) })
}

// yield waits until no worker is counted, at most [maxYield]. It waits for a millisecond in any case, because a worker
// that begins at the same moment may not be counted yet.
func (s *starting) yield(ctx context.Context) {
	for end := time.Now().Add(maxYield); time.Now().Before(end) && ctx.Err() == nil; {
		time.Sleep(time.Millisecond)
		if s.workers.Load() == 0 {
			return
		}
	}
}
