package plan_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/plan"
)

// TRAIN-22: for values that a plan omits, training uses those of the curriculum.
func TestDefaults(t *testing.T) {
	p, err := plan.Parse("p.toml", []byte("stage = \"execute_code\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	h := p.Hyperparameters
	if p.Base != training.Coding || h.Rank != 32 || h.Alpha != 64 || h.Dropout != 0.05 || h.LearningRate != 1e-4 ||
		h.MaxSteps != 500 || h.MaxSequenceLength != 16384 ||
		h.BatchSize != 1 || h.GradientAccumulation != 8 ||
		strings.Join(h.TargetModules, " ") != "q_proj k_proj v_proj o_proj gate_proj up_proj" ||
		p.Data.ValidationSplit != 0.15 {
		t.Errorf("%+v", p)
	}
}

// An invalid plan is refused with the line of the error.
func TestInvalidPlansAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":     {"", "p.toml:1: not a training plan: it names no stage"},
		"no TOML":     {"stage = \"scope\"\nx x\n", "p.toml:2:"},
		"half a line": {"stage = \"sco", "p.toml:1:"},
		"an unknown key": {"stage = \"scope\"\n\n[data]\nmin_qualty = 0.5\n",
			"p.toml:4: not a training plan: unknown key data.min_qualty"},
		"another type":     {"stage = \"scope\"\n[hyperparameters]\nrank = \"big\"\n", "p.toml:3:"},
		"an unknown stage": {"# x\nstage = \"code\"\n", "p.toml:2: not a training plan: stage \"code\" is not one of"},
		"the other base": {"stage = \"scope\"\nbase = \"coding\"\n",
			"p.toml:2: not a training plan: base must be reasoning"},
		"a share above one": {"stage = \"scope\"\n[data]\nseed_ = 1\n", "p.toml:3:"},
		"near above one": {"stage = \"scope\"\n[data]\nnear_duplicate = 1.5\n",
			"p.toml:3: not a training plan: data.near_duplicate is 1.5"},
		"near too low": {"stage = \"scope\"\ndata.near_duplicate = 0.1\n",
			"p.toml:2: not a training plan: data.near_duplicate"},
		"a ratio below zero": {"stage = \"scope\"\n[data]\n\nnegative_ratio = -1\n",
			"p.toml:4: not a training plan: data.negative_ratio"},
		"no ratio at all": {"stage = \"scope\"\n[data]\nnegative_ratio = nan\n",
			"p.toml:3: not a training plan: data.negative_ratio"},
		"all is validation": {"stage = \"scope\"\n[data]\nvalidation_split = 1.0\n", "p.toml:3:"},
		"an unknown source": {"stage = \"scope\"\n[data]\nsources = [\"web\"]\n",
			"p.toml:3: not a training plan: data.sources has \"web\""},
		"no module": {"stage = \"scope\"\n[hyperparameters]\ntarget_modules = [\"a b\"]\n",
			"p.toml:3: not a training plan: hyperparameters.target_modules"},
		"bits":            {"stage = \"scope\"\n[hyperparameters]\nquantization_bits = 5\n", "p.toml:3:"},
		"an empty target": {"stage = \"scope\"\n\n[[improvement]]\ntarget = 1.0\n", "p.toml:3:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := plan.Parse("p.toml", []byte(c.text))
			if !errors.Is(err, plan.ErrPlan) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v\nwant %s…", err, c.want)
			}
		})
	}
}

func full() plan.Plan {
	p := plan.For(training.Scope)
	now := 0.4
	p.Seed = math.MaxInt64
	p.Data.Repos, p.Data.Licenses = []string{`a "b" \ü`}, []string{"MIT"}
	p.Data.Since = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	p.Data.NegativeRatio, p.Hyperparameters.LearningRate = 2, 1e-9
	p.Improvements = []plan.Improvement{{Metric: "quality", Now: &now, Target: 0.7, Rests: "12 of 30\n\x7f"},
		{Metric: "x", Target: 1}}
	return p
}

func encoded(t testing.TB, p plan.Plan, why ...string) []byte {
	t.Helper()
	text, err := p.Encode(why)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A plan that is written with comments for people is read back unchanged.
func TestEncode(t *testing.T) {
	p := full()
	text := encoded(t, p, "weak: 0.5\nand more")
	got, err := plan.Parse("p.toml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if d := cmp.Diff(p, got); d != "" {
		t.Error(d)
	}
	if !bytes.Contains(text, []byte("# weak: 0.5\n# and more\n")) {
		t.Errorf("%s", text)
	}
}

// Any text is a consistent plan that is written and read back unchanged, or an error that names the file and the
// line.
func FuzzParse(f *testing.F) {
	f.Add(string(encoded(f, full())))
	f.Add("stage = \"scope\"\n[data]\nsince = 2026-01-01\n")
	f.Add("stage = 'scope'\ndata = {near_duplicate = 0.9}\n[[improvement]]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := plan.Parse("p.toml", []byte(text))
		if err != nil {
			if !errors.Is(err, plan.ErrPlan) || !strings.HasPrefix(err.Error(), "p.toml:") {
				t.Errorf("%v", err)
			}
			return
		}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
		again, err := plan.Parse("p.toml", encoded(t, p))
		if err != nil {
			t.Fatalf("%v\n%s", err, encoded(t, p))
		}
		if !bytes.Equal(encoded(t, again), encoded(t, p)) {
			t.Errorf("%s\nthen\n%s", encoded(t, p), encoded(t, again))
		}
	})
}

func calls(kind, stage string, calls, failed, won, lost int) store.StageFigures {
	return store.StageFigures{Type: kind, Stage: stage, Calls: calls, Failed: failed,
		Tasks: store.Verdicts{Won: won, Lost: lost}}
}

// TRAIN-06: the weakest stage has the highest mean share of failures; a stage with too few calls is not judged.
func TestWeakest(t *testing.T) {
	e := plan.Evidence{Calls: []store.StageFigures{
		calls("task_analysis", "", 10, 1, 8, 2),           // (0.1 + 0.2) / 2 = 0.15
		calls("scope_judgment", "scope", 20, 8, 6, 4),     // model a
		calls("scope_judgment", "scope", 10, 4, 2, 8),     // model b: together (12/30 + 12/20) / 2 = 0.5
		calls("execute_code", "execute_code", 4, 4, 0, 4), // too few
		calls("enrichment", "enrichment", 100, 100, 0, 100),
	}, Examples: map[training.Stage]plan.Tally{training.Scope: {Synthetic: 90, Positive: 90}}}
	a := plan.Analyse(e)
	r, ranked, ok := a.Weakest()
	if !ok || !ranked || r.Stage != training.Scope || *r.Weakness != 0.5 {
		t.Fatalf("%+v", r)
	}
	if w := a.Of(training.TaskAnalysis).Weakness; w == nil || *w != 0.15 {
		t.Errorf("task analysis: %v", w)
	}
	if w := a.Of(training.ExecuteCode).Weakness; w != nil {
		t.Errorf("four calls say nothing, not %v", *w)
	}
	p := a.Draft(r.Stage, 7)
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	// 90 · 0.85 / 8 = 9.6: ten steps process all examples once.
	if p.Seed != 7 || p.Hyperparameters.MaxSteps != 30 || len(p.Data.Sources) != 1 ||
		p.Data.Sources[0] != training.Synthetic {
		t.Errorf("%+v", p)
	}
	want := []plan.Improvement{
		{Metric: "answers_usable", Now: ptr(0.6), Target: 0.8, Rests: "18 of 30 answers could be used"},
		{Metric: "tasks_succeeded", Now: ptr(0.4), Target: 0.7, Rests: "8 of 20 tasks with this stage succeeded"},
	}
	if d := cmp.Diff(want, p.Improvements); d != "" {
		t.Error(d)
	}
}

func ptr[T any](v T) *T { return &v }

// Without data from the log, the stage with the most examples is next, and the result is marked as not ranked.
func TestWeakestWithoutLog(t *testing.T) {
	r, ranked, ok := plan.Analyse(
		plan.Evidence{Examples: map[training.Stage]plan.Tally{training.Scope: {Synthetic: 3, Positive: 3},
			training.Precision: {Synthetic: 4, Positive: 4}}}).Weakest()
	if !ok || ranked || r.Stage != training.Precision {
		t.Errorf("%+v %v %v", r, ranked, ok)
	}
	if _, _, ok := plan.Analyse(plan.Evidence{}).Weakest(); ok {
		t.Error("without evidence there must be no weakest stage")
	}
}

// Failed attempts are counted by kind of failure; one attempt can count in several kinds.
func TestPatterns(t *testing.T) {
	a := plan.Analyse(plan.Evidence{Attempts: []store.Attempt{
		{Applied: true, Success: true, TestOutput: "ok"},
		{Applied: true, FailingTests: []string{"TestA", "TestB"}, LintOutput: "x"},
		{Applied: true, FailingTests: []string{"TestA"}},
		{},
	}})
	var got []string
	for _, p := range a.Patterns {
		if p.Of != 3 {
			t.Errorf("%+v", p)
		}
		got = append(got, p.Name)
	}
	if want := "test TestA, tests failed, linter, no change was made, test TestB"; strings.Join(got, ", ") != want {
		t.Errorf("%q", got)
	}
}

// A correlation needs enough tasks with different values, and equals the value computed by hand: of four tasks with
// one attempt three succeeded, of four with three attempts three failed.
func TestCorrelations(t *testing.T) {
	var tasks []store.TaskOutcome
	for i := range 8 {
		won := i < 4 != (i == 0 || i == 7)
		attempts := 1
		if i >= 4 {
			attempts = 3
		}
		tasks = append(tasks, store.TaskOutcome{Success: &won, Attempts: attempts, Calls: 1})
	}
	of := func(tasks []store.TaskOutcome, figure string) *float64 {
		for _, c := range plan.Analyse(plan.Evidence{Tasks: tasks}).Correlations {
			if c.Figure == figure {
				return c.R
			}
		}
		return nil
	}
	if r := of(tasks, "attempts"); r == nil || *r != -0.5 {
		t.Errorf("r is %v", r)
	}
	if r := of(tasks, "calls"); r != nil {
		t.Errorf("all values are equal, but r is %v", *r)
	}
	if r := of(tasks[:7], "attempts"); r != nil {
		t.Errorf("seven tasks are too few, but r is %v", *r)
	}
}
