package page

import (
	"slices"
	"strconv"
	"time"

	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/ledger"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/runner/report"
)

// watch is the state of a run, derived from its events. It does not store the events, so its size does not grow
// with their number.
type watch struct {
	run     string
	next    int // seq of the next event
	used    time.Time
	printer report.Printer
	info    runner.Info
	lanes   lanes
	queue   []string // keys of the batches in the merge queue, in order
	story   []told
	spent   ledger.Sum
	ledger  ledger.Ledger
	marks   map[string]*mark
	plot    *plot
	final   *reviewView        // of finalOf
	finalOf *runner.ReviewInfo // the final review that final shows
	ended   bool               // the run has ended
}

// told is a line of the run's log.
type told struct {
	At   time.Time
	Tone ui.Tone
	Text string
}

// maxStory limits the stored lines; runplan log shows all.
const maxStory = 60

// mark holds the events of a batch and its running agents.
type mark struct {
	first, last int
	tournament  bool
	agent       string         // the last agent started
	logs        map[int]string // logs of running agents, by candidate, relative to .runplan
}

func newWatch(run string, zone *time.Location) *watch {
	return &watch{run: run, printer: report.Printer{Zone: zone}, marks: map[string]*mark{}, lanes: newLanes()}
}

// apply adds one event, in journal order.
func (w *watch) apply(e runner.Event, layout local.Layout) {
	w.next = e.Seq + 1
	w.ended = e.Kind == runner.RunFinished || e.Kind.Afterwards()
	if e.Job != nil {
		w.info = *e.Job
	}
	for _, l := range w.printer.Lines(e) {
		w.story = append(w.story, told{e.At, l.Tone, l.Text})
	}
	if n := len(w.story) - maxStory; n > 0 {
		w.story = slices.Delete(w.story, 0, n)
	}
	w.ledger.Event(e)
	w.spent.Add(w.ledger.Lines)
	w.ledger.Lines = w.ledger.Lines[:0]
	w.lanes.Apply(e)
	w.line(e)
	if e.Batch != "" {
		w.mark(e, layout)
	}
	if e.Kind == runner.RunResumed || e.Kind == runner.RunFinished {
		for _, m := range w.marks {
			clear(m.logs)
		}
	}
}

// line updates the order of the merge queue.
func (w *watch) line(e runner.Event) {
	leave := func() { w.queue = slices.DeleteFunc(w.queue, func(k string) bool { return k == e.Batch }) }
	switch {
	case e.Kind == runner.Executed && e.Candidate == 0, e.Kind == runner.Judged:
		leave()
		if e.Outcome == runner.OutcomeOK {
			w.queue = append(w.queue, e.Batch)
		}
	case e.Kind == runner.BatchPassed, e.Kind == runner.BatchFailed, e.Kind == runner.Merged &&
		e.Outcome == runner.OutcomeOK:
		leave()
	}
}

func (w *watch) mark(e runner.Event, layout local.Layout) {
	m := w.marks[e.Batch]
	if m == nil {
		m = &mark{first: e.Seq, logs: map[int]string{}}
		w.marks[e.Batch] = m
	}
	m.last = e.Seq
	switch e.Kind {
	case runner.Sampled:
		m.tournament = e.Outcome == runner.OutcomeOK
	case runner.Judged:
		m.tournament = e.Outcome == runner.OutcomeUndecided
	}
	if runner.KindOf(e.Command) != runner.Execute {
		return
	}
	number := 0
	if m.tournament {
		number = runner.CandidateOf(e.Command)
	}
	delete(m.logs, number)
	if e.Kind == runner.Dispatched {
		m.agent = e.Agent
		dir := layout.Rel(layout.Attempt(w.run, e.Batch, e.Attempt))
		if number > 0 {
			dir += "/c" + strconv.Itoa(number)
		}
		m.logs[number] = dir + "/" + logName
	}
}

// Names of the files of an attempt.
const (
	logName   = "agent.log"
	briefName = "brief.md"
	patchName = "changes.patch"
)

// writing lists the logs of the running agents, by batch.
func (w *watch) writing() map[string]map[int]string {
	out := map[string]map[int]string{}
	for key, m := range w.marks {
		if len(m.logs) > 0 {
			out[key] = m.logs
		}
	}
	return out
}
