package local

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/promise"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/briefing"
	"github.com/runplan/runplan/runner/failures"
)

// chronicle is what became of the batches of the run, for the briefs of those to come.
type chronicle struct {
	ended   []briefing.Earlier // in the order in which they ended
	working []string           // keys of batches that are at work
}

// add takes up an event. sum is the run with that event in it.
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

// EarlierOf is how a batch of the run went, as briefs tell it.
func EarlierOf(s runner.BatchSummary) briefing.Earlier {
	return briefing.Earlier{
		Key: s.Key, Number: s.Number, Title: s.Title, Merged: s.State == string(runner.Passed), Reason: s.Reason, Attempts: s.Attempts,
		Duration: time.Duration(s.DurationMS) * time.Millisecond, TestsBefore: s.TestsBefore, TestsAfter: s.TestsAfter, Commit: s.Commit,
	}
}

// gathering finds what is told to the agent and is not in its workspace, beside other work. What it returns waits for that.
func (w *work) gathering(ctx context.Context, c runner.Command, b *planparse.Batch) (found func() (briefing.Input, error)) {
	type input struct {
		briefing.Input
		err error
	}
	result := make(chan input, 1)
	go func() {
		in, err := w.gather(ctx, c, b)
		result <- input{in, err}
	}()
	return func() (briefing.Input, error) {
		in := <-result
		return in.Input, in.err
	}
}

func (w *work) gather(ctx context.Context, c runner.Command, b *planparse.Batch) (briefing.Input, error) {
	in := briefing.Input{
		PlanTitle: w.info.Title, Preamble: w.Plan.Preamble, Batch: *b, Attempt: c.Attempt, Before: c.Before, Instead: c.Instead,
		Limits: w.Context, Protected: w.GateConfig.Protected,
	}
	if c.After > 0 && (c.Slot == nil || c.Slot.Digest) {
		in.Digest, in.Patch = w.digest(c.After)
	}
	if literal(w.Agent) {
		return in, nil // it does what the plan spells out, and reads nothing else
	}
	h := w.chronicle()
	in.Earlier = h.ended
	for _, key := range h.working {
		if other, ok := w.Plan.Batch(key); ok && key != c.Batch {
			in.AtWork = append(in.AtWork, briefing.OtherOf(other))
		}
	}
	in, err := briefing.Gather(ctx, briefing.Sources{
		Input: in, Repo: w.Repo, Commit: c.Base, Plan: w.info.Plan, From: w.info.Base, Run: w.run, Progress: w.Layout.Progress(), Failures: w.failures, Where: w.Where,
	})
	if c.Slot != nil {
		in.Progress = withoutBatch(in.Progress, b)
	}
	return in, err
}

// brief composes what the agent gets.
func (w *work) brief(ctx context.Context, s *Space, found func() (briefing.Input, error)) (briefing.Composed, error) {
	in, err := found()
	for _, g := range suite.All(s.Dir, w.promising(&in.Batch, promise.Options{})) {
		in.Gates = append(in.Gates, g.Info())
	}
	for _, g := range w.asked(&in.Batch) {
		in.Gates = append(in.Gates, g.Info())
	}
	if literal(w.Agent) {
		return briefing.Compose(in), err
	}
	in.Style = w.style(ctx, s.Dir)
	return w.hidden(briefing.Compose(in)), err
}

// hidden takes the secrets of this machine out of the context block. What the shape of others gives away is out of it
// already; the plan's own text stays as it is.
func (w *work) hidden(c briefing.Composed) briefing.Composed {
	block := w.redact.String(c.Block)
	c.Text = strings.Replace(c.Text, c.Block, block, 1)
	c.Block = block
	return c
}

// style is found once, at the beginning, and told to all batches.
func (w *work) style(ctx context.Context, dir string) string {
	w.styleOnce.Do(func() {
		if w.Style != nil {
			w.styleText = w.Style(ctx, dir)
		}
	})
	return w.styleText
}

// factOf is what an event says of an attempt, for the store of failures.
func (s *session) factOf(ev runner.Event) failures.Fact {
	f := failures.Fact{
		Kind: string(ev.Kind), Outcome: string(ev.Outcome), Reason: ev.Reason, Batch: ev.Batch, Attempt: ev.Attempt, Reports: ev.Reports, Base: ev.Base, Tree: ev.Tree, At: ev.At,
	}
	if b, ok := s.Plan.Batch(ev.Batch); ok {
		f.Title = b.Title
	}
	return f
}

// learn counts failures, and keeps what helped. A store that cannot be written does not stop a run.
func (s *session) learn(ev runner.Event) {
	if ev.Batch == "" {
		return
	}
	if err := s.watch.Observe(context.Background(), s.factOf(ev)); err != nil {
		s.note(err.Error())
	}
}
