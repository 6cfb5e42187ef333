package show

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
)

// PrintOptions configures the output of a routing plan.
type PrintOptions struct {
	Path    string   // of the plan file; "" shows its title
	Verbose bool     // why each batch waits for another one, and why pairs need not
	Extra   []string // lines below the choice of models, such as the cost of samples
	Width   int      // of the terminal, in cells; 0 for a file
}

// printWidth is the greatest width of a line, in cells.
const printWidth = 100

// Print writes the routing plan: how a plan will be run, and why (ROUTE-06). It is shown before each run.
func Print(w io.Writer, p *planparse.Plan, d routing.Decision, o PrintOptions) error {
	t := &text{width: printWidth}
	if o.Width > 0 {
		t.width = min(t.width, o.Width)
	}
	t.line("=== Execution Mode Analysis ===")
	t.line("")
	path := cmp.Or(o.Path, p.Title)
	t.line("Plan: %s", path)
	t.line("Batches: %d | Files touched: %d | Average overlap: %s", len(p.Batches), d.Files, routing.Percent(d.Overlap))
	t.heading("Dependency graph:")
	for _, line := range drawGraph(d, t.width) {
		t.line("  %s", line)
	}
	t.line("")
	t.line("Parallelism score: %d/100", d.Score.Value)
	t.items("= ", d.Score.Terms)
	t.items("+ ", d.Score.Plus)
	t.items("- ", d.Score.Minus)
	t.recommendation(d)
	t.models(p, d)
	if len(o.Extra) > 0 {
		t.line("")
	}
	for _, line := range o.Extra {
		t.line("%s", line)
	}
	if len(d.Speculation) > 0 {
		t.heading("Speculative execution:")
		for _, s := range d.Speculation {
			t.line("  %s", s)
		}
	}
	t.skipped(p, d)
	if o.Verbose {
		t.why(d)
	}
	_, err := w.Write(t.Bytes())
	return err
}

// text collects the lines of a page.
type text struct {
	bytes.Buffer
	width int
}

// line adds a line and breaks it if it is too long. Continuations are aligned with its first word.
func (t *text) line(format string, args ...any) {
	line := oneLineKeep(fmt.Sprintf(format, args...))
	indent := len(line) - len(strings.TrimLeft(line, " "))
	for _, l := range wrap(line, t.width, indent+2) {
		t.WriteString(l + "\n")
	}
}

// oneLineKeep is [oneLine] with the spaces at the beginning.
func oneLineKeep(s string) string {
	rest := strings.TrimLeft(s, " ")
	return s[:len(s)-len(rest)] + routing.OneLine(rest)
}

func (t *text) heading(s string) {
	t.line("")
	t.line("%s", s)
}

func (t *text) items(sign string, list []string) {
	for _, s := range list {
		t.line("  %s%s", sign, s)
	}
}

func (t *text) recommendation(d routing.Decision) {
	t.heading("Recommendation: " + strings.ToUpper(string(d.Mode)) + " MODE")
	for _, r := range d.Reasons {
		t.line("  %s", r)
	}
	t.line("  Workers: %d (%s)", d.Workers, memoryText(d.Memory))
	e := d.Estimate
	wall, cost := routing.NoData, routing.NoData
	early := ""
	if slices.ContainsFunc(d.Steps, func(s routing.Step) bool { return len(s.Early) > 0 }) {
		early = "; early starts are not counted"
	}
	if e.Wall != nil && e.WallSequential != nil {
		wall = fmt.Sprintf("%s (vs %s sequential; %s%s)", routing.Minutes(*e.Wall), routing.Minutes(*e.WallSequential),
			e.Source, early)
	} else if e.SpeedUp != nil && d.Workers > 1 {
		wall += fmt.Sprintf(" (%.1f times as fast as sequential, if all batches take equally long%s)", *e.SpeedUp, early)
	}
	if e.Cost != nil && e.CostSequential != nil {
		cost = fmt.Sprintf("$%.2f (vs $%.2f sequential)", *e.Cost, *e.CostSequential)
	}
	t.line("  Est. wall time: %s", wall)
	t.line("  Est. cost: %s", cost)
}

func memoryText(m routing.Memory) string {
	if m.Available == nil {
		if m.Note == "" {
			return "memory unknown"
		}
		return "memory " + m.Note
	}
	s := fmt.Sprintf("%s available, %s per worker", routing.GB(float64(*m.Available)/(1<<30)),
		routing.GB(float64(m.PerWorker)/(1<<30)))
	if m.Note != "" {
		s += "; " + m.Note
	}
	return s
}

// models is a table: batch, its title, the tier, and why.
func (t *text) models(p *planparse.Plan, d routing.Decision) {
	type row struct{ batch, title, label, why string }
	var rows []row
	var stands []string // the meaning of a label
	widths := [3]int{}
	for _, s := range d.Steps {
		if s.Skip != "" || s.Label == "" {
			continue
		}
		r := row{batch: routing.BatchName(s.Batch) + ":", label: cells.Cut(routing.OneLine(s.Label), 32, "…"),
			why: fmt.Sprintf("%s -- %s", s.Class, s.Why)}
		if b, ok := p.Batch(s.Batch); ok {
			r.title = routing.OneLine(b.Title)
		}
		if x := s.Label + " = " + s.Model; s.Model != "" && s.Model != s.Label && !slices.Contains(stands, x) {
			stands = append(stands, x)
		}
		if s.Escalates {
			r.why += " [auto-escalate]"
		}
		rows = append(rows, r)
		for i, cell := range []string{r.batch, r.title, r.label} {
			widths[i] = max(widths[i], cells.Width(cell))
		}
	}
	if len(rows) == 0 {
		return
	}
	t.heading("Model routing:")
	// Titles get the remaining width, within these limits, so that they stay distinguishable.
	const least, most = 18, 40
	room := t.width - len("  ") - widths[0] - len(" ") - len("  ") - widths[2] - len("  ")
	longest := 0
	for _, r := range rows {
		if n := cells.Width(r.why); n <= room-least {
			longest = max(longest, n)
		}
	}
	widths[1] = min(widths[1], max(room-longest, least), most)
	for _, r := range rows {
		line := fmt.Sprintf("  %s %s  %s  ", cells.Pad(r.batch, widths[0]),
			cells.Pad(cells.Cut(r.title, widths[1], "…"), widths[1]),
			cells.Pad(r.label, widths[2]))
		for _, l := range wrap(line+routing.OneLine(r.why), t.width, min(cells.Width(line), t.width/2)) {
			t.WriteString(l + "\n")
		}
	}
	if len(stands) > 0 {
		t.line("  (%s)", strings.Join(stands, ", "))
	}
}

// skipped lists the batches that are not run. It shows the titles only if few have the same reason.
func (t *text) skipped(p *planparse.Plan, d routing.Decision) {
	const few = 3
	of := map[string][]string{} // names by reason
	for _, s := range d.Steps {
		if s.Skip != "" {
			of[s.Skip] = append(of[s.Skip], routing.BatchName(s.Batch))
		}
	}
	if len(of) > 0 {
		t.heading("Not run:")
	}
	for _, s := range d.Steps {
		switch names := of[s.Skip]; {
		case names == nil: // it is run, or was listed
		case len(names) > few:
			t.line("  %s: %s", strings.Join(names, ", "), s.Skip)
			delete(of, s.Skip)
		default:
			title := ""
			if b, ok := p.Batch(s.Batch); ok && routing.OneLine(b.Title) != "" {
				title = " " + cells.Cut(routing.OneLine(b.Title), 40, "…")
			}
			t.line("  %s%s: %s", routing.BatchName(s.Batch), title, s.Skip)
		}
	}
}

// why names the reason of each edge and of each pair without one.
func (t *text) why(d routing.Decision) {
	if len(d.Edges) > 0 {
		t.heading("Why batches wait:")
	}
	for _, e := range d.Edges {
		at := ""
		if e.Line > 0 {
			at = fmt.Sprintf(" (line %d)", e.Line)
		}
		t.line("  %s needs %s: %s%s [%s]", routing.BatchName(e.To), routing.BatchName(e.From), e.Reason, at, e.Kind)
	}
	if len(d.Pairs) > 0 {
		t.heading("Why pairs need not wait for each other:")
	}
	for _, p := range d.Pairs {
		t.line("  %s and %s: %s (overlap %s)", routing.BatchName(p.A), routing.BatchName(p.B), p.Reason,
			routing.Percent(p.Overlap))
	}
	if d.PairsLeftOut > 0 {
		t.line("  and %s", phrase.Count(d.PairsLeftOut, "more pair"))
	}
}

// wrap breaks a line between words at width columns, and indents all lines but the first. It does not split long
// words, so that paths can be copied.
func wrap(line string, width, indent int) []string {
	return strings.Split(strings.TrimRight(cells.Words(line, width, 0, indent), " "), "\n")
}
