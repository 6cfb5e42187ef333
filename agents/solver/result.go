package solver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
)

// finish converts the end of an attempt to a result. It returns an error only if the model's answer is not the
// cause: the disk, the journal, a missing model or index.
func (w *work) finish(ctx context.Context, err error) (agents.Result, error) {
	res := agents.Result{Outcome: agents.Done, Model: w.model.Label(), Response: w.answer, Usage: w.usage()}
	if err == nil {
		res.Summary = "changed " + phrase.Count(len(w.changed), "file") + ": " + w.task.Clean(strings.Join(w.changed, ", "))
		return res, w.keep(ctx, entry{Summary: res.Summary})
	}
	if ctx.Err() != nil {
		if !errors.Is(context.Cause(ctx), errTotal) {
			return res, context.Cause(ctx)
		}
		res.Outcome, res.Kind = agents.TimedOut, agents.KindTotal
		res.Summary = fmt.Sprintf("time limit reached: %s for the whole attempt", w.task.Limits.Total)
		return res, w.keep(context.WithoutCancel(ctx), entry{Class: NoAnswer, Summary: res.Summary})
	}
	if err := unusable(err); err != nil && errors.As(err, new(*agents.UnusableError)) {
		return res, err
	}
	f := fault(err)
	if f == nil {
		return res, err
	}
	res.Outcome, res.Kind, res.Rule = agents.GaveUp, kindOf(f), string(f.Class)
	if f.Class == NoAnswer || f.Class == CutOff {
		res.Outcome = agents.Failed
	}
	res.Summary = w.task.Clean(f.summary())
	res.Detail = agents.Tail(w.task.Clean(f.Err.Error()))
	if f.Class == NoEdits || f.Class == BadJSON || f.Class == BadEdit {
		res.Detail = agents.Tail(res.Detail + "\nThe answer was:\n" + w.answer)
	}
	if f.Path != "" {
		res.Findings = []agents.Finding{{Path: w.task.Clean(f.Path), Message: res.Summary}}
	}
	w.say(res.Summary)
	return res, w.keep(ctx, entry{Class: f.Class, Summary: strings.TrimPrefix(res.Summary, string(f.Class)+": ")})
}

// keep stores the attempt in the session, for later attempts.
func (w *work) keep(ctx context.Context, e entry) error {
	defer w.lock(w.id)()
	e.Attempt, e.Variant = w.task.Attempt, w.task.Variant
	return remember(ctx, w.session, e)
}

// usage returns the usage of the attempt, including retrieval. Local models are free; the usage of other programs
// is unknown.
func (w *work) usage() agents.Usage {
	u := agents.Usage{Source: agents.SourceUnknown}
	if w.model.Local() {
		u.CostUSD, u.Source = new(float64), agents.SourceLocal
	}
	if !w.meter.unknown {
		u.InputTokens, u.OutputTokens = new(w.meter.in), new(w.meter.out)
	}
	u.ModelMS = new(w.meter.took.Milliseconds())
	return u
}

// fault returns the fault of an error, nil if the model did not cause it.
func fault(err error) *Fault {
	var f *Fault
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, new(*llm.LengthError)), errors.Is(err, llm.ErrCutOff):
		return &Fault{Class: CutOff, Err: err}
	case errors.As(err, new(*llm.TimeoutError)), errors.As(err, new(*llm.ServerError)),
		errors.As(err, new(*llm.CommandError)), errors.As(err, new(*llm.AnswerError)):
		return &Fault{Class: NoAnswer, Err: err}
	}
	return nil
}

func kindOf(f *Fault) agents.Kind {
	switch {
	case f.Class == CutOff:
		return agents.KindCut
	case errors.As(f.Err, new(*llm.ServerError)), errors.As(f.Err, new(*llm.CommandError)):
		return agents.KindServer
	case f.Class == NoAnswer, f.Class == NoEdits:
		return agents.KindNoAnswer
	}
	return ""
}

// unusable marks errors that no retry can cure and that a person must fix. It returns other errors unchanged.
func unusable(err error) error {
	var kind agents.Kind
	switch {
	case errors.As(err, new(*llm.NotFoundError)):
		kind = agents.KindMissingModel
	case errors.As(err, new(*llm.MissingModelError)), errors.As(err, new(*llm.UnknownModelError)),
		errors.As(err, new(*llm.RemoteError)), errors.Is(err, llm.ErrNoModels),
		errors.Is(err, retrieve.ErrNoIndex), errors.Is(err, proc.ErrNotFound):
		kind = agents.KindSettings
	case errors.As(err, new(*llm.DownError)):
		kind = agents.KindNetwork
	case errors.As(err, new(*llm.WindowError)):
		kind = agents.KindContext
	default:
		return err
	}
	return &agents.UnusableError{Kind: kind, Err: err}
}
