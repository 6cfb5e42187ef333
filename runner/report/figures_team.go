package report

import (
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
)

// isTeam reports whether the batches of a run may run concurrently.
func isTeam(s runner.Summary) bool { return s.Mode == string(routing.Team) }

// worked returns the total time of all attempts, checks and merges, in milliseconds: the sequential duration of
// the run.
func worked(s runner.Summary) int64 {
	var sum int64
	for _, b := range s.Batches {
		sum += b.DurationMS
	}
	return sum
}

// realSpeedUp returns the factor by which a team was faster than sequential work, or 0 before the run is done.
func realSpeedUp(s runner.Summary) float64 {
	if !isTeam(s) || s.Status != runner.RunDone || s.DurationMS <= 0 {
		return 0
	}
	return float64(worked(s)) / float64(s.DurationMS)
}

// times formats a speed-up: "2.7×", or "unknown".
func times(f float64) string {
	if f <= 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.1f×", f)
}

// modeOf formats the mode of a run: "headless", or "team, 4 workers".
func modeOf(s runner.Summary) string {
	mode := ui.Sanitize(s.Mode)
	if isTeam(s) && s.Workers > 0 {
		mode += ", " + phrase.Count(s.Workers, "worker")
	}
	return mode
}

// decisionOf formats the mode with its score, and the predicted and real speed-up (RUN-08).
func decisionOf(s runner.Summary) string {
	text := modeOf(s)
	if !isTeam(s) {
		return text
	}
	text += fmt.Sprintf(", score %d, predicted %s", s.Score, times(s.SpeedUp))
	if real := realSpeedUp(s); real > 0 {
		text += ", real " + times(real)
	}
	return text
}

// escalation returns the planned and the final tier of a batch, with their names from the configuration. Both are
// equal without an escalation.
func escalation(b runner.BatchSummary) (from, to string) {
	from = ui.Sanitize(b.Routed)
	tier, known := routing.TierOf(b.Routed)
	now := ui.Sanitize(b.Tier)
	switch {
	case from == "" || now == "" || known && tier == b.Tier:
		return from, from
	case !known: // a model by name: whether its tier changed is unknown
		from += " (" + now + ")"
		return from, from
	case from != tier:
		return from, routing.Alias(now)
	}
	return from, now
}

// tierOf formats the tier column: "haiku", "haiku → sonnet (escalated)".
func tierOf(b runner.BatchSummary) string {
	from, to := escalation(b)
	if from == to {
		return from
	}
	return from + " → " + to + " (escalated)"
}

// points formats a score in groups of three digits: 1 312.
func points(n int) string {
	s := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return sign + s
}

// scoreText formats a score with its terms: "1 312 points = tests 120 + diff 909 + lint 1 000 - lessons 200". It
// omits terms of zero.
func scoreText(score int, terms []runner.ScoreTerm) string {
	text := points(score) + " points"
	var b strings.Builder
	for _, t := range terms {
		switch {
		case t.Points < 0:
			b.WriteString(" - ")
		case t.Points == 0:
			continue
		case b.Len() > 0:
			b.WriteString(" + ")
		}
		b.WriteString(ui.Sanitize(t.Name) + " " + strings.TrimPrefix(points(t.Points), "-"))
	}
	if b.Len() == 0 {
		return text
	}
	return text + " = " + strings.TrimPrefix(b.String(), " ")
}

// candidateFace returns the display state of a candidate.
func candidateFace(c *runner.CandidateSummary, atWork bool) face {
	faces := map[string]face{
		"won": {"won", ui.Good}, "passed": {"passed", ui.Good}, "failed": {"failed", ui.Bad},
		"void": {"cancelled", ui.Muted}, "edited": {"checking", ui.Busy},
	}
	if f, ok := faces[c.State]; ok {
		return f
	}
	if atWork {
		return face{"editing", ui.Busy}
	}
	return face{"waiting", ui.Idle}
}

// candidateWhy returns the score of a candidate, or the reason of its failure.
func candidateWhy(c *runner.CandidateSummary) string {
	if c.Score != nil && (c.State == "won" || c.State == "passed") {
		return scoreText(*c.Score, c.Terms)
	}
	return ui.Sanitize(c.Reason)
}
