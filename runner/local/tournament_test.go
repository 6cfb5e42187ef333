package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/sampling"
)

// someAgent has a name and never runs.
type someAgent struct{ agents.Agent }

func (someAgent) Name() string { return "some" }

// tournament is a tournament of batch 1 in the journal, to which tests add events.
type tournament struct {
	*bench
	seq   int
	judge runner.Command
}

func newTournament(t *testing.T, variants ...string) *tournament {
	t.Helper()
	c := &tournament{bench: newBench(t)}
	text := []byte("# p\n\n## Batch 1: a word\n\n- Create: `word.txt`\n")
	var err error
	if c.Plan, err = planparse.Parse("plan.md", text); err != nil {
		t.Fatal(err)
	}
	if c.Journal, err = store.OpenJournal(t.Context(), c.Layout.Journal()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Journal.Close() })
	c.Agent = someAgent{}
	c.Sampling = Sampling{Options: sampling.DefaultOptions(), Outcomes: sampling.Store{Path: c.Layout.SamplingOutcomes()},
		Tokens: 4000}
	records, err := encode([]runner.Event{c.stamp(runner.Event{Kind: runner.RunStarted})})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Journal.AddRun(t.Context(),
		store.Run{ID: c.run, Slug: "p", Plan: "plan.md", PlanText: text, Started: time.Now()}, records...); err != nil {
		t.Fatal(err)
	}
	sampled := runner.Event{Kind: runner.Sampled, Outcome: runner.OutcomeOK, Variant: string(sampling.OnFlag)}
	for i, v := range variants {
		sampled.Slots = append(sampled.Slots, runner.Slot{Number: i + 1, Variant: v})
	}
	c.happened(sampled)
	c.judge = runner.Command{ID: "1/r1-c2/judge", Kind: runner.Judge, Batch: "1", Attempt: 1, Base: c.base}
	return c
}

func (c *tournament) stamp(e runner.Event) runner.Event {
	c.seq++
	e.Seq, e.Run, e.At = c.seq, c.run, time.Now()
	if e.Kind != runner.RunStarted {
		e.Batch, e.Attempt = "1", 1
	}
	return e
}

func (c *tournament) happened(events ...runner.Event) {
	c.t.Helper()
	for i := range events {
		events[i] = c.stamp(events[i])
	}
	records, err := encode(events)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.Journal.Append(c.t.Context(), records...); err != nil {
		c.t.Fatal(err)
	}
}

// made records that a candidate wrote text to word.txt, and the result of its gates.
func (c *tournament) made(number int, text string, said runner.Outcome) {
	c.t.Helper()
	_, tree := c.change("1.c"+string(rune('0'+number)), c.base, "word.txt", text)
	c.happened(runner.Event{Kind: runner.Executed, Candidate: number, Outcome: runner.OutcomeOK, Tree: tree})
	g := runner.Event{Kind: runner.Gated, Candidate: number, Outcome: said, Tree: tree}
	if said == runner.OutcomeFailed {
		g.Reason = "words failed: candidate " + strings.TrimSpace(text)
		g.Reports = []gates.Report{
			{Gate: "lessons", Status: gates.Pass, Output: "nothing"},
			{Gate: "words", Status: gates.Fail,
				Findings: []gates.Finding{{Message: "candidate " + text, Severity: gates.Error}}},
		}
	}
	c.happened(g)
}

func (c *tournament) judged() runner.Event {
	c.t.Helper()
	e, err := c.Judge(c.t.Context(), c.judge, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return e
}

func (c *tournament) outcomes() []sampling.Outcome {
	c.t.Helper()
	out, err := c.Sampling.Outcomes.Read()
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func TestJudgeRepeatsDecision(t *testing.T) {
	c := newTournament(t, sampling.Vanilla, sampling.MinimalChange)
	c.made(1, "wrong\n", runner.OutcomeFailed)
	c.made(2, "right\n", runner.OutcomeOK)
	first := c.judged()
	if first.Outcome != runner.OutcomeOK || first.Candidate != 2 {
		t.Fatalf("%s, candidate %d: %s", first.Outcome, first.Candidate, first.Reason)
	}
	if diff := cmp.Diff(first, c.judged()); diff != "" {
		t.Errorf("asked again (-first +second):\n%s", diff)
	}
	if n := len(c.outcomes()); n != 2 {
		t.Errorf("%d outcomes are kept of 2 candidates", n)
	}
}

// A cancelled judge command is not a decision that the round has no winner.
func TestCancelledJudgeStartsAgain(t *testing.T) {
	c := newTournament(t, sampling.Vanilla, sampling.MinimalChange)
	c.made(1, "wrong\n", runner.OutcomeFailed)
	c.made(2, "bad\n", runner.OutcomeFailed)
	c.happened(runner.Event{Kind: runner.Judged, Outcome: runner.OutcomeCancelled})
	if e := c.judged(); e.Outcome != runner.OutcomeUndecided {
		t.Errorf("%s: %s", e.Outcome, e.Reason)
	}
	if n := len(c.outcomes()); n != 0 {
		t.Errorf("%d outcomes are kept of a tournament that goes on", n)
	}
}

// A candidate that was cancelled or waits for something has no verdict and has not lost.
func TestJudgeIgnoresCandidatesWithoutVerdict(t *testing.T) {
	for _, o := range []runner.Outcome{runner.OutcomeCancelled, runner.OutcomeError, runner.OutcomeUnstarted,
		runner.OutcomeLimited, runner.OutcomeHuman} {
		c := newTournament(t, sampling.Vanilla, sampling.MinimalChange)
		c.happened(runner.Event{Kind: runner.Executed, Candidate: 1, Outcome: o})
		c.made(2, "right\n", runner.OutcomeOK)
		if e := c.judged(); e.Scores[0].Void == "" || e.Scores[0].Passed {
			t.Errorf("%s: %+v", o, e.Scores[0])
		}
		if out := c.outcomes(); len(out) != 1 || out[0].Candidate != 2 {
			t.Errorf("%s: outcomes %+v", o, out)
		}
	}
}

func TestJudgeStoresCandidatePatches(t *testing.T) {
	c := newTournament(t, sampling.Vanilla, sampling.MinimalChange)
	c.made(1, "right\n", runner.OutcomeOK)
	c.made(2, "wrong\n", runner.OutcomeFailed)
	c.judged()
	for n, want := range map[int]string{1: "+right\n", 2: "+wrong\n"} {
		patch, err := os.ReadFile(filepath.Join(c.candidateDir(c.judge, n), journal.PatchFile))
		if err != nil || !strings.Contains(string(patch), want) {
			t.Errorf("candidate %d: %v\n%s", n, err, patch)
		}
	}
}

func TestLostTournamentReportsLastFailure(t *testing.T) {
	c := newTournament(t, sampling.Vanilla, sampling.MinimalChange)
	c.made(1, "wrong\n", runner.OutcomeFailed)
	c.made(2, "bad\n", runner.OutcomeFailed)
	c.happened(runner.Event{Kind: runner.Judged, Outcome: runner.OutcomeUndecided})
	c.made(3, "worse\n", runner.OutcomeFailed)
	e := c.judged()
	if e.Outcome != runner.OutcomeFailed || e.Candidate != 0 {
		t.Fatalf("%s, candidate %d: %s", e.Outcome, e.Candidate, e.Reason)
	}
	digest := gates.Digest(gates.Verdict{Reports: e.Reports}, 4<<10)
	if !strings.Contains(digest, "candidate worse") || strings.Contains(digest, "candidate bad") {
		t.Errorf("digest:\n%s", digest)
	}
	patch, err := os.ReadFile(filepath.Join(c.Layout.Attempt(c.run, "1", 1), journal.PatchFile))
	if err != nil || !strings.Contains(string(patch), "+worse\n") {
		t.Errorf("patch: %v\n%s", err, patch)
	}
	if out := c.outcomes(); len(out) != 3 || out[2].Round != 2 || out[2].Won {
		t.Errorf("outcomes %+v", out)
	}
}

// A score lists each measure as unknown if no gate checked it.
func TestScoreMarksUncheckedMeasuresUnknown(t *testing.T) {
	var m sampling.Measure
	countFindings(&m, []gates.Report{
		{Gate: "words", Status: gates.Warn, Findings: make([]gates.Finding, 3)},
		{Gate: "lessons", Status: gates.Pass, Findings: make([]gates.Finding, 2)},
		{Gate: "patterns", Status: gates.Skipped},
		{Gate: "tests", Status: gates.Pass, Tests: &gates.TestCount{Passed: 4}, Findings: make([]gates.Finding, 9)},
	})
	if diff := cmp.Diff(sampling.Measure{LintWarnings: 3, LessonViolations: 2, Unknown: []string{"ast"}}, m); diff != "" {
		t.Error(diff)
	}
}

func TestCandidateProgressOmitsSameBatch(t *testing.T) {
	lines := []string{
		"2026-01-01 10:00:00 batch 1 (a word) attempt 1: words failed",
		"2026-01-01 10:00:01 batch 11 (others) merged as abc after 1 attempt(s)",
		"2026-01-01 10:00:02 == plan.md: run x from y, agent z",
	}
	if diff := cmp.Diff(lines[1:], withoutBatch(lines, &planparse.Batch{Number: "1"})); diff != "" {
		t.Error(diff)
	}
}

// The cost of a batch includes all its candidates, also those that were cancelled.
func TestReceiptIncludesCostOfCandidates(t *testing.T) {
	var m memory
	info := runner.Info{Slug: "p", Base: "base", LoopVersion: runner.LoopVersion, Workers: 1, MaxAttempts: 1,
		Batches: []runner.BatchInfo{{Key: "1", Number: "1", Title: "a word", Sample: 2}}}
	usd := 0.25
	for _, e := range []runner.Event{
		{Kind: runner.RunStarted, Job: &info}, {Kind: runner.Executed, Batch: "1"}, {Kind: runner.Executed, Batch: "1"},
		{Kind: runner.Spent, Batch: "1"},
	} {
		e.Usage = &agents.Usage{CostUSD: &usd}
		if err := m.add(e, true); err != nil {
			t.Fatal(err)
		}
	}
	if cost := m.summary().Batch("1").CostUSD; cost == nil || *cost != 0.75 {
		t.Errorf("cost %v", cost)
	}
}

// The branch of a candidate belongs to the branch of its batch and is removed together with it.
func TestTidyRemovesCandidateBranches(t *testing.T) {
	for name, of := range map[string]string{"runplan/p/b1.c2": "runplan/p/b1", "runplan/p/bP5.2.c12": "runplan/p/bP5.2",
		"runplan/p/b1": "", "runplan/p/b1.cx": ""} {
		got := ""
		if m := candidateBranch.FindStringSubmatch(name); m != nil {
			got = m[1]
		}
		if got != of {
			t.Errorf("%s is of %q, want %q", name, got, of)
		}
	}
}

// The synthesis also gets the changes of candidates that passed.
func TestSynthesisGetsPassingChanges(t *testing.T) {
	c := newTournament(t, sampling.Vanilla, sampling.MinimalChange)
	c.made(1, "right\n", runner.OutcomeOK)
	c.made(2, "fine\n", runner.OutcomeOK)
	if e := c.judged(); e.Outcome != runner.OutcomeUndecided || e.Candidate != 1 {
		t.Fatalf("%s, candidate %d: %s", e.Outcome, e.Candidate, e.Reason)
	}
	at := runner.Command{Batch: "1", Attempt: 1, Base: c.base,
		Slot: &runner.Slot{Number: 3, Variant: runner.SynthesisVariant}}
	brief, name, err := c.variantOf(t.Context(), at, agents.Brief{Task: "the brief"})
	if err != nil || name != runner.SynthesisVariant {
		t.Fatalf("%q: %v", name, err)
	}
	for _, want := range []string{"+right", "+fine", "the brief"} {
		if text := brief.Text(); !strings.Contains(text, want) {
			t.Errorf("%q is not in it:\n%s", want, text)
		}
	}
}

// The synthesis gets the names of the tests that fail in each candidate.
func TestSynthesisGetsFailingTests(t *testing.T) {
	c := newTournament(t, sampling.Vanilla, sampling.MinimalChange)
	for n, failing := range [][]string{{"TestOne", "TestBoth"}, {"TestBoth"}} {
		_, tree := c.change("1.c1", c.base, "word.txt", failing[0])
		r := gates.Report{Gate: "tests:go", Status: gates.Fail, Tests: &gates.TestCount{Failed: len(failing)}}
		for _, name := range failing {
			r.Findings = append(r.Findings,
				gates.Finding{Rule: "test", Test: name, Severity: gates.Error, Message: name + ": got 1"})
		}
		c.happened(runner.Event{Kind: runner.Executed, Candidate: n + 1, Outcome: runner.OutcomeOK, Tree: tree},
			runner.Event{Kind: runner.Gated, Candidate: n + 1, Outcome: runner.OutcomeFailed, Tree: tree,
				Reports: []gates.Report{r}})
	}
	at := runner.Command{Batch: "1", Attempt: 1, Base: c.base,
		Slot: &runner.Slot{Number: 3, Variant: runner.SynthesisVariant}}
	brief, _, err := c.variantOf(t.Context(), at, agents.Brief{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"avoid its cause of these failures, which fail in no other attempt: `TestOne`\n",
		"no attempt made these pass, so find another way for them: `TestBoth`\n",
	} {
		if !strings.Contains(brief.Head, want) {
			t.Errorf("%q is not in it:\n%s", want, brief.Head)
		}
	}
}

// If no candidate reached the gates, the reason names the outcomes of the agents.
func TestTournamentWithoutCandidatesNamesCause(t *testing.T) {
	c := newTournament(t, sampling.Vanilla, sampling.MinimalChange)
	_, half := c.change("1.c1", c.base, "word.txt", "half a word\n")
	c.happened(
		runner.Event{Kind: runner.Executed, Candidate: 1, Outcome: runner.OutcomeFailed, Tree: half,
			Reason: "the agent exited with status 3"},
		runner.Event{Kind: runner.Executed, Candidate: 2, Outcome: runner.OutcomeUnchanged,
			Reason: "the agent changed nothing, but the batch asks for changes"},
	)
	if e := c.judged(); e.Outcome != runner.OutcomeUndecided {
		t.Fatalf("%s: %s", e.Outcome, e.Reason)
	}
	c.happened(runner.Event{Kind: runner.Judged, Outcome: runner.OutcomeUndecided},
		runner.Event{Kind: runner.Executed, Candidate: 3, Outcome: runner.OutcomeFailed,
			Reason: "the agent exited with status 3"})
	e := c.judged()
	want := "no candidate reached the gates: synthesis, c1 the agent exited with status 3; c2 the agent changed " +
		"nothing, but the batch asks for changes"
	if e.Outcome != runner.OutcomeFailed || e.Reason != want {
		t.Errorf("%s: %s", e.Outcome, e.Reason)
	}
}

// If no candidate made a change, the tournament ends without a synthesis, so it starts no further agent.
func TestTournamentWithoutChangesSkipsSynthesis(t *testing.T) {
	c := newTournament(t, sampling.Vanilla, sampling.MinimalChange)
	below, err := c.Repo.TreeOf(t.Context(), c.base)
	if err != nil {
		t.Fatal(err)
	}
	c.happened(
		runner.Event{Kind: runner.Executed, Candidate: 1, Outcome: runner.OutcomeFailed, Tree: below,
			Reason: "the agent exited with status 1"},
		runner.Event{Kind: runner.Executed, Candidate: 2, Outcome: runner.OutcomeFailed,
			Reason: "the agent exited with status 1"},
	)
	e := c.judged()
	want := "no candidate made a change, so no synthesis is possible: c1, c2 the agent exited with status 1"
	if e.Outcome != runner.OutcomeFailed || e.Reason != want || len(e.Scores) != 2 {
		t.Errorf("%s: %s; %d scores", e.Outcome, e.Reason, len(e.Scores))
	}
}

// If candidates failed their gates, the reason says so and lists the result of each.
func TestTournamentReportsGateFailures(t *testing.T) {
	c := newTournament(t, sampling.Vanilla, sampling.MinimalChange)
	c.made(1, "wrong\n", runner.OutcomeFailed)
	c.happened(runner.Event{Kind: runner.Executed, Candidate: 2, Outcome: runner.OutcomeFailed,
		Reason: "the agent exited with status 3"},
		runner.Event{Kind: runner.Judged, Outcome: runner.OutcomeUndecided})
	c.made(3, "wrong again\n", runner.OutcomeFailed)
	want := "the synthesis failed its gates, and no candidate passed in round 1; the batch fails: " +
		"synthesis words failed: candidate wrong again; c1 words failed: candidate wrong; c2 the agent exited with status 3"
	if e := c.judged(); e.Outcome != runner.OutcomeFailed || e.Reason != want {
		t.Errorf("%s: %s", e.Outcome, e.Reason)
	}
}

// The patch of a candidate is stored for others to read, without the secrets in it.
func TestCandidatePatchHidesSecrets(t *testing.T) {
	c := newTournament(t, sampling.Vanilla, sampling.MinimalChange)
	key := "ghp_" + strings.Repeat("Ab1", 12)
	c.made(1, key+"\n", runner.OutcomeFailed)
	c.made(2, "wrong\n", runner.OutcomeFailed)
	c.judged()
	patch, err := os.ReadFile(filepath.Join(c.candidateDir(c.judge, 1), journal.PatchFile))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(patch), key) || !strings.Contains(string(patch), "+[redacted GITHUB_TOKEN]") {
		t.Errorf("the patch is\n%s", patch)
	}
	at := runner.Command{Batch: "1", Attempt: 1, Base: c.base,
		Slot: &runner.Slot{Number: 3, Variant: runner.SynthesisVariant}}
	if brief, _, err := c.variantOf(t.Context(), at, agents.Brief{}); err != nil || strings.Contains(brief.Text(), key) {
		t.Errorf("%v: the synthesis reads\n%s", err, brief.Text())
	}
}
