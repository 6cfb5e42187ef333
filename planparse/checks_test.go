package planparse

import (
	"strconv"
	"strings"
	"testing"
)

// Of commands with the same text, the last one counts. It keeps the expectation of the earlier ones if it has none.
// Commands of ticked tasks do not run again, but those of their open subtasks do.
func TestChecks(t *testing.T) {
	run := func(command, expected string) []string {
		return []string{"Run: `" + command + "`", "Expected: " + expected, ""}
	}
	for name, c := range map[string]struct {
		in   []string
		want string
	}{
		"a failure before a pass": {append(run("make  a", "FAIL"), append(run("make b", "PASS"), run("make a",
			"PASS")...)...),
			"make b=PASS make a=PASS"},
		"a repetition without an expectation": {append(run("make a", "`3 ok`"), "Run: `make a`"), "make a=3 ok"},
		"a ticked task": {[]string{"### Task 1.1: B", "- [x] b", "", "Run: `make b`", "", "### Task 1.2: C", "- [ ] c", "",
			"Run: `make c`"}, "make c="},
		"no commands": {[]string{"text"}, ""},
	} {
		var got []string
		for _, b := range parse(t, in(append([]string{"# P", "## Task 1: A"}, c.in...)...)).Batches {
			for _, k := range b.Checks() {
				got = append(got, k.Run+"="+k.Expected)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A repeated path has its last verb, unless an earlier promise is stronger: a test stays a test, and what the batch
// creates it may change later.
func TestPromises(t *testing.T) {
	for name, c := range map[string]struct {
		in   []string
		want string
	}{
		"different paths":        {[]string{"- Create: `a.go`", "- Modify: `b.go`"}, "create a.go@3 modify b.go@4"},
		"a created file changes": {[]string{"- Create: `a.go`", "- Modify: `a.go`"}, "create a.go@3"},
		"a changed file is new":  {[]string{"- Modify: `a.go`", "- Create: `a.go`"}, "create a.go@4"},
		"a test is a test":       {[]string{"- Test: `a_test.go`", "- Modify: `a_test.go`"}, "test a_test.go@3"},
		"a deleted test":         {[]string{"- Test: `a_test.go`", "- Delete: `a_test.go`"}, "delete a_test.go@4"},
		"a created file goes":    {[]string{"- Create: `a.go`", "- Delete: `a.go`"}, "delete a.go@4"},
		"the last of three":      {[]string{"- Modify: `a.go`", "- Modify: `b.go`", "- Delete: `a.go`"}, "modify b.go@4 delete a.go@5"},
		"a ticked task is left out": {[]string{"### Task 1.1: B", "- [x] b", "", "- Create: `b.go`", "", "### Task 1.2: C",
			"- [ ] c", "", "- Create: `c.go`"}, "create c.go@11"},
	} {
		var got []string
		for _, b := range parse(t, in(append([]string{"# P", "## Task 1: A"}, c.in...)...)).Batches {
			for _, n := range b.Promises() {
				got = append(got, n.Verb+" "+n.Path+"@"+strconv.Itoa(n.Line))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A step asks for a change, unless its words say that it checks or publishes something.
func TestStepsThatCheck(t *testing.T) {
	for _, step := range []string{
		"Run `make`", "**Step 2:** Run all tests", "Step 2: Rerun the suite", "Manual test: resize the window",
		"Manually open the page", "Smoke: start it", "re-run it", "verify: it works", "Check, then go on",
		"Confirm it", "Push",
		"Commit", "Review the change", "Inspect the log", "Ensure all tests pass", "Validate that it passes",
		"Build it to confirm that it works", "Rebuild to verify", "Restart and confirm", "Start `make dev`", "Stop `make dev`",
		"Open `localhost`", "Move this plan away", "Archive the plan", "Tick the plan", "Mark the plan as done",
		"Make sure that all tests pass", "Update README.md if needed", "Tidy up if necessary", "Document it if required",
		"Fix lint if applicable",
	} {
		if b := taskOf(step); b.AsksMore() {
			t.Errorf("%q asks for a change", step)
		}
	}
	for _, step := range []string{
		"Write it", "Runner: add one", "Step 2: Write the tests", "Stepping: run it", "Ensure that the token is new",
		"Build the page", "Move the files", "Archive the files", "Make the tests pass", "Make sure that it is there",
		"Tick boxes",
		"Verifying parser", "Update README.md",
	} {
		if b := taskOf(step); !b.AsksMore() {
			t.Errorf("%q asks for no change", step)
		}
	}
	for step, want := range map[string]bool{"Run `make`": true, "Manual test": true, "Verify it": false,
		"Move this plan to docs/completed": false, "Write it": false} {
		if _, run := checkStep(step); run != want {
			t.Errorf("%q runs something: %v", step, run)
		}
	}
	done := taskOf("Write it")
	done.Tasks[0].Done = true
	heading := taskOf("Write it")
	heading.Tasks[0].Box = false
	command := taskOf("Write it")
	command.Commands = []Command{{Run: "make", Line: 3}}
	for name, c := range map[string]struct {
		b    *Batch
		line int
		want bool
	}{
		"a ticked box": {done, 0, false}, "no box": {heading, 0, false}, "a command in its first line": {command, 3, false},
		"a command in its last line": {command, 5, false}, "a command before it": {command, 2, true},
		"a command after it": {command, 6, true},
	} {
		if len(c.b.Commands) > 0 {
			c.b.Commands[0].Line = c.line
		}
		if got := c.b.AsksMore(); got != c.want {
			t.Errorf("%s: asks for more work: %v", name, got)
		}
	}
}

func taskOf(title string) *Batch {
	return &Batch{Tasks: []Task{{Title: title, Box: true, Line: 3, EndLine: 5}}}
}
