package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// StatusLines writes a run for programs that read lines, and for logs: the routing decision of each batch with its
// result, and the totals (RUN-08).
//
//	Batch 6: small-->medium (escalated) --> PASSED (45s, 3 tests added)
func StatusLines(w io.Writer, runs []Standing) error {
	var b strings.Builder
	for _, s := range runs {
		word := outcomeOf(s.Summary).word
		if s.Status == runner.RunPaused {
			word += " " + s.why()
		}
		fmt.Fprintf(&b, "Run %s: %s: %s\n", ui.Sanitize(s.Run), titleOf(s.Summary), word)
		if mode := decisionOf(s.Summary); mode != "" {
			fmt.Fprintf(&b, "Mode: %s\n", mode)
		}
		for _, x := range s.Batches {
			b.WriteString(resultLine(s, x) + "\n")
			for _, c := range x.Candidates {
				line := fmt.Sprintf("Batch %s candidate %d: %s --> %s", ui.Sanitize(x.Number), c.Number, ui.Sanitize(c.Variant),
					strings.ToUpper(candidateFace(c, false).word))
				if why := candidateWhy(c); why != "" {
					line += " (" + why + ")"
				}
				b.WriteString(line + "\n")
			}
		}
		b.WriteString("Total: " + strings.TrimPrefix(totals(s.Summary), "total: ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func resultLine(s Standing, b runner.BatchSummary) string {
	line := "Batch " + ui.Sanitize(b.Number) + ": "
	if from, to := escalation(b); from != "" && b.State != string(runner.Skipped) {
		line += from
		if to != from {
			line += "-->" + to + " (escalated)"
		}
		line += " --> "
	}
	f, _ := s.face(b)
	word := strings.ToUpper(f.word)
	if b.State == string(runner.Passed) {
		word = "PASSED"
	}
	if facts := resultFacts(s, b); len(facts) > 0 {
		word += " (" + strings.Join(facts, ", ") + ")"
	}
	return line + word
}

func resultFacts(s Standing, b runner.BatchSummary) []string {
	var out []string
	if b.DurationMS > 0 {
		out = append(out, ui.Duration(millis(b.DurationMS)))
	}
	if b.Attempts > 1 {
		out = append(out, fmt.Sprintf("%d attempts", b.Attempts))
	}
	if b.State == string(runner.Passed) {
		return append(out, testsAdded(b))
	}
	why := ui.Sanitize(b.Reason)
	if runner.Status(b.State) == runner.Skipped {
		why = strings.Trim(why, "()")
	} else if s.Status.Live() && b.State != string(runner.Failed) {
		why = cmp.Or(s.now(b), why)
	}
	if why != "" {
		out = append(out, why)
	}
	return out
}

// testsAdded describes a batch's effect on the tests. An unknown count is not 0.
func testsAdded(b runner.BatchSummary) string {
	switch {
	case b.TestsAfter == nil:
		return "tests not counted"
	case b.TestsBefore == nil:
		return phrase.Count(*b.TestsAfter, "test") + ", before unknown"
	}
	switch n := *b.TestsAfter - *b.TestsBefore; {
	case n == 0:
		return "no tests added"
	case n < 0:
		return phrase.Count(-n, "test") + " fewer"
	default:
		return phrase.Count(n, "test") + " added"
	}
}
