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
	Tests            int  `json:"tests"`      // that pass, and belong to the change or were there before (SAMP-06)
	DiffLines        int  `json:"diff_lines"` // added and removed
	LintWarnings     int  `json:"lint_warnings"`
	LessonViolations int  `json:"lesson_violations"`
	ASTViolations    int  `json:"ast_violations"` // findings of structural patterns

	// Unknown names the inputs that no gate could measure, by the names of the score expression. They count as 0, which
	// is alike for all candidates of a batch; the explanation says so.
	Unknown []string `json:"unknown,omitempty"`
}

// inputs are the names that a score expression may use.
type inputs struct {
	Tests   int `expr:"tests"`
	Diff    int `expr:"diff"`
	Lint    int `expr:"lint"`
	Lessons int `expr:"lessons"`
	AST     int `expr:"ast"`
}

// in returns the inputs of a score. Negative counts become 0.
func (m Measure) in() inputs {
	return inputs{max(m.Tests, 0), max(m.DiffLines, 0), max(m.LintWarnings, 0), max(m.LessonViolations, 0), max(m.ASTViolations, 0)}
}

// DefaultScore is SAMP-04 as an expression: what [Score] computes, for settings that want to start from it.
const DefaultScore = "10*tests + 10000/(diff + 1) + 1000/(lint + 1) - 200*lessons - 100*ast"

// Score rates a candidate (SAMP-04): tests count most, small and clean changes are better than large ones. What did not
// pass its gates has 0, which is no rank: it is not eligible, even against a passer with less than 0. Divisions round
// down. Sums that are too large for an int stay at the largest one.
func Score(m Measure) int {
	if !m.Passed {
		return 0
	}
	sum := 0
	for _, t := range terms(m.in()) {
		sum = condition.Add(sum, t.Points)
	}
	return sum
}

// Term is one part of a score, for people.
type Term struct {
	Name   string `json:"name"`   // as in the expression
	Value  int    `json:"value"`  // what was measured
	Points int    `json:"points"` // what it adds
	Text   string `json:"text"`   // "12 tests: 10 × 12"
}

func terms(in inputs) []Term {
	per := func(n int) int { return condition.Add(n, 1) }
	return []Term{
		{"tests", in.Tests, condition.Mul(10, in.Tests), fmt.Sprintf("%s: 10 × %d", phrase.Count(in.Tests, "passing test"), in.Tests)},
		{"diff", in.Diff, condition.FloorDiv(10000, per(in.Diff)), fmt.Sprintf("%s: 10000 / %d", phrase.Count(in.Diff, "changed line"), per(in.Diff))},
		{"lint", in.Lint, condition.FloorDiv(1000, per(in.Lint)), fmt.Sprintf("%s: 1000 / %d", phrase.Count(in.Lint, "lint warning"), per(in.Lint))},
		{"lessons", in.Lessons, condition.Mul(-200, in.Lessons), fmt.Sprintf("%s: -200 × %d", phrase.Count(in.Lessons, "violation of lessons", "violations of lessons"), in.Lessons)},
		{"ast", in.AST, condition.Mul(-100, in.AST), fmt.Sprintf("%s: -100 × %d", phrase.Count(in.AST, "violation of patterns", "violations of patterns"), in.AST)},
	}
}

// Scorer rates candidates by the built-in score or by an expression of the settings. Its zero value is the built-in.
type Scorer struct{ own *condition.Integer[inputs] }

// NewScorer compiles [sampling] score. An empty text means the built-in score. The names are tests, diff, lint,
// lessons and ast; integer division rounds down. Errors name the column.
func NewScorer(text string) (Scorer, error) {
	if squeeze(text) == "" || squeeze(text) == squeeze(DefaultScore) {
		return Scorer{}, nil
	}
	own, err := condition.ParseInteger[inputs](text)
	if err != nil {
		return Scorer{}, fmt.Errorf("[sampling] score: %w; the names are tests, diff, lint, lessons and ast", err)
	}
	// A candidate without lint warnings is no surprise, and a tournament is a bad place to find out.
	if _, err := own.Value(inputs{}); err != nil {
		return Scorer{}, fmt.Errorf("[sampling] score has no value where nothing was counted: %w; write (lint + 1) instead of lint under a division", err)
	}
	return Scorer{own}, nil
}

func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

// String is the expression.
func (s Scorer) String() string {
	if s.own == nil {
		return DefaultScore
	}
	return s.own.String()
}

// Score rates a candidate. What did not pass has 0. It is an error where the expression has no value for it.
func (s Scorer) Score(m Measure) (int, error) {
	if s.own == nil || !m.Passed {
		return Score(m), nil
	}
	v, err := s.own.Value(m.in())
	if err != nil {
		return 0, fmt.Errorf("[sampling] score: %w", err)
	}
	return v, nil
}

// Explain returns the terms of a score. The points of the built-in score are the sum of its terms. An expression
// in the settings is one term, "score", followed by its inputs without points.
func (s Scorer) Explain(m Measure) []Term {
	if !m.Passed {
		return []Term{{Name: "gates", Text: "a gate failed: 0 points, and not eligible"}}
	}
	out := terms(m.in())
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
