package page

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/sampling"
)

// The explanation of an action describes its effect on the present state of the run.
func TestActionsAreExplained(t *testing.T) {
	sum := runner.Summary{Run: "0a1b2c3d-0", Plan: "plan.md", Status: runner.RunFailed,
		Waiting: []runner.Approval{{Batch: "d"}}, Batches: []runner.BatchSummary{
			{Key: "a", Number: "1", Title: "one", State: string(runner.Passed)},
			{Key: "b", Number: "2", Title: "two", State: string(runner.Failed)},
			{Key: "c", Number: "3", Title: "three", State: string(runner.Failed)},
			{Key: "d", Number: "4", Title: "four", State: string(runner.Waiting)},
		}}
	info := runner.Info{MaxAttempts: 3}
	made := func(do func(*confirmation)) confirmation {
		d := confirmation{Run: sum.Run}
		do(&d)
		return d
	}
	for name, x := range map[string]struct {
		made confirmation
		want []string
	}{
		"resume": {made(func(d *confirmation) { d.resume(sum, info) }), []string{
			"Tried again, up to 3 attempts each: 2 two, 3 three.", "Begun or continued: 4 four.", "1 of 4 batches are merged",
			"The run waits for 1 answer",
		}},
		"retry": {made(func(d *confirmation) { d.Batch = "b"; d.retry(sum, info) }), []string{
			"Batch 2, two, gets up to 3 new attempts.", "these are retried too: 3 three.",
		}},
		"discard": {made(func(d *confirmation) { d.discard(sum) }),
			[]string{"1 question of the run is withdrawn.", "A new run of plan.md starts from the beginning."}},
		"cancel": {made(func(d *confirmation) { d.cancel(sum) }),
			[]string{"No other step starts.", "1 of 4 batches are merged, and stay merged."}},
	} {
		for _, want := range x.want {
			if text := strings.Join(x.made.Will, "\n"); !strings.Contains(text, want) {
				t.Errorf("%s does not tell %q:\n%s", name, want, text)
			}
		}
	}
	if d := made(func(d *confirmation) { d.Batch = "a"; d.retry(sum, info) }); d.Refused == "" {
		t.Error("a merged batch may be tried again")
	}
}

// Each term of a score is explained in words: what it counts, its points, and the measured value. No text promises
// points for a term that gives none.
func TestScoreTermsInWords(t *testing.T) {
	plain := sampling.Measure{Passed: true, Tests: 12, DiffLines: 1}
	compared := plain
	compared.Evidence = &sampling.Evidence{Own: 2, Agreed: 50, Others: 4, Held: 100, Kept: 3, Likely: 93}
	own, err := sampling.NewScorer("likely + tests")
	if err != nil {
		t.Fatal(err)
	}
	rest := []string{"lint warnings: +1000 (0 lint warnings)", "violations of lessons: 0 (0 violations of lessons)",
		"violations of patterns: 0 (0 violations of patterns)"}
	for name, c := range map[string]struct {
		scorer sampling.Scorer
		m      sampling.Measure
		want   []string
	}{
		"not compared": {sampling.Scorer{}, plain, append([]string{"passing tests: +120 (12 passing tests)",
			"changed lines: +5000 (1 changed line)"}, rest...)},
		"compared": {sampling.Scorer{}, compared, append(append([]string{"passing tests: 0 (12 passing tests)",
			"changed lines: +10 (1 changed line)"}, rest...),
			"own tests that fail without its change: 0 (2 own tests that fail without its change)",
			"passing tests of other candidates: 0 (50 %)", "passing held-out tests: 0 (100 %)",
			"chance that the candidate is right: +9300 (93 %)")},
		"score of the settings": {own, compared, []string{"score of the settings: +105 ()", "passing tests: 12 ()",
			"changed lines: 1 ()", "lint warnings: 0 ()", "violations of lessons: 0 ()", "violations of patterns: 0 ()",
			"own tests that fail without its change: 2 ()", "passing tests of other candidates: 50 % ()",
			"passing held-out tests: 100 % ()", "chance that the candidate is right: 93 % ()"}},
		"gates failed": {sampling.Scorer{}, sampling.Measure{}, []string{"gates: 0 ()"}},
	} {
		var v tournamentView
		var x contestant
		for _, e := range c.scorer.Explain(c.m) {
			x.Terms = append(x.Terms, runner.ScoreTerm{Name: e.Name, Value: e.Value, Points: e.Points})
		}
		v.Candidates = []contestant{x}
		v.terms()
		var got []string
		for _, row := range v.Terms {
			got = append(got, fmt.Sprintf("%s: %s (%s)", row.Counts, row.Cells[0].Points, row.Cells[0].Measured))
			if row.Worth == "" {
				t.Errorf("%s: the term %q has no weight", name, row.Counts)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	for _, name := range []string{"tests", "diff"} {
		if worth := sampling.MeaningOf(name).Worth; !strings.Contains(worth, "if candidates were compared") {
			t.Errorf("%s: %q does not say what a comparison changes", name, worth)
		}
	}
}

// A search reads a limited part of the logs, follows no links, and reports what it left out.
func TestSearchIsLimited(t *testing.T) {
	b := newBook(t, runner.Info{Plan: "plan.md", Slug: "s",
		Batches: []runner.BatchInfo{{Key: "1", Number: "1", Title: "one"}}})
	write := func(name, text string) {
		path := filepath.Join(b.layout.Logs(b.run), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(b.layout.Root, "outside.txt")
	if err := os.WriteFile(outside, []byte("needle outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	write("1-a1/agent.log", strings.Repeat("a needle here\n", maxHits+50))
	if err := os.Symlink(outside, filepath.Join(b.layout.Logs(b.run), "1-a1", "link.log")); err != nil {
		t.Fatal(err)
	}
	search := func(want string) searchView {
		var v searchView
		if err := v.logs(t.Context(), b.layout, b.run, batchesOf{"1": "1"}, want); err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := search("needle")
	if len(v.Lines) != maxHits || len(v.Notes) != 1 || v.Lines[0].Where != "batch 1, attempt 1" ||
		v.Lines[0].Href != "batch/1?a=1" {
		t.Errorf("%d lines, notes %q, first %+v", len(v.Lines), v.Notes, v.Lines[0])
	}
	if v := search("outside"); len(v.Lines) != 0 {
		t.Errorf("a link led out of the logs: %+v", v.Lines)
	}
	write("1-a1/other.log", "Ⱥ: it Failed here\n") // its first letter is longer in lower case
	if v := search("failed"); len(v.Lines) != 1 || v.Lines[0].Before != "Ⱥ: it " || v.Lines[0].Hit != "Failed" {
		t.Errorf("found %+v", v.Lines)
	}
	write("1-a2/c3/agent.log", strings.Repeat("x", maxLogLine+1)+"\nneedle\n")
	if v := search("no such text"); len(v.Notes) != 1 || !strings.Contains(v.Notes[0], "1-a2/c3/agent.log has a line") {
		t.Errorf("notes %q", v.Notes)
	}
}
