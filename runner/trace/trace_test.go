package trace

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
)

// The trailers of a commit name its batch; a squashed message can name several, indented or not.
func TestParts(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		want    []Part
	}{
		"one": {"a\n\nRunplan-Run: r1\nRunplan-Batch: 3-2\nRunplan-Agent: x\n", []Part{{"r1", "3-2"}}},
		"squashed by git": {"s\n\n    Runplan-Run: r1\n    Runplan-Batch: 1\n\n    Runplan-Run: r1\n    Runplan-Batch: 2\n",
			[]Part{{"r1", "1"}, {"r1", "2"}}},
		"twice the same":    {"Runplan-Run: r1\nRunplan-Batch: 1\nRunplan-Batch: 1", []Part{{"r1", "1"}}},
		"no run":            {"Runplan-Batch: 1", nil},
		"inside a sentence": {"see Runplan-Run: r1\nRunplan-Batch: 1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Parts(c.message)); d != "" {
				t.Error(d)
			}
		})
	}
}

// If two OpenSpec capabilities have a requirement with the same title, the ID of the second starts with the name of
// its capability.
func TestDuplicateTitlesGetCapabilityPrefix(t *testing.T) {
	files := fstest.MapFS{
		"c/specs/a/spec.md": {Data: []byte("### Requirement: Say hello\n#### Scenario: x y\n")},
		"c/specs/b/spec.md": {Data: []byte("### Requirement: Say hello\n#### Scenario: x y\n")},
		"c/spec.md":         {Data: []byte("- **FR-1**: token\n")},
		"far.md":            {Data: []byte("- **FR-1**: second\n- **FR-2**: linked\n")},
		"requirements.md":   {Data: []byte("- **TOP-1**: aside\n")},
	}
	plan := []byte("# p\n\nSee [far](../far.md).\n\n## Batch 1: a\n\nFR-2\n")
	s := Read(files, "c/plan.md", plan, func(text string) string { return strings.ReplaceAll(text, "token", "***") })
	var got []string
	for _, q := range s.All {
		got = append(got, q.ID+": "+q.Text)
	}
	want := []string{
		"FR-1: - **FR-1**: ***", "Say hello: ### Requirement: Say hello\n#### Scenario: x y",
		"Say hello / x y: #### Scenario: x y",
		"b: Say hello: ### Requirement: Say hello\n#### Scenario: x y", "b: Say hello / x y: #### Scenario: x y",
		"FR-2: - **FR-2**: linked", "TOP-1: - **TOP-1**: aside",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	p, err := planparse.Parse("c/plan.md", plan)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, q := range s.Info(p, plan) {
		kept = append(kept, q.ID+" "+strings.Join(q.Batches, ","))
	}
	if d := cmp.Diff([]string{"FR-1 ", "Say hello ", "Say hello / x y ", "b: Say hello ", "b: Say hello / x y ", "FR-2 1"},
		kept); d != "" {
		t.Error(d)
	}
}

// run returns a run of the plan text in which the given batches are merged and all others are skipped.
func run(id, text string, merged ...string) Run {
	p, err := planparse.Parse("plan.md", []byte(text))
	if err != nil {
		panic(err)
	}
	r := Run{PlanText: []byte(text), Summary: runner.Summary{Run: id, Plan: "plan.md"}}
	for _, b := range p.Batches {
		r.Info.Batches = append(r.Info.Batches, runner.BatchInfo{Key: b.Key, Digest: b.Digest[:16]})
		state := string(runner.Skipped)
		for _, key := range merged {
			if key == b.Key {
				state = string(runner.Passed)
			}
		}
		r.Summary.Batches = append(r.Summary.Batches,
			runner.BatchSummary{Key: b.Key, Number: b.Number, State: state, Commit: id + b.Key})
	}
	r.Started = r.Info
	return r
}

func undone(r Run) Run {
	r.Summary.Undone = "c"
	return r
}

// A task is proven by the newest run that merged it, even if the task has moved in the plan since then.
func TestNewestMergeProvesTask(t *testing.T) {
	const then = "## Batch 1: a\n### Task 1: x\none\n## Batch 2: b\n### Task 1: y\ntwo\n"
	for name, c := range map[string]struct {
		now  string
		runs []Run
		want []string
	}{
		"all in one run": {then, []Run{run("r", then, "1", "2")}, []string{"1/1 proven r1", "2/1 proven r2"}},
		"what it skipped, an older": {then, []Run{run("s", then, "2"), run("r", then, "1")},
			[]string{"1/1 proven r1", "2/1 proven s2"}},
		"a run that was undone": {then, []Run{undone(run("s", then, "1", "2")), run("r", then, "1")},
			[]string{"1/1 proven r1", "2/1 open"}},
		"nobody": {then, []Run{run("r", then, "2")}, []string{"1/1 skipped", "2/1 proven r2"}},
		"another wording": {strings.Replace(then, "two", "three", 1), []Run{run("r", then, "1", "2")},
			[]string{"1/1 proven r1", "2/1 older r2"}},
		"a batch was put in front": {"## Batch 1: new\n### Task 1: z\nzero\n" +
			strings.NewReplacer("Batch 1", "Batch 2", "Batch 2", "Batch 3").Replace(then), []Run{run("r", then, "1", "2")},
			[]string{"1/1 open", "2/1 proven r1", "3/1 proven r2"}},
		"ticked, but not proven": {"## Batch 7: a\n### Task 1: q\n- [x] did\n", []Run{run("r", then, "1", "2")},
			[]string{"7/1 ticked"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Build(Input{Runs: c.runs, Text: []byte(c.now)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range r.Tasks {
				text := x.Name + " " + string(x.State)
				if x.Proof != nil {
					text += " " + x.Proof.Commit
				}
				got = append(got, text)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// A run that continued with a changed plan proves the changed text. The report knows that text only while it is the
// current one.
func TestChangedPlanProvesChangedText(t *testing.T) {
	const then, now = "## Batch 1: a\n- [ ] one\n", "## Batch 1: a\n- [ ] two\n"
	r := run("r", then, "1")
	r.Info = run("r", now, "1").Info
	for text, want := range map[string]State{now: Proven, strings.Replace(now, "[ ]", "[x]", 1): Proven, then: Older,
		strings.Replace(now, "two", "three", 1): Older} {
		got, err := Build(Input{Runs: []Run{r}, Text: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		if got.Tasks[0].State != want {
			t.Errorf("%q is %s, want %s", text, got.Tasks[0].State, want)
		}
		if want == Older && got.Drift[0].Then != "" {
			t.Errorf("%q is reported as the proven text", got.Drift[0].Then)
		}
	}
}

// OfTest finds a test by its whole name or its last part, never by a part of a word.
func TestOfTest(t *testing.T) {
	r := &Report{Batches: []Batch{{Key: "1", NewTests: []string{"example.com/a.TestAdd/two", "src/x.test.js > adds two"}}}}
	for name, want := range map[string]bool{"example.com/a.TestAdd/two": true, "two": true, "TestAdd/two": true,
		"Add/two": false, "TestAdd": false, "": false} {
		if _, got := r.OfTest(name); got != want {
			t.Errorf("%q: found %v, want %v", name, got, want)
		}
	}
}

// Of the tasks of one commit, those that name the file come first.
func TestTasksThatNameFileComeFirst(t *testing.T) {
	const text = "## Batch 1: a\n### Task 1: x\nEdit a.go.\n### Task 2: y\nEdit b.go.\n"
	r, err := Build(Input{Runs: []Run{run("r", text, "1")}, Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	a := r.OfBatches("cmd/b.go:1", "line", "cmd/b.go", []Part{{"r", "1"}})
	if len(a.Tasks) != 2 || a.Tasks[0].Name != "1/2" || !strings.HasSuffix(a.Note, "the first names cmd/b.go") {
		t.Errorf("got %+v, %q", a.Tasks, a.Note)
	}
}
