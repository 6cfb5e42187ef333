package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// Status writes runs as runplan status shows them: the run, its batches as a table, and the totals. A width above 0
// shortens titles so that lines fit if possible.
func Status(w io.Writer, runs []Standing, st ui.Style, width int) error {
	for i, s := range runs {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := status(w, s, st, width); err != nil {
			return err
		}
	}
	return nil
}

func status(w io.Writer, s Standing, st ui.Style, width int) error {
	o := OutcomeOf(s.Summary)
	head := fmt.Sprintf("%s  %s\n%s\n", st.Bold(titleOf(s.Summary)), st.Tone(o.Tone, st.Icon(o.Tone)+" "+o.Word),
		st.Faint("run "+runID(s.Run)+": "+strings.Join(about(s.Summary, decisionOf(s.Summary)), ", ")))
	if why := s.why(); why != "" && !strings.Contains(o.Word, why) {
		head += st.Tone(o.Tone, why) + "\n"
	}
	if _, err := io.WriteString(w, head+"\n"); err != nil {
		return err
	}
	const title = 1
	header := []string{">#", "title", "state", ">tries", "agent", "tier", ">time", "tests", "commit", ">cost", "gates"}
	var rows [][]string
	for _, b := range s.Batches {
		rows = append(rows, statusRow(s, b, st))
		rows = append(rows, candidateRows(b, st)...)
	}
	drop := func(column int) {
		header = slices.Delete(header, column, column+1)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], column, column+1)
		}
	}
	for i := len(header) - 1; i > 2; i-- { // columns that are empty for all batches
		if !slices.ContainsFunc(rows, func(r []string) bool { return r[i] != none && r[i] != "" }) {
			drop(i)
		}
	}
	// The list of gates, which comes last, may overflow; titles need not shrink for it.
	spare := func() int { return width - 24 - widthWithout(header[:len(header)-1], rows, title) }
	for _, name := range []string{"commit", "tier", "agent", "tests", ">tries"} { // columns that a narrow terminal omits
		if i := slices.Index(header, name); i > 0 && width > 0 && spare() < leastTitle {
			drop(i)
		}
	}
	room := 48
	if width > 0 {
		room = min(room, max(leastTitle, spare()))
	}
	for _, r := range rows {
		r[title] = cells.Cut(r[title], room, st.Ellipsis())
		r[len(r)-1] = cells.Cut(r[len(r)-1], 100, st.Ellipsis())
	}
	for i, h := range header {
		header[i] = st.Faint(h)
	}
	if err := ui.Table(w, header, rows); err != nil {
		return err
	}
	tail := "\n"
	for _, note := range gateNotes(s.Summary) {
		tail += st.Faint(note) + "\n"
	}
	if s.Review != nil {
		tail += "final review: " + finalReview(s.Summary) + "\n"
	}
	for _, a := range s.Waiting {
		tail += st.Tone(ui.Warn, "waits for a person: runplan approve "+a.ID) + "\n"
	}
	_, err := io.WriteString(w, tail+totals(s.Summary)+"\n")
	return err
}

// runID returns the beginning of a run's id, which every command accepts.
func runID(id string) string {
	id = ui.Sanitize(id)
	return id[:min(len(id), 8)]
}

const leastTitle = 12 // cells of a title in a narrow table

func statusRow(s Standing, b runner.BatchSummary, st ui.Style) []string {
	f, _ := s.face(b)
	last := gateMarks(b, st)
	if len(last) == 0 && b.State != string(runner.Passed) {
		why := ui.Sanitize(b.Reason)
		if s.Status.Live() && f.Tone != ui.Bad && f.Tone != ui.Muted {
			why = cmp.Or(s.now(b), why)
		}
		if why != "" {
			last = []string{st.Faint(cells.Cut(why, 60, st.Ellipsis()))}
		}
	}
	return []string{
		ui.Sanitize(b.Number), ui.Sanitize(b.Title), st.Tone(f.Tone, st.Icon(f.Tone)+" "+f.Word),
		or(b.Attempts > 0, fmt.Sprint(b.Attempts)),
		orNone(agentName(b.Agent, b.Model)), or(b.State != string(runner.Skipped), orNone(tierOf(b))),
		or(b.DurationMS > 0, ui.Duration(millis(b.DurationMS))), testsOf(b.TestsBefore, b.TestsAfter),
		or(b.State == string(runner.Passed), orNone(short(b.Commit))), CostOf(b), strings.Join(last, "  "),
	}
}

// candidateRows are the candidates of a batch's last tournament, each with its score term by term.
func candidateRows(b runner.BatchSummary, st ui.Style) [][]string {
	var rows [][]string
	for _, c := range b.Candidates {
		f := candidateFace(c, false)
		row := make([]string, 11)
		row[1] = fmt.Sprintf("  c%d %s", c.Number, ui.Sanitize(c.Variant))
		row[2] = st.Tone(f.Tone, st.Icon(f.Tone)+" "+f.Word)
		row[10] = st.Faint(candidateWhy(c))
		rows = append(rows, row)
	}
	return rows
}

// gateMarks are the gates of a batch that ran. Skipped ones are listed below the table.
func gateMarks(b runner.BatchSummary, st ui.Style) []string {
	var out []string
	apart, passed := telling(b.Gates)
	if n := len(passed); n > 0 {
		out = append(out, st.Tone(ui.Good, fmt.Sprintf("%s %d checks", st.Icon(ui.Good), n)))
	}
	for _, g := range apart {
		if g.Status == gates.Skipped {
			continue
		}
		t := toneOf(g.Status)
		text := st.Icon(t) + " " + ui.Sanitize(g.Gate)
		if g.Note != "" && t != ui.Good {
			text += " (" + cells.Cut(ui.Sanitize(g.Note), 40, st.Ellipsis()) + ")"
		}
		out = append(out, st.Tone(t, text))
	}
	return out
}

// gateNotes lists the warnings of gates, batch by batch, and why gates were skipped.
func gateNotes(s runner.Summary) []string {
	var out []string
	for _, b := range s.Batches {
		for _, g := range b.Gates {
			if g.Gate == story.OutsideGate || isPromise(g) {
				g.Said = nil // it has its own section
			}
			for _, said := range g.Said {
				if note := fmt.Sprintf("batch %s: %s: %s", ui.Sanitize(b.Number), ui.Sanitize(g.Gate),
					ui.Sanitize(said)); !slices.Contains(out, note) {
					out = append(out, note)
				}
			}
		}
	}
	if skipped := skippedGates(s); len(skipped) > 0 {
		out = append(out, "gates skipped: "+strings.Join(skipped, " · "))
	}
	return out
}

// skippedGates lists the gates of a run's batches that were skipped, with each reason once.
func skippedGates(s runner.Summary) []string {
	var out []string
	for _, b := range s.Batches {
		for _, g := range b.Gates {
			if g.Status != gates.Skipped || g.Note == "" || g.Quiet || isPromise(g) {
				continue
			}
			if text := fmt.Sprintf("%s (%s)", ui.Sanitize(g.Gate), ui.Sanitize(g.Note)); !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

func or(yes bool, s string) string {
	if yes {
		return s
	}
	return none
}

func orNone(s string) string { return or(s != "", s) }

// widthWithout returns the width of the columns of a header without one of them.
func widthWithout(header []string, rows [][]string, column int) int {
	sum := 0
	for i := range header {
		if i == column {
			continue
		}
		wide := cells.Width(strings.TrimPrefix(header[i], ">"))
		for _, r := range rows {
			wide = max(wide, cells.Width(r[i]))
		}
		sum += wide + 2
	}
	return sum
}

func totals(s runner.Summary) string {
	f := figuresOf(s)
	parts := []string{f.counts(), ui.Duration(millis(s.DurationMS)) + " wall time", f.costWords()}
	if isTeam(s) {
		parts = append(parts, phrase.Count(s.Workers, "worker"))
	}
	if real := realSpeedUp(s); real > 0 {
		parts = append(parts, fmt.Sprintf("speed-up %s (predicted %s)", times(real), times(s.SpeedUp)))
	}
	if f.after != nil {
		parts = append(parts, "tests "+testsOf(f.before, f.after))
	}
	return "total: " + strings.Join(parts, "; ")
}

func (f figures) costWords() string {
	if what := f.unknown(); f.priced > 0 && what != "" {
		return fmt.Sprintf("cost %s, unknown for %s", phrase.Money(f.cost), what)
	}
	if m := f.money(); m != none {
		return "cost " + m
	}
	return "no cost yet"
}

// StatusLines writes a run for programs that read lines, and for logs: the routing decision of each batch with its
// result, and the totals (RUN-08).
//
//	Batch 6: small-->medium (escalated) --> PASSED (45s, 3 tests added)
func StatusLines(w io.Writer, runs []Standing) error {
	var b strings.Builder
	for _, s := range runs {
		word := OutcomeOf(s.Summary).Word
		if s.Status == runner.RunPaused {
			word += " " + s.why()
		}
		fmt.Fprintf(&b, "Run %s: %s: %s\n", ui.Sanitize(s.Run), titleOf(s.Summary), word)
		if mode := decisionOf(s.Summary); mode != "" {
			fmt.Fprintf(&b, "Mode: %s\n", mode)
		}
		for _, x := range s.Batches {
			b.WriteString(resultLine(s, x) + "\n")
			for _, c := range x.Candidates {
				line := fmt.Sprintf("Batch %s candidate %d: %s --> %s", ui.Sanitize(x.Number), c.Number, ui.Sanitize(c.Variant),
					strings.ToUpper(candidateFace(c, false).Word))
				if why := candidateWhy(c); why != "" {
					line += " (" + why + ")"
				}
				b.WriteString(line + "\n")
			}
		}
		b.WriteString("Total: " + strings.TrimPrefix(totals(s.Summary), "total: ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func resultLine(s Standing, b runner.BatchSummary) string {
	line := "Batch " + ui.Sanitize(b.Number) + ": "
	if from, to := escalation(b); from != "" && b.State != string(runner.Skipped) {
		line += from
		if to != from {
			line += "-->" + to + " (escalated)"
		}
		line += " --> "
	}
	f, _ := s.face(b)
	word := strings.ToUpper(f.Word)
	if b.State == string(runner.Passed) {
		word = "PASSED"
	}
	if facts := resultFacts(s, b); len(facts) > 0 {
		word += " (" + strings.Join(facts, ", ") + ")"
	}
	return line + word
}

func resultFacts(s Standing, b runner.BatchSummary) []string {
	var out []string
	if b.DurationMS > 0 {
		out = append(out, ui.Duration(millis(b.DurationMS)))
	}
	if b.Attempts > 1 {
		out = append(out, fmt.Sprintf("%d attempts", b.Attempts))
	}
	if b.State == string(runner.Passed) {
		return append(out, testsAdded(b))
	}
	why := ui.Sanitize(b.Reason)
	if runner.Status(b.State) == runner.Skipped {
		why = strings.Trim(why, "()")
	} else if s.Status.Live() && b.State != string(runner.Failed) {
		why = cmp.Or(s.now(b), why)
	}
	if why != "" {
		out = append(out, why)
	}
	return out
}

// testsAdded describes a batch's effect on the tests. An unknown count is not 0.
func testsAdded(b runner.BatchSummary) string {
	switch {
	case b.TestsAfter == nil:
		return "tests not counted"
	case b.TestsBefore == nil:
		return phrase.Count(*b.TestsAfter, "test") + ", before unknown"
	}
	switch n := *b.TestsAfter - *b.TestsBefore; {
	case n == 0:
		return "no tests added"
	case n < 0:
		return phrase.Count(-n, "test") + " fewer"
	default:
		return phrase.Count(n, "test") + " added"
	}
}
