package report

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/trace"
)

// tracePage is the HTML template of a trace.
//
//go:embed trace.html
var tracePage string

// traceView is the data of trace.html: a report, with what the page says about its parts.
type traceView struct{ *trace.Report }

// WriteTraceHTML writes what a run proved of its plan, as one page without external resources.
func WriteTraceHTML(to io.Writer, r *trace.Report) error {
	var b strings.Builder
	if err := writePage(&b, tracePage, "trace of run "+r.Run, traceView{r}); err != nil {
		return err
	}
	_, err := io.WriteString(to, redact.Clean(b.String())) // the template has escaped all texts
	return err
}

// The methods below are for the template.

func (v traceView) Name() string                      { return traceTitle(v.Report) }
func (v traceView) Outcome() Face                     { return OutcomeOf(runner.Summary{Status: v.Status}) }
func (v traceView) Tiles() []tile                     { return traceTiles(v.Report) }
func (v traceView) Face(s trace.State) Face           { return stateFace(s) }
func (v traceView) BatchFace(b trace.Batch) Face      { return batchFace(v.Report.Status, b) }
func (v traceView) FileLines(f trace.File) string     { return fileLines(f) }
func (v traceView) CommitOf(t trace.Task) string      { return proofWords(t) }
func (v traceView) DriftLine(d trace.Drift) string    { return DriftLine(d) }
func (v traceView) Was(d trace.Drift) (was []string)  { was, _ = wordings(d); return was }
func (v traceView) IsNow(d trace.Drift) (is []string) { _, is = wordings(d); return is }

func (v traceView) About() []string {
	about := []string{"run " + v.Run, v.Plan, "run branch " + v.Branch}
	if v.On != "" {
		about = append(about, "as of "+v.On)
	}
	return about
}

func (v traceView) Problems() (out []string) {
	if v.PlanGone {
		out = append(out, goneWords)
	}
	if v.Undone != "" {
		out = append(out, undoneWords(v.Report))
	}
	if len(v.Unnamed) > 0 {
		out = append(out, "No task names "+strings.Join(v.Unnamed, ", ")+".")
	}
	for _, u := range v.Unstated {
		out = append(out, unstatedWords(v.Report, u)+".")
	}
	return out
}

// Known reports whether the page has the row of a requirement.
func (v traceView) Known(id string) bool {
	_, known := v.Requirement(id)
	return known
}

// Entries returns the facts about a batch that are not lists of their own on the page.
func (v traceView) Entries(b trace.Batch) (out []fact) {
	for _, e := range batchEntries(b, 0, 0) {
		if e.Name == "tests" {
			e.Value, _, _ = strings.Cut(e.Value, "; new: ")
		}
		if e.Name != "files" || len(b.Files) == 0 {
			out = append(out, e)
		}
	}
	return out
}

func traceTiles(r *trace.Report) []tile {
	c := r.Count()
	out := []tile{{"tasks proven", fmt.Sprintf("%d of %d", c.Proven, c.Tasks), "", string(ui.Idle)}}
	if c.Proven == c.Tasks && c.Tasks > 0 {
		out[0].Tone = string(ui.Good)
	}
	if c.Older > 0 {
		out = append(out, tile{"older wording", fmt.Sprint(c.Older), "", string(ui.Warn)})
	}
	if c.Failed > 0 {
		out = append(out, tile{"failed", fmt.Sprint(c.Failed), "", string(ui.Bad)})
	}
	if n := len(r.Requirements); n > 0 {
		t := tile{"requirements proven", fmt.Sprintf("%d of %d", c.Requirements, n), "", string(ui.Idle)}
		if u := len(r.Unnamed); u > 0 {
			t.Note = fmt.Sprintf("%d without a task", u)
		}
		out = append(out, t)
	}
	tests, files, named := 0, map[string]bool{}, false
	for _, b := range r.Batches {
		tests += len(b.NewTests) + b.MoreNew
		named = named || b.NewTests != nil
		for _, f := range b.Files {
			files[f.Path] = true
		}
	}
	if named {
		out = append(out, tile{"new tests", fmt.Sprint(tests), "", string(ui.Idle)})
	}
	return append(out, tile{"files changed", fmt.Sprint(len(files)), "", string(ui.Idle)})
}

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
			proofWords(x), x.Line, md(orNone(strings.Join(x.Requirements, ", "))))
	}
}

func toneWords(f Face) string { return ui.Style{}.Icon(f.Tone) + " " + md(f.Word) }

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
		text := phrase.Line(
			fmt.Sprintf("%s %s %s %s", ui.Sanitize(c.Variant), ui.Style{}.Icon(f.Tone), f.Word, candidateWhy(c)))

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
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s:%d |\n", md(q.ID), md(cells.Cut(q.Title, 120, "…")),
			toneWords(stateFace(q.State)), md(orNone(strings.Join(q.Tasks, ", "))), md(q.Path), q.Line)
	}
}

func markdownDrift(b *strings.Builder, list []trace.Drift) {
	if len(list) > 0 {
		b.WriteString("\n## Proven against older wording\n")
	}
	for _, d := range list {
		was, is := wordings(d)
		text := phrase.Join(was, "", func(l string) string { return "- " + l + "\n" }) +
			phrase.Join(is, "", func(l string) string { return "+ " + l + "\n" })
		fence := fenceFor(text)
		fmt.Fprintf(b, "\n%s\n\n%sdiff\n%s%s\n", md(DriftLine(d)), fence, text, fence)
	}
}
