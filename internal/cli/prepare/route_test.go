package prepare

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
)

// Without flags the settings decide, and unchanged settings give the default rules.
func TestRouteOptionsOfDefaults(t *testing.T) {
	got, err := routeFlags{}.options(config.Default(), "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := routing.Options{Mode: "auto", Rules: routing.DefaultRules(), Models: map[string]string{},
		ModelOverride: map[string]string{}}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(routing.Options{})); d != "" {
		t.Error(d)
	}
}

// Flags take precedence over settings, and the models of an agent over those of its preset.
func TestRouteOptions(t *testing.T) {
	c := config.Default()
	c.Routing.Mode, c.Team.Enabled = "team", true
	c.Agents = map[string]config.Agent{"mine": {Preset: "claude", Models: map[string]string{"large": "big-1"}}}
	r := routeFlags{Mode: "headless", workers: 2, overrides: []string{"B3=opus"}, NoSpeculate: true, sequentialAfter: "4",
		From: "1", To: "5"}
	got, err := r.options(c, "mine", nil, map[string]string{"A": "b"})
	if err != nil {
		t.Fatal(err)
	}
	want := routing.Options{
		From: "1", To: "5", Env: map[string]string{"A": "b"}, Mode: "headless", Workers: 2, NoSpeculate: true,
		SequentialAfter: "4", TeamsEnabled: true,
		Rules: routing.DefaultRules(), Models: map[string]string{"small": "haiku", "medium": "sonnet", "large": "big-1"},
		ModelOverride: map[string]string{"B3": "opus"},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(routing.Options{})); d != "" {
		t.Error(d)
	}
	r.Mode = ""
	if got, err := r.options(c, "", nil, nil); err != nil || got.Mode != "team" {
		t.Errorf("mode %q, %v", got.Mode, err)
	}
	r.overrides = []string{"B3"}
	if _, err := r.options(c, "", nil, nil); err == nil {
		t.Error("an override of nothing was taken")
	}
}

// The history of an agent contains its finished batches, including the failed ones.
func TestHistoryOf(t *testing.T) {
	cost := 0.5
	sums := []runner.Summary{
		{Run: "r2", Agent: "fake", Batches: []runner.BatchSummary{
			{Title: "done", State: "merged", Agent: "fake", DurationMS: 1500, CostUSD: &cost, Attempts: 2},
			{Title: "by another", State: "merged", Agent: "other", DurationMS: 10, Attempts: 1},
			{Title: "failed", State: "failed", Agent: "fake", DurationMS: 20, Attempts: 3},
			{Title: "waiting", State: "waiting"}, {Title: "left out", State: "skipped"}, {Title: "running", State: "execute"},
		}},
		{Run: "r1", Agent: "script",
			Batches: []runner.BatchSummary{{Title: "spelled out", State: "merged", DurationMS: 5, Attempts: 1}}},
	}
	done := routing.Sample{Run: "r2", Title: "done", Duration: 1500 * time.Millisecond, Cost: &cost, Passed: true}
	failed := routing.Sample{Run: "r2", Title: "failed", Duration: 20 * time.Millisecond}
	other := routing.Sample{Run: "r2", Title: "by another", Duration: 10 * time.Millisecond, Passed: true}
	literal := routing.Sample{Run: "r1", Title: "spelled out", Duration: 5 * time.Millisecond, Passed: true}
	for agent, want := range map[string][]routing.Sample{"fake": {done, failed}, "script": {literal},
		"": {done, other, failed}, "nobody": nil} {
		if d := cmp.Diff(want, historyOf(sums, agent)); d != "" {
			t.Errorf("agent %q: %s", agent, d)
		}
	}
}

func TestForecastLines(t *testing.T) {
	for want, f := range map[string]forecast{
		"Forecast: none: why": {Unknown: "why"},
		"Forecast: b: none: why": {Branch: "b",
			Unknown: "why"},
		"Forecast: b has no commits that HEAD lacks": {Branch: "b"},
		"Forecast: b has 1 commit that HEAD lacks; merging is clean": {Branch: "b",
			Commits: 1},
		"Forecast: b has 2 commits that HEAD lacks; merging conflicts in x": {Branch: "b",
			Commits: 2, Conflicts: []string{"x"}},
		"Forecast: b has 2 commits that HEAD lacks; merging conflicts in x, which the plan changes too": {Branch: "b",
			Commits: 2, Conflicts: []string{"x"}, planned: 1},
		"Forecast: b has 2 commits that HEAD lacks; merging conflicts in 1, 2, 3, 4, 5 and 2 more (3 of them the plan changes too)": {
			Branch: "b", Commits: 2, Conflicts: []string{"1", "2", "3", "4", "5", "6", "7"}, planned: 3},
		"Forecast: b has 1 commit that HEAD lacks; merging is clean; it changes x y, which the plan changes too": {Branch: "b", Commits: 1, Both: []string{"x\ny\x1b[2J"}},
	} {
		if got := f.String(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// An error has its place in the format of other tools, unless it is about a flag or a setting.
func TestPlanError(t *testing.T) {
	for text, want := range map[string]string{
		"line 12: batch 3: when: no": "p.md:12: batch 3: when: no", "the plan is odd": "p.md: the plan is odd",
		"--mode x: no": "--mode x: no", "routing.team: no": "routing.team: no", "line twelve: no": "p.md: line twelve: no",
	} {
		err := planError("p.md", &placed{text, nil})
		if code, _ := cli.CodeOf(err); err.Error() != want || code != cli.ExitUsage {
			t.Errorf("%q is reported as %q, exit status %d", text, err, code)
		}
	}
}
