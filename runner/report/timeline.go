package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/layered"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// Timeline draws the timeline as an SVG image: a row for each batch and candidate, with early starts, conflicts
// and cancelled work. It is "" for fewer than two rows. Like [SVG] it is self-contained.
func Timeline(s runner.Summary, past *Past) string {
	lanes, total := past.lanes(s)
	if len(lanes) < 2 || total <= 0 {
		return ""
	}
	line := map[string]int{}
	for i, l := range lanes {
		if l.candidate == 0 {
			line[l.batch.Key] = i
		}
	}
	p := story.Picture{Label: "timeline of " + titleOf(s), Style: timelineStyle, Names: 216, Row: 24, Bar: 12, End: total,
		Legend: true}
	for _, l := range lanes {
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

// lane is a row of the timeline: a batch or one of its candidates.
type lane struct {
	batch     runner.BatchSummary
	candidate int
	name      string
	spans     []story.Span
}

// lanesOf returns the rows in plan order, each batch followed by its candidates. It omits batches without spans.
func lanesOf(c story.Course, s runner.Summary) []lane {
	var out []lane
	for _, b := range s.Batches {
		var own []lane
		most := 0
		for _, x := range c.Spans {
			if x.Batch == b.Key {
				most = max(most, x.Candidate)
			}
		}
		for n := 0; n <= most; n++ {
			l := lane{batch: b, candidate: n, name: strings.TrimSpace(ui.Sanitize(b.Number) + " " + ui.Sanitize(b.Title))}
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
	lanes, total := past.lanes(s)
	if len(lanes) < 2 || total <= 0 {
		return ""
	}
	const cells, names = 64, 26
	var b strings.Builder
	for _, l := range lanes {
		name := l.name
		if l.candidate > 0 {
			name = "  " + name
		}
		fmt.Fprintf(&b, "%s  %s\n", ui.Pad(ui.Cut(name, names, "…"), names), strings.TrimRight(l.cells(cells, total), " "))
	}
	end := ui.Duration(millis(total))
	fmt.Fprintf(&b, "%s  0%s%s\n", ui.Pad("", names), strings.Repeat(" ", cells-1-ui.Width(end)), end)
	b.WriteString(
		"\n█ editing  ▒ checking  ▪ merging  ░ waiting for a limit  ~ cancelled, cut short or not ended  ✗ failed, or a " +
			"conflict  ✓ merged  ▸ early start\n")
	return b.String()
}

func (l lane) cells(n int, total int64) string {
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

// SVG draws the batches of a run and their dependencies. The image is self-contained, as a file or inside an HTML page,
// and follows the viewer's light or dark mode.
func SVG(s runner.Summary) string {
	g := LayoutOf(s.Batches)
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" class="g" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-label="%s">`+"\n",
		layered.Num(g.Width), layered.Num(g.Height), layered.Num(g.Width), layered.Num(g.Height),
		layered.Text("batches of "+titleOf(s)))
	b.WriteString("<style>\n" + graphStyle + "</style>\n")
	b.WriteString(`<defs><marker id="g-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="g-tip" d="M0.5 0.5 7.5 4 0.5 7.5z"/></marker></defs>` + "\n")
	for i, n := range g.Nodes {
		for _, j := range n.Needs {
			class := "g-edge"
			if runner.Status(s.Batches[j].State) == runner.Passed {
				class += " g-done"
			}
			fmt.Fprintf(&b, `<path class="%s" d="%s" marker-end="url(#g-tip)"/>`+"\n", class, g.Path(j, i))
		}
	}
	for i, n := range g.Nodes {
		box(&b, s, s.Batches[i], n)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// box draws one batch. The inner svg element clips text in a wide font.
func box(b *strings.Builder, s runner.Summary, x runner.BatchSummary, n layered.Node) {
	f := faceOf(s, x)
	tip := fmt.Sprintf("batch %s: %s\n%s", ui.Sanitize(x.Number), ui.Sanitize(x.Title), f.word)
	if x.Reason != "" {
		tip += ": " + ui.Sanitize(x.Reason)
	}
	right := f.word
	if x.DurationMS > 0 {
		right += " " + ui.Duration(millis(x.DurationMS))
	}
	fmt.Fprintf(b, `<svg class="g-%s" x="%s" y="%s" width="%d" height="%d"><title>%s</title>`, f.tone, layered.Num(n.X),
		layered.Num(n.Y), layered.BoxWidth, layered.BoxHeight, layered.Text(tip))
	fmt.Fprintf(b, `<rect class="g-box" x="0.75" y="0.75" width="%g" height="%g" rx="8"/>`, layered.BoxWidth-1.5,
		layered.BoxHeight-1.5)
	fmt.Fprintf(b, `<rect class="g-bar" x="6" y="12" width="3" height="%d" rx="1.5"/>`, layered.BoxHeight-24)
	fmt.Fprintf(b, `<text class="g-num" x="17" y="22">%s</text>`, layered.Text(ui.Cut(ui.Sanitize(x.Number), 8, "…")))
	fmt.Fprintf(b, `<text class="g-state" x="%d" y="22" text-anchor="end">%s %s</text>`, layered.BoxWidth-12,
		layered.Text(right), ui.Style{}.Icon(f.tone))
	fmt.Fprintf(b, `<text class="g-title" x="17" y="41">%s</text>`, layered.Text(ui.Cut(ui.Sanitize(x.Title), 22, "…")))
	b.WriteString("</svg>\n")
}
