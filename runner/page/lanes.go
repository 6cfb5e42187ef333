package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/runner"
)

// lanes builds the timeline: a lane per worker, and lanes for checks and merges.
type lanes struct {
	spans       []span           // that are over, the oldest first
	open        map[string]span  // in progress, by the id of their command
	busy        map[string]bool  // lanes in which something is in progress
	tournaments map[string]bool  // batches for which candidates compete
	now         int64            // milliseconds of the run's own time, in which the pauses between its sessions do not count
	last        time.Time        // of the last event
	left        int              // spans that are not kept any more
	most        map[laneKind]int // lanes that there were of each kind
}

// span is a time in which something was done for a batch.
type span struct {
	lane      string
	kind      laneKind
	number    int // of the lane among its kind
	batch     string
	candidate int
	from, to  int64
	bad, off  bool
	reason    string
}

type laneKind string

const (
	editing  laneKind = "edit"
	checking laneKind = "check"
	landing  laneKind = "land"
)

// maxSpans bounds what is kept of the past.
const maxSpans = 400

func newLanes() lanes {
	return lanes{open: map[string]span{}, busy: map[string]bool{}, tournaments: map[string]bool{}, most: map[laneKind]int{}}
}

func laneKindOf(e runner.Event) laneKind {
	switch runner.KindOf(e.Command) {
	case runner.Execute:
		return editing
	case runner.Rebase, runner.Gate, runner.Trial:
		return checking
	case runner.Commit, runner.Merge:
		return landing
	}
	return ""
}

func (l *lanes) apply(e runner.Event) {
	switch {
	case e.At.IsZero(), e.Kind.Afterwards():
	case e.Kind == runner.RunResumed, e.Kind == runner.RunFinished:
		if e.Kind == runner.RunFinished && !l.last.IsZero() {
			l.now += max(0, e.At.Sub(l.last).Milliseconds())
		}
		l.cut()
		l.last = e.At
	default:
		if !l.last.IsZero() {
			l.now += max(0, e.At.Sub(l.last).Milliseconds())
		}
		l.last = e.At
	}
	switch e.Kind {
	case runner.Sampled:
		l.tournaments[e.Batch] = e.Outcome == runner.OutcomeOK
	case runner.Judged:
		l.tournaments[e.Batch] = e.Outcome == runner.OutcomeUndecided
	}
	kind := laneKindOf(e)
	if kind == "" || e.Batch == "" || e.Command == "" {
		return
	}
	s, known := l.open[e.Command]
	if known {
		delete(l.open, e.Command)
		delete(l.busy, s.lane)
	}
	if e.Kind == runner.Dispatched {
		l.begin(e, kind)
		return
	}
	if !known {
		return
	}
	s.to, s.reason = l.now, e.Reason
	switch {
	case e.Kind == runner.Withdrawn, e.Outcome == runner.OutcomeCancelled, e.Outcome == runner.OutcomeLimited, e.Outcome == runner.OutcomeHuman:
		s.off = true
	case e.Outcome != runner.OutcomeOK && e.Outcome != runner.OutcomeMoved && e.Outcome != runner.OutcomeChanged:
		s.bad = true
	}
	l.keep(s)
}

// begin puts what begins into the first lane of its kind that is free.
func (l *lanes) begin(e runner.Event, kind laneKind) {
	n := 1
	for l.busy[laneName(kind, n)] {
		n++
	}
	s := span{lane: laneName(kind, n), kind: kind, number: n, batch: e.Batch, from: l.now}
	if l.tournaments[e.Batch] {
		s.candidate = runner.CandidateOf(e.Command)
	}
	l.busy[s.lane], l.open[e.Command], l.most[kind] = true, s, max(l.most[kind], n)
}

func laneName(kind laneKind, n int) string { return fmt.Sprintf("%s %d", kind, n) }

func (l *lanes) keep(s span) {
	l.spans = append(l.spans, s)
	if n := len(l.spans) - maxSpans; n > 0 {
		l.spans, l.left = slices.Delete(l.spans, 0, n), l.left+n
	}
}

// cut ends what is in progress: its process is gone.
func (l *lanes) cut() {
	var ids []string
	for id := range l.open {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		s := l.open[id]
		s.to, s.off = l.now, true
		l.keep(s)
	}
	clear(l.open)
	clear(l.busy)
}

// Measures of the picture, in pixels.
const (
	laneWidth = 1080
	laneNames = 92
	laneRow   = 26
	laneBar   = 18
	laneTop   = 26
)

// word returns the display name of a lane.
func (k laneKind) word(n, of int) string {
	w := map[laneKind]string{editing: "worker", checking: "check", landing: "merge"}[k]
	if of > 1 || k == editing {
		w = fmt.Sprintf("%s %d", w, n)
	}
	return w
}

// picture draws the lanes. more is the time since the last event, in which what is in progress goes on. It is empty where nothing
// was done yet.
func (l *lanes) picture(numbers map[string]string, more time.Duration) template.HTML {
	all := slices.Clone(l.spans)
	end := l.now + more.Milliseconds()
	for _, s := range l.open {
		s.to = end
		all = append(all, s)
	}
	if len(all) == 0 || end <= 0 {
		return ""
	}
	slices.SortFunc(all, func(a, b span) int {
		return int(a.from-b.from)*1000 + strings.Compare(a.lane, b.lane)
	})
	begin := int64(0)
	if l.left > 0 {
		begin = all[0].from
	}
	total := max(1, end-begin)
	line, y := map[string]int{}, laneTop
	var names []string
	for _, k := range []laneKind{editing, checking, landing} {
		for n := 1; n <= l.most[k]; n++ {
			line[laneName(k, n)] = y
			y += laneRow
			names = append(names, k.word(n, l.most[k]))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="tl" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="who worked when: %d pieces of work in %d lanes, %s long">`,
		laneWidth, y+6, laneWidth, y+6, len(all), len(names), ui.Duration(time.Duration(total)*time.Millisecond))
	x := func(ms int64) float64 {
		return laneNames + float64(ms-begin)/float64(total)*(laneWidth-laneNames-8)
	}
	step := tick(time.Duration(total) * time.Millisecond).Milliseconds()
	for at := begin; at <= end; at += step {
		anchor := "middle"
		if x(at) > laneWidth-32 { // or its end would be outside of the picture
			anchor = "end"
		}
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %dV%d"/><text class="tick" x="%.1f" y="13" text-anchor="%s">%s</text>`, x(at), laneTop-8, y, x(at), anchor, ui.Duration(time.Duration(at)*time.Millisecond))
	}
	for i, n := range names {
		fmt.Fprintf(&b, `<text x="2" y="%d">%s</text>`, laneTop+i*laneRow+laneBar-3, template.HTMLEscapeString(n))
	}
	for _, s := range all {
		bar(&b, s, numbers[s.batch], x(s.from), x(s.to), line[s.lane])
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // all that comes from outside is escaped in bar
}

func bar(b *strings.Builder, s span, number string, from, to float64, y int) {
	class := string(s.kind)
	if s.off {
		class += " off"
	}
	label := number
	if s.candidate > 0 {
		label += fmt.Sprintf(" c%d", s.candidate)
	}
	title := fmt.Sprintf("batch %s: %s, %s", label, map[laneKind]string{editing: "editing", checking: "checking", landing: "merging"}[s.kind], ui.Duration(time.Duration(s.to-s.from)*time.Millisecond))
	if s.reason != "" {
		title += ": " + ui.Cut(s.reason, 200, "…")
	}
	width := max(2, to-from)
	fmt.Fprintf(b, `<g><title>%s</title><rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="3"/>`, template.HTMLEscapeString(web.Visible(title)), class, from, y, width, laneBar)
	if float64(7*len(label)+6) < width && !s.off {
		fmt.Fprintf(b, `<text class="inbar" x="%.1f" y="%d">%s</text>`, from+4, y+13, template.HTMLEscapeString(web.Visible(label)))
	}
	if s.bad {
		fmt.Fprintf(b, `<path class="ended" d="M%.1f %dv%d"/>`, max(to, from+2), y-3, laneBar+6)
	}
	b.WriteString("</g>")
}

// tick is a round time of which a dozen at most fit into d.
func tick(d time.Duration) time.Duration {
	for _, s := range []time.Duration{
		100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour,
	} {
		if d/s <= 9 {
			return s
		}
	}
	day := 24 * time.Hour
	return day * max(1, d/(9*day)+1)
}
