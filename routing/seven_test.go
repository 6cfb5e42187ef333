package routing

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// machine returns a memory probe that reports n GB of available memory.
func machine(n float64) func() (uint64, error) {
	return func() (uint64, error) { return uint64(n * gigabyte), nil }
}

// The plan in testdata/seven.md has the shape of the example in the requirements, with 21 GB of memory and 8 GB per
// worker. The test checks the dependencies, the groups, the width, the workers, the models and the early starts. The
// score is 73 (72 in the example), so team mode is chosen automatically.
func TestSevenBatches(t *testing.T) {
	text, err := os.ReadFile("testdata/seven.md")
	if err != nil {
		t.Fatal(err)
	}
	d := decided(t, string(text), Options{TeamsEnabled: true, Memory: machine(21)})
	if diff := cmp.Diff("1; 2 needs 1; 3 needs 2; 4 needs 1; 5 needs 4; 6; 7 needs 5,6", story(d)); diff != "" {
		t.Error(diff)
	}
	var routes []string
	for _, s := range d.Steps {
		routes = append(routes, fmt.Sprintf("%s %s %s %v", s.Batch, s.Label, s.Class, s.Escalates))
	}
	var starts []string
	for _, s := range d.Speculation {
		starts = append(starts, fmt.Sprintf("%s on %s at %s: %v", s.Batch, s.On, asShare(s.Overlap), s.Starts))
	}
	type figures struct {
		Groups  [][]string
		Width   []string
		Workers int
		Files   int
		Score   int
		Routes  []string
		Starts  []string
		Path    []string
	}
	want := figures{
		Groups:  [][]string{{"1", "6"}, {"2", "4"}, {"3", "5"}, {"7"}}, // three of them of more than one
		Width:   []string{"3", "5", "6"},
		Workers: 2,
		Files:   31,
		Score:   73,
		Routes: []string{
			"1 medium implementation true", "2 medium implementation true", "3 small verification true",
			"4 medium implementation true",
			"5 medium implementation true", "6 small wiring true", "7 small verification true",
		},
		Starts: []string{"2 on 1 at 0 %: true", "3 on 2 at 0 %: true", "4 on 1 at 0 %: true", "5 on 4 at 72.7 %: false"},
		Path:   []string{"1", "4", "5", "7"},
	}
	got := figures{d.Groups, d.Width, d.Workers, d.Files, d.Score.Value, routes, starts, d.CriticalPath()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantArrows := `1 -> 2 context: context_refs names shop/ledger.py, which B1 creates
2 -> 3 context: context_refs names shop/retry.py, which B2 changes
1 -> 4 context: context_refs names shop/entry.py, which B1 creates
1 -> 5 files: both change shop/entry.py and shop/errors.py
4 -> 5 declared: declared by depends_on; both change shop/cart.py, shop/catalog.py and 6 more
5 -> 7 declared: declared by depends_on
6 -> 7 declared: declared by depends_on`
	if diff := cmp.Diff(wantArrows, arrows(d)); diff != "" {
		t.Error(diff)
	}
	if step, ok := d.Step("7"); !ok || step.Batch != "7" {
		t.Errorf("step 7 is %v, %v", step, ok)
	}
	if _, ok := d.Step("8"); ok {
		t.Error("there is a step 8")
	}
}

// The reasons for and against team mode name the batches.
func TestScoreReasons(t *testing.T) {
	text, err := os.ReadFile("testdata/seven.md")
	if err != nil {
		t.Fatal(err)
	}
	d := decided(t, strings.Replace(string(text), "Each feed", "Start the server. Each feed", 1), Options{})
	want := Score{
		Value: 52, Source: DefaultScore, Facts: d.Score.Facts,
		Terms: []string{
			"64: 3 workers need 4 instead of 7 steps of equal length, which saves 43 % of at most 67 %",
			"-12: the average overlap of batches is 12%, most of it B4 with B5 (73%) and B1 with B5 (50%)",
		},
		Plus: []string{
			"3 groups of independent batches: B1, B6; B2, B4; B3, B5", "up to 3 batches at the same time: B3, B5, B6",
			"the batches of a group name no file in common",
		},
		Minus: []string{"B1 and B5 share 2 files, so they run one after the other",
			"B4 and B5 share 8 files, so they run one after the other", "B6 starts a server"},
	}
	if diff := cmp.Diff(want, d.Score); diff != "" {
		t.Error(diff)
	}
}

// Long lists of groups and of reasons are cut, and say how much is left out.
func TestScoreReasonsAreLimited(t *testing.T) {
	var bodies []string
	for i := range 12 {
		bodies = append(bodies, fmt.Sprintf("Part\n**Files:**\n- Modify: `d%d/f.txt`", i%2))
	}
	s := decided(t, batches(bodies...), Options{}).Score
	want := "6 groups of independent batches: B1, B2; B3, B4; B5, B6; B7, B8 and 2 more"
	if s.Plus[0] != want || len(s.Minus) != 9 || s.Minus[8] != "and 2 more" {
		t.Errorf("%q, want %q\nagainst: %q", s.Plus[0], want, s.Minus)
	}
	s = decided(t, batches(bodies[:10]...), Options{}).Score
	if len(s.Minus) != 8 || strings.Contains(s.Minus[7], "more") {
		t.Errorf("%q", s.Minus)
	}
}

// The log lists the mode with its reasons, the groups, the models and the early starts (ROUTE-11).
func TestLogLines(t *testing.T) {
	text, err := os.ReadFile("testdata/seven.md")
	if err != nil {
		t.Fatal(err)
	}
	seven := decided(t, string(text), Options{TeamsEnabled: true, Memory: machine(21),
		Models: map[string]string{"small": "s-1", "medium": "medium"}})
	few := Decision{Mode: Team, Workers: 2, Memory: Memory{Note: "too\nlittle"},
		Steps: []Step{{Batch: "1", Skip: "ticked off", Label: "small"}, {Batch: "2", Needs: []string{"1"}}, {Batch: "3"},
			{Batch: "4"}},
		Groups: [][]string{{"1", "2"}, {"2", "3", "4"}}}
	alone := few
	alone.Mode, alone.Workers = Headless, 1
	for name, tt := range map[string]struct {
		d    Decision
		want []string
	}{
		"seven": {seven, []string{
			"MODE: team (score=73, threshold=60, workers=2)",
			"MODE: team -- team: the parallelism score is 73, above 60",
			"MODE: team -- 2 workers: 21 GB available, 8 GB for each worker, at most 3 workers, up to 3 batches at the same time",
			"PARALLEL: B1,B6 -- overlap=0 files, both depend on nothing",
			"PARALLEL: B2,B4 -- overlap=0 files, both depend only on B1",
			"PARALLEL: B3,B5 -- overlap=0 files, B3 depends on B2, B5 depends on B4",
			"MODEL: B1-->medium -- implementation: creates 4 files, confidence=90%",
			"MODEL: B2-->medium -- implementation: modifies 3 files, adds tests, confidence=90%",
			"MODEL: B3-->small (s-1) -- verification: 0 creates, 5 run commands, confidence=95%",
			"MODEL: B4-->medium -- implementation: creates 2 files, modifies 9 files, confidence=90%",
			"MODEL: B5-->medium -- implementation: modifies 10 files, adds tests, confidence=90%",
			"MODEL: B6-->small (s-1) -- wiring: no new logic: modifies 7 files, title says \"wire\", confidence=80%",
			"MODEL: B7-->small (s-1) -- verification: 0 creates, 1 run command, confidence=95%",
			"SPECULATE: B2 starts while B1's gates run -- overlap 0%",
			"SPECULATE: B3 starts while B2's gates run -- overlap 0%",
			"SPECULATE: B4 starts while B1's gates run -- overlap 0%",
			"SPECULATE: B5 waits for B4's gates -- overlap 73%",
		}},
		"skipped batches": {few, []string{"MODE: team (score=0, threshold=60, workers=2)",
			"MODE: team -- memory: too little", "PARALLEL: B2,B3,B4 -- overlap unknown, all depend on nothing"}},
		"one worker": {alone, []string{"MODE: headless (score=0, threshold=60, workers=1)",
			"MODE: headless -- memory: too little"}},
	} {
		var got []string
		for _, x := range tt.d.LogLines(DefaultRules()) {
			got = append(got, string(x.Kind)+": "+x.Text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// asShare formats a percentage: "20 %", "66.7 %". A fraction is never rounded up to a limit.
func asShare(v float64) string {
	if v == math.Trunc(v) {
		return fmt.Sprintf("%.0f %%", v)
	}
	return fmt.Sprintf("%.1f %%", math.Floor(v*10)/10)
}
