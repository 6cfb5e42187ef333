package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// Board draws a run for the live view. The map has the last line of output of each batch, by key.
func Board(s Standing, lastLine map[string]string, now time.Time) ui.Board {
	f := figuresOf(s.Summary)
	b := ui.Board{
		Title: titleOf(s.Summary), Subtitle: strings.Join(about(s.Summary, modeOf(s.Summary)), ", "),
		Elapsed: millis(s.DurationMS), Done: !s.Status.Live(),
	}
	if !b.Done {
		// The pauses between the sessions of a run do not count.
		b.Started = s.Updated.Add(-b.Elapsed)
		b.Elapsed = max(b.Elapsed, now.Sub(b.Started))
	}
	for _, x := range s.Batches {
		b.Rows = append(b.Rows, row(s, x, ui.Sanitize(lastLine[x.Key])))
	}
	line := f.brief()
	if c := f.money(); c != none {
		line += ", cost " + c
	}
	if isTeam(s.Summary) && s.Course != nil && !b.Done {
		line += fmt.Sprintf("; %d of %d workers busy", s.agents(), s.Workers)
	}
	if real := realSpeedUp(s.Summary); real > 0 {
		line += fmt.Sprintf("; speed-up %s, predicted %s", times(real), times(s.SpeedUp))
	}
	b.Footer = append(b.Footer, line)
	for _, a := range s.Waiting {
		if !b.Done { // the end of the run has it
			b.Footer = append(b.Footer, "waits for a person: runplan approve "+ui.Sanitize(a.ID))
		}
	}
	if s.Status == runner.RunPaused {
		b.Footer = append(b.Footer, "paused "+s.why())
	}
	if b.Done && s.Reason != "" {
		b.Footer = append(b.Footer, OutcomeOf(s.Summary).Word)
	}
	return b
}

func asks(s runner.Summary, b runner.BatchSummary) string {
	return ui.Sanitize(lists.First(s.Waiting, func(a runner.Approval) bool { return a.Batch == b.Key }).Question)
}

// about returns facts about a run, besides its title.
func about(s runner.Summary, mode string) []string {
	out := []string{phrase.Count(len(s.Batches), "batch")}
	if s.Agent != "" {
		out = append(out, "agent "+ui.Sanitize(s.Agent))
	}
	if mode != "" {
		out = append(out, mode)
	}
	if s.Branch != "" {
		out = append(out, "branch "+ui.Sanitize(s.Branch))
	}
	return out
}

func row(s Standing, b runner.BatchSummary, last string) ui.Row {
	f, still := s.face(b)
	r := ui.Row{
		Number: ui.Sanitize(b.Number), Label: ui.Sanitize(b.Title),
		State: f.Word, Tone: f.Tone, Still: still, Started: b.Started, Elapsed: millis(b.DurationMS),
	}
	switch {
	case f.Tone == ui.Good:
		r.Marks, r.Detail = marks(b), short(b.Commit)
		if b.Attempts > 1 {
			r.Detail += fmt.Sprintf(", %d attempts", b.Attempts)
		}
		won := func(c *runner.CandidateSummary) bool { return c.State == "won" }
		if c := lists.First(b.Candidates, won); c != nil {
			r.Detail += fmt.Sprintf(", candidate %d of %d won", c.Number, len(b.Candidates))
		}
	case f.Tone == ui.Busy || still:
		r.Marks, r.Detail = s.candidates(b), s.now(b)
		if still {
			last = ""
		} else if b.Attempts > 1 {
			r.State += fmt.Sprintf(" #%d", b.Attempts)
		}
		if r.Detail == "" && last == "" && b.Reason != "" {
			r.Detail = "last attempt: " + b.Reason
		}
		if r.Detail != "" && last != "" {
			r.Detail += ": "
		}
		r.Detail += last
	case f.Tone == ui.Idle:
		if after := due(s.Summary, b); len(after) > 0 {
			r.Detail = "after " + strings.Join(after, ", ")
		}
	case asks(s.Summary, b) != "":
		r.Detail = asks(s.Summary, b)
	case f.Tone == ui.Warn:
		r.Detail = "while " + stateWord(runner.State(b.State))
		if b.Reason != "" {
			r.Detail += ": " + b.Reason
		}
	default:
		r.Detail = b.Reason
	}
	return r
}

// candidates are the marks of a tournament that is in progress: "✓ c1 1 312", "● c2", "✗ c3".
func (s Standing) candidates(b runner.BatchSummary) []ui.Mark {
	st := runner.State(b.State)
	if st != runner.StateSample && st != runner.StateSynthesize {
		return nil
	}
	atWork := lists.SetBy(s.running(b.Key), func(x story.Span) int { return x.Candidate })
	var out []ui.Mark
	all := b.Candidates
	for _, n := range slices.Sorted(maps.Keys(atWork)) { // the round number is 2 until an event has it
		if n > 0 && !slices.ContainsFunc(all, func(c *runner.CandidateSummary) bool { return c.Number == n }) {
			all = append(slices.Clone(all), &runner.CandidateSummary{Number: n})
		}
	}
	for _, c := range all {
		text := fmt.Sprintf("c%d", c.Number)
		if c.Score != nil && c.State == "passed" {
			text += " " + points(*c.Score)
		}
		out = append(out, ui.Mark{Text: text, Tone: candidateFace(c, atWork[c.Number]).Tone})
	}
	return out
}

// marks are the gates of a merged batch that ran. The end of the run lists the skipped ones.
func marks(b runner.BatchSummary) []ui.Mark {
	var out []ui.Mark
	for _, g := range gateViews(b) {
		if !g.Skipped {
			out = append(out, ui.Mark{Text: g.Text, Tone: g.Tone})
		}
	}
	return out
}

// due returns the numbers of the batches that b still waits for.
func due(s runner.Summary, b runner.BatchSummary) []string {
	return numbersOf(s, b.Needs, runner.Passed, runner.Skipped)
}
