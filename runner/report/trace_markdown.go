package report

import (
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/trace"
)

// TraceMarkdown writes for a pull request what a run proved of its plan.
func TraceMarkdown(r *trace.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What run %s proved of %s\n\n%s\n", md(r.Run), md(r.Plan), md(traceCounts(r)))
	if r.PlanGone {
		b.WriteString("\n" + goneWords + "\n")
	}
	if r.Undone != "" {
		fmt.Fprintf(&b, "\n%s\n", md(undoneWords(r)))
	}
	markdownTasks(&b, r.Tasks)
	markdownBatches(&b, r.Status, r.Batches)
	markdownRequirements(&b, r.Requirements)
	head := "\n## Inconsistencies\n\n"
	tell := func(text string) {
		b.WriteString(head + "- " + md(text) + "\n")
		head = ""
	}
	if len(r.Unnamed) > 0 {
		tell("no task names " + strings.Join(r.Unnamed, ", "))
	}
	for _, u := range r.Unstated {
		tell(unstatedWords(r, u))
	}
	markdownDrift(&b, r.Drift)
	return b.String()
}

// AnswerMarkdown writes the links of one item.
func AnswerMarkdown(a *trace.Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", md(a.Asked))
	if l := a.Line; l != nil {
		fmt.Fprintf(&b, "\n%s %s\n", md(fmt.Sprintf("%s:%d", l.Path, l.Line)), code(strings.TrimSpace(l.Text)))
	}
	if c := a.Commit; c != nil {
		fmt.Fprintf(&b, "\nCommit %s by %s, %s: %s\n", short(c.Hash), md(c.Author), c.At.Format("2006-01-02 15:04 MST"),
			md(c.Subject))
	}
	if a.Run != "" {
		fmt.Fprintf(&b, "\nRun %s of %s\n", md(a.Run), md(a.Plan))
	}
	for _, p := range a.Parts {
		fmt.Fprintf(&b, "\nRun %s, batch %s\n", md(p.Run), md(p.Batch))
	}
	if a.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", md(a.Note))
	}
	markdownTasks(&b, a.Tasks)
	markdownBatches(&b, runner.RunStopped, a.Batches)
	markdownRequirements(&b, a.Requirements)
	markdownDrift(&b, a.Drift)
	return b.String()
}

func markdownTasks(b *strings.Builder, tasks []trace.Task) {
	if len(tasks) == 0 {
		return
	}
	b.WriteString("\n## Tasks\n\n| task | title | state | commit | line | requirements |\n|---|---|---|---|--:|---|\n")
	for _, x := range tasks {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %d | %s |\n", md(x.Name), md(x.Title), toneWords(stateFace(x.State)),
			proofWords(x), x.Line,
			md(orNone(strings.Join(x.Requirements, ", "))))
	}
}

func toneWords(f face) string { return ui.Style{}.Icon(f.tone) + " " + md(f.word) }

func markdownBatches(b *strings.Builder, run runner.RunStatus, batches []trace.Batch) {
	if len(batches) == 0 {
		return
	}
	b.WriteString("\n## Batches\n")
	for _, x := range batches {
		fmt.Fprintf(b, "\n**%s %s**: %s\n\n", md(x.Number), md(x.Title), toneWords(batchFace(run, x)))
		for _, e := range batchEntries(x, len(x.Files), len(x.NewTests)) {
			fmt.Fprintf(b, "- %s: %s\n", md(e.Name), md(e.Value))
		}
	}
}

// batchEntries are the facts of a batch.
func batchEntries(x trace.Batch, files, tests int) []fact {
	var out []fact
	if text := batchWords(x); text != "" {
		out = append(out, fact{"work", text})
	}
	if c := x.Commit; c != nil {
		out = append(out, fact{"commit", short(c.Hash) + " " + ui.Sanitize(c.Where)}, fact{"files", filesWords(x, files)},
			fact{"tests", testWords(x, tests)})
	} else if x.Reason != "" {
		out = append(out, fact{"why", ui.Sanitize(x.Reason)})
	}
	if len(x.Gates) > 0 {
		out = append(out, fact{"gates", gateWords(x)})
	}
	for _, c := range x.Candidates {
		f := candidateFace(c, false)
		text := strings.Join(strings.Fields(
			fmt.Sprintf("%s %s %s %s", ui.Sanitize(c.Variant), ui.Style{}.Icon(f.tone), f.word, candidateWhy(c))), " ")
		out = append(out, fact{fmt.Sprintf("candidate %d", c.Number), text})
	}
	if x.Receipt != "" {
		out = append(out, fact{"receipt", ui.Sanitize(x.Receipt)})
	}
	return out
}

func markdownRequirements(b *strings.Builder, list []trace.Requirement) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n## Requirements\n\n| requirement | text | state | tasks | stated at |\n|---|---|---|---|---|\n")
	for _, q := range list {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s:%d |\n", md(q.ID), md(ui.Cut(q.Title, 120, "…")),
			toneWords(stateFace(q.State)),
			md(orNone(strings.Join(q.Tasks, ", "))), md(q.Path), q.Line)
	}
}

func markdownDrift(b *strings.Builder, list []trace.Drift) {
	if len(list) > 0 {
		b.WriteString("\n## Proven against older wording\n")
	}
	for _, d := range list {
		was, is := wordings(d)
		text := ""
		for _, l := range was {
			text += "- " + l + "\n"
		}
		for _, l := range is {
			text += "+ " + l + "\n"
		}
		fence := fenceFor(text)
		fmt.Fprintf(b, "\n%s\n\n%sdiff\n%s%s\n", md(DriftLine(d)), fence, text, fence)
	}
}
