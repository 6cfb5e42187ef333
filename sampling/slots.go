package sampling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/runplan/runplan/internal/lists"
)

// Kind is the reason for a candidate's variant.
type Kind string

// The kinds of slots.
const (
	KindVanilla      Kind = "vanilla"      // the baseline: the unchanged brief
	KindCold         Kind = "cold"         // from a fixed list, for lack of data
	KindLearned      Kind = "learned"      // by earlier wins
	KindExperimental Kind = "experimental" // random, to keep learning
	KindSynthesis    Kind = "synthesis"    // of round 2
)

// Slot is the assignment of one candidate.
type Slot struct {
	Number  int     `json:"number"` // of the candidate, from 1
	Variant Variant `json:"variant"`
	Kind    Kind    `json:"kind"`
	Digest  bool    `json:"digest"` // its brief contains the failure digest
	Why     string  `json:"why"`    // one line for people
}

// Ask is the input of [Allocate].
type Ask struct {
	BatchType string
	Count     int
	Digest    bool // an attempt failed, and its digest is available
}

// Allocate gives each candidate a variant. Until the batch type has o.LearnAfter outcomes, the list is fixed
// (SAMP-03): vanilla; then, with a failure digest, another approach and the minimal change; then the pool of the
// type. After that (SAMP-11), one slot is vanilla, one is experimental, and Thompson sampling assigns the rest by
// earlier wins. The same rng and history give the same slots. Vanilla never gets the digest, because it is the
// baseline.
func Allocate(ask Ask, history []Outcome, rng *rand.Rand, o Options) []Slot {
	if ask.Count < 1 {
		return nil
	}
	known := lists.Count(history, func(o Outcome) bool { return o.teaches(ask.BatchType) })
	a := allocation{ask: ask}
	a.take(Vanilla, KindVanilla, "the unchanged brief, for comparison")
	if known < o.LearnAfter {
		why := fmt.Sprintf("fixed list: %d of %d outcomes of %s batches", known, o.LearnAfter, ask.BatchType)
		for len(a.slots) < ask.Count {
			if rest := a.free(append(arms(ask), general()...)); len(rest) > 0 {
				a.take(rest[0], KindCold, why)
			} else {
				a.take(Vanilla, KindCold, again)
			}
		}
		return a.slots
	}
	a.learned(history, rng, o)
	for len(a.slots) < ask.Count {
		rest := a.free(arms(ask))
		if len(rest) == 0 {
			rest = a.free(general())
		}
		if len(rest) == 0 {
			a.take(Vanilla, KindExperimental, again)
			continue
		}
		a.take(rest[rng.IntN(len(rest))], KindExperimental,
			fmt.Sprintf("at random, one of %d variants that were not chosen otherwise", len(rest)))
	}
	return a.slots
}

// again is the reason for a second vanilla slot: an agent rarely does the same twice, so a second attempt is
// useful.
const again = "all variants have a slot, so another one gets the unchanged brief"

type allocation struct {
	ask   Ask
	slots []Slot
}

func (a *allocation) take(name string, k Kind, why string) {
	v, _ := Named(name)
	a.slots = append(a.slots,
		Slot{Number: len(a.slots) + 1, Variant: v, Kind: k, Digest: a.ask.Digest && name != Vanilla, Why: why})
}

// free returns the names without a slot.
func (a *allocation) free(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(a.slots, func(s Slot) bool { return s.Variant.Name == name })
	})
}

// arms returns the possible variants except vanilla, in the order of the fixed list.
func arms(ask Ask) []string {
	var out []string
	if ask.Digest {
		out = append(out, DifferentApproach, MinimalChange)
	}
	for _, name := range pool(ask.BatchType)[1:] { // all but vanilla
		out = lists.Add(out, name)
	}
	return out
}

// learned fills all slots but one. Each free variant draws from its Beta distribution, and the highest draw gets
// the slot. So good variants are chosen often, and little-known ones sometimes.
func (a *allocation) learned(history []Outcome, rng *rand.Rand, o Options) {
	records := Records(a.ask.BatchType, history, o)
	for len(a.slots) < a.ask.Count-1 {
		free := a.free(arms(a.ask))
		if len(free) == 0 {
			return
		}
		best, draw := "", math.Inf(-1)
		for _, name := range free {
			r := records[name]
			if d := beta(rng, 1+r.Wins, 1+r.Losses); d > draw {
				best, draw = name, d
			}
		}
		r := records[best]
		a.take(best, KindLearned,
			fmt.Sprintf("drew %.2f of 1; won %d of %d for %s batches", draw, r.Won, r.Won+r.Lost, a.ask.BatchType))
	}
}

// Record holds the results of a variant for a batch type.
type Record struct {
	Won, Lost    int     // all outcomes
	Wins, Losses float64 // the same, with lower weights for older ones
}

// Records counts the outcomes of each variant for a batch type. Each later outcome of the type reduces the weight of
// earlier ones by the share o.Forget. So it detects a variant that stops winning because the model or the code base
// changed.
func Records(batchType string, history []Outcome, o Options) map[string]Record {
	records := map[string]Record{}
	weight, keep := 1.0, 1-min(max(o.Forget, 0), 1)
	for _, h := range slices.Backward(history) {
		if !h.teaches(batchType) {
			continue
		}
		r := records[h.Variant]
		if h.Won {
			r.Won++
			r.Wins += weight
		} else {
			r.Lost++
			r.Losses += weight
		}
		records[h.Variant] = r
		weight *= keep
	}
	return records
}

// beta draws from the Beta distribution with parameters a and b, both at least 1.
func beta(rng *rand.Rand, a, b float64) float64 {
	x, y := gamma(rng, a), gamma(rng, b)
	return x / (x + y)
}

// gamma draws from the Gamma distribution with a shape of at least 1, by Marsaglia and Tsang's method (2000).
func gamma(rng *rand.Rand, shape float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
