package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/ledger"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/runner/story"
)

// hub reads the journal for all open pages.
type hub struct {
	Options
	mu      sync.Mutex
	journal *store.Journal
	watches map[string]*watch
	listed  map[string]*listed
	looked  time.Time // time when list was built
	list    []listed
	older   int
	alive   map[string]verdict // by run
	talks   talks
}

// verdict is the known state of a run's process.
type verdict struct {
	at  time.Time
	sum runner.Summary // its status and reason
}

type listed struct {
	Run, Title, Plan, Agent string
	Face                    report.Face
	Reason                  string
	Total, Merged, Failed   int
	Cost                    string
	Started                 time.Time
	DurationMS              int64
	Live                    bool
	Asks                    int
	next                    int
}

// Limits of the cached data.
const (
	maxWatches = 12               // runs in the cache
	maxListed  = 100              // runs in the list
	listEvery  = time.Second      // minimum age before the list is rebuilt
	aliveEvery = 3 * time.Second  // minimum age before a run's process is checked again
	keepFor    = 10 * time.Minute // lifetime of an unused watch
)

func newHub(o Options) *hub {
	return &hub{Options: o, watches: map[string]*watch{}, listed: map[string]*listed{}, alive: map[string]verdict{},
		talks: talks{open: recent.New[string](maxTalks-1, func(*talk) int { return 1 })}}
}

var errNoRuns = errors.New("this repository has no runs yet")

// open opens the journal. The first run creates it.
func (h *hub) open(ctx context.Context) error {
	if h.journal != nil {
		return nil
	}
	j, err := store.OpenExistingJournal(context.WithoutCancel(ctx), h.Layout.Journal())
	if errors.Is(err, fs.ErrNotExist) {
		return errNoRuns
	}
	if err != nil {
		return err
	}
	h.Sign(j)
	h.journal = j
	return nil
}

// follow applies new events to the watch of a run. The caller holds the lock.
func (h *hub) follow(ctx context.Context, run string) (*watch, error) {
	w := h.watches[run]
	if w == nil {
		w = newWatch(run, h.Zone)
	}
	w.used = h.Now()
	for e, err := range journal.Events(ctx, h.journal, run, w.next) {
		if err != nil {
			delete(h.watches, run) // it may be incomplete
			return nil, err
		}
		w.apply(e)
	}
	h.watches[run] = w
	h.forget()
	return w, nil
}

// forget drops unused watches, the least recently used first.
func (h *hub) forget() {
	all := slices.SortedFunc(maps.Values(h.watches),
		func(a, b *watch) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.run, b.run)) })
	for i, w := range all {
		if len(all)-i > maxWatches || h.Now().Sub(w.used) > keepFor {
			delete(h.watches, w.run)
		}
	}
}

// with calls do with the current watch of a run, under the lock.
func (h *hub) with(ctx context.Context, run string, do func(*watch) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.open(ctx); err != nil {
		return err
	}
	w, err := h.follow(ctx, run)
	if err != nil {
		return err
	}
	if w.next == 0 {
		delete(h.watches, run)
		return fmt.Errorf("run %s not found", run)
	}
	return do(w)
}

// find returns the full id of the newest run that begins with name.
func (h *hub) find(ctx context.Context, name string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.open(ctx); err != nil {
		return "", err
	}
	runs, err := h.journal.Runs(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range runs {
		if name != "" && strings.HasPrefix(r.ID, name) {
			return r.ID, nil
		}
	}
	return "", fmt.Errorf("run %s not found", name)
}

// standing corrects the status of a run whose process has ended.
func (h *hub) standing(s *runner.Summary) {
	if !s.Status.Live() {
		delete(h.alive, s.Run)
		return
	}
	v, ok := h.alive[s.Run]
	if !ok || h.Now().Sub(v.at) > aliveEvery || v.sum.Updated != s.Updated {
		one := []runner.Summary{*s}
		one[0].Batches = nil
		h.Alive(one)
		v = verdict{h.Now(), one[0]}
		h.alive[s.Run] = v
	}
	s.Status, s.Stop, s.Reason = v.sum.Status, v.sum.Stop, v.sum.Reason
}

// runs lists the runs, newest first, and the number of older runs that are not in the list.
func (h *hub) runs(ctx context.Context) (list []listed, older int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch err := h.open(ctx); {
	case errors.Is(err, errNoRuns):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	}
	if h.Now().Sub(h.looked) < listEvery {
		return h.list, h.older, nil
	}
	all, err := h.journal.Runs(ctx)
	if err != nil {
		return nil, 0, err
	}
	older = max(0, len(all)-maxListed)
	for _, r := range all[:len(all)-older] {
		l, err := h.row(ctx, r)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, *l)
	}
	h.list, h.older, h.looked = list, older, h.Now()
	return list, older, nil
}

// row updates a row of the list. It does not read an ended run without new events again.
func (h *hub) row(ctx context.Context, r store.Run) (*listed, error) {
	l := h.listed[r.ID]
	if l != nil && !l.Live {
		fresh := false
		for _, err := range journal.Events(ctx, h.journal, r.ID, l.next) {
			if err != nil {
				return nil, err
			}
			fresh = true
			break
		}
		if !fresh {
			return l, nil
		}
	}
	_, shown := h.watches[r.ID]
	w, err := h.follow(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	sum := w.printer.Standing().Summary
	unread := sum.Run == "" // another version of runplan wrote it
	h.standing(&sum)
	l = &listed{
		Run: r.ID, Title: cmp.Or(sum.Title, r.Plan), Plan: r.Plan, Agent: sum.Agent, Face: report.OutcomeOf(sum),
		Reason: h.reasonOf(sum),
		Total:  len(sum.Batches), Started: r.Started, DurationMS: sum.DurationMS,
		Live: sum.Status.Live(), next: w.next, Cost: costText(w.spent),
		Asks: asks(sum),
	}
	if unread {
		l.Face, l.Live = report.Face{Word: "not readable", Tone: ui.Warn}, false
		l.Reason = "another version of runplan wrote it"
	}
	t := sum.Tally()
	l.Merged, l.Failed = t.Merged, t.Failed
	h.listed[r.ID] = l
	if !l.Live && !shown {
		delete(h.watches, r.ID)
	}
	return l, nil
}

// watch is the state of a run, derived from its events. It does not store the events, so its size does not grow
// with their number.
type watch struct {
	run     string
	next    int // seq of the next event
	used    time.Time
	printer report.Printer
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

// mark holds the first and the last event of a batch.
type mark struct{ first, last int }

func newWatch(run string, zone *time.Location) *watch {
	return &watch{run: run, printer: report.Printer{Zone: zone}, marks: map[string]*mark{}}
}

// apply adds one event, in journal order.
func (w *watch) apply(e runner.Event) {
	w.next = e.Seq + 1
	w.ended = e.Kind == runner.RunFinished || e.Kind.Afterwards()
	for _, l := range w.printer.Lines(e) {
		w.story = append(w.story, told{e.At, l.Tone, l.Text})
	}
	if n := len(w.story) - maxStory; n > 0 {
		w.story = slices.Delete(w.story, 0, n)
	}
	w.ledger.Event(e)
	w.spent.Add(w.ledger.Lines)
	w.ledger.Lines = w.ledger.Lines[:0]
	w.line(e)
	if e.Batch != "" {
		if w.marks[e.Batch] == nil {
			w.marks[e.Batch] = &mark{first: e.Seq}
		}
		w.marks[e.Batch].last = e.Seq
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

// logOf returns the log of an attempt, or of one of its candidates, relative to .runplan.
func (h *hub) logOf(run, batch string, attempt, candidate int) string {
	e := runner.Event{Run: run, Batch: batch, Attempt: attempt, Candidate: candidate}
	return h.Layout.Rel(h.Layout.AttemptOf(e)) + "/" + journal.LogFile
}

// writing lists what the running agents of a batch do, or with "" of all.
func (w *watch) writing(batch string) []story.Span {
	return slices.DeleteFunc(w.printer.Standing().Course.Open(batch),
		func(s story.Span) bool { return s.Kind != story.Edit })
}
