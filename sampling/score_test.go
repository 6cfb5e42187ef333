package sampling

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/condition"
)

// docs/sampling.md contains the default score expression unchanged, and each name that an expression may use. Each of
// these names has a meaning for people; compared only selects between two scores and is no term.
func TestDocsContainDefaultScore(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "sampling.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n"+DefaultScore+"\n") {
		t.Errorf("docs/sampling.md does not have %s", DefaultScore)
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[inputs]()) {
		name := field.Tag.Get("expr")
		if !strings.Contains(string(text), "\n| `"+name+"` | ") {
			t.Errorf("docs/sampling.md does not describe %s", name)
		}
		if m := MeaningOf(name); name != "compared" && (m.Worth == "" || m.Value(3) == "") {
			t.Errorf("the name %s has no meaning or no value: %+v", name, m)
		}
	}
}

// SAMP-04: scores computed by hand.
func TestScore(t *testing.T) {
	for name, c := range map[string]struct {
		m    Measure
		want int
	}{
		"nothing at all": {Measure{Passed: true}, 11000},
		"an ordinary change": {Measure{Passed: true, Tests: 12, DiffLines: 79, LintWarnings: 3},
			120 + 125 + 250},
		"divisions round down":        {Measure{Passed: true, DiffLines: 2, LintWarnings: 2}, 3333 + 333},
		"a large diff counts nothing": {Measure{Passed: true, Tests: 1, DiffLines: 10000, LintWarnings: 1000}, 10},
		"the last line that counts":   {Measure{Passed: true, DiffLines: 9999, LintWarnings: 999}, 2},
		"violations cost more than they win": {Measure{Passed: true, Tests: 3, DiffLines: 99, LintWarnings: 9,
			LessonViolations: 2, ASTViolations: 3}, 30 + 100 + 100 - 400 - 300},
		"a gate failed": {Measure{Tests: 1000}, 0},
		"largest tests": {Measure{Passed: true, Tests: math.MaxInt, DiffLines: math.MaxInt,
			LintWarnings: math.MaxInt}, math.MaxInt},
		"largest violations": {Measure{Passed: true, LessonViolations: math.MaxInt,
			ASTViolations: math.MaxInt}, -math.MaxInt},
		"less than nothing is nothing": {Measure{Passed: true, Tests: -5, DiffLines: -1, LintWarnings: math.MinInt,
			LessonViolations: -3, ASTViolations: -1}, 11000},
	} {
		if got := Score(c.m); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		if got, err := (Scorer{}).Score(c.m); err != nil || got != c.want {
			t.Errorf("%s: the scorer says %d (%v)", name, got, err)
		}
		sum := 0
		for _, term := range (Scorer{}).Explain(c.m) {
			sum = condition.Add(sum, term.Points)
		}
		if sum != c.want {
			t.Errorf("%s: the terms add up to %d, want %d", name, sum, c.want)
		}
	}
}

// The built-in score, written as an expression, gives the same result for small and very large inputs.
func TestExpressionMatchesBuiltInScore(t *testing.T) {
	own, err := condition.ParseInteger[inputs](DefaultScore)
	if err != nil {
		t.Fatal(err)
	}
	s := Scorer{own}
	rng := rand.New(rand.NewPCG(4, 4))
	n := func() int {
		switch rng.IntN(8) {
		case 0:
			return 0
		case 1:
			return math.MaxInt - rng.IntN(3)
		case 2:
			return int(rng.Uint64() >> (1 + rng.IntN(63)))
		}
		return rng.IntN(2000)
	}
	for range 10_000 {
		m := Measure{Passed: rng.IntN(10) > 0, Tests: n(), DiffLines: n(), LintWarnings: n(), LessonViolations: n(),
			ASTViolations: n()}
		if rng.IntN(2) == 0 {
			m.Evidence = &Evidence{Own: n(), Agreed: rng.IntN(101), Held: rng.IntN(101), Others: rng.IntN(3), Kept: rng.IntN(3),
				Likely: rng.IntN(101)}
			m.LessonViolations, m.ASTViolations = rng.IntN(2000), rng.IntN(2000) // a sum that is too large depends on its order
			m.Evidence.Agreed *= min(m.Evidence.Others, 1)
			m.Evidence.Held *= min(m.Evidence.Kept, 1)
		}
		if got, err := s.Score(m); err != nil || got != Score(m) {
			t.Fatalf("%+v: the expression says %d (%v), the function %d", m, got, err, Score(m))
		}
	}
}

func TestCustomScore(t *testing.T) {
	s, err := NewScorer("tests > 0 ? 100*tests - diff/2 : -lint")
	if err != nil {
		t.Fatal(err)
	}
	m := Measure{Passed: true, Tests: 2, DiffLines: 5, LintWarnings: 7, Unknown: []string{"ast"}}
	if got, err := s.Score(m); err != nil || got != 198 {
		t.Errorf("%d (%v)", got, err)
	}
	want := []Term{
		{"score", 198, 198, "tests > 0 ? 100*tests - diff/2 : -lint"},
		{"tests", 2, 0, "2 passing tests"}, {"diff", 5, 0, "5 changed lines"}, {"lint", 7, 0, "7 lint warnings"},
		{"lessons", 0, 0, "0 violations of lessons"}, {"ast", 0, 0, "0 violations of patterns (not measured, counted as 0)"},
	}
	if diff := cmp.Diff(want, s.Explain(m)); diff != "" {
		t.Error(diff)
	}
	if got, err := s.Score(Measure{Tests: 9}); err != nil || got != 0 {
		t.Errorf("a failed candidate scores %d (%v)", got, err)
	}
}

// In an expression, percentages are from 0 to 100, counts are not negative, and compared is 0 without evidence.
func TestEvidenceInExpressions(t *testing.T) {
	for name, c := range map[string]struct {
		e    *Evidence
		want [5]int // own, agreed, held, likely, compared
	}{
		"none":       {nil, [5]int{}},
		"zero":       {&Evidence{}, [5]int{0, 0, 0, 0, 1}},
		"some":       {&Evidence{Own: 7, Agreed: 2, Held: 3, Likely: 4}, [5]int{7, 2, 3, 4, 1}},
		"too little": {&Evidence{Own: -1, Agreed: -1, Held: -1, Likely: -1}, [5]int{0, 0, 0, 0, 1}},
		"too much":   {&Evidence{Own: 101, Agreed: 101, Held: 101, Likely: 101}, [5]int{101, 100, 100, 100, 1}},
	} {
		for i, input := range []string{"own", "agreed", "held", "likely", "compared"} {
			s, err := NewScorer(input)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := s.Score(Measure{Passed: true, Evidence: c.e}); err != nil || got != c.want[i] {
				t.Errorf("%s: %s is %d (%v), want %d", name, input, got, err, c.want[i])
			}
		}
	}
}

func TestExplain(t *testing.T) {
	want := []Term{
		{"tests", 12, 120, "12 passing tests: 10 × 12"},
		{"diff", 79, 125, "79 changed lines: 10000 / 80"},
		{"lint", 0, 1000, "0 lint warnings: 1000 / 1 (not measured, counted as 0)"},
		{"lessons", 1, -200, "1 violation of lessons: -200 × 1"},
		{"ast", 2, -200, "2 violations of patterns: -100 × 2"},
	}
	m := Measure{Passed: true, Tests: 12, DiffLines: 79, LessonViolations: 1, ASTViolations: 2, Unknown: []string{"lint"}}
	if diff := cmp.Diff(want, Scorer{}.Explain(m)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Term{{Name: "gates", Text: "a gate failed: 0 points, and not eligible"}},
		Scorer{}.Explain(Measure{Tests: 3})); diff != "" {
		t.Error(diff)
	}
}

func TestNewScorer(t *testing.T) {
	for _, text := range []string{"", " \n", DefaultScore, squeeze(DefaultScore)} {
		if s, err := NewScorer(text); err != nil || s != (Scorer{}) || s.String() != DefaultScore {
			t.Errorf("%q is not the built-in score: %v (%v)", text, s, err)
		}
	}
	for text, want := range map[string]string{
		"10*test":          "unknown name test (1:4)",
		"tests > 1":        "expected a number",
		"tests +":          "(1:",
		"1000/lint":        "has no value if all counts are 0",
		"tests / 0.0":      "has no value if all counts are 0",
		"passed ? 1 : 2":   "unknown name passed",
		"tests + \"many\"": "mismatched types",
	} {
		if _, err := NewScorer(text); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "sampling.score") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	// Inputs of zero do not reveal every division by zero, so Score reports it too.
	s, err := NewScorer("100 / (tests - 3)")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Score(Measure{Passed: true, Tests: 3}); err == nil {
		t.Errorf("a division by zero is %d", v)
	}
	if terms := s.Explain(Measure{Passed: true, Tests: 3}); !strings.Contains(terms[0].Text, "division by zero") {
		t.Errorf("not explained: %+v", terms[0])
	}
}
