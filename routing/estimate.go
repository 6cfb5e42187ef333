package routing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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

// estimate sets the expected duration and cost of each batch and of the whole run (ROUTE-15).
func (o Options) estimate(d *Decision) {
	expect := o.remembered()
	for i := range d.Steps {
		s := &d.Steps[i]
		s.Expected, s.Costs = 0, nil
		if s.Skip == "" {
			s.Expected, s.Costs = expect(*s)
		}
	}
	needs := map[string][]string{}
	for _, s := range d.Steps {
		needs[s.Batch] = s.Needs
	}
	d.Estimate = o.estimateOf(d.Steps, needs, d.Workers)
}

// estimateOf estimates steps with their needs on a number of workers. It does not count speculative starts as
// faster, because their work may be discarded.
func (o Options) estimateOf(steps []Step, needs map[string][]string, workers int) Estimate {
	took, even := map[string]time.Duration{}, map[string]time.Duration{}
	waits := map[string][]string{}
	known, priced := true, true
	var sum time.Duration
	var cost float64
	expect := o.remembered()
	for _, s := range steps {
		if s.Skip != "" {
			continue
		}
		d, c := expect(s)
		known, priced = known && d > 0, priced && c != nil
		if c != nil {
			cost += *c
		}
		sum += d
		took[s.Batch], even[s.Batch], waits[s.Batch] = d, time.Hour, needs[s.Batch]
	}
	e := Estimate{Source: NoData}
	if len(took) == 0 {
		return e
	}
	if known {
		wall := Makespan(took, waits, workers)
		e.Wall, e.WallSequential = &wall, &sum
		e.Source = o.source()
	} else {
		sum, took = time.Duration(len(even))*time.Hour, even
	}
	e.SpeedUp = new(float64(sum) / float64(Makespan(took, waits, workers)))
	if priced {
		// The cost of the same batches on the same models does not depend on the number of workers.
		sequential := cost
		e.Cost, e.CostSequential = &cost, &sequential
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
		sequential := cost
		e.Cost, e.CostSequential = &cost, &sequential
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
			took = median(times)
		}
		took = cmp.Or(took, o.said[s.Batch])
		if cost == nil && (len(prices) >= leastSamples || len(prices) > 0 && i == 0) {
			cost = new(median(prices))
		}
	}
	return took, cost
}

// remembered returns [Options.expect] with a cache by class, tier, title and stated duration.
func (o Options) remembered() func(Step) (time.Duration, *float64) {
	type kind struct {
		class Class
		tier  string
		title string
		said  time.Duration
	}
	type figures struct {
		took time.Duration
		cost *float64
	}
	known := map[kind]figures{}
	return func(s Step) (time.Duration, *float64) {
		k := kind{s.Class, s.Tier, o.titles[s.Batch], o.said[s.Batch]}
		f, ok := known[k]
		if !ok {
			f.took, f.cost = o.expect(s)
			known[k] = f
		}
		return f.took, f.cost
	}
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
	batches := phrase.Count(n, "batch")
	if len(runs) == 1 {
		return batches + " of 1 earlier run"
	}
	return fmt.Sprintf("%s of %d earlier runs", batches, len(runs))
}

// median returns the middle value, or the mean of the two middle values.
func median[T time.Duration | float64](list []T) T {
	list = slices.Sorted(slices.Values(list))
	if n := len(list); n%2 == 0 {
		return list[n/2-1] + (list[n/2]-list[n/2-1])/2
	}
	return list[len(list)/2]
}

// Makespan returns the total duration of all work on a number of workers. A piece of work starts when its dependencies
// have ended and a worker is free. Among ready pieces, the one with the longest chain of dependent work starts first.
// Dependencies without a duration count as done from the start.
func Makespan(durations map[string]time.Duration, needs map[string][]string, workers int) time.Duration {
	s := newSchedule(durations, needs)
	workers = max(workers, 1)
	type job struct {
		ends time.Duration
		at   int
	}
	var now time.Duration
	var busy []job
	for done := 0; done < len(s.keys); {
		for len(busy) < workers {
			i := s.next(len(busy) == 0)
			if i < 0 {
				break
			}
			busy = append(busy, job{now + s.took[i], i})
		}
		first := slices.MinFunc(busy, func(a, b job) int { return cmp.Compare(a.ends, b.ends) })
		now = first.ends
		busy = slices.DeleteFunc(busy, func(j job) bool {
			if j.ends > now {
				return false
			}
			done++
			s.end(j.at)
			return true
		})
	}
	return now
}

// schedule is the state of the simulation in [Makespan].
type schedule struct {
	keys   []string
	took   []time.Duration
	open   []int           // number of needs that have not ended
	behind []time.Duration // duration of a piece plus its longest chain of dependents
	feeds  [][]int
	begun  []bool
}

func newSchedule(durations map[string]time.Duration, needs map[string][]string) *schedule {
	s := &schedule{keys: slices.SortedFunc(maps.Keys(durations),
		func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })}
	index := map[string]int{}
	for i, key := range s.keys {
		index[key] = i
		s.took = append(s.took, max(durations[key], 0))
	}
	n := len(s.keys)
	s.open, s.behind, s.feeds, s.begun = make([]int, n), make([]time.Duration, n), make([][]int, n), make([]bool, n)
	for i, key := range s.keys {
		for _, need := range needs[key] {
			if j, ok := index[need]; ok && j != i {
				s.open[i]++
				s.feeds[j] = append(s.feeds[j], i)
			}
		}
	}
	seen := make([]bool, n)
	for i := range s.keys {
		s.measure(i, seen)
	}
	return s
}

// measure computes behind[i].
func (s *schedule) measure(i int, seen []bool) time.Duration {
	if !seen[i] {
		seen[i] = true
		for _, j := range s.feeds[i] {
			s.behind[i] = max(s.behind[i], s.measure(j, seen))
		}
		s.behind[i] += s.took[i]
	}
	return s.behind[i]
}

// next begins a piece and returns it, or -1 if all the rest must wait. If no piece is running, it begins a waiting
// one rather than wait forever. Only circular needs cause that, and plans with circular needs are rejected
// earlier.
func (s *schedule) next(idle bool) int {
	best, stuck := -1, -1
	for i := range s.keys {
		switch {
		case s.begun[i]:
		case s.open[i] > 0:
			if stuck < 0 {
				stuck = i
			}
		case best < 0 || s.behind[i] > s.behind[best]:
			best = i
		}
	}
	if best < 0 && idle {
		best = stuck
	}
	if best >= 0 {
		s.begun[best] = true
	}
	return best
}

func (s *schedule) end(i int) {
	for _, j := range s.feeds[i] {
		s.open[j]--
	}
}
