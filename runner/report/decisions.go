package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// Decisions turns the events of a run into lines of the decision log (ROUTE-10, ROUTE-11).
type Decisions struct {
	info  runner.Info
	tiers map[string]string   // of each batch, as its agent was last started
	on    map[string][]string // unmerged bases of each batch
	tests *int                // of the last batch that merged
	after map[string]int      // tests of each candidate
	files map[string]int

	contests story.Contests
	fold     runner.Fold
}

// Lines returns the lines for one event.
func (d *Decisions) Lines(e runner.Event) []routing.Line {
	if e.Job != nil {
		d.info = *e.Job
	}
	if d.tiers == nil || e.Kind == runner.RunStarted {
		d.tiers, d.on, d.after, d.files, d.contests = map[string]string{}, map[string][]string{}, map[string]int{},
			map[string]int{}, story.Contests{}
	}
	_ = d.fold.Apply(e) // the journal's reader reports this error in more detail
	var out []routing.Line
	say := func(kind routing.Kind, format string, args ...any) {
		out = append(out, routing.Line{Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	name := "B" + d.number(e.Batch)
	d.contests.Apply(e)
	switch e.Kind {
	case runner.Dispatched:
		d.started(e, name, say)
	case runner.Executed:
		if e.Outcome == runner.OutcomeOK {
			d.files[candidateKey(e)] = e.Files
		}
	case runner.Rebased:
		if e.Outcome == runner.OutcomeConflict {
			say(routing.LogMerge, "%s %s; nothing was merged", name, e.Reason)
		}
	case runner.Gated:
		d.gated(e, name, say)
	case runner.Tried:
		switch e.Outcome {
		case runner.OutcomeOK:
			say(routing.LogGatePass, "%s alone: it conflicts with changes merged meanwhile", name)
		case runner.OutcomeFailed:
			say(routing.LogGateFail, "%s attempt %d alone: %s", name, e.Attempt, e.Reason)
		}
	case runner.Sampled, runner.Judged:
		if won := candidateKey(e); e.Kind == runner.Judged && e.Outcome == runner.OutcomeOK {
			d.files[e.Batch] = d.files[won]
			if n, counted := d.after[won]; counted {
				d.after[e.Batch] = n
			}
		}
		say(routing.LogSample, "%s %s", name, strings.TrimSpace(e.Reason))
	case runner.Merged:
		if e.Outcome == runner.OutcomeOK {
			d.merged(e, name, say)
		}
	case runner.BatchPutBack:
		say(routing.LogSpeculateAbort, "%s is repeated: its base (%s) failed; %s", name, d.names(e.On), e.Reason)
		delete(d.on, e.Batch)
	case runner.Note:
		if text, ok := strings.CutPrefix(e.Reason, runner.FallbackNote); ok {
			say(routing.LogFallback, "%s", text)
		}
	case runner.RunFinished:
		if real := realSpeedUp(d.fold.Summary()); real > 0 {
			say(routing.LogMode, "%s", routing.SpeedUpText(d.info.SpeedUp, real))
		}
	}
	return out
}

func (d *Decisions) started(e runner.Event, name string, say func(routing.Kind, string, ...any)) {
	if !strings.HasSuffix(e.Command, "/"+string(runner.Execute)) {
		return
	}
	if e.Reason != "" {
		if n := d.contests.Candidate(e); n > 0 {
			name += fmt.Sprintf(" candidate %d", n)
		}
		say(routing.LogFallback, "%s continues with %s: %s", name, e.Agent, e.Reason)
	}
	if old := d.tiers[e.Batch]; e.Tier != "" {
		if old != "" && old != e.Tier {
			say(routing.LogEscalate, "%s %s-->%s (attempt %d)", name, labelOf(d.info, e.Batch, old),
				labelOf(d.info, e.Batch, e.Tier), e.Attempt)
		}
		d.tiers[e.Batch] = e.Tier
	}
	if len(e.On) > 0 {
		say(routing.LogSpeculate, "%s starts on the candidate of %s, whose gates have not passed yet", name, d.names(e.On))
		d.on[e.Batch] = slices.Clone(e.On)
	}
}

func (d *Decisions) gated(e runner.Event, name string, say func(routing.Kind, string, ...any)) {
	if e.Candidate > 0 {
		name += fmt.Sprintf(" candidate %d", e.Candidate)
	}
	switch e.Outcome {
	case runner.OutcomeOK:
		tests := "no tests counted"
		if e.Tests != nil {
			tests = fmt.Sprintf("tests %d", e.Tests.Passed)
			if d.tests != nil {
				tests = fmt.Sprintf("tests %d-->%d", *d.tests, e.Tests.Passed)
			}
			d.after[candidateKey(e)] = e.Tests.Passed
		}
		say(routing.LogGatePass, "%s %s", name, tests)
	case runner.OutcomeFailed:
		say(routing.LogGateFail, "%s attempt %d: %s", name, e.Attempt, e.Reason)
	}
}

func (d *Decisions) merged(e runner.Event, name string, say func(routing.Kind, string, ...any)) {
	if e.Commit != "" && e.Commit == e.Base {
		say(routing.LogMerge, "%s without a commit: %s already has its result", name, short(e.Base))
	} else {
		say(routing.LogMerge, "%s as %s: %s, no conflicts", name, short(e.Commit), phrase.Count(d.files[e.Batch], "file"))
	}
	if n, ok := d.after[e.Batch]; ok {
		d.tests = &n
	}
	for _, key := range slices.Sorted(maps.Keys(d.on)) {
		d.on[key] = slices.DeleteFunc(d.on[key], func(on string) bool { return on == e.Batch })
		if len(d.on[key]) == 0 {
			say(routing.LogSpeculateOK, "B%s: %s is merged, so its early start was right", d.number(key), name)
			delete(d.on, key)
		}
	}
}

// candidateKey separates the results of a tournament's candidate from those of the batch.
func candidateKey(e runner.Event) string {
	if e.Candidate == 0 {
		return e.Batch
	}
	return fmt.Sprintf("%s %d", e.Batch, e.Candidate)
}

func (d *Decisions) number(key string) string {
	for _, b := range d.info.Batches {
		if b.Key == key {
			return strings.TrimLeft(b.Number, "Bb")
		}
	}
	return key
}

func (d *Decisions) names(keys []string) string {
	return phrase.Join(keys, ", ", func(k string) string { return "B" + d.number(k) })
}
