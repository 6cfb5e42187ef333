package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

type tournament struct {
	Batch      string
	Verdict    string
	Candidates []contestRow
}

type contestRow struct {
	Face
	Batch, Number, Variant, Points, Why string
}

// tournaments returns the last tournament of each batch that had one.
func tournaments(s runner.Summary) []tournament {
	var out []tournament
	for _, b := range s.Batches {
		if len(b.Candidates) == 0 {
			continue
		}
		x := tournament{Batch: ui.Sanitize(b.Number), Verdict: ui.Sanitize(b.Sampling)}
		for _, c := range b.Candidates {
			row := contestRow{candidateFace(c, false), x.Batch, fmt.Sprint(c.Number), ui.Sanitize(c.Variant), none,
				candidateWhy(c)}
			if c.Score != nil && row.Tone == ui.Good {
				row.Points = points(*c.Score)
				_, row.Why, _ = strings.Cut(row.Why, " = ")
			}
			x.Candidates = append(x.Candidates, row)
		}
		out = append(out, x)
	}
	return out
}

func markdownTournaments(b *strings.Builder, s runner.Summary) {
	all := tournaments(s)
	if len(all) == 0 {
		return
	}
	b.WriteString(
		"\n## Tournaments\n\n| batch | candidate | variant | result | points | made of |\n|--:|--:|---|---|--:|---|\n")
	for _, x := range all {
		for _, c := range x.Candidates {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", md(c.Batch), c.Number, md(c.Variant), toneWords(c.Face),
				c.Points, md(c.Why))
		}
	}
	for _, x := range all {
		if x.Verdict != "" {
			fmt.Fprintf(b, "\nBatch %s: %s\n", md(x.Batch), md(x.Verdict))
		}
	}
}

// SamplingLog describes the tournaments of a run: the candidates and the reasons, the terms of each score, and the
// winner.
func SamplingLog(events []runner.Event) []Line {
	var p Printer
	var out []Line
	for _, e := range events {
		p.Lines(e)
		say := func(t ui.Tone, format string, args ...any) {
			out = append(out, Line{t, ui.Sanitize(fmt.Sprintf(format, args...))})
		}
		name := p.name(e.Batch, e.Title)
		switch {
		case e.Kind == runner.Sampled && e.Outcome == runner.OutcomeOK:
			say(ui.Busy, "%s attempt %d: %s compete: %s", name, e.Attempt, phrase.Count(len(e.Slots), "candidate"),
				cmp.Or(e.Reason, "no reason given"))
			for _, s := range e.Slots {
				say(ui.Idle, "%s: %s", candidateName(s.Number, s.Variant), cmp.Or(s.Why, "no reason given"))
			}
		case e.Kind == runner.Sampled && e.Reason != "":
			say(ui.Muted, "%s attempt %d: %s", name, e.Attempt, e.Reason)
		case e.Kind == runner.Judged:
			for _, s := range e.Scores {
				if !p.once(fmt.Sprintf("terms %s %d %d %d", e.Batch, e.Attempt, s.Candidate, s.Score)) {
					continue // as in the first round
				}
				tone, terms := termByTerm(s)
				say(tone, "%s: %s", candidateName(s.Candidate, s.Variant), terms)
			}
			tone, verdict := ui.Bad, "no candidate wins"
			switch e.Outcome {
			case runner.OutcomeOK:
				tone, verdict = ui.Good, fmt.Sprintf("candidate %d wins", e.Candidate)
			case runner.OutcomeUndecided:
				tone, verdict = ui.Idle, "a synthesis is made"
			}
			say(tone, "%s attempt %d: %s: %s", name, e.Attempt, verdict, e.Reason)
		}
	}
	return out
}

// termByTerm returns the tone of a score, and formats it with its measurements and points: "1 312 points: tests 12 adds 120, diff 51 adds 192".
func termByTerm(s runner.CandScore) (ui.Tone, string) {
	if s.Void != "" {
		return ui.Muted, "no verdict: " + s.Void
	}
	if !s.Passed {
		return ui.Bad, "did not pass its gates"
	}
	var terms []string
	for _, t := range s.Terms {
		if t.Name == "tests" && t.Value == 0 { // unknown, or none counted
			terms = append(terms, "tests none counted")
			continue
		}
		terms = append(terms, fmt.Sprintf("%s %d adds %s", t.Name, t.Value, points(t.Points)))
	}
	text := points(s.Score) + " points"
	if len(terms) > 0 {
		text += ": " + strings.Join(terms, ", ")
	}
	return ui.Good, text
}
