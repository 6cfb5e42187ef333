package report

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/trace"
)

// tracePage is the HTML template of a trace.
//
//go:embed trace.html
var tracePage string

// traceView is the data of trace.html. All strings are clean; html/template escapes them.
type traceView struct {
	Title, Outcome, Tone, Icon string
	About                      []string
	Tiles                      []tile
	Batches                    []traceBatch
	Requirements               []traceRequirement
	Problems                   []string
	Drift                      []traceDrift
}

type traceBatch struct {
	Number, Title, State, Tone, Icon string
	Tasks                            []traceTask
	Entries                          []fact
	Files                            []traceFile
	Tests                            []string
}

type traceTask struct {
	Name, Title, State, Tone, Icon string
	Commit                         string
	Line                           int
	Requirements                   []traceID
}

// traceID is the id of a requirement, and whether the page has its row.
type traceID struct {
	ID    string
	Known bool
}

type traceFile struct{ Path, Lines string }

type traceRequirement struct {
	ID, Text, State, Tone, Icon, At string
	Tasks                           []string
	Part                            bool
}

type traceDrift struct {
	Head     string
	Was, Now []string
}

// WriteTraceHTML writes what a run proved of its plan, as one page without external resources.
func WriteTraceHTML(to io.Writer, r *trace.Report) error {
	return writePage(to, tracePage, "trace of run "+r.Run, traceViewOf(r))
}

func traceViewOf(r *trace.Report) traceView {
	o := outcomeOf(runner.Summary{Status: r.Status})
	v := traceView{
		Title: traceTitle(r), Outcome: o.word, Tone: string(o.tone), Icon: ui.Style{}.Icon(o.tone),
		About: []string{"run " + ui.Sanitize(r.Run), ui.Sanitize(r.Plan), "run branch " + ui.Sanitize(r.Branch)},
		Tiles: traceTiles(r),
	}
	if r.On != "" {
		v.About = append(v.About, "as of "+ui.Sanitize(r.On))
	}
	if r.PlanGone {
		v.Problems = append(v.Problems, goneWords)
	}
	if r.Undone != "" {
		v.Problems = append(v.Problems, undoneWords(r))
	}
	for _, b := range r.Batches {
		v.Batches = append(v.Batches, traceBatchOf(r, b))
	}
	for _, q := range r.Requirements {
		f := stateFace(q.State)
		text := ui.Sanitize(q.Title)
		if q.Title == q.ID {
			text = ""
		}
		v.Requirements = append(v.Requirements, traceRequirement{
			ID: ui.Sanitize(q.ID), Text: text, State: f.word, Tone: string(f.tone), Icon: ui.Style{}.Icon(f.tone),
			Tasks: clean(append([]string{}, q.Tasks...)),
			At:    fmt.Sprintf("%s:%d", ui.Sanitize(q.Path), q.Line), Part: q.Parent != "",
		})
	}
	if len(r.Unnamed) > 0 {
		v.Problems = append(v.Problems, "No task names "+ui.Sanitize(strings.Join(r.Unnamed, ", "))+".")
	}
	for _, u := range r.Unstated {
		v.Problems = append(v.Problems, unstatedWords(r, u)+".")
	}
	for _, d := range r.Drift {
		was, is := wordings(d)
		v.Drift = append(v.Drift, traceDrift{DriftLine(d), was, is})
	}
	return v
}

func traceBatchOf(r *trace.Report, b trace.Batch) traceBatch {
	f := batchFace(r.Status, b)
	out := traceBatch{Number: ui.Sanitize(b.Number), Title: ui.Sanitize(b.Title), State: f.word, Tone: string(f.tone),
		Icon: ui.Style{}.Icon(f.tone)}
	for _, e := range batchEntries(b, 0, 0) {
		switch e.Name {
		case "files":
			if len(b.Files) > 0 {
				continue
			}
		case "tests":
			e.Value, _, _ = strings.Cut(e.Value, "; new: ")
		}
		out.Entries = append(out.Entries, e)
	}
	for _, x := range b.Files {
		out.Files = append(out.Files, traceFile{ui.Sanitize(x.Path), fileLines(x)})
	}
	out.Tests = clean(append([]string{}, b.NewTests...))
	if b.MoreNew > 0 {
		out.Tests = append(out.Tests, fmt.Sprintf("and %d more", b.MoreNew))
	}
	for _, t := range r.TasksOf(b) {
		f := stateFace(t.State)
		var ids []traceID
		for _, id := range t.Requirements {
			_, known := r.Requirement(id)
			ids = append(ids, traceID{ui.Sanitize(id), known})
		}
		out.Tasks = append(out.Tasks, traceTask{
			Name: ui.Sanitize(t.Name), Title: ui.Sanitize(t.Title), State: f.word, Tone: string(f.tone),
			Icon:   ui.Style{}.Icon(f.tone),
			Commit: proofWords(t), Line: t.Line, Requirements: ids,
		})
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
		text := phrase.Join(was, "", func(l string) string { return "- " + l + "\n" }) +
			phrase.Join(is, "", func(l string) string { return "+ " + l + "\n" })
		fence := fenceFor(text)
		fmt.Fprintf(b, "\n%s\n\n%sdiff\n%s%s\n", md(DriftLine(d)), fence, text, fence)
	}
}
