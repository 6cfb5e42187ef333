package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/trace"
)

// The maximum lengths of lists in a trace for a terminal. The pages and the JSON have everything.
const (
	fewFiles = 8
	fewTests = 8
	fewLines = 6 // of a wording
)

func stateFace(s trace.State) Face {
	faces := map[trace.State]Face{
		trace.Proven:  {"proven", ui.Good},
		trace.Older:   {"older wording", ui.Warn},
		trace.Partly:  {"partly proven", ui.Busy},
		trace.Failed:  {"failed", ui.Bad},
		trace.Ticked:  {"ticked, not proven", ui.Warn},
		trace.Unnamed: {"no task names it", ui.Warn},
		trace.Skipped: {"skipped", ui.Muted},
	}
	if f, ok := faces[s]; ok {
		return f
	}
	return Face{"open", ui.Idle}
}

// Trace writes for a terminal what a run proved of its plan. A width above 0 shortens titles so that lines fit if
// possible.
func Trace(w io.Writer, r *trace.Report, st ui.Style, width int) error {
	t := tracer{w: w, st: st, width: width}
	o := OutcomeOf(runner.Summary{Status: r.Status})
	t.line("%s  %s  %s", st.Bold(traceTitle(r)), st.Tone(o.Tone, st.Icon(o.Tone)+" "+o.Word),
		st.Faint("run "+ui.Sanitize(r.Run)+", "+ui.Sanitize(r.Plan)))
	t.line("%s", traceCounts(r))
	if r.PlanGone {
		t.line("%s", st.Tone(ui.Warn, ui.Sanitize(r.Plan)+" no longer exists; the plan is shown as it was at the start "+
			"of the run"))
	}
	if r.Undone != "" {
		t.line("%s", st.Tone(ui.Warn, undoneWords(r)))
	}
	t.sections(r.Tasks, r.Status, r.Batches, r.Requirements)
	t.problems(r)
	return t.err
}

// Answer writes the links of one item.
func Answer(w io.Writer, a *trace.Answer, st ui.Style, width int) error {
	t := tracer{w: w, st: st, width: width}
	if l := a.Line; l != nil {
		t.line("%s  %s", st.Bold(fmt.Sprintf("%s:%d", ui.Sanitize(l.Path), l.Line)),
			st.Faint(cells.Cut(ui.Sanitize(l.Text), 100, st.Ellipsis())))
	}
	if c := a.Commit; c != nil {
		t.line("commit %s by %s, %s: %s", short(c.Hash), ui.Sanitize(c.Author), c.At.Format("2006-01-02 15:04 MST"),
			ui.Sanitize(c.Subject))
	}
	if a.Run != "" {
		t.line("run %s of %s", ui.Sanitize(a.Run), ui.Sanitize(a.Plan))
	}
	for _, p := range a.Parts {
		t.line("run %s, batch %s", ui.Sanitize(p.Run), ui.Sanitize(p.Batch))
	}
	if a.Note != "" {
		t.line("%s", ui.Sanitize(a.Note))
	}
	t.sections(a.Tasks, runner.RunStopped, a.Batches, a.Requirements)
	t.drift(a.Drift)
	return t.err
}

// tracer writes a trace, and keeps the first error.
type tracer struct {
	w     io.Writer
	st    ui.Style
	width int
	err   error
}

func (t *tracer) sections(tasks []trace.Task, run runner.RunStatus, batches []trace.Batch, list []trace.Requirement) {
	if len(tasks) > 0 {
		t.line("")
		t.tasks(tasks)
	}
	if len(batches) > 0 {
		t.line("")
		t.batches(run, batches)
	}
	if len(list) > 0 {
		t.line("")
		t.requirements(list)
	}
}

func (t *tracer) line(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format+"\n", args...)
	}
}

// table writes rows with the second column cut so that the lines fit.
func (t *tracer) table(header []string, rows [][]string) {
	const cut = 1
	room := 60
	if t.width > 0 {
		room = max(12, t.width-widthWithout(header, rows, cut))
	}
	for _, r := range rows {
		r[cut] = cells.Cut(r[cut], room, t.st.Ellipsis())
	}
	for i := range header {
		header[i] = t.st.Faint(header[i])
	}
	if t.err == nil {
		t.err = ui.Table(t.w, header, rows)
	}
}

func (t *tracer) tone(f Face) string { return t.st.Tone(f.Tone, t.st.Icon(f.Tone)+" "+f.Word) }

func (t *tracer) tasks(tasks []trace.Task) {
	rows := lists.Map(tasks, func(x trace.Task) []string {
		return []string{
			ui.Sanitize(x.Name), ui.Sanitize(x.Title), t.tone(stateFace(x.State)), proofWords(x), fmt.Sprint(x.Line),
			cells.Cut(orNone(ui.Sanitize(strings.Join(x.Requirements, ", "))), 40, t.st.Ellipsis()),
		}
	})
	t.table([]string{"task", "title", "state", "commit", ">line", "requirements"}, rows)
}

func proofWords(x trace.Task) string {
	if x.Proof == nil {
		return none
	}
	return orNone(short(x.Proof.Commit))
}

func (t *tracer) batches(run runner.RunStatus, batches []trace.Batch) {
	for _, b := range batches {
		f := batchFace(run, b)
		head := fmt.Sprintf("batch %s  %s  %s", ui.Sanitize(b.Number), ui.Sanitize(b.Title), t.tone(f))
		if text := batchWords(b); text != "" {
			head += "  " + t.st.Faint(text)
		}
		t.line("%s", head)
		for _, e := range batchEntries(b, fewFiles, fewTests) {
			if e.Name != "work" && e.Name != "receipt" {
				t.entry(strings.Replace(e.Name, "candidate ", "c", 1), e.Value)
			}
		}
	}
}

// entry writes one fact of a batch, on as many lines as it takes.
func (t *tracer) entry(name, text string) {
	const indent = 10
	if t.width <= 0 {
		t.line("  %s%s", cells.Pad(name, indent-2), text)
		return
	}
	row := ""
	flush := func() {
		t.line("  %s%s", cells.Pad(name, indent-2), row)
		name, row = "", ""
	}
	for _, word := range strings.Fields(text) {
		if row != "" && indent+cells.Width(row)+1+cells.Width(word) > t.width {
			flush()
		}
		row = strings.TrimPrefix(row+" "+word, " ")
	}
	flush()
}

func batchFace(run runner.RunStatus, b trace.Batch) Face {
	return faceOf(runner.Summary{Status: run}, runner.BatchSummary{Key: b.Key, State: b.State})
}

// batchWords describes who did a batch, and in how many attempts.
func batchWords(b trace.Batch) string {
	var parts []string
	if b.Attempts > 0 {
		parts = append(parts, phrase.Count(b.Attempts, "attempt"))
	}
	if b.Agent != "" {
		parts = append(parts, "by "+ui.Sanitize(b.Agent))
	}
	return strings.Join(parts, ", ")
}

// filesWords lists the files of a batch with the lines that were added and removed.
func filesWords(b trace.Batch, most int) string {
	if b.Files == nil {
		return "unknown: git no longer has the commit"
	}
	if len(b.Files) == 0 {
		return "no files changed"
	}
	parts := lists.Map(b.Files[:min(most, len(b.Files))],
		func(f trace.File) string { return ui.Sanitize(f.Path) + " " + fileLines(f) })
	if n := len(b.Files) - most; n > 0 {
		parts = append(parts, fmt.Sprintf("%d more", n))
	}
	added, removed := b.Lines()
	return fmt.Sprintf("%s; %s, +%d -%d", strings.Join(parts, ", "), phrase.Count(len(b.Files), "file"), added, removed)
}

func fileLines(f trace.File) string {
	if f.Added == nil || f.Removed == nil {
		return "(binary)"
	}
	return fmt.Sprintf("+%d -%d", *f.Added, *f.Removed)
}

// testWords describes how many tests passed before and after a batch, and which are new.
func testWords(b trace.Batch, most int) string {
	text := testsOf(b.TestsBefore, b.TestsAfter)
	if text == none {
		return "unknown: no gate counted tests"
	}
	switch n := len(b.NewTests) + b.MoreNew; {
	case b.NewTests == nil:
		return text + "; the names of new ones are unknown"
	case n == 0:
		return text + "; no new ones"
	default:
		names := make([]string, 0, most)
		for _, name := range b.NewTests[:min(most, len(b.NewTests))] {
			names = append(names, ui.Sanitize(name))
		}
		if more := n - len(names); more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		return fmt.Sprintf("%s; new: %s", text, strings.Join(names, ", "))
	}
}

// gateWords lists the gates of a batch with their verdicts, and the reasons of gates that did not pass.
func gateWords(b trace.Batch) string {
	var parts []string
	for _, g := range b.Gates {
		text := ui.Sanitize(g.Gate) + " " + ui.Sanitize(string(g.Status))
		if g.Status != gates.Pass && g.Note != "" {
			text += " (" + ui.Brief(g.Note, 60) + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func (t *tracer) requirements(list []trace.Requirement) {
	var rows [][]string
	for _, q := range list {
		id := ui.Sanitize(q.ID)
		if q.Parent != "" {
			id = "  " + id
		}
		title := ui.Sanitize(q.Title)
		if q.Title == q.ID || strings.HasSuffix(q.ID, " / "+q.Title) {
			title = ""
		}
		rows = append(rows, []string{
			cells.Cut(id, 40, t.st.Ellipsis()), title, t.tone(stateFace(q.State)),
			cells.Cut(orNone(ui.Sanitize(strings.Join(q.Tasks, ", "))), 30, t.st.Ellipsis()),
			fmt.Sprintf("%s:%d", ui.Sanitize(q.Path), q.Line),
		})
	}
	t.table([]string{"requirement", "text", "state", "tasks", "stated at"}, rows)
}

// problems lists what does not fit together.
func (t *tracer) problems(r *trace.Report) {
	if len(r.Unnamed)+len(r.Unstated) > 0 {
		t.line("")
	}
	if len(r.Unnamed) > 0 {
		t.line("%s", t.st.Tone(ui.Warn, "no task names "+ui.Sanitize(phrase.Few(r.Unnamed, 12))))
	}
	for _, u := range r.Unstated {
		t.line("%s", t.st.Tone(ui.Warn, unstatedWords(r, u)))
	}
	t.drift(r.Drift)
}

// unstatedWords describes a requirement that no document states.
func unstatedWords(r *trace.Report, u trace.Unstated) string {
	return ui.Sanitize(fmt.Sprintf("%s:%d: task %s names %s, which no document states", r.Plan, u.Line, u.Task, u.ID))
}

// Drifts lists the items that were proven with older wording, with both wordings.
func Drifts(w io.Writer, list []trace.Drift) error {
	t := tracer{w: w}
	t.drift(list)
	return t.err
}

func (t *tracer) drift(list []trace.Drift) {
	for _, d := range list {
		t.line("")
		t.line("%s", t.st.Tone(ui.Warn, DriftLine(d)))
		was, is := wordings(d)
		for _, l := range cutLines(was) {
			t.line("  then: %s", l)
		}
		for _, l := range cutLines(is) {
			t.line("  now:  %s", l)
		}
	}
}

// DriftLine describes one item that was proven with older wording, and the run that proved it.
func DriftLine(d trace.Drift) string {
	what := fmt.Sprintf("%s %s", d.Kind, ui.Sanitize(d.ID))
	if d.Kind == "requirement" {
		what += " of task " + ui.Sanitize(d.Task)
	}
	at := ui.Sanitize(phrase.Place(d.Path, d.Line, 0))
	return fmt.Sprintf("%s: %s was proven against older wording (run %s, commit %s)", at, what, ui.Sanitize(d.Run),
		orNone(short(d.Commit)))
}

// wordings returns the lines in which two wordings differ.
func wordings(d trace.Drift) (was, is []string) {
	then, now := strings.Split(d.Then, "\n"), strings.Split(d.Now, "\n")
	was, is = without(then, now), without(now, then)
	if d.Then == "" {
		was = []string{"(the wording was not stored)"}
	}
	if d.Now == "" {
		is = []string{"(it is no longer stated)"}
	}
	return clean(was), clean(is)
}

// without returns the lines of a that b does not have as often.
func without(a, b []string) []string {
	n := map[string]int{}
	for _, l := range b {
		n[l]++
	}
	var out []string
	for _, l := range a {
		if n[l]--; n[l] < 0 {
			out = append(out, l)
		}
	}
	return out
}

func clean(lines []string) []string {
	for i := range lines {
		lines[i] = ui.Sanitize(lines[i])
	}
	return lines
}

func cutLines(lines []string) []string {
	if n := len(lines) - fewLines; n > 0 {
		return append(slices.Clone(lines[:fewLines]), "and "+phrase.Count(n, "more line", "more lines"))
	}
	return lines
}

func traceTitle(r *trace.Report) string {
	return cmp.Or(ui.Sanitize(r.Title), ui.Sanitize(r.Plan))
}

// undoneWords describes that a run proves nothing any more.
func undoneWords(r *trace.Report) string {
	return "the landed changes of the run were reverted by commit " + short(r.Undone) + ", so it proves nothing"
}

// goneWords describes that the plan was removed after the run.
const goneWords = "The plan file no longer exists; the plan is shown as it was at the start of the run."

func traceCounts(r *trace.Report) string {
	c := r.Count()
	parts := []string{fmt.Sprintf("%d of %s proven", c.Proven, phrase.Count(c.Tasks, "task"))}
	parts = append(parts, some(count{c.Older, "against older wording"}, count{c.Failed, "failed"},
		count{c.Ticked, "ticked and not proven"}, count{c.Open, "open"})...)
	if n := len(r.Requirements); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s proven", c.Requirements, phrase.Count(n, "requirement")))
	}
	return strings.Join(parts, ", ")
}
