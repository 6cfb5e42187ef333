package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/runner/story"
)

const maxSpans = 400

func newLanes() lanes {
	l := lanes{story.NewCourse()}
	l.Max = maxSpans
	return l
}

// lanes draws the timeline: a lane per worker, and lanes for checks and merges.
type lanes struct{ story.Course }

// placed is a span with the number of its lane among those of its kind.
type placed struct {
	story.Span
	lane int
}

// place puts each span into the first lane of its kind that is free when it begins, and returns how many lanes each
// kind has. Waits for a limit have no lane.
func place(spans []story.Span) (all []placed, most map[string]int) {
	slices.SortStableFunc(spans, func(a, b story.Span) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), strings.Compare(a.Batch, b.Batch))
	})
	busy := map[string][]int64{} // by kind: when each lane is free
	most = map[string]int{}
	for _, s := range spans {
		if s.Kind == story.Wait {
			continue
		}
		n := slices.IndexFunc(busy[s.Kind], func(until int64) bool { return until <= s.From })
		if n < 0 {
			n = len(busy[s.Kind])
			busy[s.Kind] = append(busy[s.Kind], 0)
		}
		busy[s.Kind][n] = s.To
		all = append(all, placed{s, n + 1})
		most[s.Kind] = len(busy[s.Kind])
	}
	return all, most
}

// Measures of the picture, in pixels.
const (
	laneWidth = 1080
	laneNames = 92
	laneRow   = 26
	laneBar   = 18
	laneTop   = 26
)

func laneWord(kind string, n, of int) string {
	w := map[string]string{story.Edit: "worker", story.Check: "check", story.Land: "merge"}[kind]
	if of > 1 || kind == story.Edit {
		w = fmt.Sprintf("%s %d", w, n)
	}
	return w
}

// picture draws the lanes. more is the time since the last event, in which active work continues. The picture is
// empty without any work.
func (l *lanes) picture(numbers map[string]string, more time.Duration) template.HTML {
	spans, end := slices.Clone(l.Spans), l.Now+more.Milliseconds()
	for _, s := range l.Open() {
		s.To = end
		spans = append(spans, s)
	}
	all, most := place(spans)
	if len(all) == 0 || end <= 0 {
		return ""
	}
	begin := int64(0)
	if l.Dropped > 0 {
		begin = all[0].From
	}
	total := max(1, end-begin)
	first, y := map[string]int{}, laneTop
	var names []string
	for _, k := range []string{story.Edit, story.Check, story.Land} {
		first[k] = y
		for n := range most[k] {
			y += laneRow
			names = append(names, laneWord(k, n+1, most[k]))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg class="tl" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="who worked when: %d pieces of work in %d lanes, %s long">`,
		laneWidth, y+6, laneWidth, y+6, len(all), len(names), ui.Duration(time.Duration(total)*time.Millisecond))
	x := func(ms int64) float64 {
		return laneNames + float64(ms-begin)/float64(total)*(laneWidth-laneNames-8)
	}
	step := story.Tick(time.Duration(total) * time.Millisecond).Milliseconds()
	for at := begin; at <= end; at += step {
		anchor := "middle"
		if x(at) > laneWidth-32 { // or its end would be outside of the picture
			anchor = "end"
		}
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %dV%d"/><text class="tick" x="%.1f" y="13" text-anchor="%s">%s</text>`,
			x(at), laneTop-8, y, x(at), anchor, ui.Duration(time.Duration(at)*time.Millisecond))
	}
	for i, n := range names {
		fmt.Fprintf(&b, `<text x="2" y="%d">%s</text>`, laneTop+i*laneRow+laneBar-3, template.HTMLEscapeString(n))
	}
	for _, s := range all {
		bar(&b, s.Span, numbers[s.Batch], x(s.From), x(s.To), first[s.Kind]+(s.lane-1)*laneRow)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // bar escapes all external text
}

func bar(b *strings.Builder, s story.Span, number string, from, to float64, y int) {
	class := s.Kind
	if s.Off() {
		class += " off"
	}
	label := number
	if s.Candidate > 0 {
		label += fmt.Sprintf(" c%d", s.Candidate)
	}
	title := fmt.Sprintf("batch %s: %s, %s", label,
		map[string]string{story.Edit: "editing", story.Check: "checking", story.Land: "merging"}[s.Kind],
		ui.Duration(time.Duration(s.To-s.From)*time.Millisecond))
	if s.Reason != "" {
		title += ": " + ui.Cut(s.Reason, 200, "…")
	}
	width := max(2, to-from)
	fmt.Fprintf(b, `<g><title>%s</title><rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="3"/>`,
		template.HTMLEscapeString(web.Visible(title)), class, from, y, width, laneBar)
	if float64(7*len(label)+6) < width && !s.Off() {
		fmt.Fprintf(b, `<text class="inbar" x="%.1f" y="%d">%s</text>`, from+4, y+13,
			template.HTMLEscapeString(web.Visible(label)))
	}
	if s.End == story.WentBad {
		fmt.Fprintf(b, `<path class="ended" d="M%.1f %dv%d"/>`, max(to, from+2), y-3, laneBar+6)
	}
	b.WriteString("</g>")
}
