// Package review reviews a change in seven passes before anything is published (REV-01).
//
//	1 static         linters, types, lessons, patterns, weakened checks                           programs
//	2 functional     the tests                                                                    programs
//	3 architectural  whether the change fits the design                                           reviewer
//	4 security       secrets, built-in checks, and tools that are installed                       programs
//	5 prose          comments and documents                                                       programs, then reviewer
//	6 adversarial    inputs and situations that break the change                                  reviewer
//	7 feedback       whether the change does what its feedback asks; only for fixes of feedback   reviewer, differential test
//
// Programs state facts and come first; if pass 1, 2 or 4 fails, no reviewer is asked (REV-03). A reviewer is a model in
// a cold context. It sees the diff, the facts and the request, and nothing of the session that wrote the change. Its
// answer is data. It must quote the diff, and a finding without a real quotation cannot block. A [Ledger] keeps
// findings from round to round; [Weigh] computes the verdict.
//
// A pass that did not run says so and lowers the confidence. If a reviewer gives no valid answer, its pass could not
// run; this is neither a pass nor a failure of the change.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/prompt"
)

// Input is the input of a review.
type Input struct {
	Subject   gates.Subject
	Gates     []gates.Gate   // the gates to run; [PassOf] gives the pass of each
	Known     []gates.Report // reports of these gates about exactly this tree; the gates do not run again
	Reviewers []Reviewer     // in order of preference
	Prompts   prompt.Set     // see [LoadPrompts]
	Author    Author
	Plan      string  // the request: the text of the batch or the plan
	Persona   string  // the conventions of the project
	Margin    float64 // safety margin of token estimates

	Programs bool            // only programs review: the limit applies to the passes that could run; see [Weigh]
	Doubts   []gates.Finding // unsure remarks from the time of writing; only for reviewers to check

	Feedback string // the feedback that a self-fix answers; "" otherwise
	// whether its test fails on the base and passes on the change; may be nil
	Differential func(context.Context) (gates.Report, error)
	Only         []int // the passes to make; empty is all
	// findings of earlier rounds, which Run updates; nil stores none
	Ledger  *Ledger
	NewID   func() string                               // names a call to a reviewer
	Observe func(pass int, name string, s gates.Status) // called when a pass ends; may be nil
	Watch   func(pass int, report gates.Report)         // called when a gate ends; may be nil
}

// Review is the result of all passes, and the verdict.
type Review struct {
	Verdict       Verdict    `json:"verdict"`
	Reasons       []string   `json:"reasons,omitempty"`
	Confidence    float64    `json:"confidence"`     // 0 to 1
	ConfidencePct int        `json:"confidence_pct"` // the confidence, 0 to 100
	Arithmetic    []Standing `json:"arithmetic"`     // the parts of the confidence
	Passes        []Pass     `json:"passes"`         // seven

	Only    []int   `json:"only,omitempty"` // the requested passes, if not all
	Base    string  `json:"base,omitempty"`
	Tree    string  `json:"tree,omitempty"`
	Changed int     `json:"changed"`
	Author  Author  `json:"author"`
	Round   int     `json:"round,omitempty"` // 0 without a ledger
	Fixed   []Entry `json:"fixed,omitempty"` // since the last round
	Open    []Entry `json:"open,omitempty"`  // blocking findings of earlier rounds whose pass did not run this time
}

// run is one review.
type run struct {
	in     Input
	diff   shown
	passes []Pass
	facts  string
}

// Run makes a review (REV-07: every caller uses it). An error means that the review was stopped or cannot begin.
func Run(ctx context.Context, in Input) (Review, error) {
	for _, n := range in.Only {
		if n < 1 || n > len(kinds) {
			return Review{}, fmt.Errorf("unknown pass %d; passes are 1 to %d", n, len(kinds))
		}
	}
	if in.NewID == nil {
		return Review{}, errors.New("review: a reviewer is set but NewID is not")
	}
	diff, err := show(ctx, in.Subject)
	if err != nil {
		return Review{}, fmt.Errorf("read the change: %w", err)
	}
	r := &run{in: in, diff: diff}
	r.passes = append(r.passes, lists.Map(kinds, newPass)...)
	for _, n := range []int{Static, Functional, Security, Prose} { // facts of programs, before a reviewer is asked
		if err := r.programs(ctx, n); err != nil {
			return Review{}, err
		}
	}
	r.facts = r.factsText()
	for _, n := range []int{Architectural, Prose, Adversarial, Feedback} {
		if err := r.reviewer(ctx, n); err != nil {
			return Review{}, err
		}
	}
	return r.close(), nil
}

func (r *run) pass(number int) *Pass { return &r.passes[number-1] }

func (r *run) wanted(number int) bool {
	return len(r.in.Only) == 0 || slices.Contains(r.in.Only, number)
}

func (r *run) tell(number int) {
	if r.in.Observe != nil {
		p := r.pass(number)
		r.in.Observe(number, p.Name, p.Status)
	}
}

// programs runs the gates of a pass.
func (r *run) programs(ctx context.Context, number int) error {
	p := r.pass(number)
	if !r.wanted(number) {
		p.skip("not requested")
		return nil
	}
	reports, err := r.gatesOf(ctx, number)
	if err != nil {
		return err
	}
	if len(reports) == 0 {
		p.skip("no gate is configured for it")
	}
	p.take(reports)
	if p.rules == gates.Skipped && p.Note == "" {
		p.skip("%s", skipped(reports))
	}
	if kindOf(number).prompt == "" {
		r.tell(number)
	}
	return nil
}

// gatesOf runs the gates of a pass. Passes are independent: a failure in one does not stop the next.
func (r *run) gatesOf(ctx context.Context, number int) ([]gates.Report, error) {
	list := map[gates.Cost][]gates.Gate{}
	var reports []gates.Report
	for _, g := range r.in.Gates {
		if PassOf(g.Info()) != number {
			continue
		}
		if i := slices.IndexFunc(r.in.Known,
			func(k gates.Report) bool { return k.Gate == g.Info().Name && !softened(k, g.Info()) }); i >= 0 {
			reports = append(reports, r.in.Known[i])
			continue
		}
		list[g.Info().Cost] = append(list[g.Info().Cost], g)
	}
	// Each cost class runs separately, so none stops another and one round reports everything.
	for _, cost := range slices.Sorted(maps.Keys(list)) {
		subject := r.in.Subject
		if !slices.ContainsFunc(list[cost], func(g gates.Gate) bool { return gates.IsSuite(g.Info().Name) }) {
			subject.BaseSuites = nil // another class checks whether a suite is missing
		}
		v, _, err := gates.RunAll(ctx, list[cost], subject, func(rep gates.Report) {
			if r.in.Watch != nil {
				r.in.Watch(number, rep)
			}
		})
		if err != nil {
			return nil, err
		}
		for _, rep := range v.Reports {
			reports = append(reports, gates.Join(rep, reports))
		}
	}
	return reports, nil
}

// softened reports whether a gate's earlier report may be a mere warning about a problem that blocks in a review. If
// so, and the gate is fast, it runs again.
func softened(known gates.Report, info gates.Info) bool {
	return info.Blocking && info.Cost == gates.Instant && known.Status == gates.Warn
}

// skipped joins the notes of the reports if all gates were skipped.
func skipped(reports []gates.Report) string {
	var why []string
	for _, rep := range reports {
		why = lists.Add(why, rep.Gate+": "+rep.Note)
	}
	return named(why)
}

// reviewer lets a model judge a pass, if a model is configured and the pass needs it.
func (r *run) reviewer(ctx context.Context, number int) error {
	p, k := r.pass(number), kindOf(number)
	if !r.wanted(number) {
		if p.Note == "" {
			p.skip("not requested")
		}
		return nil
	}
	defer r.tell(number)
	if number == Feedback && strings.TrimSpace(r.in.Feedback) == "" {
		p.skip("only for changes that answer a feedback")
		return nil
	}
	without := func(format string, args ...any) error {
		p.judged = gates.Skipped
		p.note("no review: "+format, args...)
		p.settle()
		return nil
	}
	for _, h := range r.passes {
		if kindOf(h.Number).hard && h.Status == gates.Fail {
			return without("pass %d, %s, failed", h.Number, h.Name)
		}
	}
	if number == Feedback {
		if err := r.differential(ctx, p); err != nil {
			return err
		}
	}
	if number != Prose { // passes whose gates are rules that ran
		reports, err := r.gatesOf(ctx, number)
		if err != nil {
			return err
		}
		p.take(reports)
	}
	if len(r.diff.files) == 0 {
		return without("the change has no text to show")
	}
	reviewer, ok := choose(r.in.Reviewers, k.number, r.in.Author)
	if !ok {
		return without("no reviewer is configured for it")
	}
	if note, _ := independence(reviewer, r.in.Author); note != "" {
		p.note("%s", note)
	}
	r.judge(ctx, p, reviewer)
	if ctx.Err() != nil {
		return fmt.Errorf("review the change: %w", context.Cause(ctx))
	}
	return nil
}

// differential runs the test of a self-fix on the base and on the change, if the caller provides a function for it.
func (r *run) differential(ctx context.Context, p *Pass) error {
	if r.in.Differential == nil {
		p.note("it was not checked whether its test fails without the change")
		return nil
	}
	rep, err := r.in.Differential(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("review the change: %w", context.Cause(ctx))
	}
	if err != nil {
		rep.Status, rep.Note = gates.Errored, "could not run: "+r.clean(err.Error())
	}
	rep.Gate = cmp.Or(rep.Gate, "differential test")
	p.take([]gates.Report{rep})
	return nil
}

// close updates the ledger and computes the verdict.
func (r *run) close() Review {
	out := Review{Only: r.in.Only, Base: r.in.Subject.Base, Tree: r.in.Subject.Tree, Changed: r.diff.changed,
		Author: r.in.Author}
	again := false
	l := r.in.Ledger
	if l != nil {
		out.Round, again = l.round(out.Base, out.Tree)
		out.Fixed = l.enter(r, out.Round)
	} else {
		seen := places{}
		for i := range r.passes {
			r.passes[i].sort()
			for j, f := range r.passes[i].Findings {
				r.passes[i].Findings[j].ID = seen.name(f, cmp.Or(f.Citation, r.diff.line(f.Path, f.Line)))
			}
		}
	}
	facts := Facts{Programs: r.in.Programs, SelfFix: strings.TrimSpace(r.in.Feedback) != "" && r.wanted(Feedback)}
	calls := 0
	for i := range r.passes {
		p := &r.passes[i]
		p.settle()
		p.sort()
		calls += len(p.Calls)
		reviewer, _ := choose(r.in.Reviewers, p.Number, r.in.Author)
		_, same := independence(reviewer, r.in.Author)
		left := !r.wanted(p.Number) || p.Number == Feedback && !facts.SelfFix
		facts.Passes = append(facts.Passes, p.standing(same, left))
	}
	if l != nil {
		out.Open = l.blocking(r.passes)
		facts.Open = len(out.Open)
	}
	out.Verdict, out.ConfidencePct, out.Reasons = Weigh(facts)
	out.Confidence = float64(out.ConfidencePct) / 100
	out.Arithmetic, out.Passes = facts.Passes, r.passes
	if l != nil && len(r.in.Only) == 0 { // a partial review is not a round
		round := Round{Round: out.Round, Base: out.Base, Tree: out.Tree, Verdict: out.Verdict,
			ConfidencePct: out.ConfidencePct, Calls: calls}
		if again {
			l.Rounds = l.Rounds[:len(l.Rounds)-1]
		}
		l.Rounds = append(l.Rounds, round)
		l.trim()
	}
	return out
}
