package sampling

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ask returns the request of a batch whose first attempt failed, on a machine with enough resources.
func ask(change func(*Request)) Request {
	memory, cost, took := uint64(64)<<30, 0.40, 4*time.Minute
	r := Request{
		Batch: "4", Attempt: 2, Failure: &Failure{Outcome: "failed"}, Escalate: true,
		Settings: Settings{OnRetry: true, OnCritical: true, Count: 3, MaxCount: 5, GBPerCandidate: 4},
		Memory:   &memory, Cost: &cost, Time: &took,
	}
	if change != nil {
		change(&r)
	}
	return r
}

func first(change func(*Request)) Request {
	return ask(func(r *Request) {
		r.Failure, r.Attempt = nil, 1
		if change != nil {
			change(r)
		}
	})
}

func TestPlan(t *testing.T) {
	gigabytes := func(n float64) func(*Request) {
		return func(r *Request) { m := uint64(n * gb); r.Memory = &m }
	}
	fails := func(outcome string) func(*Request) {
		return func(r *Request) { r.Failure = &Failure{outcome, "sign in\nfirst"} }
	}
	for name, c := range map[string]struct {
		req    Request
		action Action
		n      int
		up     bool
		why    string
	}{
		// Triggers (SAMP-01).
		"a failed attempt": {ask(nil), Sample, 3, true,
			"attempt 1 failed: 3 candidates instead of a plain retry"},
		"a failed attempt, switched off": {ask(func(r *Request) { r.Settings.OnRetry = false }), Retry, 1, true,
			"sample_on_retry is off"},
		"a first attempt": {first(nil), Try, 1, false, "not critical"},
		"a critical batch": {first(func(r *Request) { r.Critical = true }), Sample, 3, false,
			"the batch is critical: 3 candidates"},
		"a critical batch, switched off": {first(func(r *Request) { r.Critical, r.Settings.OnCritical = true, false }), Try,
			1, false, "sample_on_critical is off"},
		"a failure of a critical batch": {ask(func(r *Request) { r.Critical, r.Settings.OnRetry = true, false }), Sample, 3,
			true, "critical"},
		"--sample": {first(func(r *Request) { r.Flags.Sample = 4 }), Sample, 4, false,
			"--sample requests 4 candidates"},
		"--sample-batch of this one": {first(func(r *Request) { r.Flags.SampleBatch = map[string]int{"4": 5} }), Sample,
			5, false, "--sample-batch requests 5"},
		"--sample-batch goes before": {first(
			func(r *Request) { r.Flags.SampleBatch, r.Flags.Sample = map[string]int{"4": 2}, 5 }), Sample, 2, false,
			"--sample-batch"},
		"--sample-batch of another one": {first(func(r *Request) { r.Flags.SampleBatch = map[string]int{"5": 5} }), Try, 1,
			false, "not critical"},
		"a batch with the name B4": {first(
			func(r *Request) { r.Batch, r.Flags.SampleBatch = "B4", map[string]int{"4": 5} }), Sample, 5, false, ""},
		"--sample 1 is an attempt": {first(func(r *Request) { r.Flags.Sample = 1 }), Try, 1, false,
			"1 candidate cannot compete"},
		"--no-sample after a failure": {ask(func(r *Request) { r.Flags.NoSample = true }), Retry, 1, true, "--no-sample"},
		"--no-sample of a critical batch": {first(func(r *Request) { r.Critical, r.Flags.NoSample = true, true }), Try, 1,
			false, "--no-sample"},
		"escalation is off": {ask(func(r *Request) { r.Escalate = false }), Sample, 3, false, ""},
		"the setting is above the most": {ask(func(r *Request) { r.Settings.Count, r.Settings.MaxCount = 9, 4 }), Sample, 4,
			true, "4 candidates"},
		// Memory (SAMP-14).
		"just enough memory": {ask(gigabytes(12)), Sample, 3, true, ""},
		"too little memory": {ask(gigabytes(11.99)), Retry, 1, true,
			"not sampled: 11.9 GB of memory are available, and 3 candidates need 12 GB (sample_min_memory_per_gb = 4); one " +
				"more attempt instead, one tier up"},
		"too little for a critical batch": {first(func(r *Request) { r.Critical = true; gigabytes(1)(r) }), Try, 1, false,
			"not sampled: 1 GB"},
		"memory is unknown": {ask(func(r *Request) { r.Memory = nil }), Retry, 1, true,
			"not sampled: available memory is unknown, and 3 candidates need 12 GB"},
		"an agent with always the same result": {ask(func(r *Request) { r.Literal = true }), Retry, 1, true,
			"all candidates would be the same"},
		// Failures that another attempt cannot fix.
		"a limit": {ask(fails("limited")), Leave, 1, false, "the agent met a limit (sign in first)"},
		"a person is needed": {ask(fails("needs_human")), Leave, 1, false,
			"waits for a person (sign in first)"},
		"a stop":   {ask(fails("cancelled")), Leave, 1, false, "was stopped"},
		"an error": {ask(fails("error")), Leave, 1, false, "could not run"},
		"--sample does not cure it either": {ask(func(r *Request) { fails("error")(r); r.Flags.Sample = 3 }), Leave, 1, false,
			"could not run"},
		"an unknown kind": {ask(fails("eclipse")), Leave, 1, false,
			`not sampled: unknown kind of failure "eclipse" (sign in first)`},
		"a conflict":      {ask(fails("conflict")), Retry, 1, false, "rebuilt on top of that"},
		"a timeout":       {ask(fails("timed_out")), Sample, 3, true, ""},
		"nothing changed": {ask(fails("unchanged")), Sample, 3, true, ""},
		"a later attempt": {ask(func(r *Request) { r.Attempt = 3 }), Sample, 3, true, "attempt 2 failed"},
	} {
		got, err := Plan(c.req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		why := strings.Join(got.Reasons, "; ")
		if got.Action != c.action || got.N != c.n || got.Escalate != c.up || !strings.Contains(why, c.why) || why == "" {
			t.Errorf("%s: %s of %d, up %v: %s", name, got.Action, got.N, got.Escalate, why)
		}
		if sampled := got.Action == Sample; sampled != (got.Cost != "") || sampled != (got.Time != "") {
			t.Errorf("%s: cost %q, time %q", name, got.Cost, got.Time)
		}
	}
}

// SAMP-15: the estimated cost and time of sampling, or a note that they are unknown.
func TestPlanEstimatesCostAndTime(t *testing.T) {
	none := func(r *Request) { r.Cost, r.Time = nil, nil }
	cost := func(f float64) func(*Request) { return func(r *Request) { r.Cost = &f } }
	team := func(workers int) func(*Request) {
		return func(r *Request) { r.Team, r.Workers, r.Flags.Sample = true, workers, 5 }
	}
	for name, c := range map[string]struct {
		change     func(*Request)
		cost, time string
	}{
		"one after the other": {nil, "Sampling B4: ~$1.20 for 3 candidates vs $0.40 single",
			"time: about x 3, ~12m vs 4m single (one after the other)"},
		"no data": {none, "Sampling B4: 3 candidates; cost: no data",
			"time: about x 3 (one after the other); no data on a single one"},
		"fractions of a cent": {cost(0.0004), "Sampling B4: ~$0.0012 for 3 candidates vs $0.0004 single",
			"time: about x 3, ~12m vs 4m single (one after the other)"},
		"next to nothing": {cost(1e-9), "Sampling B4: ~$0.0001 for 3 candidates vs $0.0001 single",
			"time: about x 3, ~12m vs 4m single (one after the other)"},
		"free": {cost(0), "Sampling B4: ~$0.00 for 3 candidates vs $0.00 single",
			"time: about x 3, ~12m vs 4m single (one after the other)"},
		"no number": {cost(math.NaN()), "Sampling B4: 3 candidates; cost: no data",
			"time: about x 3, ~12m vs 4m single (one after the other)"},
		"all at once": {team(0), "Sampling B4: ~$2.00 for 5 candidates vs $0.40 single",
			"time: about +50 %, ~6m vs 4m single (5 at once)"},
		"two at once": {team(2), "Sampling B4: ~$2.00 for 5 candidates vs $0.40 single",
			"time: about x 4.5, ~18m vs 4m single (2 at once)"},
		"seconds": {func(r *Request) { d := 1500 * time.Millisecond; r.Time = &d },
			"Sampling B4: ~$1.20 for 3 candidates vs $0.40 single", "time: about x 3, ~5s vs 2s single (one after the other)"},
		"a minute": {func(r *Request) { d := 20 * time.Second; r.Time = &d },
			"Sampling B4: ~$1.20 for 3 candidates vs $0.40 single", "time: about x 3, ~1m vs 20s single (one after the other)"},
		"a cent": {cost(0.01), "Sampling B4: ~$0.03 for 3 candidates vs $0.01 single",
			"time: about x 3, ~12m vs 4m single (one after the other)"},
		"a batch called 9": {func(r *Request) { r.Batch = "9"; none(r) }, "Sampling B9: 3 candidates; cost: no data",
			"time: about x 3 (one after the other); no data on a single one"},
		"a batch called b0": {func(r *Request) { r.Batch = "b0"; none(r) }, "Sampling B0: 3 candidates; cost: no data",
			"time: about x 3 (one after the other); no data on a single one"},
		"a batch called P5.2": {func(r *Request) { r.Batch = "P5.2"; none(r) }, "Sampling P5.2: 3 candidates; cost: no data",
			"time: about x 3 (one after the other); no data on a single one"},
	} {
		got, err := Plan(ask(c.change))
		if err != nil || got.Cost != c.cost || got.Time != c.time {
			t.Errorf("%s: %q, %q (%v)", name, got.Cost, got.Time, err)
		}
	}
}

// C-11: at most min(N, memory / 4 GB, 5) candidates run at once, and --workers caps the number; headless candidates
// run one after the other.
func TestPlanLimitsParallelCandidates(t *testing.T) {
	for name, c := range map[string]struct {
		n, workers int
		team       bool
		want       int
	}{
		"headless": {4, 0, false, 1}, "all": {4, 0, true, 4}, "workers cap": {4, 3, true, 3}, "five at most": {8, 0, true, 5},
		"more workers than candidates": {2, 9, true, 2},
	} {
		got, err := Plan(ask(func(r *Request) {
			r.Flags.Sample, r.Settings.MaxCount, r.Team, r.Workers = c.n, 16, c.team, c.workers
		}))
		if err != nil || got.AtOnce != c.want {
			t.Errorf("%s: %d at once, want %d (%v)", name, got.AtOnce, c.want, err)
		}
	}
}

func TestFlags(t *testing.T) {
	for want, f := range map[string]Flags{
		"--no-sample and --sample exclude each other":       {NoSample: true, Sample: 3},
		"--no-sample and --sample-batch exclude each other": {NoSample: true, SampleBatch: map[string]int{"4": 2}},
		"--sample 6: the maximum is 5":                      {Sample: 6},
		"--sample 0: a batch has at least 1 candidate":      {SampleGiven: true},
		"--sample -1: a batch has at least 1 candidate":     {Sample: -1},
		"--sample-batch B2=6: the maximum is 5":             {SampleBatch: map[string]int{"4": 9, "2": 6}},
		"--sample-batch B4=0: a batch has at least":         {SampleBatch: map[string]int{"4": 0}},
	} {
		err := f.Check(5)
		if !errors.Is(err, ErrFlags) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", f, err, want)
		}
		if _, perr := Plan(ask(func(r *Request) { r.Flags = f })); perr == nil || perr.Error() != err.Error() {
			t.Errorf("%+v: Plan does not return the error of Check (%v)", f, perr)
		}
	}
	for _, f := range []Flags{{}, {NoSample: true}, {Sample: 5, SampleGiven: true},
		{Sample: 2, SampleBatch: map[string]int{"4": 5}}} {
		if err := f.Check(5); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

func TestParseSampleBatch(t *testing.T) {
	got, err := ParseSampleBatch([]string{"B4=5", " b4b = 2,0A=1", "P5.2=3", "Build=4", "B0=1", "B9=3", "4=5"})
	if diff := cmp.Diff(map[string]int{"4": 5, "4b": 2, "0A": 1, "P5.2": 3, "Build": 4, "0": 1, "9": 3},
		got); err != nil ||
		diff != "" {
		t.Error(err, diff)
	}
	for value, want := range map[string]string{
		"B4": "as in B4=5", "B4=": "as in B4=5", "=5": "as in B4=5", "B4=many": "as in B4=5", "": "as in B4=5",
		"B4=1,,":   "as in B4=5",
		"B4=1,4=2": "both 1 and 2", "B4=99999999999999999999": "as in B4=5",
	} {
		if _, err := ParseSampleBatch([]string{value}); !errors.Is(err, ErrFlags) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", value, err, want)
		}
	}
	f := Flags{SampleBatch: map[string]int{"4": 2, "9": 2}}
	if err := f.CheckBatches([]string{"1", "4", "B9"}); err != nil {
		t.Error(err)
	}
	if err := f.CheckBatches([]string{"1", "4"}); err == nil ||
		!strings.Contains(err.Error(), "B9: the plan has no such batch; it has 1, 4") {
		t.Error(err)
	}
}
