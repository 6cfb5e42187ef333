package sampling

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/condition"
	"github.com/runplan/runplan/internal/phrase"
)

// Measure holds the gate measurements of a candidate.
type Measure struct {
	Passed           bool `json:"passed"`     // no gate blocks
	Tests            int  `json:"tests"`      // passed tests, new or existing (SAMP-06)
	DiffLines        int  `json:"diff_lines"` // added and removed
	LintWarnings     int  `json:"lint_warnings"`
	LessonViolations int  `json:"lesson_violations"`
	ASTViolations    int  `json:"ast_violations"` // findings of structural patterns

	// Unknown lists the inputs that no gate could measure, by their names in the score expression. They count as 0 for all
	// candidates of a batch, and the explanation says so.
	Unknown []string `json:"unknown,omitempty"`

	// Evidence holds the results of the other candidates' tests; nil if none could run.
	Evidence *Evidence `json:"evidence,omitempty"`
}

// inputs are the names that a score expression may use.
type inputs struct {
	Tests   int `expr:"tests"`
	Diff    int `expr:"diff"`
	Lint    int `expr:"lint"`
	Lessons int `expr:"lessons"`
	AST     int `expr:"ast"`
	Own     int `expr:"own"`
	Agreed  int `expr:"agreed"`
	Held    int `expr:"held"`

	Likely   int `expr:"likely"`
	Compared int `expr:"compared"` // 1 if there is evidence
}

// in returns the inputs of a score. Negative counts become 0.
func (m Measure) in() inputs {
	in := inputs{
		Tests: max(m.Tests, 0), Diff: max(m.DiffLines, 0), Lint: max(m.LintWarnings, 0),
		Lessons: max(m.LessonViolations, 0), AST: max(m.ASTViolations, 0),
	}
	if e := m.Evidence; e != nil {
		in.Own, in.Agreed, in.Held = max(e.Own, 0), min(max(e.Agreed, 0), 100), min(max(e.Held, 0), 100)
		in.Likely, in.Compared = min(max(e.Likely, 0), 100), 1
	}
	return in
}

// The points if candidates were compared. Without a comparison, many tests and a small diff count most; even a change
// without effect has those.
const (
	pointsLikely = 100 // for each percent of the chance that the candidate is right
	pointsLine   = 10  // for each changed line, up to mostLines: to break ties
	mostLines    = 10
)

// DefaultScore is SAMP-04 with the evidence as an expression, equal to [Score], as a template for settings.
const DefaultScore = "(compared > 0 ? 100*likely + 10*min(diff, 10) : 10*tests + 10000/(diff + 1))" +
	" + 1000/(lint + 1) - 200*lessons - 100*ast"

// Score rates a candidate (SAMP-04): tests count most, small and clean changes are better than large ones. A candidate
// that did not pass its gates has 0 and is not eligible: a candidate that passed wins against it even with a score
// below 0. Divisions round down. Sums saturate at the largest int.
func Score(m Measure) int {
	if !m.Passed {
		return 0
	}
	sum := 0
	for _, t := range m.terms() {
		sum = condition.Add(sum, t.Points)
	}
	return sum
}

// Term is one part of a score, for people.
type Term struct {
	Name   string `json:"name"`   // as in the expression
	Value  int    `json:"value"`  // the measured value
	Points int    `json:"points"` // what it adds
	Text   string `json:"text"`   // "12 tests: 10 × 12"
}

// terms returns the terms of SAMP-04. If candidates were compared, tests give no points, changed lines give at most
// pointsLine * mostLines, and the terms of the evidence follow.
func (m Measure) terms() []Term {
	in := m.in()
	per := func(n int) int { return condition.Add(n, 1) }
	count := func(name string, n int) string { return MeaningOf(name).Value(n) }
	tests := Term{"tests", in.Tests, condition.Mul(10, in.Tests),
		fmt.Sprintf("%s: 10 × %d", count("tests", in.Tests), in.Tests)}
	diff := Term{"diff", in.Diff, condition.FloorDiv(10000, per(in.Diff)),
		fmt.Sprintf("%s: 10000 / %d", count("diff", in.Diff), per(in.Diff))}
	if in.Compared > 0 {
		tests.Points, tests.Text = 0, count("tests", in.Tests)+": no points, because candidates were compared"
		lines := min(in.Diff, mostLines)
		diff.Points, diff.Text = pointsLine*lines,
			fmt.Sprintf("%s: %d × %d", count("diff", in.Diff), pointsLine, lines)
	}
	list := []Term{tests, diff,
		{"lint", in.Lint, condition.FloorDiv(1000, per(in.Lint)),
			fmt.Sprintf("%s: 1000 / %d", count("lint", in.Lint), per(in.Lint))},
		{"lessons", in.Lessons, condition.Mul(-200, in.Lessons),
			fmt.Sprintf("%s: -200 × %d", count("lessons", in.Lessons), in.Lessons)},
		{"ast", in.AST, condition.Mul(-100, in.AST), fmt.Sprintf("%s: -100 × %d", count("ast", in.AST), in.AST)},
	}
	return append(list, m.Evidence.terms(in)...)
}

// terms returns the terms of the evidence, none for nil.
func (e *Evidence) terms(in inputs) []Term {
	if e == nil {
		return nil
	}
	list := []Term{{"own", in.Own, 0, MeaningOf("own").Value(in.Own)}}
	if e.Others > 0 {
		list = append(list, Term{"agreed", in.Agreed, 0,
			fmt.Sprintf("passes %d %% of %s of other candidates", in.Agreed, phrase.Count(e.Others, "test"))})
	}
	if e.Kept > 0 {
		list = append(list, Term{"held", in.Held, 0,
			fmt.Sprintf("passes %d %% of %s", in.Held, phrase.Count(e.Kept, "held-out test"))})
	}
	return append(list, Term{"likely", in.Likely, pointsLikely * in.Likely,
		fmt.Sprintf("right with a chance of %d %%, by all tests: %d × %d", in.Likely, pointsLikely, in.Likely)})
}

// Meaning describes a term of [Scorer.Explain] for people.
type Meaning struct {
	One, Many string // the counted thing; One is "" for a term without a count
	Percent   bool   // the value is a percentage, not a count
	Worth     string // points for one of it in the built-in score
}

// Value formats a value of the term: "12 passing tests" or "93 %". It returns "" for a term without a value.
func (m Meaning) Value(n int) string {
	switch {
	case m.Percent:
		return fmt.Sprintf("%d %%", n)
	case m.One == "":
		return ""
	}
	return phrase.Count(n, m.One, m.Many)
}

// MeaningOf returns the meaning of the term with the given name. For an unknown term it returns the name.
func MeaningOf(name string) Meaning {
	const evidence = "no points of its own; it affects the probability that the candidate is right"
	switch name {
	case "tests":
		return Meaning{One: "passing test", Many: "passing tests", Worth: "10 points each; none if candidates were compared"}
	case "diff":
		return Meaning{One: "changed line", Many: "changed lines",
			Worth: "10000 points, divided by the lines plus 1: a small change is worth more; " +
				"if candidates were compared, 10 points for each of the first 10 lines"}
	case "lint":
		return Meaning{One: "lint warning", Many: "lint warnings", Worth: "1000 points, divided by the warnings plus 1"}
	case "lessons":
		return Meaning{One: "violation of lessons", Many: "violations of lessons", Worth: "200 points less each"}
	case "ast":
		return Meaning{One: "violation of patterns", Many: "violations of patterns", Worth: "100 points less each"}
	case "own":
		return Meaning{One: "own test that fails without its change", Many: "own tests that fail without its change",
			Worth: evidence}
	case "agreed":
		return Meaning{Many: "passing tests of other candidates", Percent: true, Worth: evidence}
	case "held":
		return Meaning{Many: "passing held-out tests", Percent: true, Worth: evidence}
	case "likely":
		return Meaning{Many: "chance that the candidate is right", Percent: true, Worth: "100 points for each percent"}
	case "score":
		return Meaning{Many: "score of the settings", Worth: "the expression [sampling] score, with the inputs below"}
	case "gates":
		return Meaning{Many: "gates", Worth: "a gate failed: 0 points, and not eligible"}
	}
	return Meaning{Many: name}
}

// Scorer rates candidates by the built-in score or by an expression in the settings. Its zero value uses the built-in
// score.
type Scorer struct {
	own *condition.Expression[inputs, int]
}

// NewScorer compiles [sampling] score. An empty text means the built-in score. The names are tests, diff, lint,
// lessons, ast, own, agreed, held, likely and compared; integer division rounds down. Errors name the column.
func NewScorer(text string) (Scorer, error) {
	if squeeze(text) == "" || squeeze(text) == squeeze(DefaultScore) {
		return Scorer{}, nil
	}
	own, err := condition.ParseInteger[inputs](text)
	if err != nil {
		return Scorer{}, fmt.Errorf("sampling.score: %w", err)
	}
	// A candidate without lint warnings is normal, and the error must not appear only in a tournament.
	if _, err := own.Value(inputs{}); err != nil {
		return Scorer{}, fmt.Errorf(
			"sampling.score has no value if all counts are 0: %w; write (lint + 1) instead of lint as a divisor",
			err)
	}
	return Scorer{own}, nil
}

func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

// String returns the expression.
func (s Scorer) String() string {
	if s.own == nil {
		return DefaultScore
	}
	return s.own.String()
}

// Score rates a candidate. A failed candidate has 0. It returns an error if the expression has no value for the
// candidate.
func (s Scorer) Score(m Measure) (int, error) {
	if s.own == nil || !m.Passed {
		return Score(m), nil
	}
	v, err := s.own.Value(m.in())
	if err != nil {
		return 0, fmt.Errorf("sampling.score: %w", err)
	}
	return v, nil
}

// Explain returns the terms of a score. The points of the built-in score are the sum of its terms. An expression
// in the settings is one term, "score", followed by its inputs without points.
func (s Scorer) Explain(m Measure) []Term {
	if !m.Passed {
		return []Term{{Name: "gates", Text: "a gate failed: 0 points, and not eligible"}}
	}
	out := m.terms()
	if s.own != nil {
		v, err := s.Score(m)
		whole := Term{Name: "score", Value: v, Points: v, Text: s.String()}
		if err != nil {
			whole.Text = err.Error()
		}
		for i := range out {
			label, _, _ := strings.Cut(out[i].Text, ":")
			out[i].Points, out[i].Text = 0, label
		}
		out = append([]Term{whole}, out...)
	}
	for i, t := range out {
		if slices.Contains(m.Unknown, t.Name) {
			out[i].Text += " (not measured, counted as 0)"
		}
	}
	return out
}
