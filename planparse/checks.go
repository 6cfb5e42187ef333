package planparse

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

// Checks returns the commands that check the result of the batch, in document order. If several commands have the same
// text, only the last one counts, so an "Expected: FAIL" before an "Expected: PASS" is ignored. It omits commands of
// ticked tasks, because they do not run again.
func (b *Batch) Checks() []Command {
	var out []Command
	for _, c := range b.Commands {
		if b.ticked(c.Line) {
			continue
		}
		same := phrase.Line(c.Run)
		if i := slices.IndexFunc(out,
			func(o Command) bool { return phrase.Line(o.Run) == same }); i >= 0 {
			if c.Expected == "" { // a repetition does not change the expectation
				c.Expected, c.Said = out[i].Expected, out[i].Said
			}
			out = slices.Delete(out, i, i+1)
		}
		out = append(out, c)
	}
	return out
}

// OnlyChecks reports whether the batch can be complete without a change. Such a batch names no files to change, has
// commands to run and has no other tasks. Without commands, or if the batch itself is the task, its title must say that
// it verifies. Each open step must then check or publish something ("Run all tests", "Verify the settings", "Push"),
// and at least one step must run something. In doubt the batch needs a change: otherwise an agent that does nothing
// would pass.
func (b *Batch) OnlyChecks() bool {
	if len(b.Files.Create)+len(b.Files.Modify)+len(b.Files.Delete) > 0 {
		return false
	}
	if len(b.Commands) > 0 && (len(b.Tasks) > 0 || verifyTitle.MatchString(b.Title)) {
		return !b.AsksMore()
	}
	if len(b.Files.Test) > 0 || !verifyTitle.MatchString(b.Title) {
		return false
	}
	runs := false
	for _, s := range b.openSteps() {
		check, run := checkStep(s)
		if !check {
			return false
		}
		runs = runs || run
	}
	return runs
}

// verifyTitle matches titles of batches that verify. "Check" or "validation" alone may be about the code: "Checkout",
// "Input validation".
var verifyTitle = lazyre.New(`(?i)\b(?:verify|verification|acceptance|regression|smoke|full tests?|test suite)\b|` +
	`\bfinal (?:[\w-]+ )?(?:validation|checks?|review|tests?|testing|quality)\b`)

// confirms matches the text after a verb that may also ask for code, if the step is only a check: "Build the page to
// confirm that it works", "Ensure all tests pass", "Start `make dev`".
var confirms = lazyre.New("(?i)`|\\b(?:verif(?:y|ies)|confirms?|pass|passes|passing)\\b")

// AsksMore reports whether an open checkbox task asks for work and not only for a check. "T001 Add the command" is
// work, even if it names no file; "T004 Run `make test`" is a check.
func (b *Batch) AsksMore() bool {
	return slices.ContainsFunc(b.Tasks, func(t Task) bool {
		if t.Done || !t.Box {
			return false
		}
		check, _ := checkStep(t.Title)
		return !check && !slices.ContainsFunc(b.Commands,
			func(c Command) bool { return t.Line <= c.Line && c.Line <= t.EndLine })
	})
}

// openSteps returns the texts of the open steps, and the titles of open tasks without steps.
func (b *Batch) openSteps() []string {
	var texts []string
	add := func(steps []Step) {
		for _, s := range steps {
			if !s.Done {
				texts = append(texts, s.Text)
			}
		}
	}
	add(b.Steps)
	for _, t := range b.Tasks {
		switch {
		case t.Done:
		case len(t.Steps) == 0:
			texts = append(texts, t.Title)
		default:
			add(t.Steps)
		}
	}
	return texts
}

// checkStep reports whether a step asks for no change, and whether it runs something: "Step 2: Run `make lint`",
// "manual test: resize the window", "Update README.md if needed", "Move this plan to docs/plans/completed".
func checkStep(text string) (check, run bool) {
	text = strings.ToLower(strings.TrimLeft(text, "*_ "))
	if step, rest, ok := strings.Cut(text, ":"); ok && strings.HasPrefix(step, "step ") {
		text = strings.TrimLeft(rest, "*_ ")
	}
	word, rest, _ := strings.Cut(text, " ")
	switch strings.TrimRight(word, ":,*_") {
	case "run", "rerun", "re-run", "manual", "manually", "smoke":
		return true, true
	case "verify", "check", "confirm", "push", "commit", "review", "inspect":
		return true, false
	case "ensure", "validate", "build", "rebuild", "restart", "start", "stop", "open":
		return confirms.MatchString(rest), false
	case "move", "archive", "tick", "mark":
		return strings.Contains(rest, "plan"), false
	case "make":
		return strings.HasPrefix(rest, "sure ") && confirms.MatchString(rest), false
	}
	return containsAny(text, "if needed", "if necessary", "if required", "if applicable"), false
}

// Promises returns the files that the batch promises to create, change, test or delete, except files of ticked tasks. A
// repeated path appears once, with its last verb.
func (b *Batch) Promises() []Named {
	var out []Named
	for _, n := range b.Named {
		if b.ticked(n.Line) {
			continue
		}
		if i := slices.IndexFunc(out, func(o Named) bool { return o.Path == n.Path }); i >= 0 {
			switch old := out[i]; {
			case old.Verb == "test" && n.Verb != "delete": // the stronger promise
				continue
			case old.Verb == "create" && n.Verb == "modify":
				continue
			}
			out = slices.Delete(out, i, i+1)
		}
		out = append(out, n)
	}
	return out
}

// ticked reports whether the line is in a ticked task. A nested task counts separately.
func (b *Batch) ticked(line int) bool {
	done := false
	for _, t := range b.Tasks {
		if t.Line <= line && line <= t.EndLine {
			done = t.Done
		}
	}
	return done
}
