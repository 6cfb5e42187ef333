package local

import (
	"context"
	"slices"
	"time"

	"github.com/runplan/runplan/gates/promise"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/briefing"
	"github.com/runplan/runplan/runner/failures"
)

// chronicle is the history of the run's batches, for the briefs of later batches.
type chronicle struct {
	ended   []briefing.Earlier // in the order of their end
	working []string           // keys of running batches
}

// add applies an event. sum is the summary of the run including that event.
func (h *chronicle) add(ev runner.Event, sum runner.Summary) {
	of := func(e briefing.Earlier) bool { return e.Key == ev.Batch }
	is := func(k string) bool { return k == ev.Batch }
	switch ev.Kind {
	case runner.BatchStarted:
		h.working = append(slices.DeleteFunc(h.working, is), ev.Batch)
	case runner.BatchPassed, runner.BatchFailed:
		h.working = slices.DeleteFunc(h.working, is)
		h.ended = slices.DeleteFunc(h.ended, of)
		if i := slices.IndexFunc(sum.Batches, func(b runner.BatchSummary) bool { return b.Key == ev.Batch }); i >= 0 {
			h.ended = append(h.ended, EarlierOf(sum.Batches[i]))
		}
	case runner.Reopened:
		h.working, h.ended = slices.DeleteFunc(h.working, is), slices.DeleteFunc(h.ended, of)
	}
}

// EarlierOf converts the summary of a batch for briefs.
func EarlierOf(s runner.BatchSummary) briefing.Earlier {
	return briefing.Earlier{
		Key: s.Key, Number: s.Number, Title: s.Title, Merged: s.State == string(runner.Passed), Reason: s.Reason,
		Attempts: s.Attempts, Duration: time.Duration(s.DurationMS) * time.Millisecond, TestsBefore: s.TestsBefore,
		TestsAfter: s.TestsAfter, Commit: s.Commit,
	}
}

// gather collects the brief's inputs from outside the workspace.
func (w *work) gather(ctx context.Context, c runner.Command, b *planparse.Batch) (briefing.Input, error) {
	in := briefing.Input{
		PlanTitle: w.info.Title, Preamble: w.Plan.Preamble, Batch: *b, Attempt: c.Attempt, Before: c.Before,
		Instead: c.Instead, Limits: w.Context, Protected: w.GateConfig.Protected,
	}
	if c.After > 0 && (c.Slot == nil || c.Slot.Digest) {
		in.Digest, in.Patch = w.digest(c.After)
	}
	if literal(w.Agent) {
		return in, nil // a script agent follows the plan and reads nothing else
	}
	h := w.chronicle()
	in.Earlier = h.ended
	for _, key := range h.working {
		if other, ok := w.Plan.Batch(key); ok && key != c.Batch {
			in.AtWork = append(in.AtWork, briefing.OtherOf(other))
		}
	}
	in, err := briefing.Gather(ctx, briefing.Sources{
		Input: in, Repo: w.Repo, Commit: c.Base, Plan: w.info.Plan, From: w.info.Base, Run: w.run,
		Progress: w.Layout.Progress(), Failures: w.failures, Where: w.Where,
	})
	if c.Slot != nil {
		in.Progress = withoutBatch(in.Progress, b)
	}
	return in, err
}

// brief composes the brief of the agent.
func (w *work) brief(ctx context.Context, s *Space, found func() (briefing.Input, error)) (briefing.Composed, error) {
	in, err := found()
	for _, g := range suite.All(s.Dir, w.promising(&in.Batch, promise.Options{})) {
		in.Gates = append(in.Gates, g.Info())
	}
	for _, g := range w.asked(&in.Batch, s.Base) {
		if info := g.Info(); !info.Quiet { // the agent need not satisfy advice that may never run
			in.Gates = append(in.Gates, info)
		}
	}
	if literal(w.Agent) {
		return briefing.Compose(in), err
	}
	in.Style = w.style(ctx, s.Dir)
	composed := briefing.Compose(in)
	// The block has no probable secrets; these are the secrets of this machine. The text of the plan stays unchanged.
	composed.Block = w.redact.String(composed.Block)
	return composed, err
}

// style returns the code style of the repository. It is computed once, for all batches.
func (w *work) style(ctx context.Context, dir string) string {
	w.styleOnce.Do(func() {
		if w.Style != nil {
			w.styleText = w.Style(ctx, dir)
		}
	})
	return w.styleText
}

// factOf converts an event for the store of failure patterns.
func (s *session) factOf(ev runner.Event) failures.Fact {
	f := failures.Fact{
		Kind: string(ev.Kind), Outcome: string(ev.Outcome), Reason: ev.Reason, Batch: ev.Batch,
		Reports: ev.Reports, Base: ev.Base, Tree: ev.Tree, At: ev.At,
	}
	if b, ok := s.Plan.Batch(ev.Batch); ok {
		f.Title = b.Title
	}
	return f
}

// learn counts failures and stores successful fixes. An unwritable store does not stop a run.
func (s *session) learn(ev runner.Event) {
	if ev.Batch == "" {
		return
	}
	if err := s.watch.Observe(context.Background(), s.factOf(ev)); err != nil {
		s.note(err.Error())
	}
}
