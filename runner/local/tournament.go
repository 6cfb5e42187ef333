package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/sampling"
)

// Sampling is how tournaments are held.
type Sampling struct {
	Settings sampling.Settings
	Options  sampling.Options
	Scorer   sampling.Scorer
	Flags    sampling.Flags
	Outcomes sampling.Store // what earlier tournaments taught
	Tokens   int            // budget of a synthesis brief
}

// round is what the journal knows of the tournament of one attempt.
type round struct {
	trigger  sampling.Trigger
	slots    []runner.Slot
	executed map[int]runner.Event
	gated    map[int]runner.Event
	second   bool // the first round gave no clear winner
	failure  runner.Event
}

// roundOf reads the journal.
func (w *work) roundOf(ctx context.Context, c runner.Command) (round, error) {
	r := round{executed: map[int]runner.Event{}, gated: map[int]runner.Event{}}
	for ev, err := range events(ctx, w.Journal, w.run, 0) {
		if err != nil {
			return r, err
		}
		if ev.Batch != c.Batch {
			continue
		}
		if ev.Seq == c.After {
			r.failure = ev
		}
		if ev.Attempt != c.Attempt || !says(ev.Outcome) {
			continue
		}
		switch ev.Kind {
		case runner.Sampled:
			r.slots, r.trigger = ev.Slots, sampling.Trigger(ev.Variant)
		case runner.Executed:
			r.executed[ev.Candidate] = ev
		case runner.Gated:
			r.gated[ev.Candidate] = ev
		case runner.Judged:
			r.second = r.second || ev.Outcome == runner.OutcomeUndecided
		}
	}
	return r, nil
}

// says tells whether an outcome says anything of the code. Work that was stopped, or that waits for something, is done
// again.
func says(o runner.Outcome) bool {
	switch o {
	case runner.OutcomeCancelled, runner.OutcomeError, runner.OutcomeUnstarted, runner.OutcomeLimited, runner.OutcomeHuman:
		return false
	}
	return true
}

// Sample says which candidates are to compete for a batch, or why none are (SAMP-01, SAMP-11, SAMP-14).
func (w *work) Sample(ctx context.Context, c runner.Command, _ runner.Progress) (runner.Event, error) {
	e := runner.Event{}
	b, err := w.batch(c)
	if err != nil {
		return e, err
	}
	r, err := w.roundOf(ctx, c)
	if err != nil {
		return e, err
	}
	req := sampling.Request{
		Batch: b.Number, Critical: b.Critical || w.Plan.Header.Critical, Attempt: c.Attempt,
		Flags: w.Sampling.Flags, Settings: w.Sampling.Settings, Escalate: w.info.Escalate, Literal: literal(w.Agent),
		Team: w.info.Workers > 1, Workers: w.info.Workers,
	}
	if c.After > 0 {
		req.Failure = &sampling.Failure{Outcome: string(r.failure.Outcome), Reason: r.failure.Reason}
	}
	if memory, err := w.Memory(); err == nil {
		req.Memory = &memory
	}
	if usual := w.expected(c.Batch); usual > 0 {
		req.Time = &usual
	}
	req.Cost = w.usualCost(ctx)
	plan, err := sampling.Plan(req)
	if err != nil {
		return e, err
	}
	e.Reason = strings.Join(slices.DeleteFunc(append(slices.Clone(plan.Reasons), plan.Cost, plan.Time), func(s string) bool { return s == "" }), "; ")
	switch plan.Action {
	case sampling.GiveUp:
		e.Outcome = runner.OutcomeFailed
		return e, nil
	case sampling.Sample:
	default:
		e.Outcome = runner.OutcomeRefused
		return e, nil
	}
	history, err := w.Sampling.Outcomes.Read()
	if err != nil {
		w.Note("what earlier tournaments taught cannot be read, so nothing is learned from it: " + err.Error())
	}
	ask := sampling.Ask{BatchType: string(planparse.TypeOf(*b)), Count: plan.N, Digest: c.After > 0}
	for _, s := range sampling.Allocate(ask, history, sampling.Rand(w.info.Seed, fmt.Sprintf("%s/%d", c.Batch, c.Attempt)), w.Sampling.Options) {
		e.Slots = append(e.Slots, runner.Slot{Number: s.Number, Variant: s.Variant.Name, Kind: string(s.Kind), Digest: s.Digest, Why: s.Why})
	}
	e.Outcome, e.AtOnce, e.Variant = runner.OutcomeOK, plan.AtOnce, string(plan.Trigger)
	return e, nil
}

// expected is how long a batch is likely to take, 0 while nobody knows.
func (w *work) expected(key string) time.Duration {
	i := slices.IndexFunc(w.info.Batches, func(b runner.BatchInfo) bool { return b.Key == key })
	if i < 0 {
		return 0
	}
	return time.Duration(w.info.Batches[i].ExpectMS) * time.Millisecond
}

// usualCost is the median of what attempts of this run have cost so far, nil while nobody knows.
func (w *work) usualCost(ctx context.Context) *float64 {
	var known []float64
	for ev, err := range events(ctx, w.Journal, w.run, 0) {
		if err != nil {
			return nil
		}
		if ev.Kind == runner.Executed && ev.Usage != nil && ev.Usage.CostUSD != nil {
			known = append(known, *ev.Usage.CostUSD)
		}
	}
	if len(known) == 0 {
		return nil
	}
	slices.Sort(known)
	return &known[len(known)/2]
}

// Judge compares the candidates of a tournament: who won, or that nobody clearly did (SAMP-05 to SAMP-09).
func (w *work) Judge(ctx context.Context, c runner.Command, _ runner.Progress) (runner.Event, error) {
	e := runner.Event{Base: c.Base}
	b, err := w.batch(c)
	if err != nil {
		return e, err
	}
	r, err := w.roundOf(ctx, c)
	if err != nil {
		return e, err
	}
	var cands []sampling.Candidate
	for _, s := range r.slots {
		cand, err := w.measured(ctx, c.Base, s, r)
		if err != nil {
			return e, err
		}
		cands = append(cands, cand)
		if err := w.keepCandidate(ctx, c, s.Number, r); err != nil {
			return e, err
		}
	}
	held := sampling.Held{
		BatchType: string(planparse.TypeOf(*b)), Run: w.run, Batch: c.Batch, Attempt: c.Attempt, Trigger: r.trigger, Seed: w.info.Seed,
		Tier: r.tier(), Agent: w.Agent.Name(), At: w.Now(), Round1: cands,
	}
	held.Decision = sampling.Decide(cands, w.Sampling.Options)
	held.Final = held.Decision
	if r.second {
		synthesis, err := w.measured(ctx, c.Base, runner.Slot{Number: len(r.slots) + 1, Variant: runner.SynthesisVariant, Kind: runner.SynthesisVariant}, r)
		if err != nil {
			return e, err
		}
		if err := w.keepCandidate(ctx, c, synthesis.Number, r); err != nil {
			return e, err
		}
		held.Synthesis, held.Final = &synthesis, sampling.AfterSynthesis(held.Decision, synthesis)
		cands = append(cands, synthesis)
	}
	for _, cand := range cands {
		e.Scores = append(e.Scores, w.scored(cand))
	}
	e.Candidate, e.Reason = held.Final.Leader, strings.Join(held.Final.Reasons, "; ")
	switch held.Final.Next {
	case sampling.Use:
		e.Outcome = runner.OutcomeOK
		e.Tree = r.executed[e.Candidate].Tree
		w.inherit(c, e.Candidate)
	case sampling.Synthesize:
		e.Outcome = runner.OutcomeUndecided
		return e, nil
	default:
		e.Outcome = runner.OutcomeFailed
		if err := w.lastWord(c, &e, r); err != nil {
			return e, err
		}
	}
	if err := w.Sampling.Outcomes.Append(held.Outcomes()...); err != nil {
		w.Note("the outcome of the tournament could not be kept, so nothing will be learned from it: " + err.Error())
	}
	return e, nil
}

// tier is the tier that the candidates were made on.
func (r *round) tier() string {
	for _, ev := range r.executed {
		return ev.Tier
	}
	return ""
}

// lastWord gives the end of a tournament that nobody won what was said of the candidate that failed last, and its
// changes: the next attempt, should somebody ask for one, is told of them as of any failed attempt.
func (w *work) lastWord(c runner.Command, e *runner.Event, r round) error {
	for n := len(r.slots) + 1; n > 0; n-- {
		for _, ev := range []runner.Event{r.gated[n], r.executed[n]} {
			if len(ev.Reports) == 0 || ev.Outcome == runner.OutcomeOK {
				continue
			}
			e.Reports, e.Fingerprint, e.Tree = ev.Reports, ev.Fingerprint, r.executed[n].Tree
			patch, err := os.ReadFile(filepath.Join(w.candidateDir(c, n), patchName))
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil {
				err = writeFile(filepath.Join(w.attemptDir(runner.Command{Batch: c.Batch, Attempt: c.Attempt}), patchName), patch)
			}
			return err
		}
	}
	return nil
}

// candidateDir is where the logs of a candidate lie.
func (w *work) candidateDir(c runner.Command, number int) string {
	c.Slot = &runner.Slot{Number: number}
	return w.attemptDir(c)
}

// keepCandidate keeps what a candidate changed (SAMP-19), whether it passed or not: a synthesis reads it, and so does
// whoever wants to learn from what lost. Its worktree does not stay.
func (w *work) keepCandidate(ctx context.Context, c runner.Command, number int, r round) error {
	tree := r.executed[number].Tree
	if tree == "" {
		return nil
	}
	out, err := w.Repo.Run(ctx, "diff", "--binary", "--no-renames", "--no-ext-diff", "--no-color", c.Base, tree)
	if err == nil && out != "" {
		err = writeFile(filepath.Join(w.candidateDir(c, number), patchName), []byte(out+"\n"))
	}
	if err != nil {
		return fmt.Errorf("keep the changes of candidate %d of batch %s: %w", number, c.Batch, err)
	}
	return nil
}

// inherit lets the batch have what was seen outside of the winner's workspace, should gates look at its change again.
func (w *work) inherit(c runner.Command, number int) {
	w.sights.Delete(c.Batch)
	place := c
	place.Slot = &runner.Slot{Number: number}
	if seen, ok := w.sights.Load(place.Place()); ok {
		w.sights.Store(c.Batch, seen)
	}
}

// candidateBranch matches the branches that candidates are worked on, and in it that of their batch.
var candidateBranch = regexp.MustCompile(`^(.+)\.c[0-9]+$`)

// measured takes the measure of one candidate.
func (w *work) measured(ctx context.Context, base string, s runner.Slot, r round) (sampling.Candidate, error) {
	variant, _ := sampling.Named(s.Variant)
	variant.Name = cmp.Or(variant.Name, s.Variant)
	out := sampling.Candidate{Number: s.Number, Slot: sampling.Slot{Number: s.Number, Variant: variant, Kind: sampling.Kind(s.Kind), Digest: s.Digest, Why: s.Why}}
	made, done := r.executed[s.Number]
	checked, gated := r.gated[s.Number]
	if !done || made.Outcome == runner.OutcomeOK && !gated {
		out.Void = "it was called off, as another one had passed"
		return out, nil
	}
	out.Tree = made.Tree
	m := &out.Measure
	m.Passed = gated && checked.Outcome == runner.OutcomeOK
	if checked.Tests != nil {
		m.Tests = checked.Tests.Passed
	} else {
		m.Unknown = append(m.Unknown, "tests")
	}
	countFindings(m, checked.Reports)
	var err error
	if made.Tree != "" {
		m.DiffLines, err = w.diffLines(ctx, base, made.Tree)
	}
	if err != nil {
		return out, err
	}
	out.Score, err = w.Sampling.Scorer.Score(*m)
	if !m.Passed {
		out.Score = 0
	}
	return out, err
}

// countFindings sorts findings into those of lesson rules, of structural patterns, and of all others. A gate that
// did not look has counted nothing, which is not none.
func countFindings(m *sampling.Measure, reports []gates.Report) {
	looked := map[string]bool{}
	for _, r := range reports {
		if r.Status == gates.Skipped {
			continue
		}
		switch r.Gate {
		case "lessons":
			looked["lessons"] = true
			m.LessonViolations += len(r.Findings)
		case "patterns":
			looked["ast"] = true
			m.ASTViolations += len(r.Findings)
		default:
			if r.Tests == nil {
				looked["lint"] = true
				m.LintWarnings += len(r.Findings)
			}
		}
	}
	for _, name := range []string{"lint", "lessons", "ast"} {
		if !looked[name] {
			m.Unknown = append(m.Unknown, name)
		}
	}
}

// diffLines counts the lines that were added and removed.
func (w *work) diffLines(ctx context.Context, base, tree string) (int, error) {
	out, err := w.Repo.Run(ctx, "diff", "--numstat", "--no-renames", base, tree)
	if err != nil {
		return 0, fmt.Errorf("measure a candidate: %w", err)
	}
	n := 0
	for line := range strings.Lines(out) {
		var added, removed int
		if _, err := fmt.Sscanf(line, "%d\t%d", &added, &removed); err != nil {
			added = 1 // a file that has no lines
		}
		n += added + removed
	}
	return n, nil
}

func (w *work) scored(c sampling.Candidate) runner.CandScore {
	s := runner.CandScore{Candidate: c.Number, Variant: c.Slot.Variant.Name, Passed: c.Measure.Passed && c.Void == "", Score: c.Score, Void: c.Void}
	if c.Void == "" {
		for _, t := range w.Sampling.Scorer.Explain(c.Measure) {
			s.Terms = append(s.Terms, runner.ScoreTerm{Name: t.Name, Value: t.Value, Points: t.Points})
		}
	}
	return s
}

// variantOf gives the brief of a candidate what its variant asks for, and says what the variant is called.
func (w *work) variantOf(ctx context.Context, c runner.Command, brief string) (text, name string, err error) {
	if c.Slot == nil {
		return brief, "", nil
	}
	if c.Slot.Variant == runner.SynthesisVariant {
		text, err := w.synthesis(ctx, c)
		return text + "\n" + brief, c.Slot.Variant, err
	}
	v, ok := sampling.Named(c.Slot.Variant)
	if !ok {
		return "", "", fmt.Errorf("batch %s: candidate %d: there is no variant %q", c.Batch, c.Slot.Number, c.Slot.Variant)
	}
	if v.Prompt == "" {
		return brief, v.Name, nil
	}
	return brief + "\n## How to go about it\n\n" + v.Prompt + "\n", v.Name, nil
}

// withoutBatch leaves out what the lines of the progress tell of a batch. Candidates know nothing of each other, whether
// they are made at the same time or one after the other; one that is to know of the last failure has its digest.
func withoutBatch(lines []string, b *planparse.Batch) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return strings.Contains(line, fmt.Sprintf(" batch %s (", b.Number))
	})
}

// synthesis writes what the candidate of the second round is told of the others (SAMP-08).
func (w *work) synthesis(ctx context.Context, c runner.Command) (string, error) {
	b, err := w.batch(c)
	if err != nil {
		return "", err
	}
	r, err := w.roundOf(ctx, c)
	if err != nil {
		return "", err
	}
	in := sampling.SynthesisInput{Batch: b.Number, Tokens: w.Sampling.Tokens}
	var cands []sampling.Candidate
	for _, s := range r.slots {
		cand, err := w.measured(ctx, c.Base, s, r)
		if err != nil {
			return "", err
		}
		cands = append(cands, cand)
		in.Attempts = append(in.Attempts, w.attemptOf(ctx, c, cand, r))
	}
	in.Decision = sampling.Decide(cands, w.Sampling.Options)
	return sampling.Brief(in)
}

// attemptOf is one candidate as the synthesis gets to see it.
func (w *work) attemptOf(ctx context.Context, c runner.Command, cand sampling.Candidate, r round) sampling.Attempt {
	a := sampling.Attempt{Candidate: cand}
	if cand.Void != "" {
		return a
	}
	a.Terms = w.Sampling.Scorer.Explain(cand.Measure)
	ev := r.executed[cand.Number]
	if g, ok := r.gated[cand.Number]; ok {
		ev = g
	}
	for _, rep := range ev.Reports {
		if rep.Status == gates.Fail {
			a.FailedGates = append(a.FailedGates, rep.Gate)
		}
		for _, f := range rep.Findings {
			if rep.Tests != nil && f.Severity == gates.Error {
				a.Failing = append(a.Failing, cmp.Or(f.Rule, f.Message))
			}
		}
	}
	a.Digest = gates.Digest(gates.Verdict{Reports: ev.Reports}, digestBytes)
	if tree := r.executed[cand.Number].Tree; tree != "" {
		if out, err := w.Repo.Run(ctx, "diff", "--name-only", "-z", "--no-renames", c.Base, tree); err == nil {
			a.Files = strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
		}
	}
	if patch, err := os.ReadFile(filepath.Join(w.candidateDir(c, cand.Number), patchName)); err == nil {
		a.Diff = w.redact.String(string(patch))
	}
	return a
}
