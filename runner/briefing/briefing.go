// Package briefing writes the text that an agent gets for one batch: what to do, what holds for the whole
// plan, what the gates will ask, and what went wrong before. The same inputs give the same bytes.
package briefing

import (
	"fmt"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/planparse"
)

// Input is all that a brief is made of.
type Input struct {
	PlanTitle string
	Preamble  string // goal and constraints of the plan
	Batch     planparse.Batch
	Attempt   int
	Gates     []gates.Info
	Before    *gates.TestCount // tests of the last batch that passed
	Digest    string           // of the last failed attempt, "" on a first one
	Patch     string           // file with what the last failed attempt changed, "" when there is none
}

// Brief returns the text.
func Brief(in Input) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Batch %s: %s\n\nYou carry out one batch of the plan %q. Work in the current directory only.\n", oneLine(in.Batch.Number), oneLine(in.Batch.Title), oneLine(in.PlanTitle))
	b.WriteString("Leave your changes in the working tree: they are committed and checked after you stop. Do not switch branches.\n")
	b.WriteString("Do the work in the foreground; whatever still runs when you stop is ended.\n")
	if d := directives(in); len(d) > 0 {
		b.WriteString("\n## What will be asked of the result\n\n")
		for _, line := range d {
			b.WriteString("- " + line + "\n")
		}
	}
	if in.Digest != "" {
		fmt.Fprintf(&b, "\n## Attempt %d failed\n\nYou start from the same commit as that attempt. Do not repeat what it did wrong.\n\n", in.Attempt-1)
		if in.Patch != "" {
			fmt.Fprintf(&b, "Its changes are kept as a patch: %s\n\n", in.Patch)
		}
		fence(&b, in.Digest)
	}
	b.WriteString("\n## The batch, as the plan has it\n\n")
	fence(&b, strings.TrimRight(in.Batch.Text, "\n"))
	if p := strings.TrimSpace(in.Preamble); p != "" {
		b.WriteString("\n## What the plan says of all batches\n\n")
		fence(&b, p)
	}
	return b.String()
}

func directives(in Input) []string {
	var out []string
	for _, g := range in.Gates {
		verb := "is checked"
		if g.Blocking {
			verb = "has to pass"
		}
		if g.Command != "" {
			out = append(out, fmt.Sprintf("%s %s: `%s`", g.Name, verb, oneLine(g.Command)))
		} else {
			out = append(out, fmt.Sprintf("%s %s", g.Name, verb))
		}
	}
	if in.Before != nil {
		out = append(out, fmt.Sprintf("at least %d tests have to pass, as before this batch; do not delete or skip tests", in.Before.Passed))
	}
	return out
}

// oneLine keeps what stands outside of a fence to its line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// fence puts foreign text into a fence that it cannot close, so that nothing in it passes for a directive.
func fence(b *strings.Builder, text string) {
	longest, run := 3, 0
	for i := range len(text) {
		if text[i] != '~' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	ticks := strings.Repeat("~", longest+1)
	b.WriteString(ticks + "\n" + text + "\n" + ticks + "\n")
}
