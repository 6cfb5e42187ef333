package routing

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// work parses "a:3 b:2<a c:1<a,b": durations in minutes, and the keys that each item waits for.
func work(text string) (map[string]time.Duration, map[string][]string) {
	took, needs := map[string]time.Duration{}, map[string][]string{}
	for f := range strings.FieldsSeq(text) {
		key, rest, _ := strings.Cut(f, ":")
		n, after, waits := strings.Cut(rest, "<")
		var minutes int
		fmt.Sscan(n, &minutes)
		took[key] = time.Duration(minutes) * time.Minute
		if waits {
			needs[key] = strings.Split(after, ",")
		}
	}
	return took, needs
}

func TestMakespan(t *testing.T) {
	for _, c := range []struct {
		work    string
		workers int
		minutes int
	}{
		{"", 2, 0},
		{"a:5", 3, 5},
		{"a:5 b:3 c:2", 1, 10},
		{"a:5 b:3 c:2", 2, 5},
		{"a:5 b:3 c:2", 9, 5},
		{"a:5 b:3<a c:2<b", 4, 10},
		{"a:2 b:4<a c:3<a d:1<b,c", 2, 7},
		{"a:2 b:4<a c:3<a d:1<b,c", 1, 10},
		// The longest chain starts first, although its first item is the shortest and the last in order.
		{"a:4 b:4 z:1 y:7<z", 2, 8},
		// A free worker takes any item that is ready and does not wait for another worker.
		{"a:6 b:2 c:2<b d:2<c", 2, 6},
		{"a:3<gone b:3", 2, 3}, // missing items are not waited for
		{"a:3<a b:3", 1, 6},
		{"a:3 b:3", 0, 6}, // no workers count as one
		{"a:3<b b:2<a", 2, 5},
		{"a:0 b:0<a c:4<b", 1, 4},
	} {
		took, needs := work(c.work)
		if got := Makespan(took, needs, c.workers); got != time.Duration(c.minutes)*time.Minute {
			t.Errorf("%q with %d: %v, want %d minutes", c.work, c.workers, got, c.minutes)
		}
	}
}

// A schedule is never shorter than the longest chain or than the total work divided by the workers, and never longer
// than both together. With one worker it takes the sum, with enough workers as long as the longest chain.
func TestMakespanBounds(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		n := 1 + r.IntN(25)
		took, needs, chain := map[string]time.Duration{}, map[string][]string{}, map[string]time.Duration{}
		var sum, longest time.Duration
		for i := range n {
			key := fmt.Sprint(i)
			took[key] = time.Duration(1+r.IntN(90)) * time.Second
			for range r.IntN(3) {
				if i > 0 {
					need := fmt.Sprint(r.IntN(i))
					needs[key] = append(needs[key], need)
					chain[key] = max(chain[key], chain[need])
				}
			}
			chain[key] += took[key]
			sum += took[key]
			longest = max(longest, chain[key])
		}
		for workers := 1; workers <= n; workers++ {
			got := Makespan(took, needs, workers)
			if least := max(longest, sum/time.Duration(workers)); got < least {
				t.Fatalf("seed %d: %v with %d workers, cannot be below %v", seed, got, workers, least)
			}
			// Graham's bound: list scheduling leaves a worker idle only while the longest chain is in progress.
			if most := longest + (sum-longest)/time.Duration(workers) + 1; got > most {
				t.Fatalf("seed %d: %v with %d workers, cannot be above %v", seed, got, workers, most)
			}
			if again := Makespan(took, needs, workers); again != got {
				t.Fatalf("seed %d: %v and then %v", seed, got, again)
			}
		}
		if got := Makespan(took, needs, 1); got != sum {
			t.Errorf("seed %d: one worker takes %v, the sum is %v", seed, got, sum)
		}
		if got := Makespan(took, needs, n); got != longest {
			t.Errorf("seed %d: enough workers take %v, the longest chain %v", seed, got, longest)
		}
	}
}

// samples returns passed batches with the given durations in minutes, at one dollar per minute.
func samples(run, class, tier string, minutes ...int) []Sample {
	var out []Sample
	for _, m := range minutes {
		cost := float64(m)
		out = append(out, Sample{Run: run, Class: class, Tier: tier, Duration: time.Duration(m) * time.Minute, Cost: &cost,
			Passed: true})
	}
	return out
}

// The expected duration is the median of similar batches; if there are too few, less similar ones count as well.
func TestExpect(t *testing.T) {
	like := samples("r", "wiring", "small", 1, 9, 3)
	failed := samples("r", "wiring", "small", 90, 90, 90)
	for i := range failed {
		failed[i].Passed = false
	}
	for name, c := range map[string]struct {
		history []Sample
		minutes int
	}{
		"nothing":                    {nil, 0},
		"two":                        {like[:2], 0},
		"three":                      {like, 3},
		"four":                       {append(like, samples("r", "wiring", "small", 5)...), 4},
		"of the same tier":           {append(like, samples("r", "wiring", "large", 60, 60, 60, 60)...), 3},
		"of other tiers":             {append(like[:2:2], samples("r", "wiring", "large", 61, 61)...), 35}, // 1, 9, 61, 61
		"of other classes":           {append(like[:2:2], samples("r", "verification", "small", 2)...), 2},
		"those that failed":          {failed, 0},
		"those that failed as well":  {append(like, failed...), 3},
		"those that took no time":    {samples("r", "wiring", "small", 0, 0, 0), 0},
		"classes that are not known": {samples("r", "", "", 4, 4, 4), 4},
	} {
		took, cost := Options{History: c.history}.expect(Step{Class: Wiring, Tier: Small})
		if took != time.Duration(c.minutes)*time.Minute {
			t.Errorf("%s: %v, want %d minutes", name, took, c.minutes)
		}
		if c.minutes == 0 && cost != nil || c.minutes > 0 && (cost == nil || int(*cost) != c.minutes) {
			t.Errorf("%s: it costs %v", name, cost)
		}
	}
	unpriced := samples("r", "wiring", "small", 3, 3, 3)
	unpriced[0].Cost = nil
	if took, cost := (Options{History: unpriced}).expect(Step{Class: Wiring, Tier: Small}); took != 3*time.Minute ||
		cost != nil {
		t.Errorf("two prices of three make %v, after %v", cost, took)
	}
}

func diamond(workers int) Decision {
	return Decision{Workers: workers, Steps: []Step{
		{Batch: "1", Class: Implementation, Tier: Medium},
		{Batch: "2", Class: Implementation, Tier: Medium, Needs: []string{"1"}},
		{Batch: "3", Class: Implementation, Tier: Medium, Needs: []string{"1"}},
		{Batch: "left", Class: Implementation, Tier: Medium, Needs: []string{"1"}, Skip: "not now"},
		{Batch: "4", Class: Verification, Tier: Small, Needs: []string{"2", "3", "left"}},
	}}
}

func TestEstimate(t *testing.T) {
	o := Options{History: append(samples("r1", "implementation", "medium", 6, 6, 6),
		samples("r2", "verification", "small", 2, 2, 2)...)}
	d := diamond(2)
	o.estimate(&d)
	e := d.Estimate
	if *e.Wall != 14*time.Minute || *e.WallSequential != 20*time.Minute || *e.Cost != 20 || *e.CostSequential != 20 ||
		fmt.Sprintf("%.2f", *e.SpeedUp) != "1.43" {
		t.Errorf("%v of %v, %v of %v, %v times", *e.Wall, *e.WallSequential, *e.Cost, *e.CostSequential, *e.SpeedUp)
	}
	if e.Source != "6 batches of 2 earlier runs" {
		t.Error(e.Source)
	}
	for i, want := range []time.Duration{6, 6, 6, 0, 2} {
		if d.Steps[i].Expected != want*time.Minute {
			t.Errorf("batch %s is expected to take %v", d.Steps[i].Batch, d.Steps[i].Expected)
		}
	}
}

// One earlier duration of the same batch counts more than many of other batches.
func TestEstimatePrefersSameBatch(t *testing.T) {
	history := []Sample{
		{Title: "Slow", Class: string(Wiring), Tier: Small, Duration: time.Hour, Passed: true},
		{Title: "a", Class: string(Wiring), Tier: Small, Duration: time.Minute, Passed: true},
		{Title: "b", Class: string(Wiring), Tier: Small, Duration: time.Minute, Passed: true},
		{Title: "c", Class: string(Wiring), Tier: Small, Duration: time.Minute, Passed: true},
	}
	o := Options{History: history, titles: map[string]string{"1": "Slow", "2": "New", "3": ""}}
	for batch, want := range map[string]time.Duration{"1": time.Hour, "2": time.Minute, "3": time.Minute} {
		if got, _ := o.expect(Step{Batch: batch, Class: Wiring, Tier: Small}); got != want {
			t.Errorf("batch %s: %v, want %v", batch, got, want)
		}
	}
}

// An earlier duration of the same batch has priority over the estimate in the plan, which has priority over other
// batches.
func TestEstimateSourcePriority(t *testing.T) {
	history := []Sample{
		{Run: "r", Title: "Old", Class: string(Wiring), Duration: time.Hour, Passed: true},
		{Run: "r", Title: "a", Class: string(Wiring), Duration: time.Minute, Passed: true},
		{Run: "r", Title: "b", Class: string(Wiring), Duration: time.Minute, Passed: true},
	}
	o := Options{History: history, titles: map[string]string{"1": "Old", "2": "New", "3": "Other"},
		said: map[string]time.Duration{"1": 5 * time.Second, "2": 7 * time.Second}}
	expect := o.expect
	for batch, want := range map[string]time.Duration{"1": time.Hour, "2": 7 * time.Second, "3": time.Minute} {
		if got, _ := expect(Step{Batch: batch, Class: Wiring}); got != want {
			t.Errorf("batch %s: %v, want %v", batch, got, want)
		}
	}
	d := diamond(2)
	said := map[string]time.Duration{}
	for _, s := range d.Steps {
		said[s.Batch] = time.Minute
	}
	Options{said: said}.estimate(&d)
	if e := d.Estimate; e.Wall == nil || *e.Wall != 3*time.Minute || e.Source != "the plan's own estimates" {
		t.Errorf("%+v", e)
	}
	if got, want := o.source(), "3 batches of 1 earlier run and the plan's own estimates"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The estimates that a plan states count for the batches that have one, and the source names them only if there are
// any.
func TestEstimatesOfPlan(t *testing.T) {
	history := samples("r", "implementation", "medium", 3, 3, 3)
	for stated, want := range map[string]string{
		"estimate: 10m\n\n": "3 batches of 1 earlier run and the plan's own estimates", "": "3 batches of 1 earlier run",
	} {
		d := decided(t, batches("A\n"+stated+"**Files:**\n- Create: `a.py`", "B\n**Files:**\n- Create: `b.py`"),
			Options{History: history})
		first := 3 * time.Minute
		if stated != "" {
			first = 10 * time.Minute
		}
		if d.Steps[0].Expected != first || d.Steps[1].Expected != 3*time.Minute || d.Estimate.Source != want {
			t.Errorf("%q: %v and %v by %s", stated, d.Steps[0].Expected, d.Steps[1].Expected, d.Estimate.Source)
		}
	}
}

// Without history the estimate contains only the speed-up, computed with equal durations for all batches.
func TestEstimateWithoutHistory(t *testing.T) {
	d := diamond(2)
	Options{}.estimate(&d)
	e := d.Estimate
	if e.Wall != nil || e.WallSequential != nil || e.Cost != nil || e.CostSequential != nil || e.Source != "no data" {
		t.Errorf("%+v", e)
	}
	if e.SpeedUp == nil || fmt.Sprintf("%.2f", *e.SpeedUp) != "1.33" {
		t.Errorf("speed-up %v, want four batches in the time of three", e.SpeedUp)
	}
	d = Decision{Workers: 1, Steps: []Step{{Batch: "1", Skip: "not now"}}}
	Options{}.estimate(&d)
	if d.Estimate.SpeedUp != nil || d.Estimate.Source != "no data" {
		t.Errorf("the estimate without a batch to run is %+v", d.Estimate)
	}
	one := diamond(1)
	Options{}.estimate(&one)
	if *one.Estimate.SpeedUp != 1 {
		t.Errorf("one worker is %v times as fast as one worker", *one.Estimate.SpeedUp)
	}
}

// For a tournament with parallel candidates, the estimate counts the sequential time and the cost of each candidate,
// and one and a half times the wall time of a single candidate.
func TestEstimateCountsTournaments(t *testing.T) {
	cost := 0.5
	history := []Sample{}
	for range leastSamples {
		history = append(history,
			Sample{Class: string(Implementation), Duration: 10 * time.Minute, Cost: &cost, Passed: true})
	}
	d := decided(t, wide(2), Options{Mode: "team", Memory: machine(64), History: history})
	if *d.Estimate.Wall != 10*time.Minute || *d.Estimate.Cost != 1 {
		t.Fatalf("before: %+v", d.Estimate)
	}
	d.CountTournaments(map[string]Tournament{"1": {Candidates: 3, AtOnce: 3}})
	e := d.Estimate
	if *e.Wall != 15*time.Minute || *e.WallSequential != 40*time.Minute || *e.Cost != 2 || *e.CostSequential != 2 ||
		!strings.HasSuffix(e.Source, ", with 1 tournament") {
		t.Errorf("wall %s vs %s, cost %v vs %v, %s", e.Wall, e.WallSequential, *e.Cost, *e.CostSequential, e.Source)
	}
	none := decided(t, wide(2), Options{Mode: "team", Memory: machine(64)})
	none.CountTournaments(map[string]Tournament{"1": {Candidates: 3, AtOnce: 1}})
	if none.Estimate.Wall != nil || none.Estimate.Cost != nil {
		t.Errorf("an estimate without data has figures: %+v", none.Estimate)
	}
}

// One earlier run of the same batch determines its expected cost as well as its duration.
func TestEstimateUsesCostOfSameBatch(t *testing.T) {
	cost := 0.25
	d := decided(t, "# P\n\n## Batch 1: Same\n\n- Create: `a.go`\n",
		Options{History: []Sample{{Title: "Same", Duration: time.Minute, Cost: &cost, Passed: true}}})
	if d.Estimate.Cost == nil || *d.Estimate.Cost != cost {
		t.Errorf("cost %v", d.Estimate.Cost)
	}
}

// Candidates that run at the same time slow each other down by half; each further round takes as long again.
func TestTournamentTakes(t *testing.T) {
	for _, c := range []struct {
		candidates, atOnce int
		want               float64
	}{
		{1, 1, 1}, {3, 1, 3}, {2, 2, 1.5}, {3, 3, 1.5}, {4, 3, 3}, {6, 3, 3}, {7, 3, 4.5}, {1, 5, 1.5},
	} {
		if got := (Tournament{c.candidates, c.atOnce}).takes(); got != c.want {
			t.Errorf("%d candidates, %d at once: %v, want %v", c.candidates, c.atOnce, got, c.want)
		}
	}
}

// estimate sets what is expected of each step, and of all.
func (o Options) estimate(d *Decision) {
	o.expected(d.Steps)
	d.Estimate = o.estimateOf(d.Steps, d.Workers)
}
