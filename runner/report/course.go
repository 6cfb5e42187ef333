package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// span is a period of one activity for a batch.
type span struct {
	batch     string
	candidate int // in a tournament
	variant   string
	kind      string // edit, check, land or wait
	from, to  int64  // milliseconds since the start of the run, without the pauses between sessions
	end       ending
	reason    string
	early     []string // keys of the batches on whose candidates it began
	merged    bool     // it ended with the merge
}

// ending says how a span ended.
type ending string

const (
	ended     ending = "ended"
	wentBad   ending = "failed"
	calledOff ending = "cancelled"
	cutShort  ending = "cut short" // by a limit, or by the end of a session
)

// spanKinds lists the kinds of spans, in the order in which a batch passes them.
func spanKinds() []struct{ kind, word string } {
	return []struct{ kind, word string }{{"edit", "editing"}, {"check", "checking"}, {"land", "merging"}, {"wait", "waiting for a limit"}}
}

func spanKind(k runner.CommandKind) string {
	switch k {
	case runner.Execute:
		return "edit"
	case runner.Rebase, runner.Gate, runner.Trial:
		return "check"
	case runner.Commit, runner.Merge:
		return "land"
	case runner.Wait:
		return "wait"
	}
	return ""
}

// course collects the spans of a run from its events, in the order of their start.
type course struct {
	spans       []span
	total       int64
	now         int64
	last        time.Time
	open        map[string]span  // by command id
	tournaments map[string]bool  // batches with a running tournament
	held        map[string]int64 // batches whose agent met a limit, and the time
}

func newCourse() course {
	return course{open: map[string]span{}, tournaments: map[string]bool{}, held: map[string]int64{}}
}

// end completes the spans after the last event.
func (c *course) end() {
	c.cut()
	c.total = c.now
	for _, s := range c.spans {
		c.total = max(c.total, s.to)
	}
	slices.SortStableFunc(c.spans, func(a, b span) int { return int(a.from - b.from) })
}

func (c *course) apply(e runner.Event) {
	switch {
	case e.At.IsZero():
	case e.Kind == runner.RunResumed:
		c.cut() // at the time of the last event
		c.last = e.At
	case c.last.IsZero():
		c.last = e.At
	default:
		c.now += max(0, e.At.Sub(c.last).Milliseconds())
		c.last = e.At
	}
	switch e.Kind {
	case runner.Sampled:
		c.tournaments[e.Batch] = e.Outcome == runner.OutcomeOK
	case runner.Judged:
		c.tournaments[e.Batch] = e.Outcome == runner.OutcomeUndecided
	}
	kind := spanKind(runner.KindOf(e.Command))
	if kind == "" || e.Batch == "" || e.Command == "" {
		return
	}
	s, known := c.open[e.Command]
	delete(c.open, e.Command)
	if !known {
		s = span{batch: e.Batch, kind: kind, from: max(0, c.now-e.DurationMS), early: e.On}
	}
	s.to, s.reason = c.now, e.Reason
	switch {
	case kind == "wait":
		delete(c.held, e.Batch) // the batch waits on its own, with a span of its own
	case kind == "edit" && !c.tournaments[e.Batch]:
		c.waited(e.Batch, s.from)
	}
	if e.Kind == runner.Dispatched {
		s.early = nil
		if kind == "edit" {
			s.early = e.On
		}
		if c.tournaments[e.Batch] {
			s.candidate = runner.CandidateOf(e.Command)
		}
		c.open[e.Command] = s
		return
	}
	if e.Candidate > 0 {
		s.candidate, s.variant = e.Candidate, e.Variant
	}
	if kind == "edit" && e.Outcome == runner.OutcomeLimited && e.Candidate == 0 {
		c.held[e.Batch] = c.now
	}
	s.end = endingOf(e)
	s.merged = e.Kind == runner.Merged && e.Outcome == runner.OutcomeOK
	if e.Kind != runner.Withdrawn || known {
		c.spans = append(c.spans, s)
	}
}

// shortWait is the minimum length of a wait span, in milliseconds. A shorter delay is a change of agents or an
// immediate retry.
const shortWait = 1000

// waited ends the wait of a batch for its agent's limit.
func (c *course) waited(batch string, until int64) {
	since, held := c.held[batch]
	delete(c.held, batch)
	if held && until-since >= shortWait {
		c.spans = append(c.spans, span{batch: batch, kind: "wait", from: since, to: until, end: ended})
	}
}

// cut ends all open spans.
func (c *course) cut() {
	for _, batch := range slices.Sorted(maps.Keys(c.held)) {
		c.waited(batch, c.now)
		c.held[batch] = c.now // the wait continues in the next session
	}
	var ids []string
	for id := range c.open {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		s := c.open[id]
		s.to, s.end = c.now, cutShort
		c.spans = append(c.spans, s)
	}
	clear(c.open)
}

func endingOf(e runner.Event) ending {
	switch {
	case e.Kind == runner.Withdrawn:
		return calledOff
	case e.Outcome == runner.OutcomeCancelled, e.Outcome == runner.OutcomeLimited, e.Outcome == runner.OutcomeHuman:
		return cutShort
	case e.Outcome == runner.OutcomeOK, e.Outcome == runner.OutcomeMoved, e.Outcome == runner.OutcomeChanged:
		return ended
	}
	return wentBad
}

// lane is a row of the timeline: a batch or one of its candidates.
type lane struct {
	batch     runner.BatchSummary
	candidate int
	name      string
	spans     []span
}

// lanes returns the rows in plan order, each batch followed by its candidates. It omits batches without spans.
func (c course) lanes(s runner.Summary) []lane {
	var out []lane
	for _, b := range s.Batches {
		var own []lane
		most := 0
		for _, x := range c.spans {
			if x.batch == b.Key {
				most = max(most, x.candidate)
			}
		}
		for n := 0; n <= most; n++ {
			l := lane{batch: b, candidate: n, name: strings.TrimSpace(ui.Sanitize(b.Number) + " " + ui.Sanitize(b.Title))}
			variant := ""
			for _, x := range c.spans {
				if x.batch == b.Key && x.candidate == n {
					l.spans = append(l.spans, x)
					variant = cmp.Or(x.variant, variant)
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

// waitedFor returns the time in which nothing worked for a batch, between its first and its last step; for "", the same of
// the whole run. Less than a second is 0.
func (c course) waitedFor(batch string) time.Duration {
	var work []span
	for _, s := range c.spans {
		if s.kind != "wait" && (batch == "" || s.batch == batch) {
			work = append(work, s)
		}
	}
	slices.SortFunc(work, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	waited, until := int64(0), int64(0)
	for i, s := range work {
		if i > 0 || batch == "" {
			waited += max(0, s.from-until)
		}
		until = max(until, s.to)
	}
	if batch == "" {
		waited += max(0, c.total-until)
	}
	if waited < shortWait {
		return 0
	}
	return millis(waited)
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
	b.WriteString("\n█ editing  ▒ checking  ▪ merging  ░ waiting for a limit  ~ cancelled, cut short or not ended  ✗ failed, or a conflict  ✓ merged  ▸ early start\n")
	return b.String()
}

// cells draws a lane in n cells.
func (l lane) cells(n int, total int64) string {
	out := []rune(strings.Repeat(" ", n))
	at := func(ms int64) int { return min(n-1, max(0, int(ms*int64(n)/max(total, 1)))) }
	sign := map[string]rune{"edit": '█', "check": '▒', "land": '▪', "wait": '░'}
	for _, x := range l.spans {
		from, to := at(x.from), max(at(x.from), at(x.to-1))
		for i := from; i <= to; i++ {
			if out[i] != ' ' && x.kind == "land" {
				continue
			}
			out[i] = sign[x.kind]
			if x.end == calledOff || x.end == cutShort {
				out[i] = '~'
			}
		}
	}
	// Draw the marks last, so that nothing covers them.
	for _, x := range l.spans {
		switch {
		case x.merged:
			out[at(x.to-1)] = '✓'
		case x.end == wentBad:
			out[max(at(x.from), at(x.to-1))] = '✗'
		}
		if len(x.early) > 0 && out[at(x.from)] == '█' {
			out[at(x.from)] = '▸'
		}
	}
	return string(out)
}
