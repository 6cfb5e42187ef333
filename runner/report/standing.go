package report

import (
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// Standing is the summary of a run and its running commands. If there are no events, a Standing may have only a
// summary.
type Standing struct {
	runner.Summary
	Info   *runner.Info  // as it was described last; nil without events, like Course
	Course *story.Course // its latest spans
	pulses map[string]*pulse
	zone   *time.Location
}

// Watch builds the Standing of a run from its events. The zero Watch is ready to use.
type Watch struct {
	Zone   *time.Location // time zone of printed times; nil is UTC
	fold   runner.Fold
	info   runner.Info
	course story.Course
	pulses map[string]*pulse
}

// maxSpans limits the spans of a Watch, because a run may be long.
const maxSpans = 400

// Apply adds one event, in journal order.
func (w *Watch) Apply(e runner.Event) error {
	if w.pulses == nil || e.Kind == runner.RunStarted {
		w.pulses, w.course = map[string]*pulse{}, story.NewCourse()
		w.course.Max = maxSpans
	}
	if e.Job != nil {
		w.info = *e.Job
	}
	err := w.fold.Apply(e)
	w.course.Apply(e)
	if e.Kind == runner.RunResumed {
		clear(w.pulses) // commands of the previous session no longer run
	}
	if e.Batch != "" {
		if w.pulses[e.Batch] == nil {
			w.pulses[e.Batch] = &pulse{}
		}
		w.pulses[e.Batch].apply(e)
		if e.Kind == runner.BatchPassed || e.Kind == runner.BatchFailed {
			delete(w.pulses, e.Batch) // the batch has ended
		}
	}
	return err
}

// Standing returns the state after the last event.
func (w *Watch) Standing() Standing {
	return Standing{w.fold.Summary(), &w.info, &w.course, w.pulses, w.Zone}
}

// pulse holds what a summary does not say about a batch that is worked on.
type pulse struct {
	asked  runner.Event // the latest gate command
	early  []string     // batches on whose candidates its agent was started
	red    bool         // its candidate failed on its current base
	moved  bool         // its candidate has another base than its agent had
	parked runner.Event // the end of its agent that it waits after
}

func (p *pulse) apply(e runner.Event) {
	switch e.Kind {
	case runner.Dispatched:
		switch runner.KindOf(e.Command) {
		case runner.Execute:
			p.early, p.red, p.parked = e.On, false, runner.Event{}
		case runner.Gate:
			p.asked, p.red = e, false
		case runner.Rebase:
			p.red = false
		}
	case runner.Executed:
		p.moved = false
		if e.Outcome == runner.OutcomeLimited || e.Outcome == runner.OutcomeHuman {
			p.parked = e
		}
	case runner.Gated, runner.Rebased:
		p.moved = p.moved || e.Kind == runner.Rebased
		p.red = e.Candidate == 0 && (e.Outcome == runner.OutcomeFailed || e.Outcome == runner.OutcomeConflict)
	case runner.Waited:
		p.parked = runner.Event{}
	}
}

// running lists what runs for a batch, or with "" for all.
func (s Standing) running(batch string) []story.Span {
	if s.Course == nil {
		return nil
	}
	return s.Course.Open(batch)
}

// at reports whether a command of kind k runs for a batch.
func (s Standing) at(batch string, k runner.CommandKind) bool {
	return slices.ContainsFunc(s.running(batch), func(x story.Span) bool { return runner.KindOf(x.Command) == k })
}

// face returns the display state of a batch. still means that no work is running for it.
func (s Standing) face(b runner.BatchSummary) (f Face, still bool) {
	f = faceOf(s.Summary, b)
	p := s.pulses[b.Key]
	if f.Tone != ui.Busy || p == nil {
		return f, false
	}
	if p.parked.Outcome != "" {
		return Face{"parked", ui.Warn}, true
	}
	switch runner.State(b.State) {
	case runner.StateGate, runner.StatePublish:
		switch {
		case s.at(b.Key, runner.Rebase):
			return Face{"rebasing", ui.Busy}, false
		case s.at(b.Key, runner.Trial):
			return Face{"checked alone", ui.Busy}, false
		case !s.at(b.Key, runner.Gate):
			return Face{"queued", ui.Busy}, true
		}
	}
	return f, false
}

// now describes the base candidates of a running batch, or what it waits for.
func (s Standing) now(b runner.BatchSummary) string {
	p := s.pulses[b.Key]
	if p == nil {
		return ""
	}
	gating := s.at(b.Key, runner.Gate)
	switch st := runner.State(b.State); {
	case p.parked.Outcome != "":
		return parking(p.parked, s.Updated, s.zone, ui.Sanitize(b.Reason))
	case st == runner.StateEdit && len(p.early) > 0:
		if on := s.unmerged(p.early); len(on) > 0 {
			return "on the candidate of " + strings.Join(on, ", ")
		}
	case st == runner.StateGate && gating && len(p.asked.On) > 0:
		if on := s.unmerged(p.asked.On); len(on) > 0 {
			return "on " + strings.Join(on, ", ")
		}
	case st == runner.StateGate && p.red:
		if on := s.unmerged(p.asked.On); len(on) > 0 {
			return "red on top of " + strings.Join(on, ", ") + ", waits for its result"
		}
		return "failed, waits for the candidates ahead"
	case st == runner.StateGate && !gating && !s.at(b.Key, runner.Rebase):
		return "waits to be checked"
	case st == runner.StatePublish:
		return "checked, waits to be merged"
	}
	return ""
}

// unmerged returns the numbers of the batches that are not merged.
func (s Standing) unmerged(keys []string) []string {
	return numbersOf(s.Summary, keys, runner.Passed)
}

// numbersOf returns the numbers of the batches with these keys, without those of the given states.
func numbersOf(s runner.Summary, keys []string, without ...runner.Status) []string {
	var out []string
	for _, k := range keys {
		for _, b := range s.Batches {
			if b.Key == k && !slices.Contains(without, runner.Status(b.State)) {
				out = append(out, ui.Sanitize(b.Number))
			}
		}
	}
	return out
}

// why returns the reason for the run's status, with the end of a pause; "" if there is none.
func (s Standing) why() string {
	why := ui.Sanitize(s.Reason)
	if s.Status != runner.RunPaused {
		return why
	}
	until := "until " + s.Until.UTC().Format("2006-01-02 15:04:05 MST")
	if s.zone != nil {
		until = "until " + s.Until.In(s.zone).Format("2006-01-02 15:04:05")
	}
	return strings.TrimSuffix(until+": "+why, ": ")
}

func (s Standing) agents() int {
	return lists.Count(s.running(""), func(x story.Span) bool { return x.Kind == story.Edit })
}

// parking describes what a batch waits for after its agent ended with e.
func parking(e runner.Event, now time.Time, zone *time.Location, why string) string {
	text := "waits for a person"
	if e.Outcome == runner.OutcomeLimited {
		text = "rate limit"
		if e.Outage {
			text = "outage"
		}
		why = strings.TrimPrefix(why, text+": ")
		if !e.RetryAt.IsZero() {
			text = "until " + clock(e.RetryAt, now, zone) + " (" + text + ")"
		}
	}
	if why != "" {
		text += ": " + why
	}
	return text
}

// clock formats a time of day, with the date if it is not today. Without a zone, it uses UTC and appends the zone
// name.
func clock(t, now time.Time, zone *time.Location) string {
	layout := "15:04 MST"
	if zone != nil {
		layout = "15:04"
	} else {
		zone = time.UTC
	}
	if t, now = t.In(zone), now.In(zone); !now.IsZero() && t.Format(time.DateOnly) != now.Format(time.DateOnly) {
		layout = time.DateOnly + " " + layout
	}
	return t.Format(layout)
}
