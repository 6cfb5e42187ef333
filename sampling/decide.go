package sampling

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// Candidate is the result of one slot.
type Candidate struct {
	Number  int     `json:"number"` // from 1; a synthesis follows the last candidate
	Slot    Slot    `json:"slot"`
	Measure Measure `json:"measure"`
	Score   int     `json:"score"`          // by the [Scorer] of the run
	Tree    string  `json:"tree,omitempty"` // resulting tree, if known: candidates may end with equal trees

	// Void is the reason why a candidate has no verdict: a rate limit, a stop, a tool that could not run. Such a candidate
	// has neither won nor lost.
	Void string `json:"void,omitempty"`
}

func (c Candidate) passed() bool { return c.Void == "" && c.Measure.Passed }

// name returns the name of a candidate in reasons.
func (c Candidate) name() string {
	if c.Slot.Variant.Name == "" {
		return fmt.Sprintf("candidate %d", c.Number)
	}
	return fmt.Sprintf("candidate %d (%s)", c.Number, c.Slot.Variant.Name)
}

// alike reports whether the tests show that two candidates with close scores are equivalent: both have tests that
// fail without a change, and both pass all tests of all others.
func (c Candidate) alike(other Candidate) bool {
	sure := func(e *Evidence) bool { return e != nil && e.Own > 0 && e.Others > 0 && e.Agreed == 100 }
	return sure(c.Measure.Evidence) && sure(other.Measure.Evidence)
}

// Step is the next step of a tournament.
type Step string

// The steps.
const (
	Use        Step = "use"        // the leader is the result of the batch
	Synthesize Step = "synthesize" // round 2
	Fail       Step = "fail"       // no result
	Undecided  Step = "undecided"  // no candidate has a verdict; the code is not to blame
)

// Decision is the result of a round.
type Decision struct {
	Next    Step     `json:"next"`
	Leader  int      `json:"leader"` // number of the candidate to use or to fall back on; 0 if none
	Passers []int    `json:"passers"`
	Reasons []string `json:"reasons"`
}

// Decide ends round 1 (SAMP-05 to SAMP-07). Only candidates that passed their gates are eligible, whatever their
// scores. A single passer is used. If several passed, the highest score wins. If none passed, or the best two have
// close scores, round 2 combines them.
func Decide(cands []Candidate, o Options) Decision {
	ranked := rank(cands)
	d := Decision{Passers: append([]int{}, lists.Map(ranked, func(c Candidate) int { return c.Number })...)}
	void := 0
	for _, c := range cands {
		if c.Void != "" {
			void++
			d.say("%s has no verdict: %s", c.name(), phrase.Line(c.Void))
		}
	}
	switch {
	case len(ranked) == 0 && void == len(cands):
		d.Next = Undecided
		d.say("no candidate has a verdict, so there is nothing to decide and nothing to combine")
		return d
	case len(ranked) == 0:
		d.Next = Synthesize
		d.say("%s passed its gates; a synthesis reads %s", noneOf(len(cands)-void), all(len(cands)-void))
		return d
	}
	best := ranked[0]
	d.Next, d.Leader = Use, best.Number
	if len(ranked) == 1 {
		d.say("%s is the only candidate of %d that passed its gates (score %d)", best.name(), len(cands), best.Score)
		return d
	}
	d.say("%d of %d passed their gates", len(ranked), len(cands))
	other := slices.IndexFunc(ranked, func(c Candidate) bool { return c.Tree == "" || c.Tree != best.Tree })
	if other < 0 {
		d.say("all of these have the same files, so there is nothing to combine; %s is used", best.name())
		return d
	}
	second := ranked[max(other, 1)]
	if best.Score == second.Score {
		d.say("%s and %s both score %d; %s", best.name(), second.name(), best.Score, tieBreak(best, second))
	} else {
		d.say("%s scores %d, %s %d", best.name(), best.Score, second.name(), second.Score)
	}
	if e := best.Measure.Evidence; e != nil {
		d.say("%s has %s", best.name(), e.words())
	}
	switch near := isClose(best.Score, second.Score, o.Close); {
	case near && o.StopAtFirst:
		d.say("the scores are close; no synthesis, because the first candidate that passes wins ([sampling] stop_at_first)")
	case near && best.alike(second):
		d.say("the scores are close, but each of the two passes all tests of the other, so there is nothing to combine")
	case near:
		d.Next = Synthesize
		d.say(
			"that is close: they differ by %v, the limit is %s %% of the best; a synthesis combines them, and %s is used if "+
				"it fails", apart(best.Score, second.Score), percent(o.Close), best.name())
	}
	return d
}

// AfterSynthesis ends round 2 (SAMP-09). It uses the synthesis if it passed, or else the leader of round 1. Without a
// leader the batch fails.
func AfterSynthesis(round1 Decision, synthesis Candidate) Decision {
	d := Decision{Next: Use, Leader: round1.Leader, Passers: slices.Clone(round1.Passers)}
	what := "the synthesis failed its gates"
	if synthesis.Void != "" {
		what = "the synthesis has no verdict: " + phrase.Line(synthesis.Void)
	}
	switch {
	case synthesis.passed():
		d.Leader, d.Passers = synthesis.Number, append(d.Passers, synthesis.Number)
		d.say("the synthesis passed its gates (score %d), so it is used", synthesis.Score)
	case round1.Leader != 0:
		d.say("%s; candidate %d, the best of round 1, is used", what, round1.Leader)
	case synthesis.Void != "":
		d.Next = Undecided
		d.say("%s, and no candidate passed in round 1", what)
	default:
		d.Next = Fail
		d.say("%s, and no candidate passed in round 1; the batch fails", what)
	}
	return d
}

func (d *Decision) say(format string, args ...any) {
	d.Reasons = append(d.Reasons, fmt.Sprintf(format, args...))
}

// rank returns the passers, best first: by score, then the smaller diff, then the lower number.
func rank(cands []Candidate) []Candidate {
	passers := slices.DeleteFunc(slices.Clone(cands), func(c Candidate) bool { return !c.passed() })
	slices.SortStableFunc(passers, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Measure.DiffLines, b.Measure.DiffLines),
			cmp.Compare(a.Number, b.Number))
	})
	return passers
}

func tieBreak(best, second Candidate) string {
	if best.Measure.DiffLines < second.Measure.DiffLines {
		return fmt.Sprintf("the smaller change leads (%d lines against %d)", best.Measure.DiffLines, second.Measure.DiffLines)
	}
	return "their changes have the same size, so the lower number leads"
}

// apart returns best-second without overflow.
func apart(best, second int) uint64 { return uint64(best) - uint64(second) }

// isClose reports whether two scores differ by at most a share of the best one's amount (C-15). It uses integer
// millionths, because 5 % of 2060 is slightly less than 103 in floating point.
func isClose(best, second int, share float64) bool {
	amount := uint64(best)
	if best < 0 {
		amount = -uint64(best)
	}
	lHi, lLo := bits.Mul64(apart(best, second), 1_000_000)
	rHi, rLo := bits.Mul64(amount, uint64(math.Round(min(max(share, 0), 1)*1e6)))
	return lHi < rHi || lHi == rHi && lLo <= rLo
}

// percent formats a share without trailing zeros.
func percent(share float64) string { return trimmed(share*100, 4) }

func noneOf(n int) string {
	if n == 1 {
		return "the only candidate has not"
	}
	return fmt.Sprintf("none of %d candidates", n)
}

func all(n int) string {
	if n == 1 {
		return "its attempt"
	}
	return fmt.Sprintf("all %d attempts", n)
}
