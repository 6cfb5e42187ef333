package report

import (
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// tournament is a tournament, ready to be shown.
type tournament struct {
	Batch      string
	Verdict    string
	Candidates []contestRow
}

type contestRow struct{ Batch, Number, Variant, State, Tone, Icon, Points, Why string }

// tournaments returns the last tournament of each batch that had one.
func tournaments(s runner.Summary) []tournament {
	var out []tournament
	for _, b := range s.Batches {
		if len(b.Candidates) == 0 {
			continue
		}
		x := tournament{Batch: ui.Sanitize(b.Number), Verdict: ui.Sanitize(b.Sampling)}
		for _, c := range b.Candidates {
			f := candidateFace(c, false)
			row := contestRow{
				Batch: x.Batch, Number: fmt.Sprint(c.Number), Variant: ui.Sanitize(c.Variant), State: f.word, Tone: string(f.tone),
				Icon:   ui.Style{}.Icon(f.tone),
				Points: none, Why: candidateWhy(c),
			}
			if c.Score != nil && f.tone == ui.Good {
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
			fmt.Fprintf(b, "| %s | %s | %s | %s %s | %s | %s |\n", md(c.Batch), c.Number, md(c.Variant), c.Icon, md(c.State),
				c.Points, md(c.Why))
		}
	}
	for _, x := range all {
		if x.Verdict != "" {
			fmt.Fprintf(b, "\nBatch %s: %s\n", md(x.Batch), md(x.Verdict))
		}
	}
}
