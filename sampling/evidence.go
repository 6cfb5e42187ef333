package sampling

import (
	"fmt"
	"slices"

	"github.com/runplan/runplan/internal/phrase"
)

// CrossTest is a new or changed test of one candidate, and the list of candidates that pass it.
type CrossTest struct {
	Author int    // number of the candidate that wrote it; 0 for a held-out test
	Name   string // as its suite reports it
	Base   bool   // it passes on the code before the batch, so it proves nothing about the change
	Passes []int  // numbers of the candidates whose code passes it
}

// Evidence holds the results of all candidates' tests for one candidate. A test does not count if it passes on the code
// before the batch.
type Evidence struct {
	Own    int `json:"own"`    // its own tests that fail without its change and pass with it
	Agreed int `json:"agreed"` // percent of such tests of other candidates that pass on its code
	Held   int `json:"held"`   // percent of the held-out tests that pass on its code
	Others int `json:"others"` // tests of other candidates that were tried on its code
	Kept   int `json:"kept"`   // held-out tests that ran on its code
	Likely int `json:"likely"` // percent: the chance that it is right, by all of these tests together
}

// words describes the evidence in a sentence that begins with its owner.
func (e Evidence) words() string {
	text := phrase.Count(e.Own, "test that fails", "tests that fail") + " without its change"
	if e.Others > 0 {
		text += fmt.Sprintf(", and passes %d %% of %s of the others", e.Agreed, phrase.Count(e.Others, "such test"))
	}
	if e.Kept > 0 {
		text += fmt.Sprintf(", and %d %% of %s", e.Held, phrase.Count(e.Kept, "held-out test"))
	}
	return text + fmt.Sprintf("; by all tests together it is right with a chance of %d %%", e.Likely)
}

// Weigh returns the evidence for each candidate, by number. In the percentages, the tests of each author have the same
// total weight, whatever their number.
func Weigh(candidates []int, tests []CrossTest) map[int]Evidence {
	out := map[int]Evidence{}
	likely := DefaultModel().Likely(candidates, tests)
	of := map[int]int{}
	for _, t := range tests {
		if !t.Base {
			of[t.Author]++
		}
	}
	for _, c := range candidates {
		var e Evidence
		var agreed, all float64
		held := 0
		for _, t := range tests {
			if t.Base {
				continue
			}
			passes := slices.Contains(t.Passes, c)
			switch t.Author {
			case c:
				if passes {
					e.Own++
				}
			case 0:
				e.Kept++
				if passes {
					held++
				}
			default:
				e.Others++
				weight := 1 / float64(of[t.Author])
				all += weight
				if passes {
					agreed += weight
				}
			}
		}
		if all > 0 {
			e.Agreed = int(100*agreed/all + 0.5)
		}
		if e.Kept > 0 {
			e.Held = 100 * held / e.Kept
		}
		e.Likely = int(100*likely[c] + 0.5)
		out[c] = e
	}
	return out
}
