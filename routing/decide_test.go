package routing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/planparse"
)

// wide returns a plan of n independent batches, each with its own tests.
func wide(n int) string {
	var bodies []string
	for i := range n {
		bodies = append(bodies, fmt.Sprintf("Part %d\n**Files:**\n- Create: `p%d/a%d.py`\n- Test: `p%d/test_a%d.py`", i+1, i,
			i, i, i))
	}
	return batches(bodies...)
}

// rules returns the default rules with a fixed score.
func rules(score int) Rules {
	r := DefaultRules()
	r.Score = fmt.Sprint(score)
	return r
}

// The mode follows the table of ROUTE-05 and ROUTE-09, including its boundary values.
func TestMode(t *testing.T) {
	late := "Late tests\n**Files:**\n- Test: `t/test_a.py`"
	build := func(n int) string { return fmt.Sprintf("Build %d\n**Files:**\n- Create: `c%d/c%d.py`", n, n, n) }
	port := func(n int) string {
		return fmt.Sprintf("Serve %d\nOpen localhost:8080.\n\n**Files:**\n- Create: `s%d/s%d.py`\n- Test: `s%d/test_s%d.py`",
			n, n, n, n, n)
	}
	const enough = 16
	for name, tt := range map[string]struct {
		score   int
		plan    string
		memory  float64
		noTeams bool
		mode    string
		workers int
		rule    string
		failing bool          // memory can't be read
		took    time.Duration // of earlier batches; 0 is no history

		want     Mode
		workersW int
		reasons  []string
		not      string // no reason says this
	}{
		"19": {score: 19, want: Headless, reasons: []string{"is 19, below 20"}},
		"20": {score: 20, want: Headless,
			reasons: []string{"is 20, and team mode needs more than 60",
				"team mode would save about 50 % of the time if all batches take equally long"}},
		"60": {score: 60, want: Headless,
			reasons: []string{"is 60, and team mode needs more than 60",
				"team mode would save about 50 % of the time if all batches take equally long"}},
		"19 and a forecast": {score: 19, took: time.Minute, want: Headless, reasons: []string{"is 19, below 20"}},
		"20 and a forecast": {score: 20, took: 10 * time.Minute, want: Team, workersW: 2,
			reasons: []string{"the forecast is 20min instead of 40min, which saves 50 %; the parallelism score is " +
				"20, not above 60"}},
		"20 and a forecast for more workers": {score: 20, took: 10 * time.Minute, workers: 4, want: Team, workersW: 4,
			reasons: []string{"the forecast is 10min instead of 40min, which saves 75 %"}},
		"20 and a forecast for one worker": {score: 20, took: 10 * time.Minute, plan: wide(3), workers: 1, want: Team,
			workersW: 1,
			reasons:  []string{"the forecast is 20min instead of 30min, which saves 33 %"}},
		"60 and no gain": {score: 60, took: time.Minute, plan: batches("A\nText.", "B\nText."), want: Headless,
			reasons: []string{"is 60, and team mode needs more than 60"}},
		"40, forecast, no teams": {score: 40, took: 10 * time.Minute, noTeams: true, want: Headless,
			reasons: []string{"is 40, and by the forecast a team saves", "team mode would save about"}},
		"61": {score: 61, want: Team, workersW: 2,
			reasons: []string{"team: the parallelism score is 61, above 60",
				"2 workers: 16 GB available, 8 GB for each worker, at most 3 workers, up to 4 batches at the same time"}},
		"61 without teams": {score: 61, noTeams: true, want: Headless,
			reasons: []string{"enabled = true under [team], or RUNPLAN_AGENT_TEAMS=1, or use --mode team"},
			not:     "available memory"},
		"61 without memory": {score: 61, memory: enough - 0.001, want: Headless,
			reasons: []string{"available memory: 15.9 GB available; two workers of 8 GB need 16 GB"}},
		"61 with just enough": {score: 61, memory: enough, want: Team, workersW: 2},
		"61 and unknown memory": {score: 61, failing: true, want: Headless,
			reasons: []string{"could not be read, which counts as too little: no such thing"}},
		"concern-batched": {score: 100, plan: batches(build(1), build(2), late), memory: 64, want: Headless,
			reasons: []string{"builds everything first"}},
		"builds and a verification": {score: 100,
			plan: batches(build(1), build(2), "Final verification\n**Files:**\n- Test: `t/test_a.py`"), memory: 64, want: Team,
			workersW: 2},
		"the machine is shared": {score: 100, plan: batches(port(1), port(2)), memory: 64, want: Headless,
			reasons: []string{"B1, B2 share state of the machine"}},
		"one alone uses a port":  {score: 100, plan: batches(port(1), build(2)), memory: 64, want: Team, workersW: 2},
		"more memory":            {score: 61, memory: 24, want: Team, workersW: 3},
		"memory for 21":          {score: 61, memory: 21, want: Team, workersW: 2},
		"max_workers is a bound": {score: 61, memory: 1000, want: Team, workersW: 3},
		"the width is a bound":   {score: 61, plan: wide(2), memory: 1000, want: Team, workersW: 2},

		"headless asked for": {score: 100, memory: 64, mode: "headless", want: Headless,
			reasons: []string{"headless: requested"}},
		"team asked for": {score: 0, noTeams: true, memory: 64, mode: "team", want: Team, workersW: 3,
			reasons: []string{"team: requested"}},
		"team requested without enough memory": {score: 0, memory: 3, mode: "team", want: Team, workersW: 1,
			reasons: []string{"memory may be too small: 3 GB available", "1 worker: 3 GB available"}},
		"team requested and unknown memory": {score: 0, failing: true, mode: "team", want: Team, workersW: 1,
			reasons: []string{"could not be read", "--workers N sets the number"}},
		"team requested with workers": {score: 0, failing: true, mode: "team", workers: 4, want: Team, workersW: 4,
			reasons: []string{"4 workers: --workers 4"}, not: "; memory may be too small"},
		"team requested, concern-batched": {score: 0, plan: batches(build(1), build(2), late), memory: 64, mode: "team",
			want: Team, workersW: 3},
		"auto equals no mode": {score: 61, mode: "auto", want: Team, workersW: 2},
		"workers beyond memory": {score: 61, workers: 4, want: Team, workersW: 4,
			reasons: []string{"memory may be too small: 16 GB available, 8 GB for each worker"}},
		"workers beyond the width": {score: 61, workers: 9, memory: 64, want: Team, workersW: 4,
			reasons: []string{"--workers 9, of which the plan has work for 4 at a time"}},
		"fewer workers":         {score: 61, workers: 1, memory: 64, want: Team, workersW: 1, not: "memory may be too small"},
		"workers that just fit": {score: 61, workers: 4, memory: 32, want: Team, workersW: 4, not: "memory may be too small"},
		"workers in headless mode": {score: 0, workers: 4, want: Headless,
			reasons: []string{"--workers 4 has no effect: headless mode runs one batch at a time"}},
		"a rule of the user's that holds": {score: 0, noTeams: true, memory: 64,
			rule: "width >= 4 && batches == 4 && !concern_batched && memory_gb > 60", want: Team, workersW: 3,
			reasons: []string{"the rule routing.team holds: width"}},
		"a rule of the user's that doesn't": {score: 100, memory: 64,
			rule: "score > threshold + 50 && worker_gb == 8 && runtime == 0 && teams", want: Headless,
			reasons: []string{"does not hold", "its facts: score 100, threshold 60, teams true, memory_gb 64.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := tt.plan
			if text == "" {
				text = wide(4)
			}
			if tt.memory == 0 {
				tt.memory = enough
			}
			o := Options{Mode: tt.mode, Workers: tt.workers, TeamsEnabled: !tt.noTeams, Rules: rules(tt.score),
				Memory: machine(tt.memory)}
			o.Rules.Team = tt.rule
			for range leastSamples {
				o.History = append(o.History, Sample{Class: string(Implementation), Duration: tt.took, Passed: true})
			}
			if tt.failing {
				o.Memory = func() (uint64, error) { return 0, errors.New("no such thing") }
			}
			d := decided(t, text, o)
			if d.Mode != tt.want || d.Workers != max(tt.workersW, 1) {
				t.Errorf("%s with %d workers, want %s with %d", d.Mode, d.Workers, tt.want, max(tt.workersW, 1))
			}
			if read := d.Memory.Available != nil; d.Memory.OK != (read && tt.memory >= enough) {
				t.Errorf("memory is %+v", d.Memory)
			}
			for _, want := range tt.reasons {
				if !slices.ContainsFunc(d.Reasons, func(r string) bool { return strings.Contains(r, want) }) {
					t.Errorf("no reason says %q", want)
				}
			}
			if tt.not != "" && strings.Contains(strings.Join(d.Reasons, "\n"), tt.not) {
				t.Errorf("a reason says %q", tt.not)
			}
			if t.Failed() {
				t.Log(strings.Join(d.Reasons, "\n"))
			}
		})
	}
}

// The expression of the default rule gives the same mode as the rule written in Go, on both sides of each boundary.
func TestDefaultExpressionMatchesGoRule(t *testing.T) {
	n := 0
	for _, score := range []int{0, 19, 20, 59, 60, 61, 100} {
		for _, teams := range []bool{false, true} {
			for _, memory := range []float64{0, 8, 15.99, 16, 16.01, 64} {
				for _, text := range []string{wide(3),
					batches("A\n**Files:**\n- Create: `a.py`", "B\n**Files:**\n- Create: `b.py`",
						"Tests\n**Files:**\n- Test: `c/test_c.py`"),
					batches("A\nOpen localhost:1.\n\n**Files:**\n- Create: `a.py`",
						"B\nOpen localhost:1.\n\n**Files:**\n- Create: `b.py`")} {
					d := decided(t, text, Options{TeamsEnabled: teams, Rules: rules(score), Memory: machine(memory)})
					want := Headless
					if score > 60 && teams && memory >= 16 && text == wide(3) {
						want = Team
						n++
					}
					if d.Mode != want {
						t.Errorf("score %d, teams %v, %v GB: %s, want %s\n%s", score, teams, memory, d.Mode, want, text)
					}
					if d.Mode == Team != (d.Workers > 1) || len(d.Reasons) == 0 {
						t.Errorf("%s with %d workers: %v", d.Mode, d.Workers, d.Reasons)
					}
				}
			}
		}
	}
	if n != 2*3 {
		t.Errorf("team mode in %d cases", n)
	}
}

// Without a configured score, the built-in formula decides.
func TestBuiltinScoreDecidesMode(t *testing.T) {
	safe := "---\nparallel_safe: true\n---\n"
	for name, tt := range map[string]struct {
		plan  string
		score int
		mode  Mode
	}{
		"four that have nothing in common":  {wide(4), 75, Team},
		"two of them":                       {wide(2), 100, Team},
		"two of them, and the plan says so": {safe + wide(2), 100, Team},
		"one alone":                         {wide(1), 0, Headless},
		"one alone, whatever the plan says": {safe + wide(1), 20, Headless},
		"a chain": {batches("A\n**Files:**\n- Modify: `a.py`",
			"B\n**Files:**\n- Modify: `a.py`"), 0, Headless},
		"nothing to go by":                       {batches("A\nText.", "B\nText."), 0, Headless},
		"nothing to go by, and the plan says so": {safe + batches("A\nText.", "B\nText.", "C\nText.", "D\nText."), 95, Team},
		"no batches":                             {"# Nothing\n", 0, Headless},
	} {
		t.Run(name, func(t *testing.T) {
			d := decided(t, tt.plan, Options{TeamsEnabled: true, Memory: machine(64)})
			if d.Score.Value != tt.score || d.Mode != tt.mode {
				t.Errorf("score %d, %s, want %d, %s: %+v", d.Score.Value, d.Mode, tt.score, tt.mode, d.Score.Facts)
			}
		})
	}
}

// If a history exists, the advice states the time that team mode would save.
func TestAdviceFromHistory(t *testing.T) {
	d := decided(t, wide(4), Options{Rules: rules(40), History: samples("r1", "implementation", "medium", 10, 10, 10)})
	if want := "team mode would save about 20min (50 %)"; !slices.Contains(d.Reasons, want) {
		t.Errorf("%q, want %q", d.Reasons, want)
	}
}

// The memory of the machine is read only if it can affect the decision.
func TestDecideReadsMemoryOnlyIfNeeded(t *testing.T) {
	for name, tt := range map[string]struct {
		o    Options
		want bool
	}{
		"auto without teams": {Options{}, false}, "headless": {Options{Mode: "headless", TeamsEnabled: true}, false},
		"auto with teams": {Options{TeamsEnabled: true}, true}, "team": {Options{Mode: "team"}, true},
		"a rule of the user's": {Options{Rules: Rules{Team: "true", WorkerMemGB: 1, MaxWorkers: 1,
			ModelImplementation: "small", ModelVerification: "small", ModelWiring: "small", ModelArchitecture: "small"}}, true},
	} {
		read := false
		tt.o.Memory = func() (uint64, error) { read = true; return 1 << 40, nil }
		d := decided(t, wide(2), tt.o)
		if read != tt.want || read != (d.Memory.Available != nil) || read == (d.Memory.Note != "") {
			t.Errorf("%s: read %v, want %v: %+v", name, read, tt.want, d.Memory)
		}
		if headless := tt.o.Mode == "headless"; !read && headless != strings.Contains(d.Memory.Note, "was requested") {
			t.Errorf("%s: %s", name, d.Memory.Note)
		}
	}
	if n, err := AvailableMemory(); err != nil || n == 0 {
		t.Errorf("this machine has %d bytes (%v)", n, err)
	}
}

// In team mode a skipped batch passes its dependencies on to the batches that need it; in headless mode the batches
// form a chain in plan order.
func TestDependenciesByMode(t *testing.T) {
	p := plan(t, "1", "2 after 1", "3 after 2 when: false", "4 after 3", "5 after 3, 2")
	for i := range p.Batches {
		p.Batches[i].Files.Create = []string{fmt.Sprintf("d%d/f.py", i)}
	}
	for mode, want := range map[string]string{
		"team":     "1; 2 needs 1; 3 needs 2 (its condition is false: false); 4 needs 2; 5 needs 2",
		"headless": "1; 2 needs 1; 3 needs 2 (its condition is false: false); 4 needs 3,2; 5 needs 3,2,4",
	} {
		d, err := Decide(p, Options{Mode: mode, Memory: machine(64)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, story(d)); diff != "" {
			t.Error(mode, diff)
		}
		if diff := cmp.Diff([]string{"4", "5"}, d.Width); diff != "" {
			t.Error(mode, diff)
		}
		if len(d.Speculation) > 0 != (mode == "team") || d.Estimate.SpeedUp == nil {
			t.Errorf("%s: %v, %v", mode, d.Speculation, d.Estimate)
		}
	}
}

// With --sequential-after, batches up to and including the given one can run in parallel; the others follow one after
// another (TEAM-06).
func TestSequentialAfter(t *testing.T) {
	for after, want := range map[string]string{
		"":   "1; 2; 3; 4; 5; 6",
		"3":  "1; 2; 3; 4 needs 1,2,3; 5 needs 4; 6 needs 5",
		"B5": "1; 2; 3; 4; 5; 6 needs 1,2,3,4,5",
		"b6": "1; 2; 3; 4; 5; 6",
		"1":  "1; 2 needs 1; 3 needs 2; 4 needs 3; 5 needs 4; 6 needs 5",
	} {
		d := decided(t, wide(6), Options{Mode: "team", SequentialAfter: after, Memory: machine(64)})
		if diff := cmp.Diff(want, story(d)); diff != "" {
			t.Errorf("after %q: %s", after, diff)
		}
		if d.Score.Value != 100 {
			t.Errorf("after %q the score of the plan is %d", after, d.Score.Value)
		}
		for _, e := range d.Edges {
			if e.Kind != EdgeSequential || !strings.HasPrefix(e.Reason, "requested with --sequential-after B") {
				t.Errorf("after %q: %+v", after, e)
			}
		}
		for _, s := range d.Steps {
			if len(s.Early) > 0 {
				t.Errorf("after %q: %s starts early", after, s.Batch)
			}
		}
	}
	// The batches keep their own dependencies, before and after the given batch.
	d := decided(t, batches("A\n**Files:**\n- Modify: `a.py`", "B\n**Files:**\n- Modify: `b.py`",
		"C\n**Files:**\n- Modify: `b.py`", "D\n**Files:**\n- Modify: `d.py`", "E\n**Files:**\n- Modify: `d.py`"),
		Options{Mode: "team", SequentialAfter: "3", Memory: machine(64)})
	if diff := cmp.Diff("1; 2; 3 needs 2; 4 needs 1,3; 5 needs 4", story(d)); diff != "" {
		t.Error(diff)
	}
}

// A batch starts early on a candidate whose gates are still running if their overlap is below the limit (TEAM-04,
// C-09).
func TestEarlyStartNeedsLowOverlap(t *testing.T) {
	files := func(from, n int) string {
		var s strings.Builder
		for i := range n {
			fmt.Fprintf(&s, "- Modify: `f%03d.txt`\n", from+i)
		}
		return "**Files:**\n" + s.String()
	}
	share := func(n int) string { // of a hundred files each
		return batches("A\n"+files(0, 100), "B\ndepends_on: 1\n\n"+files(100-n, 100))
	}
	for name, tt := range map[string]struct {
		plan string
		o    func(*Options)
		want string
	}{
		"nothing":    {plan: share(0), want: "2 on 1 at 0 %: true"},
		"19 percent": {plan: share(19), want: "2 on 1 at 19 %: true"},
		"20 percent": {plan: share(20), want: "2 on 1 at 20 %: false"},
		"another border": {plan: share(20), o: func(o *Options) { o.Rules.SpeculateMaxOverlap = 21 },
			want: "2 on 1 at 20 %: true"},
		"not wanted": {plan: share(0), o: func(o *Options) { o.NoSpeculate = true },
			want: "2 on 1 at 0 %: false, --no-speculate"},
		"not wanted by the settings": {plan: share(0), o: func(o *Options) { o.Rules.Speculate = false },
			want: "2 on 1 at 0 %: false, routing.speculate is off"},
		"for what it reads": {plan: batches("A\n**Files:**\n- Create: `a.py`",
			"B\ncontext_refs: a.py\n\nRun: `make`"), want: "2 on 1 at 0 %: true"},
		"for what its text names": {plan: batches("A\n**Files:**\n- Create: `a.py`",
			"B\n**Files:**\n- Create: `x/b.py`\n\nSee a.py."), want: "2 on 1 at 0 %: true"},
		"the smaller set counts": {plan: batches("A\n"+files(0, 10), "B\n"+files(9, 2)), want: "2 on 1 at 50 %: false"},
		"unknown files": {plan: batches("A\nText.", "B\nText."),
			want: "2 on 1 at 0 %: false, it is unknown which files B1 touches"},
		"prose that needs the other": {plan: batches("A\n"+files(0, 1), "B\ndepends_on: 1\n\nText."),
			want: "2 on 1 at 0 %: false, it is unknown which files B2 touches"},
		"the same port": {plan: batches("A\nOpen localhost:1.\n\n"+files(0, 1), "B\nOpen localhost:1.\n\n"+
			files(1, 1)), want: "2 on 1 at 0 %: false, both touch the same state of the machine"},
		"in a row because of a flag": {plan: wide(2), o: func(o *Options) { o.SequentialAfter = "1" },
			want: "2 on 1 at 0 %: false, it was requested to run after it"},
		"two to wait for": {plan: batches("A\n"+files(0, 1), "B\n"+files(1, 1), "C\ndepends_on: 1, 2\n\n"+
			files(2, 1)), want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Mode: "team", Memory: machine(64), Rules: DefaultRules()}
			if tt.o != nil {
				tt.o(&o)
			}
			d := decided(t, tt.plan, o)
			var got []string
			for _, s := range d.Speculation {
				got = append(got, strings.TrimSuffix(
					fmt.Sprintf("%s on %s at %s: %v, %s", s.Batch, s.On, asShare(s.Overlap), s.Starts, s.Reason), ", "))
				step, _ := d.Step(s.Batch)
				if s.Starts != slices.Equal(step.Early, []string{s.On}) || !s.Starts && len(step.Early) > 0 {
					t.Errorf("%+v, but early on %v", s, step.Early)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("%s\n%s", diff, arrows(d))
			}
		})
	}
}

// A batch with several dependencies starts early on all of them or on none.
func TestEarlyStartOnSeveralDependencies(t *testing.T) {
	for third, want := range map[string][]string{"c.py": {"1", "2"}, "b.py": {}} {
		d := decided(t, batches("A\n**Files:**\n- Modify: `a.py`", "B\n**Files:**\n- Modify: `b.py`",
			"C\ndepends_on: 1, 2\n\n**Files:**\n- Modify: `"+third+"`"),
			Options{Mode: "team", Memory: machine(64)})
		if step, _ := d.Step("3"); !slices.Equal(step.Early, want) || len(step.Needs) != 2 {
			t.Errorf("with %s, 3 needs %v and starts early on %v, want %v", third, step.Needs, step.Early, want)
		}
	}
}

// Invalid options are refused, and the error names the flag or setting.
func TestDecideRefusesInvalidOptions(t *testing.T) {
	with := func(change func(*Rules)) Options {
		r := DefaultRules()
		change(&r)
		return Options{Rules: r}
	}
	for want, o := range map[string]Options{
		"--mode both: unknown mode":                                 {Mode: "both"},
		"--workers -1: at least one":                                {Workers: -1},
		"--sequential-after B9: the plan has no such batch":         {SequentialAfter: "B9"},
		"--model-override 9: the plan has no such batch":            {ModelOverride: map[string]string{"9": "opus"}},
		`routing.score: expression "50 * zz": unknown name zz (1:6`: with(func(r *Rules) { r.Score = "50 * zz" }),
		`routing.score: expression "1 / (p - p)"`:                   with(func(r *Rules) { r.Score = "1 / (p - p)" }),
		`routing.team: condition "score"`:                           with(func(r *Rules) { r.Team = "score" }),
		"routing.max_workers = 0":                                   with(func(r *Rules) { r.MaxWorkers = 0 }),
		"routing.worker_mem_threshold_gb = 0":                       with(func(r *Rules) { r.WorkerMemGB = 0 }),
	} {
		if _, err := Decide(parsed(t, wide(2)), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// A rule is checked even if the decision does not use it.
	if _, err := Decide(parsed(t, wide(2)),
		Options{Mode: "headless", Rules: with(func(r *Rules) { r.Team = "scoer > 3" }).Rules}); err == nil ||
		!strings.Contains(err.Error(), "unknown name scoer (1:1)") {
		t.Error(err)
	}
}

// A score from a user's expression is rounded and limited to 0 to 100.
func TestUserScoreIsRoundedAndLimited(t *testing.T) {
	for text, want := range map[string]int{"-5": 0, "1000": 100, "12.5": 13, "z * 100 + g + h + p": 100, "10 * g": 20,
		"o": 0} {
		r := DefaultRules()
		r.Score = text
		if d := decided(t, wide(2), Options{Rules: r}); d.Score.Value != want || d.Score.Source != text {
			t.Errorf("%s is %d, want %d", text, d.Score.Value, want)
		}
	}
}

func TestCriticalPath(t *testing.T) {
	d := Decision{
		Steps: []Step{{Batch: "a", Expected: time.Hour}, {Batch: "b", Expected: time.Minute},
			{Batch: "c", Expected: time.Minute, Skip: "x"}, {Batch: "d", Expected: time.Minute}},
		Edges: []Edge{{From: "b", To: "c"}, {From: "c", To: "d"}},
	}
	if got := d.CriticalPath(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("by time: %v", got)
	}
	d.Steps[0].Expected = 0
	if got := d.CriticalPath(); !slices.Equal(got, []string{"b", "d"}) {
		t.Errorf("by number: %v", got)
	}
	if got := (Decision{}).CriticalPath(); len(got) != 0 {
		t.Errorf("the critical path of an empty decision: %v", got)
	}
}

// A plan with too many batches for the analysis runs sequentially, and the edges give this reason.
func TestLargePlanRunsSequentially(t *testing.T) {
	p := &planparse.Plan{}
	for i := range mostBatches + 1 {
		p.Batches = append(p.Batches,
			planparse.Batch{Key: fmt.Sprint(i), Number: fmt.Sprint(i),
				Files: planparse.Files{Create: []string{fmt.Sprintf("f%d", i)}}})
	}
	d, err := Decide(p, Options{Mode: "team", SequentialAfter: "3", Memory: machine(64)})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Edges) != mostBatches || !strings.Contains(d.Edges[7].Reason, "too large to be searched") ||
		len(d.Width) != 1 || d.Workers != 1 || len(d.Groups) != len(p.Batches) || len(d.Pairs)+d.PairsLeftOut != 0 {
		t.Errorf("%d edges, width %v, %d workers, %d groups, %d pairs", len(d.Edges), d.Width, d.Workers, len(d.Groups),
			len(d.Pairs))
	}
	runnable(t, d)
}

// A plan with too many paths for the analysis runs sequentially, even if it has few batches.
func TestPlanOfManyPathsRunsSequentially(t *testing.T) {
	p := plan(t, "1", "2")
	p.Batches[1].Files.Create = []string{"x"}
	for i := range 10000 {
		p.Batches[0].Files.Create = append(p.Batches[0].Files.Create, fmt.Sprintf("d%d/", i))
	}
	d, err := Decide(p, Options{Mode: "team", Memory: machine(64)})
	if err != nil {
		t.Fatal(err)
	}
	want := "1 -> 2 order: the plan is too large to be searched for parallel batches"
	if diff := cmp.Diff(want, arrows(d)); diff != "" {
		t.Error(diff)
	}
}

// The groups and the width are right in plans with more batches than a machine word has bits.
func TestChainsOfManyBatches(t *testing.T) {
	const n = 140
	for _, chains := range []int{1, 2, 63, 64, 65, 67} {
		p := plan(t, make([]string, n)...)
		var last []string
		for i := range p.Batches {
			b := &p.Batches[i]
			b.Key, b.Files.Create = fmt.Sprint(i), []string{fmt.Sprintf("d%d/f.txt", i)}
			if i >= chains {
				b.DependsOn = []string{fmt.Sprint(i - chains)}
			}
			if i >= n-chains {
				last = append(last, b.Key)
			}
		}
		d, err := Decide(p, Options{Mode: "team", Memory: machine(64)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(last, d.Width); diff != "" || len(d.Groups) != (n+chains-1)/chains {
			t.Errorf("%d chains: %d groups, width: %s", chains, len(d.Groups), diff)
		}
		for i, s := range d.Steps {
			if !slices.Equal(s.Needs, p.Batches[i].DependsOn) {
				t.Errorf("%d chains: %s needs %v", chains, s.Batch, s.Needs)
			}
		}
	}
}

func TestMinutes(t *testing.T) {
	for want, d := range map[string]time.Duration{"0s": 0, "45s": 45 * time.Second, "1min": 80 * time.Second,
		"14min": 14 * time.Minute, "2h 05min": 125 * time.Minute, "1h 00min": time.Hour + time.Second} {
		if got := Minutes(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

// Only a limited number of pairs is listed; the others are counted.
func TestPairsAreLimited(t *testing.T) {
	d := decided(t, wide(110), Options{})
	if n := 110 * 109 / 2; len(d.Pairs) != mostPairs || d.PairsLeftOut != n-mostPairs {
		t.Errorf("%d pairs, %d left out, of %d", len(d.Pairs), d.PairsLeftOut, n)
	}
}

// Amounts of memory are rounded down, in reasons and in the printed plan.
func TestGB(t *testing.T) {
	for want, n := range map[string]float64{"0 GB": 0, "8 GB": 8, "7.9 GB": 8 - 1.0/(1<<30), "21.8 GB": 21 + 900.0/1024,
		"0.5 GB": 0.5} {
		if got := GB(n); got != want {
			t.Errorf("%v is %s, want %s", n, got, want)
		}
	}
}
