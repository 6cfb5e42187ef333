package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/layered"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// Dimensions of the timeline, in pixels.
const (
	timelineWidth  = 1080
	timelineNames  = 216
	timelineRight  = 20
	timelineRow    = 24
	timelineBar    = 12
	timelineTop    = 30
	timelineLegend = 34
)

// Timeline draws the timeline as an SVG image: a row for each batch and candidate, with early starts, conflicts
// and cancelled work. It is "" for fewer than two rows. Like [SVG] it is self-contained.
func Timeline(s runner.Summary, past *Past) string {
	lanes, total := past.lanes(s)
	if len(lanes) < 2 || total <= 0 {
		return ""
	}
	var b strings.Builder
	height := timelineTop + timelineRow*len(lanes) + timelineLegend
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" class="tl" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		timelineWidth, height, timelineWidth, height, layered.Text("timeline of "+titleOf(s)))
	b.WriteString("<style>\n" + timelineStyle + "</style>\n")
	b.WriteString(`<defs><marker id="tl-tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path class="tl-tip" d="M1 1 7 4 1 7z"/></marker></defs>` + "\n")
	x := func(ms int64) float64 {
		return timelineNames + float64(ms)/float64(total)*(timelineWidth-timelineNames-timelineRight)
	}
	bottom := timelineTop + timelineRow*len(lanes)
	step := story.Tick(millis(total))
	for at := time.Duration(0); at <= millis(total); at += step {
		at0 := x(at.Milliseconds())
		fmt.Fprintf(&b,
			`<path class="tl-grid" d="M%.1f %dV%d"/><text class="tl-tick" x="%.1f" y="16" text-anchor="middle">%s</text>`+"\n",
			at0, timelineTop-8, bottom, at0, ui.Duration(at))
	}
	line := map[string]int{}
	for i, l := range lanes {
		if l.candidate == 0 {
			line[l.batch.Key] = i
		}
	}
	for i, l := range lanes {
		y := timelineTop + timelineRow*i
		class, indent := "tl-name", 0
		if l.candidate > 0 {
			class, indent = "tl-cand", 14
		}
		fmt.Fprintf(&b, `<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, 4+indent, y+timelineRow/2+4,
			layered.Text(ui.Cut(l.name, 30-indent/7, "…")))
		for _, sp := range l.spans {
			for _, on := range sp.Early {
				if from, ok := line[on]; ok {
					fmt.Fprintf(&b, `<path class="tl-early" d="M%.1f %dV%d" marker-end="url(#tl-tip)"/>`+"\n", x(sp.From)+1,
						timelineTop+timelineRow*from+timelineRow/2, y+edge(from < i))
				}
			}
		}
		for _, sp := range l.spans {
			bar(&b, s, l, sp, x(sp.From), x(sp.To), y)
		}
		for _, sp := range l.spans { // marks come last, so that nothing covers them
			mark(&b, s, l, sp, max(x(sp.To), x(sp.From)+2), y)
		}
	}
	legend(&b, bottom+22)
	b.WriteString("</svg>\n")
	return b.String()
}

// edge returns the offset at which an arrow from above or below meets the bar of a row.
func edge(above bool) int {
	if above {
		return (timelineRow - timelineBar) / 2
	}
	return (timelineRow + timelineBar) / 2
}

// tip returns the tooltip of a span.
func tip(s runner.Summary, l lane, sp story.Span) string {
	tip := fmt.Sprintf("%s: %s, %s", l.name, wordOf(sp.Kind), ui.Duration(millis(sp.To-sp.From)))
	if sp.End != story.Ended {
		tip += ", " + string(sp.End)
	}
	if len(sp.Early) > 0 {
		tip += ", begun on the candidate of " + strings.Join(numbersOf(s, sp.Early), ", ")
	}
	if sp.Reason != "" {
		tip += ": " + ui.Cut(ui.Sanitize(sp.Reason), maxLine, "…")
	}
	return layered.Text(tip)
}

func bar(b *strings.Builder, s runner.Summary, l lane, sp story.Span, from, to float64, y int) {
	class := "tl-" + sp.Kind
	if sp.Off() {
		class += " tl-off"
	}
	fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="2"><title>%s</title></rect>`+"\n",
		class, from, y+(timelineRow-timelineBar)/2, max(2, to-from), timelineBar, tip(s, l, sp))
}

// mark draws how a span ended.
func mark(b *strings.Builder, s runner.Summary, l lane, sp story.Span, at float64, y int) {
	top := y + (timelineRow-timelineBar)/2
	switch {
	case sp.End == story.WentBad:
		fmt.Fprintf(b, `<path class="tl-bad" d="M%.1f %dV%d"><title>%s</title></path>`+"\n", at, top-3, top+timelineBar+3,
			tip(s, l, sp))
	case sp.Merged:
		fmt.Fprintf(b, `<path class="tl-merged" d="M%.1f %dl5 5-5 5-5-5z"><title>%s</title></path>`+"\n", at, top+1,
			layered.Text(l.name+": merged as "+short(l.batch.Commit)))
	}
}

func wordOf(kind string) string {
	for _, k := range spanKinds() {
		if k.kind == kind {
			return k.word
		}
	}
	return kind
}

// legend draws the explanation of colors and marks.
func legend(b *strings.Builder, y int) {
	x := 18 // little indentation, because the legend is long
	text := func(word string) {
		fmt.Fprintf(b, `<text class="tl-tick" x="%d" y="%d">%s</text>`+"\n", x+18, y, word)
		x += 18 + 6*len(word) + 18
	}
	for _, k := range spanKinds() {
		fmt.Fprintf(b, `<rect class="tl-%s" x="%d" y="%d" width="12" height="10" rx="2"/>`, k.kind, x, y-9)
		text(k.word)
	}
	fmt.Fprintf(b, `<rect class="tl-edit tl-off" x="%d" y="%d" width="12" height="10" rx="2"/>`, x, y-9)
	text("cancelled, cut short or not ended")
	fmt.Fprintf(b, `<path class="tl-bad" d="M%d %dv14"/>`, x+6, y-11)
	text("failed, or a conflict")
	fmt.Fprintf(b, `<path class="tl-merged" d="M%d %dl5 5-5 5-5-5z"/>`, x+6, y-9)
	text("merged")
	fmt.Fprintf(b, `<path class="tl-early" d="M%d %dv11" marker-end="url(#tl-tip)"/>`, x+6, y-10)
	text("early start")
}
