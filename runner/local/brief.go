package local

import (
	"context"

	"github.com/runplan/runplan/gates/promise"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/briefing"
)

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
	in.Look(w.summary(), w.Plan)
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
	// The block no longer has probable secrets; this removes the known secrets of this machine. The plan's text is
	// unchanged.
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

// learn counts failures and stores successful fixes. An unwritable store does not stop a run.
func (s *session) learn(ev runner.Event) {
	if ev.Batch == "" {
		return
	}
	var title string
	if b, ok := s.Plan.Batch(ev.Batch); ok {
		title = b.Title
	}
	if err := s.watch.Observe(context.Background(), title, ev); err != nil {
		s.note(err.Error())
	}
}
