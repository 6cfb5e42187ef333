package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// Board draws a run for the live view. The map has the last line of output of each batch, by key.
func Board(s runner.Summary, lastLine map[string]string, now time.Time) ui.Board {
	f := figuresOf(s)
	b := ui.Board{
		Title: titleOf(s), Subtitle: strings.Join(about(s), ", "),
		Elapsed: millis(s.DurationMS), Done: s.Status != runner.RunActive,
	}
	if !b.Done {
		// The pauses between the sessions of a run do not count.
		b.Started = s.Updated.Add(-b.Elapsed)
		b.Elapsed = max(b.Elapsed, now.Sub(b.Started))
	}
	width := 0
	for _, x := range s.Batches {
		width = max(width, ui.Width(ui.Sanitize(x.Number)))
	}
	for _, x := range s.Batches {
		b.Rows = append(b.Rows, row(s, x, width, ui.Sanitize(lastLine[x.Key])))
	}
	line := f.counts()
	if c := f.money(); c != none {
		line += ", cost " + c
	}
	b.Footer = append(b.Footer, line)
	if b.Done && s.Reason != "" {
		b.Footer = append(b.Footer, outcomeOf(s).word+": "+s.Reason)
	}
	return b
}

// about is what a run is about, beside its title.
func about(s runner.Summary) []string {
	out := []string{fmt.Sprintf("%d %s", len(s.Batches), plural(len(s.Batches), "batch"))}
	if s.Agent != "" {
		out = append(out, "agent "+ui.Sanitize(s.Agent))
	}
	if s.Mode != "" {
		out = append(out, ui.Sanitize(s.Mode))
	}
	if s.Branch != "" {
		out = append(out, "branch "+ui.Sanitize(s.Branch))
	}
	return out
}

func row(s runner.Summary, b runner.BatchSummary, numbers int, last string) ui.Row {
	f := faceOf(s, b)
	r := ui.Row{
		Key: b.Key, Label: ui.PadLeft(ui.Sanitize(b.Number), numbers) + " " + ui.Sanitize(b.Title),
		State: f.word, Tone: f.tone, Started: b.Started, Elapsed: millis(b.DurationMS),
	}
	switch f.tone {
	case ui.Good:
		r.Marks, r.Detail = marks(b), short(b.Commit)
		if b.Attempts > 1 {
			r.Detail += fmt.Sprintf(", %d attempts", b.Attempts)
		}
	case ui.Busy:
		if b.Attempts > 1 {
			r.State += fmt.Sprintf(" #%d", b.Attempts)
		}
		r.Detail = last
		if r.Detail == "" && b.Reason != "" {
			r.Detail = "last attempt: " + b.Reason
		}
	case ui.Idle:
		if after := due(s, b); len(after) > 0 {
			r.Detail = "after " + strings.Join(after, ", ")
		}
	case ui.Warn:
		r.Detail = "while " + stateWord(runner.State(b.State))
	default:
		r.Detail = b.Reason
	}
	return r
}

func marks(b runner.BatchSummary) []ui.Mark {
	var out []ui.Mark
	apart, passed := telling(b.Gates)
	if n := len(passed); n > 0 {
		out = append(out, ui.Mark{Text: fmt.Sprintf("%d checks", n), Tone: ui.Good})
	}
	for _, g := range apart {
		text := ui.Sanitize(g.Gate)
		if n := testCount(g.Tests, b.TestsBefore); n != "" {
			text += " " + n
		}
		if g.Status == gates.Skipped {
			text += " skipped"
		}
		out = append(out, ui.Mark{Text: text, Tone: toneOf(g.Status)})
	}
	return out
}

// due returns the numbers of the batches that b still waits for.
func due(s runner.Summary, b runner.BatchSummary) []string {
	var out []string
	for _, need := range b.Needs {
		for _, x := range s.Batches {
			if st := runner.Status(x.State); x.Key == need && st != runner.Passed && st != runner.Skipped {
				out = append(out, ui.Sanitize(x.Number))
			}
		}
	}
	return out
}
