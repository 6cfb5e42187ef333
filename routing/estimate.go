package routing

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// Sample holds the figures of one batch of an earlier run.
type Sample struct {
	Run      string // id of the run
	Title    string
	Class    string // "" if unknown
	Tier     string
	Duration time.Duration // of all attempts, including their gates
	Cost     *float64      // in USD, nil if unknown
	Passed   bool
}

// leastSamples is the minimum of earlier batches for an estimate. Fewer do not predict the next batch.
const leastSamples = 3

// NoData is the source of an estimate without data.
const NoData = "no data"

// expected sets the expected duration and cost of each batch that runs (ROUTE-15). It looks up equal batches once.
func (o Options) expected(steps []Step) {
	type kind struct {
		class Class
		tier  string
		title string
		said  time.Duration
	}
	known := map[kind]Step{}
	for i := range steps {
		s := &steps[i]
		if s.Skip != "" {
			continue
		}
		k := kind{s.Class, s.Tier, o.titles[s.Batch], o.said[s.Batch]}
		if like, ok := known[k]; ok {
			s.Expected, s.Costs = like.Expected, like.Costs
			continue
		}
		s.Expected, s.Costs = o.expect(*s)
		known[k] = *s
	}
}

// estimateOf estimates steps on a number of workers, from what is expected of each. It does not count speculative
// starts as faster, because their work may be discarded.
func (o Options) estimateOf(steps []Step, workers int) Estimate {
	took, even := map[string]time.Duration{}, map[string]time.Duration{}
	needs := map[string][]string{}
	known, priced := true, true
	var sum time.Duration
	var cost float64
	for _, s := range steps {
		if s.Skip != "" {
			continue
		}
		known, priced = known && s.Expected > 0, priced && s.Costs != nil
		if s.Costs != nil {
			cost += *s.Costs
		}
		sum += s.Expected
		took[s.Batch], even[s.Batch], needs[s.Batch] = s.Expected, time.Hour, s.Needs
	}
	e := Estimate{Source: NoData}
	if len(took) == 0 {
		return e
	}
	if known {
		wall := Makespan(took, needs, workers)
		e.Wall, e.WallSequential = &wall, &sum
		e.Source = o.source()
	} else {
		sum, took = time.Duration(len(even))*time.Hour, even
	}
	e.SpeedUp = new(float64(sum) / float64(Makespan(took, needs, workers)))
	if priced {
		// The cost of the same batches on the same models does not depend on the number of workers.
		e.Cost, e.CostSequential = &cost, new(cost)
	}
	return e
}

// Tournament is the number of candidates of a batch.
type Tournament struct {
	Candidates int
	AtOnce     int // maximum of concurrent candidates
}

// takes returns the duration factor of a tournament against one candidate (SAMP-15). Concurrent candidates slow
// each other down by about half, and each round waits for the previous one.
func (t Tournament) takes() float64 {
	rounds := float64((t.Candidates + t.AtOnce - 1) / t.AtOnce)
	if t.AtOnce > 1 {
		return 1.5 * rounds
	}
	return rounds
}

// CountTournaments adds the tournaments of first attempts to the estimate. The sequential duration is multiplied by the
// number of candidates, and so is the cost in both modes.
func (d *Decision) CountTournaments(held map[string]Tournament) {
	if len(held) == 0 {
		return
	}
	e := &d.Estimate
	took, needs := map[string]time.Duration{}, map[string][]string{}
	var alone time.Duration
	cost, priced := 0.0, e.Cost != nil
	for _, s := range d.Steps {
		if s.Skip != "" {
			continue
		}
		t, ok := held[s.Batch]
		if !ok {
			t = Tournament{1, 1}
		}
		took[s.Batch], needs[s.Batch] = time.Duration(t.takes()*float64(s.Expected)), s.Needs
		alone += time.Duration(t.Candidates) * s.Expected
		if priced {
			cost += float64(t.Candidates) * *s.Costs
		}
	}
	if e.Wall != nil {
		wall := Makespan(took, needs, d.Workers)
		up := float64(alone) / float64(max(wall, 1))
		e.Wall, e.WallSequential, e.SpeedUp = &wall, &alone, &up
		e.Source += ", with " + phrase.Count(len(held), "tournament")
	}
	if priced {
		e.Cost, e.CostSequential = &cost, new(cost)
	}
}

// expect returns the expected duration and cost of a step. The sources, in order: the median over batches with the
// same title; the plan's own estimate; the median over the same class and tier; over the same class; over all.
// Unknown values are 0 and nil.
func (o Options) expect(s Step) (time.Duration, *float64) {
	var took time.Duration
	var cost *float64
	for i, like := range []func(Sample) bool{
		// the very same batch: one sample is enough
		func(x Sample) bool { return x.Title != "" && x.Title == o.titles[s.Batch] },
		func(x Sample) bool { return x.Class == string(s.Class) && x.Tier == s.Tier },
		func(x Sample) bool { return x.Class == string(s.Class) },
		func(Sample) bool { return true },
	} {
		var times []time.Duration
		var prices []float64
		for _, x := range o.History {
			if !x.counts() || !like(x) {
				continue
			}
			times = append(times, x.Duration)
			if x.Cost != nil {
				prices = append(prices, *x.Cost)
			}
		}
		if took == 0 && (len(times) >= leastSamples || len(times) > 0 && i == 0) {
			took = lists.Median(times)
		}
		took = cmp.Or(took, o.said[s.Batch])
		if cost == nil && (len(prices) >= leastSamples || len(prices) > 0 && i == 0) {
			cost = new(lists.Median(prices))
		}
	}
	return took, cost
}

// counts reports whether a sample shows the duration of such a batch. A failed batch only shows the time until its
// failure.
func (x Sample) counts() bool { return x.Passed && x.Duration > 0 }

// source names the data behind the estimate: "12 batches of 3 earlier runs", "the plan's own estimates".
func (o Options) source() string {
	past := o.past()
	switch {
	case len(o.said) == 0:
		return past
	case past == "":
		return "the plan's own estimates"
	}
	return past + " and the plan's own estimates"
}

func (o Options) past() string {
	runs := map[string]bool{}
	n := 0
	for _, x := range o.History {
		if x.counts() {
			n++
			runs[x.Run] = true
		}
	}
	if n == 0 {
		return ""
	}
	return phrase.Count(n, "batch") + " of " + phrase.Count(len(runs), "earlier run")
}

// Makespan returns the total duration of all work on a number of workers. A piece of work starts when its dependencies
// have ended and a worker is free. Among ready pieces, the one with the longest chain of dependent work starts first.
// Dependencies without a duration count as done from the start.
func Makespan(durations map[string]time.Duration, needs map[string][]string, workers int) time.Duration {
	open, feeds := map[string]int{}, map[string][]string{} // needs that have not ended; the pieces that wait for a piece
	for key := range durations {
		for _, need := range needs[key] {
			if _, known := durations[need]; known && need != key {
				open[key]++
				feeds[need] = append(feeds[need], key)
			}
		}
	}
	chain := map[string]time.Duration{} // of a piece and its longest chain of dependents
	var measure func(key string) time.Duration
	measure = func(key string) time.Duration {
		if _, seen := chain[key]; !seen {
			chain[key] = 0
			for _, next := range feeds[key] {
				chain[key] = max(chain[key], measure(next))
			}
			chain[key] += max(durations[key], 0)
		}
		return chain[key]
	}
	for key := range durations {
		measure(key)
	}
	waiting := slices.SortedFunc(maps.Keys(durations), func(a, b string) int {
		return cmp.Or(cmp.Compare(chain[b], chain[a]), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	var now time.Duration
	ends := map[string]time.Duration{} // of the pieces that run
	for len(waiting)+len(ends) > 0 {
		for len(waiting) > 0 && len(ends) < max(workers, 1) {
			i := slices.IndexFunc(waiting, func(key string) bool { return open[key] <= 0 })
			if i < 0 && len(ends) > 0 {
				break
			}
			i = max(i, 0) // circular needs, with which plans are rejected earlier, must not wait forever
			ends[waiting[i]] = now + max(durations[waiting[i]], 0)
			waiting = slices.Delete(waiting, i, i+1)
		}
		now = slices.Min(slices.Collect(maps.Values(ends)))
		for key, end := range ends {
			if end > now {
				continue
			}
			delete(ends, key)
			for _, next := range feeds[key] {
				open[next]--
			}
		}
	}
	return now
}
