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
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/runner"
)

// Reviews is what changes are reviewed with. Whether they are is a matter of the run: [runner.Info].
type Reviews struct {
	Reviewers []review.Reviewer // in order of preference; asked where the run says "all"
	Prompts   prompt.Set
	Persona   string
	Margin    float64
	NewID     func() string
	Blueprint *blueprint.Reviewer                                   // holds units against their blueprints; nil asks nobody
	More      []gates.Gate                                          // that look in a review and nowhere else
	Vendor    func(agent, model string) string                      // who makes what an agent works with; "" is not known
	Price     func(c review.Call) (usd *float64, src agents.Source) // nil is unknown
}

// The ways to review.
const (
	ReviewPrograms = "programs" // programs look, and nobody is asked
	ReviewAll      = "all"      // reviewers are asked as well
)

// reviewError is a review in which somebody could not look. That is neither for nor against the change, and the same
// again would ask the same reviewers again: so somebody has to see to it.
type reviewError struct{ why string }

func (e *reviewError) Error() string { return e.why }

// seen is what gates last said of a batch.
type seen struct {
	base, tree string
	reports    []gates.Report
	review     *runner.ReviewInfo // of that very change
}

// Review looks at what the candidate of c changes; without a batch, at all that the run made.
func (w *work) Review(ctx context.Context, c runner.Command, p runner.Progress) (runner.Event, error) {
	e := runner.Event{Base: c.Base, Commit: c.Commit, Tree: c.Tree}
	in, known, err := w.reviewOf(ctx, &c)
	if err != nil {
		return e, err
	}
	if known != nil { // what the run made is what one batch made
		e.Outcome, e.Review = runner.OutcomeOK, known
		return e, nil
	}
	in.Observe = func(n int, name string, s gates.Status) { p.Line(c.Batch, fmt.Sprintf("review, %s: %s", name, s)) }
	v, err := review.Run(ctx, in)
	w.lookout.drop()
	if ctx.Err() != nil {
		return e, context.Cause(ctx)
	}
	if err != nil {
		return e, err
	}
	dir := filepath.Join(w.Layout.Logs(w.run), finalPlace)
	if c.Batch != "" {
		dir = w.attemptDir(c)
		if err := in.Ledger.Write(w.findings(c.Batch)); err != nil {
			return e, err
		}
	}
	e.Usage = w.spentOn(v)
	if e.Review, err = w.reviewInfo(v, filepath.Join(dir, "review.json")); err != nil {
		return e, err
	}
	if c.Batch == "" {
		e.Outcome = runner.OutcomeOK
		w.pool.Release(finalPlace)
		return e, nil
	}
	return w.verdict(e, v)
}

// finalPlace names the workspace in which the final review looks, and the folder with what it leaves.
const finalPlace = "final-review"

// findings is the file with what reviews of a batch found from round to round.
func (w *work) findings(batch string) string { return w.Layout.Findings(w.run, batch) }

// reviewOf makes what a review gets: the change in a workspace, and what is known of it already.
func (w *work) reviewOf(ctx context.Context, c *runner.Command) (in review.Input, known *runner.ReviewInfo, err error) {
	in = review.Input{
		Prompts: w.Reviews.Prompts, Persona: w.Reviews.Persona, Margin: w.Reviews.Margin, NewID: w.Reviews.NewID,
		Author: review.Author{Agent: w.worker(c.Batch)},
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
		b, berr := w.batch(*c)
		if berr != nil {
			return in, nil, berr
		}
		f := w.factsOf(c.Batch, c.Base)
		last = f.last
		in.Doubts = w.doubts(*c)
		in.Subject.Batch, in.Plan, in.Author.Model = *b, "## "+b.Title+"\n"+b.Text, f.model
		if in.Ledger, err = review.ReadLedger(w.findings(c.Batch), c.Batch); err != nil {
			return in, nil, err
		}
		for i := range in.Ledger.Rounds { // it is the batch's own change, wherever it stands
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
	in.Subject.Dir, in.Subject.Base, in.Subject.Tree, in.Subject.Changed = space.Dir, c.Base, c.Tree, space.Paths
	in.Subject.Env, in.Subject.Timeout, in.Subject.LogDir = w.agentEnv(temp), w.GateTimeout, logs
	in.Subject.Redact, in.Subject.Reaper = w.redact.String, w.Reaper
	in.Subject.Diff = gates.GitCompared(space.Compared(c.Base, c.Tree))
	settings := w.GateConfig
	settings.More = slices.Concat(settings.More, w.Reviews.More)
	in.Gates = suite.All(space.Dir, settings)
	if last.tree == c.Tree {
		in.Known = last.reports
		if last.base != c.Base { // of the tests, what they are compared with changes nothing
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

// reviewInfo writes all of a review into a file, and says in short what it came to.
func (w *work) reviewInfo(v review.Review, file string) (*runner.ReviewInfo, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
			err = atomicfile.Write(file, []byte(w.redact.String(string(data))+"\n"), 0o644)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("keep the review: %w", err)
	}
	out := &runner.ReviewInfo{Verdict: string(v.Verdict), Confidence: &v.ConfidencePct, File: w.Layout.Rel(file), Note: w.redact.String(strings.Join(v.Reasons, ", "))}
	for _, p := range v.Passes {
		text := fmt.Sprintf("%d %s: %s", p.Number, p.Name, p.Status)
		if p.Status == gates.Skipped && p.Note != "" || p.Status == gates.Errored {
			text += ", " + firstWords(w.redact.String(p.Note))
		}
		out.Passes = append(out.Passes, text)
		for _, c := range p.Calls {
			out.Calls++
			if !slices.Contains(out.Reviewers, c.Reviewer) {
				out.Reviewers = append(out.Reviewers, c.Reviewer)
			}
		}
	}
	return out, nil
}

func firstWords(note string) string {
	note, _, _ = strings.Cut(note, "\n")
	return phrase.Cut(note, 160)
}

// spentOn sums up what a review's reviewers used; nil where nobody was asked. One unknown price makes the sum unknown.
func (w *work) spentOn(v review.Review) *agents.Usage {
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
	for _, p := range v.Passes {
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
