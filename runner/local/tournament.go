package local

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/sampling"
)

// Sampling configures tournaments.
type Sampling struct {
	Settings sampling.Settings
	Options  sampling.Options
	Scorer   sampling.Scorer
	Flags    sampling.Flags
	Outcomes sampling.Store // results of earlier tournaments
	Tokens   int            // token budget of a synthesis brief
	HoldOut  int            // percent of the tests of a first writer that the writers of the code do not see
}

// round is the state of one attempt's tournament, from the journal.
type round struct {
	trigger  sampling.Trigger
	slots    []runner.Slot
	executed map[int]runner.Event
	gated    map[int]runner.Event
	second   bool // the first round had no clear winner
	failure  runner.Event
	first    runner.Event // the last attempt before the tournament whose code reached the gates
}

// roundOf reads a round from the journal.
func (w *work) roundOf(ctx context.Context, c runner.Command) (round, error) {
	r := round{executed: map[int]runner.Event{}, gated: map[int]runner.Event{}}
	for ev, err := range journal.Events(ctx, w.Journal, w.run, 0) {
		if err != nil {
			return r, err
		}
		if ev.Batch != c.Batch {
			continue
		}
		if ev.Seq == c.After {
			r.failure = ev
		}
		if ev.Attempt < c.Attempt && ev.Kind == runner.Gated && ev.Tree != "" {
			r.first = ev
		}
		if ev.Attempt != c.Attempt || !ev.Outcome.Tells() {
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

// Sample chooses the candidates of a batch's tournament, or returns why there is no tournament (SAMP-01, SAMP-11,
// SAMP-14).
func (w *work) Sample(ctx context.Context, c runner.Command, _ runner.Progress) (runner.Event, error) {
	e := runner.Event{}
	b := w.batch(c)
	r, err := w.roundOf(ctx, c)
	if err != nil {
		return e, err
	}
	req := sampling.Request{
		Batch: b.Called(), Critical: b.Critical || w.Plan.Header.Critical, Attempt: c.Attempt,
		Flags: w.Sampling.Flags, Settings: w.Sampling.Settings, Escalate: w.info.Escalate, Literal: literal(w.Agent),
		Team: w.info.AtOnce() > 1, Workers: w.info.AtOnce(),
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
	why := slices.Clone(plan.Reasons)
	if plan.Action != sampling.Sample && plan.Trigger != "" && len(why) > 1 {
		why[0], _, _ = strings.Cut(why[0], ": ") // keep the trigger, drop the number of candidates
	}
	e.Reason = strings.Join(slices.DeleteFunc(append(why, plan.Cost, plan.Time), func(s string) bool { return s == "" }),
		"; ")
	if plan.Action != sampling.Sample {
		e.Outcome = runner.OutcomeRefused
		return e, nil
	}
	history, err := w.Sampling.Outcomes.Read()
	if err != nil {
		w.Note("the results of earlier tournaments are unreadable, so they are ignored: " + err.Error())
	}
	ask := sampling.Ask{BatchType: string(planparse.TypeOf(*b)), Count: plan.N, Digest: c.After > 0}
	for _, s := range sampling.Allocate(ask, history, sampling.Rand(w.info.Seed, fmt.Sprintf("%s/%d", c.Batch, c.Attempt)),
		w.Sampling.Options) {
		e.Slots = append(e.Slots,
			runner.Slot{Number: s.Number, Variant: s.Variant.Name, Kind: string(s.Kind), Digest: s.Digest, Why: s.Why})
	}
	e.Outcome, e.AtOnce, e.Variant = runner.OutcomeOK, plan.AtOnce, string(plan.Trigger)
	return e, nil
}

// expected returns the expected duration of a batch, 0 if unknown.
func (w *work) expected(key string) time.Duration {
	i := slices.IndexFunc(w.info.Batches, func(b runner.BatchInfo) bool { return b.Key == key })
	if i < 0 {
		return 0
	}
	return time.Duration(w.info.Batches[i].ExpectMS) * time.Millisecond
}

// usualCost returns the median cost of this run's attempts, nil if unknown.
func (w *work) usualCost(ctx context.Context) *float64 {
	var known []float64
	for ev, err := range journal.Events(ctx, w.Journal, w.run, 0) {
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
	return new(lists.Median(known))
}

// Judge compares the candidates of a tournament: it names the winner, or says that there is no clear one (SAMP-05
// to SAMP-09).
func (w *work) Judge(ctx context.Context, c runner.Command, _ runner.Progress) (runner.Event, error) {
	e := runner.Event{Base: c.Base}
	b := w.batch(c)
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
	if !w.Sampling.Options.StopAtFirst {
		if err := w.cross(ctx, c, cands, r.first); err != nil {
			return e, err
		}
	}
	held := sampling.Held{
		BatchType: string(planparse.TypeOf(*b)), Run: w.run, Batch: c.Batch, Attempt: c.Attempt, Trigger: r.trigger,
		Seed: w.info.Seed, Tier: r.tier(), Agent: r.agent(w.Agent.Name()), At: w.Now(), Round1: cands,
	}
	held.Decision = sampling.Decide(cands, w.Sampling.Options)
	held.Final = held.Decision
	if r.second {
		synthesis, err := w.measured(ctx, c.Base,
			runner.Slot{Number: len(r.slots) + 1, Variant: runner.SynthesisVariant, Kind: runner.SynthesisVariant}, r)
		if err != nil {
			return e, err
		}
		if err := w.keepCandidate(ctx, c, synthesis.Number, r); err != nil {
			return e, err
		}
		held.Synthesis, held.Final = &synthesis, sampling.AfterSynthesis(held.Decision, synthesis)
		cands = append(cands, synthesis)
	} else if barren, err := w.barren(ctx, c.Base, r); err != nil {
		return e, err
	} else if barren && held.Decision.Next == sampling.Synthesize {
		held.Final = sampling.Decision{Next: sampling.Fail, Passers: held.Decision.Passers,
			Reasons: []string{"no candidate made a change, so no synthesis is possible"}}
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
		if fates := r.fates(); fates != "" && len(r.gated) == 0 && r.second {
			e.Reason = "no candidate reached the gates: " + fates // no gate was responsible
		} else if fates != "" {
			e.Reason += ": " + fates
		}
		if err := w.lastWord(c, &e, r); err != nil {
			return e, err
		}
	}
	if err := w.Sampling.Outcomes.Append(held.Outcomes()...); err != nil {
		w.Note("the outcome of the tournament could not be stored, so later runs cannot use it: " + err.Error())
	}
	return e, nil
}

// barren reports whether no candidate of the round left a change that a synthesis could use. For a candidate without a
// result this is unknown, so barren is false.
func (w *work) barren(ctx context.Context, base string, r round) (bool, error) {
	below, err := w.Repo.TreeOf(ctx, base)
	if err != nil {
		return false, fmt.Errorf("read the changes of the candidates: %w", err)
	}
	for _, s := range r.slots {
		made, done := r.executed[s.Number]
		if !done || made.Tree != "" && made.Tree != below {
			return false, nil
		}
	}
	return true, nil
}

const mostFate = 200

// fates lists the failures of the candidates. For a candidate that reached the gates, it gives the failed gate and
// the first finding. The synthesis comes first, because it was the last to run. Equal failures appear once.
func (r *round) fates() string {
	var reasons []string
	who := map[string][]string{}
	numbers := slices.Sorted(maps.Keys(r.executed))
	if n := len(numbers) - 1; n >= 0 && numbers[n] > len(r.slots) {
		numbers = append(numbers[n:], numbers[:n]...)
	}
	for _, n := range numbers {
		ev, name := r.executed[n], fmt.Sprintf("c%d", n)
		if g, ok := r.gated[n]; ok {
			ev = g
		}
		if ev.Outcome == runner.OutcomeOK {
			continue
		}
		if n > len(r.slots) {
			name = "synthesis"
		}
		why := phrase.Cut(cmp.Or(ev.Reason, string(ev.Outcome)), mostFate)
		if who[why] == nil {
			reasons = append(reasons, why)
		}
		who[why] = append(who[why], name)
	}
	for i, why := range reasons {
		reasons[i] = strings.Join(who[why], ", ") + " " + why
	}
	return strings.Join(reasons, "; ")
}

// agent returns the names of the agents that made the candidates.
func (r *round) agent(otherwise string) string {
	var names []string
	for _, n := range slices.Sorted(maps.Keys(r.executed)) {
		if name := r.executed[n].Agent; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), otherwise)
}

func (r *round) tier() string {
	for _, ev := range r.executed {
		return ev.Tier
	}
	return ""
}

// variantOf adds the instructions of a variant to a candidate's brief, and returns the name of the variant.
func (w *work) variantOf(ctx context.Context, c runner.Command, brief agents.Brief) (_ agents.Brief, name string,
	err error) {
	if c.Slot == nil {
		return brief, "", nil
	}
	if c.Slot.Variant == runner.SynthesisVariant {
		text, err := w.synthesis(ctx, c)
		brief.Head = text + "\n" + brief.Head
		return brief, c.Slot.Variant, err
	}
	v, ok := sampling.Named(c.Slot.Variant)
	if !ok {
		return brief, "", fmt.Errorf("batch %s: candidate %d: unknown variant %q", c.Batch, c.Slot.Number, c.Slot.Variant)
	}
	if v.Prompt != "" {
		brief.Task += "\n## How to go about it\n\n" + v.Prompt + "\n"
	}
	return brief, v.Name, nil
}

// withoutBatch removes a batch's lines from the progress. Candidates must not know about each other. A candidate that
// should know the last failure gets the digest.
func withoutBatch(lines []string, b *planparse.Batch) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return strings.Contains(line, fmt.Sprintf(" batch %s (", b.Number))
	})
}

// synthesis writes the text about the other candidates for the candidate of round 2 (SAMP-08).
func (w *work) synthesis(ctx context.Context, c runner.Command) (string, error) {
	b := w.batch(c)
	r, err := w.roundOf(ctx, c)
	if err != nil {
		return "", err
	}
	in := sampling.SynthesisInput{Batch: b.Called(), Tokens: w.Sampling.Tokens}
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

// attemptOf returns the description of a candidate for the synthesis.
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
				a.Failing = append(a.Failing, cmp.Or(f.Test, f.Message))
			}
		}
	}
	a.Digest = w.redact.String(gates.Digest(gates.Verdict{Reports: ev.Reports}, digestBytes))
	if tree := r.executed[cand.Number].Tree; tree != "" {
		if out, err := w.Repo.Run(ctx, "diff", "--name-only", "-z", "--no-renames", c.Base, tree); err == nil {
			a.Files = strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
		}
	}
	if patch, err := os.ReadFile(filepath.Join(w.candidateDir(c, cand.Number), journal.PatchFile)); err == nil {
		a.Diff = w.redact.String(string(patch))
	}
	return a
}
