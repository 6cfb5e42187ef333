package report

import (
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// Markdown writes the report of a run for terminals, pull requests and notes. past may be nil; with it, the report
// shows the failures during the run.
func Markdown(s runner.Summary, past *Past) string {
	var b strings.Builder
	f, o := figuresOf(s), OutcomeOf(s)
	fmt.Fprintf(&b, "# %s: %s\n\n", md(titleOf(s)), o.Word)
	if s.Reason != "" {
		fmt.Fprintf(&b, "%s\n\n", md(s.Reason))
	}
	fmt.Fprintf(&b, "| | |\n|---|---|\n")
	for _, kv := range facts(s, f) {
		fmt.Fprintf(&b, "| %s | %s |\n", kv.Name, md(kv.Value))
	}
	if len(s.Batches) > 0 {
		b.WriteString("\n## Batches\n\n```mermaid\n" + mermaid(s) + "```\n\n")
		b.WriteString("| # | batch | state | tries | agent | tier | time | tests | commit | cost | gates " +
			"|\n|--:|---|---|--:|---|---|--:|---|---|--:|---|\n")
		for _, x := range s.Batches {
			row := statusRow(Standing{Summary: s}, x, ui.Style{})
			for i, c := range row {
				row[i] = md(c)
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
		for _, note := range gateNotes(s) {
			fmt.Fprintf(&b, "\n%s\n", md(note))
		}
		fmt.Fprintf(&b, "\n%s\n", md(totals(s)))
	}
	markdownPlanChanges(&b, s)
	if text := textTimeline(s, past); text != "" {
		fence := fenceFor(text)
		b.WriteString("\n## Timeline\n\n" + fence + "text\n" + text + fence + "\n")
	}
	markdownTournaments(&b, s)
	head := "\n## Failures\n"
	for _, x := range s.Batches {
		for _, f := range failures(x, past.of(x.Key)) {
			b.WriteString(head)
			head = ""
			markdownFailure(&b, x, f)
		}
	}
	markdownPromises(&b, s)
	markdownOutsideChanges(&b, outsideChanges(s, past))
	reviews(&b, s)
	receipts(&b, s)
	if steps := nextSteps(s); len(steps) > 0 {
		b.WriteString("\n## Next\n\n```sh\n")
		for _, n := range steps {
			fmt.Fprintf(&b, "%s  # %s\n", n.Command, n.Why)
		}
		b.WriteString("```\n")
	}
	return b.String()
}

func markdownPlanChanges(b *strings.Builder, s runner.Summary) {
	for _, r := range s.PlanChanges {
		fmt.Fprintf(b, "\n## The plan was changed\n\n%s\n\n", md(r.Note))
		for _, f := range r.Findings {
			fmt.Fprintf(b, "- %s\n", md(f.Message))
		}
	}
}

func markdownFailure(b *strings.Builder, x runner.BatchSummary, f failure) {
	fmt.Fprintf(b, "\n### Batch %s (%s), %s\n\n", md(x.Number), md(x.Title), md(f.Head))
	if f.Reason != "" {
		fmt.Fprintf(b, "%s\n", md(f.Reason))
	}
	for _, g := range f.Gates {
		fmt.Fprintf(b, "\n- **%s**\n", md(g.Name))
		for _, n := range g.Findings {
			fmt.Fprintf(b, "  - %s\n", md(strings.TrimSpace(n.Place+" "+n.Message+" "+bracket(n.Rule))))
		}
		if g.More > 0 {
			fmt.Fprintf(b, "  - and %d more\n", g.More)
		}
		if g.Output != "" {
			fence := fenceFor(g.Output)
			fmt.Fprintf(b, "\n%stext\n%s\n%s\n", fence, g.Output, fence)
		}
	}
}

// markdownOutsideChanges writes the changes outside the workspaces. They did not fail an attempt, because another
// program may have made them, but a person should check them.
func markdownOutsideChanges(b *strings.Builder, list []outsideChange) {
	if len(list) > 0 {
		b.WriteString("\n## Outside of the workspaces\n")
	}
	for _, s := range list {
		fmt.Fprintf(b, "\n- batch %s (%s), %s\n", md(s.Batch), md(s.Title), md(s.Attempt))
		for _, n := range s.Findings {
			fmt.Fprintf(b, "  - %s\n", md(strings.TrimSpace(n.Message+" "+bracket(n.Rule))))
		}
	}
}

func bracket(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

func receipts(b *strings.Builder, s runner.Summary) {
	head := "\n## Receipts\n\n"
	for _, x := range s.Batches {
		if x.Receipt != "" {
			fmt.Fprintf(b, "%s- batch %s: %s\n", head, md(x.Number), code(x.Receipt))
			head = ""
		}
	}
}

// fact is a line of the head of a report.
type fact struct{ Name, Value string }

func facts(s runner.Summary, f figures) []fact {
	out := []fact{
		{"plan", ui.Sanitize(s.Plan)}, {"run", ui.Sanitize(s.Run)}, {"branch", ui.Sanitize(s.Branch)},
		{"from", strings.TrimSpace(short(s.Base) + " " + bracket(ui.Sanitize(s.BaseBranch)))}, {"now at", short(s.Commit)},
		{"agent", ui.Sanitize(s.Agent)}, {"mode", decisionOf(s)},
		{"batches", f.counts()}, {"wall time", ui.Duration(millis(s.DurationMS))},
		{"cost", strings.TrimPrefix(f.costWords(), "cost ")},
		{"tests", testsOf(f.before, f.after)},
	}
	if f.Merged > 0 {
		out = append(out, fact{"final review", finalReview(s)})
	}
	if !s.Started.IsZero() {
		out = append(out, fact{"started", s.Started.Format("2006-01-02 15:04 MST")})
	}
	return lists.Filter(out, func(x fact) bool { return x.Value != "" && x.Value != none })
}

func mermaid(s runner.Summary) string {
	g := LayoutOf(s.Batches)
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for i, x := range s.Batches {
		f := faceOf(s, x)
		label := fmt.Sprintf("%s %s %s", ui.Style{}.Icon(f.Tone), ui.Sanitize(x.Number),
			ui.Brief(x.Title, 40))
		fmt.Fprintf(&b, "  b%d[\"%s\"]:::%s\n", i, entities(label), f.Tone)
	}
	for i, n := range g.Nodes {
		for _, j := range n.Needs {
			fmt.Fprintf(&b, "  b%d --> b%d\n", j, i)
		}
	}
	for _, c := range []struct {
		tone  ui.Tone
		color string
	}{{ui.Good, "#1a7f4b"}, {ui.Bad, "#c22f3d"}, {ui.Busy, "#2563c9"}, {ui.Warn, "#a15c00"}} {
		fmt.Fprintf(&b, "  classDef %s stroke:%s,stroke-width:2px\n", c.tone, c.color)
	}
	b.WriteString("  classDef muted stroke-dasharray:4 3\n  classDef idle stroke-width:1px\n")
	return b.String()
}

// entities writes everything that mermaid or markdown might read as syntax as a numbered entity.
func entities(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 && !isWord(r) && r != ' ' {
			fmt.Fprintf(&b, "#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// md makes one line of text that markdown shows as it is.
func md(s string) string {
	var b strings.Builder
	for _, r := range ui.Sanitize(s) {
		switch r {
		case '<':
			b.WriteString("&lt;")
			continue
		case '&':
			b.WriteString("&amp;")
			continue
		case '\\', '`', '*', '_', '[', ']', '|', '#', '~', '>', '!', '@':
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func code(s string) string {
	s = ui.Sanitize(s)
	tick := strings.Repeat("`", fence.Longest(s, '`')+1)
	if len(tick) > 1 {
		return tick + " " + s + " " + tick
	}
	return tick + s + tick
}

// fenceFor returns a fence that s does not contain.
func fenceFor(s string) string { return strings.Repeat("`", max(3, fence.Longest(s, '`')+1)) }

type promise struct{ Batch, Gate, Status, Note string }

// isPromise reports whether a gate checked a promise of the plan.
func isPromise(g runner.GateResult) bool { return strings.HasPrefix(g.Gate, "plan:") }

// promises lists the gates' findings about promises of the plan, by batch.
func promises(s runner.Summary) []promise {
	var out []promise
	for _, b := range s.Batches {
		for _, g := range b.Gates {
			if !isPromise(g) {
				continue
			}
			note := g.Note
			if len(g.Said) > 0 {
				note = strings.Join(append(g.Said, note), "; ")
			}
			out = append(out, promise{
				ui.Sanitize(b.Number), ui.Sanitize(g.Gate), ui.Sanitize(string(g.Status)),
				strings.TrimSuffix(ui.Sanitize(note), "; "),
			})
		}
	}
	return out
}

// markdownPromises writes the table of promises; nothing if the plan made none.
func markdownPromises(b *strings.Builder, s runner.Summary) {
	list := promises(s)
	if len(list) == 0 {
		return
	}
	b.WriteString("\n## Promises of the plan\n\n| batch | gate | result | what was found |\n|---|---|---|---|\n")
	for _, p := range list {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", md(p.Batch), md(p.Gate), md(p.Status), md(p.Note))
	}
}
