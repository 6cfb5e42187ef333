package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/cells"
)

// Board is the content of a [Live] display: a heading, rows with states, and lines below them.
type Board struct {
	Title    string
	Subtitle string
	Rows     []Row
	Footer   []string
	Started  time.Time     // of the whole; zero shows Elapsed
	Elapsed  time.Duration // once it is known
	Done     bool          // nothing changes any more: clocks stop
}

// Row is one line of a [Board].
type Row struct {
	Number  string // shown before the label, aligned
	Label   string
	State   string
	Tone    Tone
	Still   bool          // it is not settled, and waits
	Started time.Time     // start of its clock while the row is busy
	Elapsed time.Duration // shown if the row is not busy, unless zero
	Detail  string        // its present activity or its outcome
	Marks   []Mark
}

// Mark is a short note in a row.
type Mark struct {
	Text string
	Tone Tone
}

// frame holds the circumstances of one drawing.
type frame struct {
	style  Style
	now    time.Time
	width  int
	height int // 0 for unlimited lines
	tick   int // moves the spinner
}

// columns holds the widths of the columns of a board.
type columns struct{ number, label, state, clock int }

func (b Board) empty() bool { return b.Title == "" && len(b.Rows) == 0 }

func (b Board) lines(f frame) []string {
	out := []string{b.heading(f), ""}
	foot := b.foot(f)
	rows := b.rows(f, max(1, f.height-len(out)-len(foot)))
	out = append(append(out, rows...), foot...)
	if f.height > 0 && len(out) > f.height {
		out = slices.DeleteFunc(out, func(s string) bool { return s == "" }) // empty lines are omitted first
		if len(out) > f.height {
			out = out[:f.height]
		}
	}
	for i, l := range out {
		out[i] = cells.Cut(l, f.width, f.style.Ellipsis())
	}
	return out
}

func (b Board) heading(f frame) string {
	h := f.style.Bold(Sanitize(b.Title))
	if b.Subtitle != "" {
		h += "  " + f.style.Faint(Sanitize(b.Subtitle))
	}
	return h
}

// foot draws the progress bar and the footer.
func (b Board) foot(f frame) []string {
	if len(b.Rows) == 0 && len(b.Footer) == 0 {
		return nil
	}
	out := []string{""}
	if len(b.Rows) > 0 {
		done := 0
		for _, r := range b.Rows {
			if r.Tone == Good {
				done++
			}
		}
		line := fmt.Sprintf("  %s  %d/%d", b.bar(f, min(32, max(4, f.width/3))), done, len(b.Rows))
		if d := b.elapsed(f); d > 0 {
			line += "  " + Duration(d)
		}
		out = append(out, line)
	}
	for _, l := range b.Footer {
		out = append(out, "  "+f.style.Faint(Sanitize(l)))
	}
	return out
}

func (b Board) elapsed(f frame) time.Duration {
	if b.Done || b.Started.IsZero() {
		return b.Elapsed
	}
	return max(0, f.now.Sub(b.Started)).Truncate(time.Second)
}

// bar draws the rows' tones in width cells, the settled ones first.
func (b Board) bar(f frame, width int) string {
	order := []Tone{Good, Muted, Warn, Bad, Busy, Idle}
	var s strings.Builder
	drawn, seen := 0, 0
	for _, t := range order {
		for _, r := range b.Rows {
			tone := r.Tone
			if r.Still {
				tone = Busy
			}
			if tone == t || t == Idle && !slices.Contains(order, tone) {
				seen++
			}
		}
		to := seen * width / len(b.Rows)
		switch n := to - drawn; t {
		case Idle:
			s.WriteString(f.style.Faint(strings.Repeat(f.style.pick("─", "."), n)))
		case Busy:
			s.WriteString(f.style.Tone(t, strings.Repeat(f.style.pick("╍", "-"), n)))
		default:
			s.WriteString(f.style.Tone(t, strings.Repeat(f.style.pick("━", "="), n)))
		}
		drawn = to
	}
	return s.String()
}

// rows draws the rows that fit into room lines. If not all fit, it prefers busy or failed rows, then their
// neighbours, and counts the omitted ones.
func (b Board) rows(f frame, room int) []string {
	c := b.columns(f)
	show := make([]bool, len(b.Rows))
	if f.height <= 0 || len(b.Rows) <= room {
		for i := range show {
			show[i] = true
		}
	} else {
		b.choose(show, room)
	}
	var out []string
	for i := 0; i < len(b.Rows); i++ {
		if show[i] {
			out = append(out, b.row(f, c, b.Rows[i]))
			continue
		}
		from := i
		for i+1 < len(b.Rows) && !show[i+1] {
			i++
		}
		out = append(out, "  "+f.style.Faint(f.style.Ellipsis()+" "+hidden(b.Rows[from:i+1])))
	}
	return out
}

// choose marks the rows to show. A gap costs a line as a row does, so each choice is tried.
func (b Board) choose(show []bool, room int) {
	focus := slices.IndexFunc(b.Rows, func(r Row) bool { return r.Tone == Busy })
	if focus < 0 {
		focus = slices.IndexFunc(b.Rows, func(r Row) bool { return r.Tone == Idle })
	}
	if focus < 0 {
		focus = len(b.Rows) - 1
	}
	var order []int
	for _, want := range []func(r Row) bool{
		func(r Row) bool { return r.Tone == Busy && !r.Still },
		func(r Row) bool { return r.Tone == Bad || r.Tone == Warn },
		func(r Row) bool { return r.Still },
	} {
		for i, r := range b.Rows {
			if want(r) {
				order = append(order, i)
			}
		}
	}
	for d := range b.Rows {
		if d%3 == 2 { // a later row counts as much as two earlier ones
			order = append(order, focus-(d+1)/3)
		} else {
			order = append(order, focus+d-d/3)
		}
	}
	// One side may end before the other.
	for i := range b.Rows {
		order = append(order, focus+i, focus-i)
	}
	for _, i := range order {
		if i < 0 || i >= len(show) || show[i] {
			continue
		}
		show[i] = true
		if linesOf(show) > room {
			show[i] = false
		}
	}
}

// linesOf counts the lines of a choice, gaps included.
func linesOf(show []bool) int {
	n := 0
	for i, s := range show {
		if s || i == 0 || show[i-1] {
			n++
		}
	}
	return n
}

// hidden describes the states of rows, in the order of their first appearance.
func hidden(rows []Row) string {
	var states []string
	count := map[string]int{}
	for _, r := range rows {
		s := Sanitize(r.State)
		if count[s] == 0 {
			states = append(states, s)
		}
		count[s]++
	}
	if len(states) == 1 {
		return fmt.Sprintf("%d more %s", len(rows), states[0])
	}
	for i, s := range states {
		states[i] = fmt.Sprintf("%d %s", count[s], s)
	}
	return fmt.Sprintf("%d more: %s", len(rows), strings.Join(states, ", "))
}

func (b Board) columns(f frame) columns {
	var c columns
	for _, r := range b.Rows {
		c.number = max(c.number, cells.Width(Sanitize(r.Number)))
		c.label = max(c.label, cells.Width(Sanitize(r.Label)))
		c.state = max(c.state, cells.Width(Sanitize(r.State)))
		c.clock = max(c.clock, cells.Width(r.clock(b, f)))
	}
	if c.number > 0 {
		c.number = min(c.number, max(4, f.width/8)) + 1
	}
	c.label = min(c.label, max(12, f.width*2/5)-c.number)
	c.state = min(c.state, max(8, f.width/5))
	return c
}

func (r Row) clock(b Board, f frame) string {
	switch {
	case (r.Tone == Busy || r.Still) && !r.Started.IsZero() && !b.Done:
		return Duration(max(0, f.now.Sub(r.Started)).Truncate(time.Second))
	case r.Elapsed > 0:
		return Duration(r.Elapsed)
	}
	return ""
}

func (b Board) row(f frame, c columns, r Row) string {
	st := f.style
	icon := st.Icon(r.Tone)
	if r.Tone == Busy && !b.Done && !r.Still {
		icon = st.spinner(f.tick)
	}
	label := cells.Pad(cells.Cut(Sanitize(r.Label), c.label, st.Ellipsis()), c.label)
	if c.number > 0 {
		label = cells.PadLeft(cells.Cut(Sanitize(r.Number), c.number-1, st.Ellipsis()), c.number-1) + " " + label
	}
	state := cells.Pad(cells.Cut(Sanitize(r.State), c.state, st.Ellipsis()), c.state)
	if r.Tone == Idle || r.Tone == Muted {
		label, state = st.Faint(label), st.Faint(state)
	} else {
		state = st.Tone(r.Tone, state)
	}
	clock := cells.PadLeft(r.clock(b, f), c.clock)
	line := fmt.Sprintf("  %s %s  %s  %s", st.Tone(r.Tone, icon), label, state, st.Faint(clock))
	for _, m := range r.Marks {
		line += "  " + st.Tone(m.Tone, st.Icon(m.Tone)+" "+Sanitize(m.Text))
	}
	if d := Sanitize(r.Detail); d != "" {
		t := Muted
		if r.Tone == Bad {
			t = Bad
		}
		line += "  " + st.Tone(t, d)
	}
	return strings.TrimRight(line, " ")
}

func (s Style) spinner(tick int) string {
	frames := []rune(s.pick("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", `|/-\`))
	return string(frames[tick%len(frames)])
}
