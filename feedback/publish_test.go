package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/planparse"
)

func change(id string) Change {
	return Change{
		Triage: Triage{Class: ToolFix, ConfidencePct: 90},
		Plan: Plan{FeedbackID: id, Round: 1, RootCause: "r", Change: "c", Files: []string{"a.go"},
			Test: Test{Path: "a_test.go", Sketch: "s"}, LineEstimate: 5},
		Fix:          Fix{Base: "base", Tip: "tip", Branch: Branch(id), Into: "dev", Lines: 7},
		Differential: Differential{"base", "tip", gates.Report{Status: gates.Pass}},
		Review: Reviewed{Verdict: review.OK, ConfidencePct: 92,
			Passes: []PassLine{{Number: 1, Name: "static", Status: gates.Pass, Note: "a | b"}}},
	}
}

// An incomplete change is refused before anything is pushed or opened (FIX-20). The client of this test has no
// programs and no repository, so that any use of them fails.
func TestPublishRefusesIncompleteChange(t *testing.T) {
	for name, hurt := range map[string]func(*Change){
		"no regression test":          func(c *Change) { c.Plan.Test.Path = "" },
		"the plan of another":         func(c *Change) { c.Plan.FeedbackID = "two" },
		"the branch of another":       func(c *Change) { c.Fix.Branch = Branch("two") },
		"no differential check":       func(c *Change) { c.Differential = Differential{} },
		"one of another commit":       func(c *Change) { c.Differential.Tip = "other" },
		"a test that was not made":    func(c *Change) { c.Differential.Report.Status = gates.Skipped },
		"a test that failed the gate": func(c *Change) { c.Differential.Report.Status = gates.Fail },
	} {
		c := change("one")
		hurt(&c)
		if _, err := (PRClient{}).Publish(t.Context(), Item{ID: "one"}, c); err == nil {
			t.Errorf("%s: published", name)
		} else if _, ok := refused(err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A fix never targets the default branch (C-18).
func TestFixNeverTargetsDefaultBranch(t *testing.T) {
	for name, tt := range map[string]struct {
		t  Target
		ok bool
	}{
		"dev, of main":            {Target{Branch: "dev", Default: "main"}, true},
		"main, of main":           {Target{Branch: "main", Default: "main"}, false},
		"main, of trunk":          {Target{Branch: "main", Default: "trunk"}, true},
		"main, unknown default":   {Target{Branch: "main"}, false},
		"master, unknown default": {Target{Branch: "master"}, false},
		"dev, unknown default":    {Target{Branch: "dev"}, true},
		"no branch at all":        {Target{Default: "main"}, false},
	} {
		if err := tt.t.Check(); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Feedback text stays inside its fences. The plan is parsed as one batch with one task and no commands. Outside of the
// fences, plan and change request equal those of another text; only the first line is used in the title.
func FuzzFeedbackTextStaysFenced(f *testing.F) {
	f.Add(hostileText)
	f.Add("it's wrong'); DROP TABLE feedback; --")
	f.Add("~~~~~~~~\n~~~text\n# x\r\n\x00\x1b]0;x\x07 @all closes #1")
	f.Fuzz(func(t *testing.T, words string) {
		if (Words{ID: "one", Body: words, Severity: "low"}).check() != nil {
			return
		}
		written := func(words string) (plan, body string, err error) {
			c := change("one")
			c.Plan.RootCause, c.Plan.Change, c.Plan.Test.Sketch = words, words, words
			plan, err = Render(c.Plan, words)
			return plan, Body(Item{ID: "one", Body: words, Severity: "low"}, c), err
		}
		text, body, err := written(words)
		if err != nil {
			t.Fatalf("%v", err)
		}
		got, err := planparse.Parse("p", []byte(text))
		if err != nil || len(got.Batches) != 1 || len(got.Batches[0].Tasks) != 1 || len(got.Batches[0].Commands) != 0 {
			t.Errorf("%v %+v", err, got)
		}
		if strings.ContainsAny(body, "\x1b\x00\u202e\u200b") {
			t.Errorf("%q", body)
		}
		plain, other, err := written("plain")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(outside(t, plain), outside(t, text)); d != "" && strings.TrimSpace(fence.Clean(words)) != "" {
			t.Errorf("the plan:\n%s", d)
		}
		if d := cmp.Diff(outside(t, other), outside(t, body)); d != "" && strings.TrimSpace(fence.Clean(words)) != "" {
			t.Errorf("the change request:\n%s", d)
		}
		if title := Title(Item{ID: "one", Body: words}); strings.ContainsAny(title, "\n\r\x1b") || len([]rune(title)) > 80 {
			t.Errorf("%q", title)
		}
	})
}

// outside returns the lines of a text outside of its fences, without the note about removed characters.
func outside(t *testing.T, text string) (out []string) {
	t.Helper()
	open := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case open == "" && strings.HasPrefix(line, "~~~"):
			open = line[:len(line)-len(strings.TrimLeft(line, "~"))]
		case open != "" && line == open:
			open = ""
		case open != "" && strings.HasPrefix(strings.TrimLeft(line, " "), open):
			t.Errorf("a fence of %s is closed by %q", open, line)
		case open == "" && line != "" && !strings.HasSuffix(line, " invisible characters were removed.)"):
			out = append(out, line)
		}
	}
	if open != "" {
		t.Error("a fence stays open")
	}
	return out
}

// The table has a row for each pass; without a review it says that the review gate is not available (FIX-21, REV-10).
func TestTable(t *testing.T) {
	if got := Table(change("one").Review); !strings.Contains(got, "| 1 static | pass | 0 | a \\| b |") ||
		!strings.Contains(got, "Verdict: pass, confidence 92 of 100.") {
		t.Error(got)
	}
	if got := Table(NoReview("the server is gone")); !strings.HasPrefix(got, "(review gate not available)") ||
		!strings.Contains(got, "the server is gone") {
		t.Error(got)
	}
}

// If the feedback has no address to notify, the notification is deferred with a warning (FIX-22).
func TestNotificationWithoutAddressIsDeferred(t *testing.T) {
	for _, url := range []string{"", "https://example.org/a", "http://github.com/a/b/pull/1",
		"https://github.com/a/b/commit/1", "https://github.com/a/b/pull/x", "https://u@github.com/a/b/pull/1"} {
		got, err := (PRClient{}).Notify(t.Context(), Item{ID: "one", URL: url}, Published{})
		if err != nil || !got.Deferred || !strings.HasPrefix(got.String(), "warning: ") {
			t.Errorf("%q: %+v %v", url, got, err)
		}
	}
}

// A review gets the findings of earlier reviews of the same class, and of no other class (REV-09).
func TestReviewGetsEarlierFindingsOfClass(t *testing.T) {
	b := newBench(t)
	for id, class := range map[string]Class{"a": ToolFix, "b": Doc} {
		l := Lesson{Triage: Triage{Class: class}, Rounds: 1,
			Review: Reviewed{Verdict: review.RequestChanges,
				Passes: []PassLine{{Number: 6, Name: "adversarial", Status: gates.Fail,
					Findings: []string{"an empty list panics in " + id}}}}}
		if _, err := b.Store.Remember(t.Context(),
			store.Memory{Topic: TopicReviews, Content: outcome(l), FixClass: string(class), FeedbackID: id,
				At: b.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	var request ReviewRequest
	d := New(Parts{Store: b.Store,
		Review: func(_ context.Context, w ReviewRequest) (Reviewed, error) { request = w; return Reviewed{}, nil }})
	if _, err := d.Stages.Review(t.Context(), Item{}, Triage{Class: ToolFix}, Plan{}, Fix{}, Differential{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(request.Earlier, "an empty list panics in a") ||
		strings.Contains(request.Earlier, "panics in b") {
		t.Error(request.Earlier)
	}
}

// Each operation has its own tool name and refuses unknown input (FIX-26).
func TestTools(t *testing.T) {
	want := "triage_feedback localise_feedback draft_fix_plan is_plan_large_job apply_self_fix " +
		"write_self_fix_regression_test verify_differential publish_self_fix_pr record_self_fix_pr critique_turn_output"
	var names []string
	for _, tool := range Tools() {
		names = append(names, tool.Name)
		for _, in := range []string{``, `[]`, `"x"`, `{"no_such_field": 1}`} {
			if _, err := tool.Do(t.Context(), &Driver{}, Parts{}, []byte(in)); err == nil {
				t.Errorf("%s takes %s", tool.Name, in)
			}
		}
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Each operation that needs no repository works when it is called as a tool (FIX-26).
func TestToolsSucceed(t *testing.T) {
	b := newBench(t)
	plan := b.Stages.Plan
	b.Stages.Plan = func(context.Context, Item, PlanRequest) (Plan, error) { return Plan{}, errors.New("no model") }
	if _, err := b.Process(t.Context(), ""); err == nil {
		t.Fatal("it went on without a plan")
	}
	b.Stages.Plan = plan
	parts := Parts{
		Fixer:    Fixer{Plans: t.TempDir()},
		Critique: func(context.Context, Turn) (Critique, error) { return Critique{Looked: true, Note: "looked"}, nil },
	}
	call := func(name, in, want string) {
		t.Helper()
		tool, ok := ToolNamed(name)
		if !ok {
			t.Fatalf("%s is no tool", name)
		}
		out, err := tool.Do(t.Context(), b.Driver, parts, []byte(in))
		text, _ := json.Marshal(out)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %v; want %s", name, text, err, want)
		}
	}
	call("triage_feedback", `{"body":"it is wrong"}`, `"confidence_pct":90`)
	call("localise_feedback", `{"body":"it is wrong","candidate_files":["a.go"]}`, `"b"`)
	call("draft_fix_plan", `{"id":"one"}`, `"a.go"`)
	call("is_plan_large_job", `{"fix_class":"tool","proposed_change":"c","files":["a.go"],"line_estimate":5}`, `false`)
	call("critique_turn_output", `{"task":"t","tool":"edit","input":{}}`, `"looked"`)
	b.process(PROpen)
	call("write_self_fix_regression_test", `{"id":"one"}`, `a_test.go`)
	call("apply_self_fix", `{"id":"one"}`, `tip1`)
	call("publish_self_fix_pr", `{"id":"one"}`, `https://x/pull/1`)
}
