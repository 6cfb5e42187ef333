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

// placed is a span with the number of its lane among those of its kind, counted from 0.
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
		all = append(all, placed{s, n})
		most[s.Kind] = len(busy[s.Kind])
	}
	return all, most
}

// lanes draws the timeline: a lane per worker, and lanes for checks and merges. more is the time since the last event,
// in which active work continues. The picture is empty without any work.
func lanes(c *story.Course, numbers map[string]string, more time.Duration) template.HTML {
	spans, end := slices.Clone(c.Spans), c.Now+more.Milliseconds()
	for _, s := range c.Open("") {
		s.To = end
		spans = append(spans, s)
	}
	all, most := place(spans)
	if len(all) == 0 || end <= 0 {
		return ""
	}
	p := story.Picture{Names: 92, Row: 26, Bar: 18, End: end}
	if c.Dropped > 0 {
		p.Begin = all[0].From
	}
	first := map[string]int{}
	for _, kind := range []string{story.Edit, story.Check, story.Land} {
		first[kind] = len(p.Rows)
		for n := range most[kind] {
			name := map[string]string{story.Edit: "worker", story.Check: "check", story.Land: "merge"}[kind]
			if most[kind] > 1 || kind == story.Edit {
				name = fmt.Sprintf("%s %d", name, n+1)
			}
			p.Rows = append(p.Rows, story.Row{Name: name})
		}
	}
	for _, s := range all {
		label := web.Visible(numbers[s.Batch])
		if s.Candidate > 0 {
			label += fmt.Sprintf(" c%d", s.Candidate)
		}
		row := &p.Rows[first[s.Kind]+s.lane]
		row.Bars = append(row.Bars, story.Bar{Span: s.Span, Tip: web.Visible(s.Tip("batch "+label, nil)), Inside: label})
	}
	p.Label = fmt.Sprintf("who worked when: %d pieces of work in %d lanes, %s long", len(all), len(p.Rows),
		ui.Duration(time.Duration(p.End-p.Begin)*time.Millisecond))
	return template.HTML(p.SVG()) // it escapes all text
}
