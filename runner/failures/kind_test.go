package failures

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/runner"
)

func failed(gate, rule, message string) gates.Report {
	return gates.Report{Gate: gate, Status: gates.Fail,
		Findings: []gates.Finding{{Rule: rule, Severity: gates.Error, Message: message}}}
}

// Each row of the table gives its failure type; other outcomes are not failures of a batch.
func TestTypeOf(t *testing.T) {
	known := failed("tests:python", "test", "ModuleNotFoundError: no module named x")
	known.Findings[0].Known = true
	tests := []struct {
		name    string
		reports []gates.Report
		outcome runner.Outcome
		reason  string
		want    string
	}{
		{"a missing import",
			[]gates.Report{failed("tests:python", "build", "ModuleNotFoundError: No module named 'requests'")}, "failed", "",
			"missing import"},
		{"a package that is not required",
			[]gates.Report{failed("lint:go", "build", `no required module provides package github.com/a/b; to add it:`)},
			"failed", "", "missing import"},
		{"a module for node",
			[]gates.Report{{Gate: "tests:node", Status: gates.Fail, Output: "Error: Cannot find module './x'"}}, "failed", "",
			"missing import"},
		{"a known missing import is not to blame", []gates.Report{known}, "failed", "", "test failure"},
		{"a test", []gates.Report{{Gate: "lint:go", Status: gates.Pass}, failed("tests:go", "test", "want 1, got 2")},
			"failed", "", "test failure"},
		{"a syntax error breaks the tests", []gates.Report{failed("tests:go", "build", "syntax error: unexpected }")},
			"failed", "", "syntax error"},
		{"something else does not compile", []gates.Report{failed("tests:go", "build", "undefined: serve")}, "failed", "",
			"build failure"},
		{"types", []gates.Report{failed("types:mypy", "types/arg-type", "incompatible type")}, "failed", "", "type error"},
		{"lint", []gates.Report{failed("lint:ruff", "E501", "line too long")}, "failed", "", "lint"},
		{"fewer tests", []gates.Report{failed("tests:go", gates.RuleFewerTests, "3 tests pass, 4 passed before")}, "failed",
			"", "fewer tests"},
		{"tampering goes before its effects",
			[]gates.Report{failed("tests:go", "test", "x"), failed("tamper", "tamper/skip", "a test is skipped")}, "failed", "",
			"tampering"},
		{"protected files", []gates.Report{failed("protected", "protected/ci", "ci.yml was changed")}, "failed", "",
			"tampering"},
		{"secrets", []gates.Report{failed("secrets", "secrets/aws", "a key")}, "failed", "", "secret"},
		{"a hook",
			[]gates.Report{{Gate: "commit", Status: gates.Fail,
				Note: "a hook of the repository, or signing, refused the commit"}}, "failed", "", "hook refused"},
		{"a lesson", []gates.Report{failed("lessons", "lesson/0017", "copied")}, "failed", "", "lesson repeated"},
		{"an agent that breaks git",
			[]gates.Report{{Gate: "agent", Status: gates.Fail, Note: "the agent removed or replaced the .git of its workspace"}},
			"failed", "", "tampering"},
		{"an agent that gives up", []gates.Report{{Gate: "agent", Status: gates.Fail, Note: "out of ideas"}}, "failed",
			"out of ideas", "agent gave up"},
		{"a gate of the project", []gates.Report{failed("words", "exit", "TODO")}, "failed", "", "gate words"},
		{"nothing but a reason", nil, "failed", "the time limit of 5m is reached", "timeout"},
		{"nothing at all", nil, "failed", "", "other"},
		{"the outcome says it", []gates.Report{failed("tests:go", "test", "x")}, "timed_out", "", "timeout"},
		{"no change", nil, "unchanged", "", "no change"},
		{"conflict", nil, "conflict", "", "conflict"},
		{"a pass", nil, "ok", "", ""},
		{"a limit", nil, "limited", "", ""},
		{"a person", nil, "needs_human", "", ""},
		{"a stop", nil, "cancelled", "", ""},
		{"a broken tool", nil, "error", "", ""},
	}
	for _, tt := range tests {
		if got := TypeOf(tt.reports, tt.outcome, tt.reason); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if tt.want != "" && !Known(tt.want) {
			t.Errorf("%q is not known", tt.want)
		}
	}
	for _, text := range []string{"", "lint now", "gate a b", "gate ", "delete the tests"} {
		if Known(text) {
			t.Errorf("%q is accepted as known", text)
		}
	}
}

func TestFix(t *testing.T) {
	file := func(path string, added, removed int) git.LineCount {
		return git.LineCount{Path: path, Added: added, Removed: removed}
	}
	tests := []struct {
		files []git.LineCount
		want  string
	}{
		{[]git.LineCount{file("b.go", 1, 1), file("a.go", 2, 0)}, "with changes in a.go, b.go (+3 -1 lines)"},
		{[]git.LineCount{file("a", 9, 0), file("b", 0, 0), file("c", 0, 0), file("d", 0, 0), file("e", 0, 0), file("f", 0, 0)},
			"with changes in a, b, c, d and 2 more (+9 -0 lines)"},
		{nil, ""},
	}
	for _, tt := range tests {
		if got := fixOf(tt.files); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	if got := fixOf([]git.LineCount{file(strings.Repeat("long/", 200), 1, 1)}); len([]rune(got)) != maxFix {
		t.Errorf("a fix has %d characters", len([]rune(got)))
	}
}

// A batch fails in two ways, in one of them twice; its merge then records the fix for both.
func TestObserver(t *testing.T) {
	s, _ := store(t, "")
	var compared []string
	o := &Observer{Store: s, LineCounts: func(_ context.Context, from, to string) ([]git.LineCount, error) {
		compared = append(compared, from+".."+to)
		return []git.LineCount{{Path: from + ".go", Added: 2, Removed: 1}}, nil
	}}
	at := func(kind runner.EventKind, outcome runner.Outcome, tree string, reports ...gates.Report) runner.Event {
		return runner.Event{Kind: kind, Outcome: outcome, Batch: "2", Base: "base", Tree: tree,
			Reports: reports, At: day(5)}
	}
	for _, f := range []runner.Event{
		at("batch.started", "", ""),
		at("executed", "ok", "t1"), at("gated", "failed", "t1", failed("lint:go", "vet", "x")),
		at("executed", "timed_out", ""),
		at("executed", "limited", ""),
		at("executed", "ok", "t3"), at("gated", "failed", "t3", failed("lint:go", "vet", "y")),
		at("executed", "ok", "t4"), at("gated", "ok", "t4"), at("committed", "ok", "t4"), at("merged", "ok", "t4"),
		at("merged", "ok", "t4"), // reported twice
	} {
		must(t, o.Observe(t.Context(), "Integration wiring", f))
	}
	want := []Pattern{
		{Title: "integration wiring", Type: "lint", Frequency: 2, LastSeen: "2026-03-05",
			WinningFix: "with changes in t3.go (+2 -1 lines)"},
		{Title: "integration wiring", Type: "timeout", Frequency: 1, LastSeen: "2026-03-05",
			WinningFix: "with changes in base.go (+2 -1 lines)"},
	}
	if d := cmp.Diff(want, all(t, s), plainRows); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"t3..t4", "base..t4"}, compared); d != "" {
		t.Error(d)
	}
}

// A resumed run counts no failure twice and still knows the earlier failures.
func TestObserverRecallsEarlierFailures(t *testing.T) {
	s, _ := store(t, "")
	fact := func(kind runner.EventKind, outcome runner.Outcome, tree string, reports ...gates.Report) runner.Event {
		return runner.Event{Kind: kind, Outcome: outcome, Batch: "1", Tree: tree, Reports: reports, At: day(5)}
	}
	red := fact("gated", "failed", "t1", failed("lint:go", "vet", "x"))
	must(t, (&Observer{Store: s}).Observe(t.Context(), "wiring", red))
	o := &Observer{Store: s,
		LineCounts: func(context.Context, string, string) ([]git.LineCount, error) {
			return []git.LineCount{{Path: "a.go", Added: 1}}, nil
		}}
	o.Recall(red)
	must(t, o.Observe(t.Context(), "wiring", fact("merged", "ok", "t2")))
	list := all(t, s)
	if len(list) != 1 || list[0].Frequency != 1 || list[0].WinningFix == "" {
		t.Errorf("the store has %+v", list)
	}
}

// If the trees cannot be compared, the observer returns an error, but the failure itself is counted.
func TestObserverReportsErrors(t *testing.T) {
	s, _ := store(t, "")
	o := &Observer{Store: s, LineCounts: func(context.Context, string, string) ([]git.LineCount, error) {
		return nil, errors.New("no such tree")
	}}
	f := runner.Event{Kind: runner.Gated, Outcome: runner.OutcomeFailed, Batch: "1", Tree: "t1",
		Reports: []gates.Report{failed("lint", "x", "y")}, At: day(1)}
	must(t, o.Observe(t.Context(), "wiring", f))
	err := o.Observe(t.Context(), "wiring", runner.Event{Kind: runner.Merged, Outcome: runner.OutcomeOK, Batch: "1", Tree: "t2"})
	if err == nil || !strings.Contains(err.Error(), "no such tree") || !strings.Contains(err.Error(), "batch 1") {
		t.Errorf("it says %v", err)
	}
	if list := all(t, s); len(list) != 1 || list[0].WinningFix != "" {
		t.Errorf("the store has %+v", list)
	}
}

// A failure that repeats a lesson records its id, and a failure from feedback records the id of the feedback.
func TestOrigin(t *testing.T) {
	s, _ := store(t, "")
	o := &Observer{Store: s}
	report := failed("lessons", "lesson/suppression", "no reason")
	report.Findings = append(report.Findings, gates.Finding{Rule: "lesson/0016", Severity: gates.Error, Known: true},
		gates.Finding{Rule: "lesson/0017", Severity: gates.Error})
	must(t, o.Observe(t.Context(), "wiring",
		runner.Event{Kind: runner.Gated, Outcome: runner.OutcomeFailed, Batch: "1", Reports: []gates.Report{report}, At: day(1)}))
	must(t, s.Record("wiring", "lesson repeated", day(2), Origin{FeedbackID: "f7"}))
	want := []Pattern{{Title: "wiring", Type: "lesson repeated", Frequency: 2, LastSeen: "2026-03-02", LessonID: "0017",
		FeedbackID: "f7"}}
	if d := cmp.Diff(want, all(t, s), plainRows); d != "" {
		t.Error(d)
	}
}

// The table is readable, each of its expressions compiles, and the rules of the pipeline are in it.
func TestTableOfKinds(t *testing.T) {
	rules := ""
	for _, k := range kinds() {
		if k.Is == "" || k.Gate == "" && k.Rule == nil && k.Text == nil {
			t.Errorf("an entry matches everything, or names no type: %+v", k)
		}
		for _, re := range []*lazyre.Regexp{k.Rule, k.Text} {
			if re != nil {
				rules += re.Re().String()
			}
		}
	}
	for _, rule := range []string{gates.RuleFewerTests, gates.RuleUnknownCount} {
		if !strings.Contains(rules, rule) {
			t.Errorf("no entry has the rule %s", rule)
		}
	}
}
