package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/layered"
	"github.com/runplan/runplan/internal/svg"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// Timeline draws the timeline as an SVG image: a row for each batch and candidate, with early starts, conflicts
// and cancelled work. It is "" for fewer than two rows. Like [SVG] it is self-contained.
func Timeline(s runner.Summary, past *Past) string {
	rows, total := past.timelineRows(s)
	if len(rows) < 2 || total <= 0 {
		return ""
	}
	line := map[string]int{}
	for i, l := range rows {
		if l.candidate == 0 {
			line[l.batch.Key] = i
		}
	}
	p := story.Picture{Label: "timeline of " + titleOf(s), Style: timelineStyle, Names: 216, Row: 24, Bar: 12, End: total,
		Legend: true}
	for _, l := range rows {
		row := story.Row{Name: l.name, Sub: l.candidate > 0}
		for _, sp := range l.spans {
			bar := story.Bar{Span: sp, Tip: sp.Tip(l.name, numbersOf(s, sp.Early))}
			for _, on := range sp.Early {
				if from, ok := line[on]; ok {
					bar.From = append(bar.From, from)
				}
			}
			if sp.Merged {
				bar.Merged = l.name + ": merged as " + short(l.batch.Commit)
			}
			row.Bars = append(row.Bars, bar)
		}
		p.Rows = append(p.Rows, row)
	}
	return p.SVG()
}

// timelineRow is a row of the timeline: a batch or one of its candidates.
type timelineRow struct {
	batch     runner.BatchSummary
	candidate int
	name      string
	spans     []story.Span
}

// timelineRows returns the rows in plan order, each batch followed by its candidates. It omits batches without spans.
func timelineRows(c story.Course, s runner.Summary) []timelineRow {
	var out []timelineRow
	for _, b := range s.Batches {
		var own []timelineRow
		most := 0
		for _, x := range c.Spans {
			if x.Batch == b.Key {
				most = max(most, x.Candidate)
			}
		}
		for n := 0; n <= most; n++ {
			l := timelineRow{batch: b, candidate: n, name: strings.TrimSpace(ui.Sanitize(b.Number) + " " + ui.Sanitize(b.Title))}
			variant := ""
			for _, x := range c.Spans {
				if x.Batch == b.Key && x.Candidate == n {
					l.spans = append(l.spans, x)
					variant = cmp.Or(x.Variant, variant)
				}
			}
			if n > 0 {
				l.name = strings.TrimSpace(fmt.Sprintf("  c%d %s", n, ui.Sanitize(variant)))
			}
			own = append(own, l)
		}
		if most > 0 || len(own[0].spans) > 0 {
			out = append(out, own...)
		}
	}
	return out
}

// textTimeline draws the timeline as text. It returns "" if fewer than two rows exist.
func textTimeline(s runner.Summary, past *Past) string {
	rows, total := past.timelineRows(s)
	if len(rows) < 2 || total <= 0 {
		return ""
	}
	const wide, names = 64, 26
	var b strings.Builder
	for _, l := range rows {
		name := l.name
		if l.candidate > 0 {
			name = "  " + name
		}
		name = cells.Pad(cells.Cut(name, names, "…"), names)
		fmt.Fprintf(&b, "%s  %s\n", name, strings.TrimRight(l.cells(wide, total), " "))
	}
	end := ui.Duration(millis(total))
	fmt.Fprintf(&b, "%s  0%s%s\n", cells.Pad("", names), strings.Repeat(" ", wide-1-cells.Width(end)), end)
	b.WriteString(
		"\n█ editing  ▒ checking  ▪ merging  ░ waiting for a limit  ~ cancelled, cut short or not ended  ✗ failed, or a " +
			"conflict  ✓ merged  ▸ early start\n")
	return b.String()
}

func (l timelineRow) cells(n int, total int64) string {
	out := []rune(strings.Repeat(" ", n))
	at := func(ms int64) int { return min(n-1, max(0, int(ms*int64(n)/max(total, 1)))) }
	sign := map[string]rune{"edit": '█', "check": '▒', "land": '▪', "wait": '░'}
	for _, x := range l.spans {
		from, to := at(x.From), max(at(x.From), at(x.To-1))
		for i := from; i <= to; i++ {
			if out[i] != ' ' && x.Kind == "land" {
				continue
			}
			out[i] = sign[x.Kind]
			if x.Off() {
				out[i] = '~'
			}
		}
	}
	// Draw the marks last, so that nothing covers them.
	for _, x := range l.spans {
		switch {
		case x.Merged:
			out[at(x.To-1)] = '✓'
		case x.End == story.WentBad:
			out[max(at(x.From), at(x.To-1))] = '✗'
		}
		if len(x.Early) > 0 && out[at(x.From)] == '█' {
			out[at(x.From)] = '▸'
		}
	}
	return string(out)
}

// LayoutOf computes the place of each batch in a picture of the plan.
func LayoutOf(batches []runner.BatchSummary) *layered.Graph {
	items := make([]layered.Item, len(batches))
	for i, b := range batches {
		items[i] = layered.Item{Key: b.Key, Needs: b.Needs}
	}
	return layered.Layout(items)
}

// SVG draws the batches of a run and their dependencies.
func SVG(s runner.Summary) string {
	g := svg.Graph{Graph: LayoutOf(s.Batches), Label: "batches of " + titleOf(s)}
	for _, x := range s.Batches {
		f := faceOf(s, x)
		b := svg.Box{Class: string(f.Tone), Number: ui.Sanitize(x.Number), State: f.Word, Title: ui.Sanitize(x.Title)}
		b.Tip = fmt.Sprintf("batch %s: %s\n%s", b.Number, b.Title, f.Word)
		if x.Reason != "" {
			b.Tip += ": " + ui.Sanitize(x.Reason)
		}
		if x.DurationMS > 0 {
			b.State += " " + ui.Duration(millis(x.DurationMS))
		}
		b.State += " " + ui.Style{}.Icon(f.Tone)
		g.Boxes = append(g.Boxes, b)
	}
	g.Arrow = func(from, to int) (done bool, tip string) {
		return s.Batches[from].State == string(runner.Passed),
			fmt.Sprintf("batch %s needs %s", g.Boxes[to].Number, g.Boxes[from].Number)
	}
	return g.String()
}
