package logged

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/training"
)

func fold(events ...runner.Event) *batch {
	r := &run{batches: map[string]*batch{}}
	for _, e := range events {
		e.Batch = "1"
		r.add(e)
	}
	return r.batches["1"]
}

func made(number, candidate int, o runner.Outcome) runner.Event {
	return runner.Event{Kind: runner.Executed, Attempt: number, Candidate: candidate, Outcome: o, Tree: "t"}
}

func gated(number, candidate int, o runner.Outcome) runner.Event {
	return runner.Event{Kind: runner.Gated, Attempt: number, Candidate: candidate, Outcome: o}
}

// The merged work is the last attempt that passed, or the candidate that won; work that was stopped does not count.
func TestWinner(t *testing.T) {
	ok, failed := runner.OutcomeOK, runner.OutcomeFailed
	for name, tt := range map[string]struct {
		events   []runner.Event
		want     string
		attempts int
	}{
		"the first": {[]runner.Event{made(1, 0, ok), gated(1, 0, ok)}, "attempt 1", 1},
		"the second": {[]runner.Event{made(1, 0, ok), gated(1, 0, failed), made(2, 0, ok), gated(2, 0, ok)},
			"attempt 2", 2},
		"none":        {[]runner.Event{made(1, 0, ok), gated(1, 0, failed)}, "", 1},
		"no gate ran": {[]runner.Event{made(1, 0, failed)}, "", 1},
		"stopped and again": {[]runner.Event{made(1, 0, runner.OutcomeCancelled), made(1, 0, ok), gated(1, 0, ok)},
			"attempt 1", 1},
		"made twice": {[]runner.Event{made(1, 0, failed), made(1, 0, ok), gated(1, 0, ok)}, "attempt 1", 1},
		"a tournament": {[]runner.Event{made(2, 1, ok), made(2, 2, ok), gated(2, 1, ok), gated(2, 2, ok),
			{Kind: runner.Judged, Attempt: 2, Candidate: 2, Outcome: ok}},
			"attempt 2, candidate 2", 2},
		"an undecided one": {[]runner.Event{made(1, 1, ok), gated(1, 1, ok),
			{Kind: runner.Judged, Attempt: 1, Candidate: 1, Outcome: runner.OutcomeUndecided}}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := fold(tt.events...)
			got := ""
			if w := b.winner(); w != nil {
				got = w.name()
			}
			if got != tt.want || len(b.attempts) != tt.attempts {
				t.Errorf("%q of %d, want %q of %d", got, len(b.attempts), tt.want, tt.attempts)
			}
		})
	}
}

// A batch that was reopened counts as merged only after it is merged again.
func TestReopenedBatchNeedsNewMerge(t *testing.T) {
	merged := runner.Event{Kind: runner.Merged, Outcome: runner.OutcomeOK, Commit: "a"}
	if b := fold(merged, runner.Event{Kind: runner.Reopened}); b.merged != nil {
		t.Error("it counts as merged")
	}
	again := merged
	again.Commit = "b"
	if b := fold(merged, runner.Event{Kind: runner.Reopened}, again); b.merged == nil || b.merged.Commit != "b" {
		t.Errorf("%+v", b.merged)
	}
}

func entryOf(path string, status byte) git.Entry { return git.Entry{Path: path, Status: status} }

func decided(stage, path, symbol, tier string, in bool) store.FileDecision {
	return store.FileDecision{Stage: stage, Path: path, Symbol: symbol, Tier: tier, Included: in}
}

func same(t *testing.T, what string, got, want *float64) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

// The last decision about a file or symbol counts; an unknown value is not zero.
func TestJudge(t *testing.T) {
	changed := []git.Entry{entryOf("a.go", 'M'), entryOf("b.go", 'M'), entryOf("new.go", 'A')}
	for name, tt := range map[string]struct {
		decisions              []store.FileDecision
		found, needed, primary *float64
	}{
		"nothing was logged": {nil, nil, nil, nil},
		"scope alone": {[]store.FileDecision{decided("scope", "a.go", "", "1", true),
			decided("scope", "b.go", "", "2", false), decided("scope", "c.go", "", "2", true)},
			new(0.5), new(0.5), nil},
		"precision narrows it": {[]store.FileDecision{decided("scope", "a.go", "", "1", true),
			decided("scope", "c.go", "", "2", true),
			decided("precision", "a.go", "F", "primary", true), decided("precision", "c.go", "G", "excluded", false),
			decided("precision", "b.go", "H", "supporting", true)},
			new(1.0), new(1.0), new(1.0)},
		"taken in the end": {[]store.FileDecision{decided("scope", "b.go", "", "2", false),
			decided("scope", "b.go", "", "2", true)}, new(0.5), new(1.0), nil},
		"primary and wrong": {[]store.FileDecision{decided("precision", "c.go", "F", "primary", true),
			decided("precision", "a.go", "F", "primary", true)},
			new(0.5), new(0.5), new(0.5)},
	} {
		t.Run(name, func(t *testing.T) {
			p := &proof{changed: changed}
			j := judge(lastWord(tt.decisions), p)
			same(t, "found", j.found.Value, tt.found)
			same(t, "needed", j.needed.Value, tt.needed)
			same(t, "primary", j.primary.Value, tt.primary)
		})
	}
}

// A change that only creates files has no existing files to find.
func TestJudgeNewFiles(t *testing.T) {
	j := judge([]store.FileDecision{decided("scope", "a.go", "", "1", true)}, &proof{})
	same(t, "found", j.found.Value, nil)
	same(t, "needed", j.needed.Value, new(0.0))
}

// The quality of good work depends on what happened to it later.
func TestWorthFollowsLaterSignals(t *testing.T) {
	s := func(name string, v *float64) store.TrainingSignal { return store.TrainingSignal{Name: name, Value: v} }
	for name, tt := range map[string]struct {
		list     []store.TrainingSignal
		quality  *float64
		want     *float64
		reverted bool
	}{
		"no gate ran":   {nil, new(1.0), new(1.0), false},
		"unknown stays": {[]store.TrainingSignal{s("rewritten", new(0.5))}, nil, nil, false},
		"merged": {[]store.TrainingSignal{s("merged", new(1.0)), s("reverted", new(0.0))}, new(1.0), new(1.0),
			false},
		"not merged yet": {[]store.TrainingSignal{s("merged", new(0.0))}, new(1.0), new(1.0), false},
		"reverted":       {[]store.TrainingSignal{s("reverted", new(1.0))}, new(1.0), new(0.0), true},
		"rewritten": {[]store.TrainingSignal{s("rewritten", new(0.25))}, new(0.8), new(0.6000000000000001),
			false},
		"rewritten, not known": {[]store.TrainingSignal{s("rewritten", nil)}, new(1.0), new(1.0), false},
		"the worst of a plan": {[]store.TrainingSignal{s("reverted", new(0.0)), s("reverted", nil),
			s("reverted", new(1.0))}, new(1.0), new(0.0), true},
		"the worst of rewrites": {[]store.TrainingSignal{s("rewritten", nil), s("rewritten", new(0.5)),
			s("rewritten", new(0.0))}, new(1.0), new(0.5), false},
	} {
		t.Run(name, func(t *testing.T) {
			a := aftermath{tt.list}
			same(t, "quality", a.worth(tt.quality), tt.want)
			if a.reverted() != tt.reverted {
				t.Errorf("reverted: %v", a.reverted())
			}
		})
	}
}

func TestMeans(t *testing.T) {
	same(t, "mean of nothing", mean(nil, nil), nil)
	same(t, "mean of what is known", mean(nil, new(0.5), new(1.0)), new(0.75))
	same(t, "both", both(new(1.0), new(0.5)), new(2.0/3))
	same(t, "one alone", both(nil, new(0.25)), new(0.25))
	same(t, "one is nothing", both(new(0.0), new(1.0)), new(0.0))
	same(t, "both are nothing", both(new(0.0), new(0.0)), new(0.0))
	same(t, "share of nothing", share(0, 0), nil)
}

// Each stage is measured by its own row of the table of TRAIN-04.
func TestMeasure(t *testing.T) {
	changed := []git.Entry{entryOf("a.go", 'M'), entryOf("b.go", 'M')}
	task := &task{
		proof: &proof{changed: changed, merged: 1, of: 4, receipt: journal.Receipt{Attempts: 2}},
		decisions: []store.FileDecision{decided("scope", "a.go", "", "1", true),
			decided("precision", "a.go", "F", "primary", true)},
		attempts: []store.Attempt{
			{Number: 1, Unjudged: true}, {Number: 2, Success: true}, {Number: 3, Success: true, Response: "this"},
			{Number: 3, Response: "that\n"},
		},
	}
	for name, tt := range map[string]struct {
		stage   training.Stage
		call    store.Call
		want    *float64
		refused bool
	}{
		"task analysis":                {training.TaskAnalysis, store.Call{}, new(0.5), false},
		"scope":                        {training.Scope, store.Call{}, new(2.0 / 3), false},
		"precision":                    {training.Precision, store.Call{}, new(0.75), false},
		"plan":                         {training.ExecutePlan, store.Call{}, new(0.25), false},
		"code that passed":             {training.ExecuteCode, store.Call{Attempt: 2}, new(1.0), false},
		"code without a verdict":       {training.ExecuteCode, store.Call{Attempt: 1}, nil, true},
		"code of no attempt":           {training.ExecuteCode, store.Call{Attempt: 9}, nil, true},
		"code without use":             {training.ExecuteCode, store.Call{Attempt: 1, Error: "no edits"}, new(0.0), false},
		"a candidate":                  {training.ExecuteCode, store.Call{Attempt: 3, Response: "this"}, new(1.0), false},
		"another candidate":            {training.ExecuteCode, store.Call{Attempt: 3, Response: "that"}, new(0.0), false},
		"code of an unknown candidate": {training.ExecuteCode, store.Call{Attempt: 3, Response: "else"}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := task.measure(tt.stage, tt.call)
			same(t, "quality", got, tt.want)
			if (err != nil) != tt.refused {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

// A ledger stores messages truncated and with normalized spaces.
func TestSameMessage(t *testing.T) {
	for _, tt := range []struct {
		kept, said string
		want       bool
	}{
		{"an empty list panics", "an empty  list\npanics", true},
		{"an empty list panics", "an empty list", false},
		{"an empty li…", "an empty list panics", true},
		{"another li…", "an empty list panics", false},
	} {
		if got := sameMessage(tt.kept, tt.said); got != tt.want {
			t.Errorf("%q and %q: %v", tt.kept, tt.said, got)
		}
	}
}

// Any stored patch is parsed safely, and applying it gives a consistent result or an error.
func FuzzPatch(f *testing.F) {
	f.Add("diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
		"a\nb\n")
	f.Add(
		"diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+[redacted TOKEN]\n",
		"")
	f.Add("diff --git a/n b/n\ndeleted file mode 100644\nindex 1..0\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "x\n")
	f.Fuzz(func(t *testing.T, patch, before string) {
		files, err := parsePatch([]byte(patch))
		if err != nil {
			return
		}
		for _, x := range files {
			after, err := applied(x, []byte(before))
			if err == nil && x.IsDelete != (after == nil) {
				t.Errorf("deleted is %v, and %q is left", x.IsDelete, after)
			}
		}
	})
}

// Only call stages that examples know are accepted; all others are refused.
func TestStages(t *testing.T) {
	for name, want := range map[string]training.Stage{
		"task_analysis": training.TaskAnalysis, "scope_judgment": training.Scope, "precision_judgment": training.Precision,
		"execute_plan": training.ExecutePlan, "execute_code": training.ExecuteCode, "review": training.Review,
		"blueprint_review": training.Review,
		"enrichment":       "", "inbox_intent": "",
	} {
		if got := stages[name]; got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

func TestTouched(t *testing.T) {
	p := &proof{changed: []git.Entry{entryOf("a.go", 'M'), entryOf("gone.go", 'D'), entryOf("new.go", 'A')}}
	before, all := p.touched()
	if d := cmp.Diff([][]string{{"a.go", "gone.go"}, {"a.go", "gone.go", "new.go"}}, [][]string{before, all}); d != "" {
		t.Error(d)
	}
}
