package local

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/runner"
)

// Reviews configures reviews. The [runner.Info] of a run turns them on.
type Reviews struct {
	Reviewers []review.Reviewer // in order of preference; used if the run says "all"
	Prompts   prompt.Set
	Persona   string
	Margin    float64
	NewID     func() string
	// compares units with their blueprints; nil for none
	Blueprint *lifecycle.Reviewer
	More      []gates.Gate                                          // additional gates that only reviews use
	Vendor    func(agent, model string) string                      // vendor of an agent's model; "" if unknown
	Price     func(c review.Call) (usd *float64, src agents.Source) // nil if unknown
}

// The values of [runner.Info.Review].
const (
	ReviewPrograms = "programs" // only programs review
	ReviewAll      = "all"      // reviewers review too
)

// reviewError reports a failed reviewer, which is no result about the change. A retry would ask the same reviewers, so
// a person must act.
type reviewError struct{ why string }

func (e *reviewError) Error() string { return e.why }

// seen has the latest gate results of a batch.
type seen struct {
	base, tree string
	reports    []gates.Report
	review     *runner.ReviewInfo // of the same change
}

// Review reviews the changes of c's candidate; without a batch, those of the whole run.
func (w *work) Review(ctx context.Context, c runner.Command, p runner.Progress) (runner.Event, error) {
	e := runner.Event{Base: c.Base, Commit: c.Commit, Tree: c.Tree}
	in, known, err := w.reviewOf(ctx, &c)
	if err != nil {
		return e, err
	}
	if known != nil { // the change of the run equals that of one reviewed batch
		e.Outcome, e.Review = runner.OutcomeOK, known
		return e, nil
	}
	in.Observe = func(n int, name string, s gates.Status) { p(c.Batch, fmt.Sprintf("review, %s: %s", name, s)) }
	v, err := review.Run(ctx, in)
	if ctx.Err() != nil {
		return e, context.Cause(ctx)
	}
	if err != nil {
		return e, err
	}
	if c.Batch != "" {
		if err := in.Ledger.Write(w.Layout.Findings(w.run, c.Batch)); err != nil {
			return e, err
		}
	}
	e.Usage = w.spentOn(v.Passes...)
	if e.Review, err = w.reviewInfo(v, filepath.Join(in.Subject.LogDir, "review.json")); err != nil {
		return e, err
	}
	if c.Batch == "" {
		e.Outcome = runner.OutcomeOK
		w.pool.Release(finalPlace)
		return e, nil
	}
	return w.verdict(e, v)
}

// finalPlace names the workspace and the log folder of the final review.
const finalPlace = "final-review"

// reviewOf returns the input of a review: the change in a workspace, and its known results.
func (w *work) reviewOf(ctx context.Context, c *runner.Command) (in review.Input, known *runner.ReviewInfo, err error) {
	in = review.Input{
		Prompts: w.Reviews.Prompts, Persona: w.Reviews.Persona, Margin: w.Reviews.Margin, NewID: w.Reviews.NewID,
		Author: review.Author{Agent: w.worker(c.Batch)}, Subject: w.on(c.Base),
	}
	how, place, last := w.info.Review, c.Place(), seen{}
	var space *Space
	if c.Batch == "" {
		how, place = w.info.FinalReview, finalPlace
		if c.Tree, err = w.Repo.TreeOf(ctx, c.Commit); err != nil {
			return in, nil, err
		}
		last = w.atTip()
		if last.tree == c.Tree && last.base == c.Base && last.review != nil && w.info.Review == how {
			return in, last.review, nil
		}
		in.Plan = w.Plan.Preamble
		for _, b := range w.Plan.Batches {
			in.Plan += "\n## " + b.Title + "\n" + b.Text
		}
		space, _, err = w.pool.Restore(ctx, place, c.Base, c.Tree)
	} else {
		b := w.batch(*c)
		f := w.factsOf(c.Batch, c.Base)
		last = f.last
		seen, _ := w.seen(*c)
		in.Doubts = seen.Kept // too uncertain to show to the agent (FIX-29)
		in.Subject.Batch, in.Plan, in.Author.Model = *b, "## "+b.Title+"\n"+b.Text, f.model
		if in.Ledger, err = review.ReadLedger(w.Layout.Findings(w.run, c.Batch), c.Batch); err != nil {
			return in, nil, err
		}
		for i := range in.Ledger.Rounds { // the batch's own change is the same on every base
			in.Ledger.Rounds[i].Base = c.Base
		}
		space, err = w.restore(ctx, *c)
	}
	if err != nil {
		return in, nil, err
	}
	if w.Reviews.Vendor != nil {
		in.Author.Vendor = w.Reviews.Vendor(in.Author.Agent, in.Author.Model)
	}
	temp, err := w.temp(place)
	if err != nil {
		return in, nil, err
	}
	logs := filepath.Join(w.Layout.Logs(w.run), finalPlace)
	if c.Batch != "" {
		logs = w.attemptDir(*c)
	}
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return in, nil, fmt.Errorf("keep the logs of a review: %w", err)
	}
	in.Subject.Dir, in.Subject.Tree, in.Subject.Changed = space.Dir, c.Tree, space.Paths
	in.Subject.Env, in.Subject.LogDir = w.agentEnv(temp), logs
	in.Subject.Diff = gates.GitCompared(space.Compared(c.Base, c.Tree))
	settings := w.GateConfig
	settings.More = slices.Concat(settings.More, w.Reviews.More)
	in.Gates = suite.All(space.Dir, settings)
	if last.tree == c.Tree {
		in.Known = last.reports
		if last.base != c.Base { // on another base, only passed test reports stay valid
			in.Known = slices.DeleteFunc(slices.Clone(in.Known), func(r gates.Report) bool {
				return r.Tests == nil || r.Status != gates.Pass
			})
		}
	}
	in.Programs = how == ReviewPrograms
	if how == ReviewAll {
		in.Reviewers = w.Reviews.Reviewers
	}
	return in, nil, nil
}

// reviewInfo writes a review to file and returns its summary.
func (w *work) reviewInfo(v review.Review, file string) (*runner.ReviewInfo, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err == nil { // its folder has the logs of the review
		err = atomicfile.Write(file, []byte(w.redact.String(string(data))+"\n"), 0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("keep the review: %w", err)
	}
	out := &runner.ReviewInfo{Verdict: string(v.Verdict), Confidence: &v.ConfidencePct, File: w.Layout.Rel(file),
		Note: w.redact.String(strings.Join(v.Reasons, ", "))}
	for _, p := range v.Passes {
		text := fmt.Sprintf("%d %s: %s", p.Number, p.Name, p.Status)
		if p.Status == gates.Skipped && p.Note != "" || p.Status == gates.Errored {
			text += ", " + firstWords(w.redact.String(p.Note))
		}
		out.Passes = append(out.Passes, text)
		for _, c := range p.Calls {
			out.Calls++
			out.Reviewers = lists.Add(out.Reviewers, c.Reviewer)
		}
	}
	return out, nil
}

func firstWords(note string) string {
	note, _, _ = strings.Cut(note, "\n")
	return phrase.Cut(note, 160)
}

// spentOn adds up the usage of a review's reviewers; nil if none was asked. One unknown price makes the sum unknown.
func (w *work) spentOn(passes ...review.Pass) *agents.Usage {
	var u agents.Usage
	asked, known, sum := false, true, 0.0
	add := func(to **int64, n *int) {
		if n == nil {
			return
		}
		total := int64(*n)
		if *to != nil {
			total += **to
		}
		*to = &total
	}
	for _, p := range passes {
		for _, c := range p.Calls {
			asked = true
			add(&u.InputTokens, c.PromptTokens)
			add(&u.OutputTokens, c.CompletionTokens)
			if w.Reviews.Price == nil {
				known = false
				continue
			}
			usd, src := w.Reviews.Price(c)
			if u.Source = src; usd == nil {
				known = false
				continue
			}
			sum += *usd
		}
	}
	if !asked {
		return nil
	}
	if known {
		u.CostUSD = &sum
	} else {
		u.Source = agents.SourceUnknown
	}
	return &u
}

// verdict is the outcome of a candidate's review.
func (w *work) verdict(e runner.Event, v review.Review) (runner.Event, error) {
	why := w.redact.String(strings.Join(v.Reasons, ", "))
	switch {
	case v.Verdict == review.OK:
		e.Outcome = runner.OutcomeOK
		return e, nil
	case v.Verdict == review.NoVerdict:
		for _, p := range v.Passes {
			if p.Status == gates.Errored {
				why += "; " + p.Name + ": " + p.Note
			}
		}
		return e, &reviewError{fmt.Sprintf("the review has no result: %s", w.redact.String(why))}
	}
	reports, ids, again := blocking(v)
	if len(reports) == 0 {
		e.Outcome, e.Reason = runner.OutcomeUndecided, why
		return e, nil
	}
	e.Reports, e.Fingerprint, e.Outcome = w.trim(reports), runner.Fingerprint(strings.Join(ids, " ")),
		runner.OutcomeShallow
	if failureIsComplex(v, reports, again) {
		e.Outcome = runner.OutcomeComplex
	}
	e.Reason = w.redact.String(reasonOf(gates.Verdict{Reports: reports}))
	return e, nil
}

// blocking returns the failed passes of a review, with only their blocking findings. again reports whether one of
// these was found before.
func blocking(v review.Review) (reports []gates.Report, ids []string, again bool) {
	for _, p := range v.Passes {
		if p.Status != gates.Fail {
			continue
		}
		r := p.Report
		r.Findings = nil
		for _, f := range p.Findings {
			if f.Severity != gates.Error || f.Unproven || f.State != "" && f.State != review.Open {
				continue
			}
			again = again || !f.New && !f.Fact
			ids = append(ids, f.ID)
			r.Findings = append(r.Findings, f.Finding)
		}
		reports = append(reports, r)
	}
	if len(v.Open) > 0 {
		r := gates.Report{Gate: "review:earlier", Status: gates.Fail,
			Note: "found by an earlier review, but not checked since"}
		for _, f := range v.Open {
			again = true
			ids = append(ids, f.ID)
			r.Findings = append(r.Findings,
				gates.Finding{Rule: f.Rule, Path: f.Path, Line: f.Line, Severity: f.Severity, Message: f.Message})
		}
		reports = append(reports, r)
	}
	slices.Sort(ids)
	return reports, ids, again
}

// shallowFiles limits the number of files of a small fix.
const shallowFiles = 3

// failureIsComplex reports whether a failure needs more than a small fix (REV-11): the design is wrong, many
// places are wrong, or an attempt to correct it failed.
func failureIsComplex(v review.Review, reports []gates.Report, again bool) bool {
	files := map[string]bool{}
	for _, r := range reports {
		for _, f := range r.Findings {
			files[f.Path] = true
		}
	}
	return again || len(files) > shallowFiles || v.Passes[review.Architectural-1].Status == gates.Fail
}
