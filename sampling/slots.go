package sampling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Kind says why a candidate got its variant.
type Kind string

// The kinds of slots.
const (
	KindVanilla      Kind = "vanilla"      // the baseline: the brief as it is
	KindCold         Kind = "cold"         // from a fixed list, as too little is known yet
	KindLearned      Kind = "learned"      // by what won before
	KindExperimental Kind = "experimental" // by chance, so that learning never ends
	KindSynthesis    Kind = "synthesis"    // of round 2
)

// Slot is what one candidate is given.
type Slot struct {
	Number  int     `json:"number"` // of the candidate, from 1
	Variant Variant `json:"variant"`
	Kind    Kind    `json:"kind"`
	Digest  bool    `json:"digest"` // the digest of the failure goes into its brief
	Why     string  `json:"why"`    // one line for people
}

// Ask is what slots are asked for.
type Ask struct {
	BatchType string
	Count     int
	Digest    bool // an attempt failed, and there is a digest of its failure
}

// Allocate gives each of n candidates a variant. Until o.LearnAfter outcomes of the batch type are there, the list is
// fixed (SAMP-03): vanilla, then, with the digest of a failure, another approach and the minimal change, then the pool
// of the type. From there on (SAMP-11) one slot is vanilla, one experimental, and the rest go to what won most for this
// type, by Thompson sampling. The same rng and history give the same slots. Vanilla never sees the digest: it is what
// the others are measured by.
func Allocate(ask Ask, history []Outcome, rng *rand.Rand, o Options) []Slot {
	if ask.Count < 1 {
		return nil
	}
	known := 0
	for i := range history {
		if history[i].teaches(ask.BatchType) {
			known++
		}
	}
	a := allocation{ask: ask}
	a.take(Vanilla, KindVanilla, "the brief as it is, to compare with")
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
		a.take(rest[rng.IntN(len(rest))], KindExperimental, fmt.Sprintf("by chance, one of %d that were not chosen otherwise", len(rest)))
	}
	return a.slots
}

// again is why a slot is vanilla once more: an agent rarely does the same thing twice, so a second go at the same brief
// is worth something too.
const again = "all variants have a slot, so one more goes at the brief as it is"

type allocation struct {
	ask   Ask
	slots []Slot
}

func (a *allocation) take(name string, k Kind, why string) {
	v, _ := Named(name)
	a.slots = append(a.slots, Slot{Number: len(a.slots) + 1, Variant: v, Kind: k, Digest: a.ask.Digest && name != Vanilla, Why: why})
}

// free returns those names that no slot has yet.
func (a *allocation) free(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(a.slots, func(s Slot) bool { return s.Variant.Name == name })
	})
}

// arms are the variants besides vanilla that a batch can be given, in the order of a cold start.
func arms(ask Ask) []string {
	var out []string
	if ask.Digest {
		out = append(out, DifferentApproach, MinimalChange)
	}
	for _, name := range pool(ask.BatchType) {
		if name != Vanilla && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// learned fills all slots but one. Each variant that is free draws from its Beta distribution, and the highest draw gets
// the slot: what is good is chosen often, and what is little known has its chance.
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
		a.take(best, KindLearned, fmt.Sprintf("drew %.2f of 1; won %d of %d for %s batches", draw, r.Won, r.Won+r.Lost, a.ask.BatchType))
	}
}

// Record is what is known of a variant for a type of batch.
type Record struct {
	Won, Lost    int     // all there were
	Wins, Losses float64 // the same, old ones weighing less
}

// Records counts the outcomes of a type of batch for each variant. With each later outcome of the type an earlier one
// loses the share o.Forget of its weight, so that a variant which stopped winning, because the model or the code base
// changed, is found out.
func Records(batchType string, history []Outcome, o Options) map[string]Record {
	records := map[string]*Record{}
	weight, keep := 1.0, 1-min(max(o.Forget, 0), 1)
	for i := len(history) - 1; i >= 0; i-- {
		h := &history[i]
		if !h.teaches(batchType) {
			continue
		}
		r := records[h.Variant]
		if r == nil {
			r = &Record{}
			records[h.Variant] = r
		}
		if h.Won {
			r.Won++
			r.Wins += weight
		} else {
			r.Lost++
			r.Losses += weight
		}
		weight *= keep
	}
	out := map[string]Record{}
	for name, r := range records {
		out[name] = *r
	}
	return out
}

// beta draws from the Beta distribution with these parameters, both at least 1.
func beta(rng *rand.Rand, a, b float64) float64 {
	x, y := gamma(rng, a), gamma(rng, b)
	return x / (x + y)
}

// gamma draws from the Gamma distribution of a shape of at least 1, by Marsaglia and Tsang's method (2000).
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
