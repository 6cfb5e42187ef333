// Package report shows a run to people: as lines during the run ([Printer]), as a live board ([Board]), as the
// table of runplan status ([Status]), and as a permanent report ([Markdown], [HTML], with the picture of [SVG]).
//
// Its only inputs are a [runner.Summary] and events: it uses no clock and no disk. Unknown values are shown as
// unknown, never as 0. Skipped checks are shown as skipped, with the reason. Titles, reasons and findings come
// from plans, agents and tools, so this package cleans and escapes all of them.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
)

// none is the text for an empty value, as opposed to an unknown one.
const none = "–"

// Face is a displayed state: a word, and the tone that selects its color and icon.
type Face struct {
	Word string
	Tone ui.Tone
}

// Icon returns the sign of the tone, for templates.
func (f Face) Icon() string { return ui.Style{}.Icon(f.Tone) }

// faceOf returns the displayed state of batch b of run s. A batch is busy only while its run is live.
func faceOf(s runner.Summary, b runner.BatchSummary) Face {
	active := s.Status.Live()
	switch runner.Status(b.State) {
	case runner.Passed:
		return Face{"merged", ui.Good}
	case runner.Skipped:
		return Face{"skipped", ui.Muted}
	case runner.Failed:
		return Face{"failed", ui.Bad}
	case runner.Waiting:
		if s.Status == runner.RunFailed {
			return Face{"not run", ui.Idle}
		}
		return Face{"waiting", ui.Idle}
	}
	if slices.ContainsFunc(s.Waiting, func(a runner.Approval) bool { return a.Batch == b.Key }) {
		return Face{"to approve", ui.Warn}
	}
	if !active {
		return Face{"stopped", ui.Warn}
	}
	return Face{stateWord(runner.State(b.State)), ui.Busy}
}

// stateWord returns the word for a state of the loop.
func stateWord(s runner.State) string {
	words := map[runner.State]string{
		runner.StateRetrieve: "briefing", runner.StateBrief: "briefing", runner.StateEdit: "editing",
		runner.StateSample: "sampling", runner.StateSynthesize: "combining", runner.StateDebug: "debugging",
		runner.StateGate: "checking", runner.StateSelfReview: "reviewing", runner.StateFidelityReview: "reviewing",
		runner.StatePublish: "queued", runner.StateCommit: "committing",
		runner.StateMerge: "merging", runner.StateLearn: "merging",
	}
	if word, ok := words[s]; ok {
		return word
	}
	return strings.ReplaceAll(ui.Sanitize(string(s)), "_", " ")
}

// OutcomeOf returns the word for the status of a run, and its tone.
func OutcomeOf(s runner.Summary) Face {
	switch s.Status {
	case runner.RunDone:
		if s.Undone != "" {
			return Face{"done, undone by " + short(s.Undone), ui.Warn}
		}
		return Face{"done", ui.Good}
	case runner.RunDiscarded:
		return Face{"discarded", ui.Idle}
	case runner.RunFailed:
		return Face{"failed", ui.Bad}
	case runner.RunStopped:
		return Face{"stopped (" + stopWord(s.Stop) + ")", ui.Warn}
	case runner.RunPaused:
		return Face{"paused", ui.Warn}
	}
	return Face{"running", ui.Busy}
}

func stopWord(o runner.Outcome) string {
	switch o {
	case runner.OutcomeCancelled:
		return "interrupted"
	case runner.OutcomeLimited:
		return "a limit is reached"
	case runner.OutcomeHuman:
		return "a person is needed"
	case runner.OutcomeError:
		return "a tool could not run"
	}
	return strings.ReplaceAll(ui.Sanitize(string(o)), "_", " ")
}

type figures struct {
	runner.Tally
	total, attempts  int
	cost             float64
	priced, unpriced int  // batches that ran, by whether their cost is known
	review           bool // the cost of the final review is unknown
	before, after    *int
}

// Tests returns the number of tests before and after a run; nil if it is unknown.
func Tests(s runner.Summary) (before, after *int) {
	for _, b := range s.Batches {
		// The order of merges is unknown here, but merges never remove tests, so use the maximum.
		if n := b.TestsAfter; b.State == string(runner.Passed) && n != nil && (after == nil || *n > *after) {
			after = n
		}
		if n := b.TestsBefore; n != nil && (before == nil || *n < *before) {
			before = n
		}
	}
	return before, after
}

func figuresOf(s runner.Summary) figures {
	f := figures{Tally: s.Tally(), total: len(s.Batches)}
	f.before, f.after = Tests(s)
	for _, b := range s.Batches {
		f.attempts += b.Attempts
		switch {
		case !ran(b):
		case b.CostUSD == nil:
			f.unpriced++
		default:
			f.priced++
			f.cost += *b.CostUSD
		}
	}
	if s.ReviewCostUSD != nil {
		f.cost += *s.ReviewCostUSD
	}
	f.review = s.ReviewCostUSD == nil && s.Review != nil && len(s.Review.Reviewers) > 0
	return f
}

// unknown names what has an unknown cost; "" for nothing.
func (f figures) unknown() string {
	parts := some(count{f.unpriced, phrase.Noun(f.unpriced, "batch")})
	if f.review {
		parts = append(parts, "the final review")
	}
	return strings.Join(parts, " and ")
}

func (f figures) money() string {
	switch {
	case f.priced+f.unpriced == 0:
		return none
	case f.unknown() == "":
		return phrase.Money(f.cost)
	case f.priced == 0:
		return "unknown"
	}
	return fmt.Sprintf("%s + unknown", phrase.Money(f.cost))
}

// ran reports whether an agent of batch b has finished, so that a cost is expected.
func ran(b runner.BatchSummary) bool {
	settled := b.State == string(runner.Passed) || b.State == string(runner.Failed)
	return b.CostUSD != nil || b.Agent != "" && b.DurationMS > 0 || b.Attempts > 1 || b.Attempts == 1 && settled
}

func (f figures) counts() string {
	parts := []string{fmt.Sprintf("%d merged", f.Merged), fmt.Sprintf("%d skipped", f.Skipped),
		fmt.Sprintf("%d failed", f.Failed)}
	return strings.Join(append(parts, some(count{f.ToGo(), "to go"})...), ", ")
}

// brief formats the non-zero counts, for places with little room.
func (f figures) brief() string {
	parts := []string{fmt.Sprintf("%d merged", f.Merged)}
	parts = append(parts, some(count{f.Skipped, "skipped"}, count{f.Failed, "failed"}, count{f.ToGo(), "to go"})...)
	return strings.Join(parts, ", ")
}

// count is a number of things with what they are.
type count struct {
	n    int
	what string
}

func some(counts ...count) []string {
	var out []string
	for _, c := range counts {
		if c.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return out
}

// CostOf returns the cost of a batch in words: "–" before an agent has worked, "unknown" if it was not reported.
func CostOf(b runner.BatchSummary) string {
	switch {
	case b.CostUSD != nil:
		return phrase.Money(*b.CostUSD)
	case !ran(b):
		return none
	}
	return "unknown"
}

func agentName(agent, model string) string {
	agent, model = ui.Sanitize(agent), ui.Sanitize(model)
	if model != "" {
		return agent + "/" + model
	}
	return agent
}

func testsOf(before, after *int) string {
	switch {
	case before == nil && after == nil:
		return none
	case before == nil:
		return fmt.Sprintf("%d", *after)
	case after == nil:
		return fmt.Sprintf("%d→?", *before)
	}
	return fmt.Sprintf("%d→%d", *before, *after)
}

func delta(n int, before *int) string {
	if before == nil || n == *before {
		return ""
	}
	return fmt.Sprintf(" (%+d)", n-*before)
}

func skipping(why string) string {
	if why = ui.Sanitize(why); strings.HasPrefix(why, "(") {
		return "skipped " + why
	}
	return "skipped, " + why
}

func short(commit string) string {
	return cells.Cut(ui.Sanitize(commit), 7, "")
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// titleOf returns the title of a run, or else its plan.
func titleOf(s runner.Summary) string {
	if t := ui.Sanitize(s.Title); t != "" {
		return t
	}
	return ui.Sanitize(s.Plan)
}

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

func candidateFace(c *runner.CandidateSummary, atWork bool) Face {
	faces := map[string]Face{
		"won": {"won", ui.Good}, "passed": {"passed", ui.Good}, "failed": {"failed", ui.Bad},
		"void": {"cancelled", ui.Muted}, "edited": {"checking", ui.Busy},
	}
	if f, ok := faces[c.State]; ok {
		return f
	}
	if atWork {
		return Face{"editing", ui.Busy}
	}
	return Face{"waiting", ui.Idle}
}

func candidateWhy(c *runner.CandidateSummary) string {
	if c.Score != nil && (c.State == "won" || c.State == "passed") {
		return scoreText(*c.Score, c.Terms)
	}
	return ui.Sanitize(c.Reason)
}
