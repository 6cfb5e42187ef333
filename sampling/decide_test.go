package sampling

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cand returns a candidate that passed, with its score and the size of its diff.
func cand(number, score, diff int) Candidate {
	return Candidate{Number: number, Score: score, Measure: Measure{Passed: true, DiffLines: diff}}
}

func failed(number int) Candidate { return Candidate{Number: number} }

// left returns a candidate that passed and left the given tree.
func left(number, score int, tree string) Candidate {
	c := cand(number, score, 9)
	c.Tree = tree
	return c
}

func void(number int) Candidate { return Candidate{Number: number, Void: "rate limit"} }

func TestDecide(t *testing.T) {
	o := DefaultOptions()
	first := o
	first.StopAtFirst = true
	equal := o
	equal.Close = 0
	for name, c := range map[string]struct {
		cands  []Candidate
		o      Options
		next   Step
		leader int
		why    string
	}{
		"one passer wins": {[]Candidate{failed(1), cand(2, 500, 9), failed(3)}, o, Use, 2,
			"the only candidate of 3"},
		"one passer with a negative score wins": {[]Candidate{failed(1), cand(2, -700, 9), failed(3)}, o, Use, 2,
			"score -700"},
		"a failed candidate with a score does not compete": {[]Candidate{{Number: 1, Score: 99999}, cand(2, -700, 9)}, o, Use,
			2,
			"the only candidate"},
		"the highest of several wins": {[]Candidate{cand(1, 500, 9), cand(2, 900, 9), cand(3, 100, 1)}, o, Use,
			2, "candidate 2 scores 900, candidate 1 500"},
		"the highest of several negative ones wins": {[]Candidate{cand(1, -500, 9), cand(2, -100, 9)}, o, Use, 2,
			"scores -100"},
		"none passed": {[]Candidate{failed(1), failed(2), failed(3)}, o, Synthesize, 0,
			"none of 3 candidates passed its gates; a synthesis reads all 3 attempts"},
		"the only one has not passed": {[]Candidate{failed(1)}, o, Synthesize, 0,
			"the only candidate has not passed its gates; a synthesis reads its attempt"},
		"none has a verdict": {[]Candidate{void(1), void(2)}, o, Undecided, 0, "nothing to decide"},
		"no candidates":      {nil, o, Undecided, 0, "nothing to decide"},
		"none passed, one without a verdict": {[]Candidate{failed(1), void(2)}, o, Synthesize, 0,
			"candidate 2 has no verdict: rate limit"},
		"one without a verdict cannot win": {[]Candidate{{Number: 1, Score: 900, Void: "stopped",
			Measure: Measure{Passed: true}}, cand(2, 1, 1)}, o, Use, 2, "the only candidate of 2"},
		"exactly 5 % is close": {[]Candidate{cand(1, 2060, 9), cand(2, 1957, 9)}, o, Synthesize, 1,
			"the limit is 5 % of the best"},
		"one more is not": {[]Candidate{cand(1, 2060, 9), cand(2, 1956, 9)}, o, Use, 1,
			"candidate 1 scores 2060"},
		"close negatives": {[]Candidate{cand(1, -105, 9), cand(2, -100, 9)}, o, Synthesize, 2,
			"differ by 5"},
		"negatives apart": {[]Candidate{cand(1, -106, 9), cand(2, -100, 9)}, o, Use, 2, "-100"},
		"only the best two count": {[]Candidate{cand(1, 500, 9), cand(2, 900, 9), cand(3, 499, 1)}, o, Use,
			2, "900"},
		"zero and less": {[]Candidate{cand(1, 0, 9), cand(2, -1, 9)}, o, Use, 1, "scores 0"},
		"equal: the smaller diff leads": {[]Candidate{cand(1, 500, 9), cand(2, 500, 8)}, o, Synthesize, 2,
			"the smaller change leads (8 lines against 9)"},
		"equal diffs: the lower number leads": {[]Candidate{cand(2, 500, 9), cand(1, 500, 9)}, o, Synthesize, 1,
			"the lower number leads"},
		"alike: nothing to combine": {[]Candidate{left(1, 500, "x"), failed(2), left(3, 500, "x")}, o, Use, 1,
			"have the same files"},
		"two alike, and a third that is close": {[]Candidate{left(1, 500, "x"), left(2, 500, "x"), left(3, 499, "y")}, o,
			Synthesize, 1, "candidate 1 scores 500, candidate 3 499"},
		"two alike, and a third far behind": {[]Candidate{left(1, 500, "x"), left(2, 500, "x"), left(3, 100, "y")}, o,
			Use, 1, "candidate 3 100"},
		"both zero are equal": {[]Candidate{cand(1, 0, 9), cand(2, 0, 9)}, o, Synthesize, 1,
			"both score 0"},
		"without a share only equal ones are close": {[]Candidate{cand(1, 500, 9), cand(2, 499, 9)}, equal, Use, 1, "500"},
		"equal without a share": {[]Candidate{cand(1, 500, 9), cand(2, 500, 9)}, equal, Synthesize, 1,
			"the limit is 0 %"},
		"with the whole as the share": {[]Candidate{cand(1, 100, 9), cand(2, 0, 9)}, Options{Close: 1}, Synthesize, 1, ""},
		"a share above the whole counts as the whole": {[]Candidate{cand(1, 100, 9), cand(2, -1, 9)}, Options{Close: 2}, Use,
			1, ""},
		"a share below 0 counts as 0": {[]Candidate{cand(1, 500, 9), cand(2, 499, 9)}, Options{Close: -1}, Use, 1, "500"},
		"close, but the first is good enough": {[]Candidate{cand(1, 500, 9), cand(2, 501, 9)}, first, Use, 2,
			"stop_at_first"},
		"none passed, though the first would do": {[]Candidate{failed(1), failed(2)}, first, Synthesize, 0, "none of 2"},
		"the largest and the smallest score": {[]Candidate{cand(1, -math.MaxInt, 9), cand(2, math.MaxInt, 9)}, o, Use,
			2, ""},
		"the largest scores are close": {[]Candidate{cand(1, math.MaxInt, 9), cand(2, math.MaxInt-1, 9)}, o,
			Synthesize, 1, "differ by 1,"},
		"the smallest scores are close": {[]Candidate{cand(1, math.MinInt, 9), cand(2, -math.MaxInt, 9)}, o,
			Synthesize, 2, ""},
	} {
		d := Decide(c.cands, c.o)
		if d.Next != c.next || d.Leader != c.leader {
			t.Errorf("%s: %s, leader %d; want %s, leader %d", name, d.Next, d.Leader, c.next, c.leader)
		}
		if all := strings.Join(d.Reasons, "; "); !strings.Contains(all, c.why) || all == "" {
			t.Errorf("%s: the reasons are %q, want %q", name, all, c.why)
		}
	}
}

// The order of the candidates does not affect the decision.
func TestDecideIgnoresCandidateOrder(t *testing.T) {
	cands := []Candidate{cand(1, 500, 9), cand(2, 500, 9), cand(3, 480, 2), failed(4)}
	want := Decide(cands, DefaultOptions())
	if diff := cmp.Diff([]int{1, 2, 3}, want.Passers); diff != "" {
		t.Error(diff)
	}
	for range 3 {
		cands = append(cands[1:], cands[0])
		if diff := cmp.Diff(want, Decide(cands, DefaultOptions())); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAfterSynthesis(t *testing.T) {
	o := DefaultOptions()
	near := Decide([]Candidate{cand(1, 500, 9), cand(2, 499, 9)}, o)
	none := Decide([]Candidate{failed(1), failed(2)}, o)
	for name, c := range map[string]struct {
		round1    Decision
		synthesis Candidate
		next      Step
		leader    int
		passers   []int
		why       string
	}{
		"it passed":                           {near, cand(3, 600, 9), Use, 3, []int{1, 2, 3}, "the synthesis passed"},
		"it passed with less than the leader": {near, cand(3, -9, 9), Use, 3, []int{1, 2, 3}, "score -9"},
		"it is the first that passed":         {none, cand(3, 1, 1), Use, 3, []int{3}, "the synthesis passed"},
		"it failed: the best passer":          {near, failed(3), Use, 1, []int{1, 2}, "candidate 1, the best of round 1"},
		"it failed, as all did":               {none, failed(3), Fail, 0, []int{}, "the batch fails"},
		"no verdict: the best passer":         {near, void(3), Use, 1, []int{1, 2}, "no verdict: rate limit; candidate 1"},
		"no verdict, and no candidate either": {none, void(3), Undecided, 0, []int{}, "no verdict"},
		"void, although its gates ran": {none, Candidate{Number: 3, Void: "stopped", Measure: Measure{Passed: true}},
			Undecided, 0, []int{}, "stopped"},
	} {
		d := AfterSynthesis(c.round1, c.synthesis)
		if d.Next != c.next || d.Leader != c.leader || !slices.Equal(d.Passers, c.passers) ||
			!strings.Contains(strings.Join(d.Reasons, "; "), c.why) {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// The reasons name the evidence for the best candidate, and only the kinds of tests that somebody wrote.
func TestReasonsContainEvidence(t *testing.T) {
	const end = "; by all tests together it is right with a chance of 70 %"
	for want, e := range map[string]*Evidence{
		"1 test that fails without its change" + end: {Own: 1, Likely: 70},
		"2 tests that fail without its change, and passes 50 % of 1 such test of the others" +
			end: {Own: 2, Agreed: 50, Others: 1, Likely: 70},
		"0 tests that fail without its change, and 100 % of 1 held-out test" +
			end: {Held: 100, Kept: 1, Likely: 70},
	} {
		best := cand(1, 900, 9)
		best.Measure.Evidence = e
		reasons := Decide([]Candidate{best, cand(2, 100, 9)}, DefaultOptions()).Reasons
		if !slices.Contains(reasons, "candidate 1 has "+want) {
			t.Errorf("no %q in %q", want, reasons)
		}
	}
}

func TestDecideSkipsSynthesisIfTestsAgree(t *testing.T) {
	cand := func(n, diff, agreed int) Candidate {
		m := Measure{Passed: true, DiffLines: diff, Evidence: &Evidence{Own: 1, Agreed: agreed, Others: 1}}
		return Candidate{Number: n, Measure: m, Score: Score(m), Tree: string(rune('a' + n))}
	}
	if d := Decide([]Candidate{cand(1, 30, 100), cand(2, 20, 100)}, DefaultOptions()); d.Next != Use || d.Leader != 2 {
		t.Errorf("%+v", d)
	}
	if d := Decide([]Candidate{cand(1, 30, 50), cand(2, 20, 50)}, DefaultOptions()); d.Next != Synthesize {
		t.Errorf("equal candidates with different changes must be combined: %+v", d)
	}
	for name, change := range map[string]func(*Evidence){"no test of its own": func(e *Evidence) { e.Own = 0 },
		"no test of the other": func(e *Evidence) { e.Others = 0 }} {
		one, two := cand(1, 30, 100), cand(2, 20, 100)
		change(two.Measure.Evidence)
		if d := Decide([]Candidate{one, two}, Options{Close: 1}); d.Next != Synthesize {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
