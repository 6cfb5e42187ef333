package planparse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// For each line of a plan, the coverage names its reader: the agent, through its brief; runplan; or none. It also names
// the batches that do not run.
func TestCoverNamesReaders(t *testing.T) {
	long := strings.Repeat("ü", 81)
	for name, c := range map[string]struct {
		in   []string
		want []string
	}{
		"a plan with groups, notes and done work": {
			in: []string{"---", "critical: true", "---", "# P", "", "Goal.", "", "## Phase 1: A", "", "### Task 1: B", "",
				"- [x] done",
				"", "### Task 2: C", "", "text", "more", "", "***", "", "## Notes", "", long},
			want: []string{
				"1-3 runplan [] front matter: --- (3)",
				"4-4 brief [*] the title: # P (1)",
				"6-6 brief [*] before the first unit of work: Goal. (1)",
				"8-8 brief [2] introduces the batch: ## Phase 1: A (1)",
				"10-12 skipped [] ticked off in the plan, so the batch does not run: ### Task 1: B (2)",
				"14-19 brief [2] of the batch: ### Task 2: C (4)",
				`21-23 nobody [] below "Notes", outside of every batch: ## Notes (2)`,
			},
		},
		"an empty batch and a checkpoint": {
			in: []string{"<objective>", "x", "</objective>", "", `<task type="checkpoint:decision">`, "<name>A</name>", "</task>"},
			want: []string{
				"1-3 brief [*] before the first unit of work: <objective> (3)",
				"5-7 skipped [] a checkpoint for a person: <task type=\"checkpoint:decision\"> (3)",
			},
		},
		"a heading over an empty batch": {
			in: []string{"# P", "## Batch 1: A", "", "## Batch 2: B", "text"},
			want: []string{
				"1-1 brief [*] the title: # P (1)",
				"2-2 skipped [] an empty batch, which is not run: ## Batch 1: A (1)",
				"4-5 brief [2] of the batch: ## Batch 2: B (2)",
			},
		},
	} {
		src := in(c.in...)
		cover := parse(t, src).Cover([]byte(src))
		var got []string
		counts := map[string]int{}
		for _, r := range cover.Ranges {
			got = append(got, fmt.Sprintf("%d-%d %s %v %s: %s (%d)",
				r.First, r.Last, r.Kind, r.Batches, r.Why, r.Text, r.Lines))
			counts[r.Kind] += r.Lines
			counts["all"] += r.Lines
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		want := map[string]int{CoverBrief: cover.Brief, CoverRunplan: cover.Runplan, CoverSkipped: cover.Skipped,
			CoverNobody: cover.Nobody, "all": cover.Lines}
		for kind, n := range want {
			if counts[kind] != n {
				t.Errorf("%s: %d lines are %s, the ranges have %d", name, n, kind, counts[kind])
			}
		}
	}
}

// The text of a range is cut to 80 characters, and a heading in a reason to 60.
func TestCoverCutsLongText(t *testing.T) {
	src := in("### Task 1: A", "text", "", "# "+strings.Repeat("ä", 61), "## "+strings.Repeat("ö", 60),
		"---", "# "+strings.Repeat("ü", 79))
	src = "# P\n" + src
	var got []string
	for _, r := range parse(t, src).Cover([]byte(src)).Ranges {
		if r.Kind == CoverNobody {
			got = append(got, r.Why, r.Text)
		}
	}
	outside := ", outside of every batch"
	want := []string{
		"below \"" + strings.Repeat("ä", 59) + "…\"" + outside, "# " + strings.Repeat("ä", 61),
		"below \"" + strings.Repeat("ö", 60) + "\"" + outside, "## " + strings.Repeat("ö", 60),
		"below \"" + strings.Repeat("ü", 59) + "…\"" + outside, "# " + strings.Repeat("ü", 77) + "…",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

func TestShare(t *testing.T) {
	if got := (Coverage{Lines: 8}).Share(2); got != 25 {
		t.Errorf("2 of 8 lines are %v %%", got)
	}
	if got := (Coverage{}).Share(0); got != 0 {
		t.Errorf("no lines are %v %%", got)
	}
}
