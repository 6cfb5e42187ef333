package sampling

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestWeighIgnoresTestsPassingOnBase(t *testing.T) {
	tests := []CrossTest{
		{Author: 1, Name: "a", Passes: []int{1, 2}},
		{Author: 1, Name: "b", Passes: []int{1}},
		{Author: 2, Name: "c", Passes: []int{1, 2}},
		{Author: 3, Name: "empty", Base: true, Passes: []int{1, 2, 3}},
		{Author: 0, Name: "kept", Passes: []int{1}},
	}
	got := Weigh([]int{1, 2, 3}, tests)
	want := map[int]Evidence{
		1: {Own: 2, Agreed: 100, Held: 100, Others: 1, Kept: 1},
		2: {Own: 1, Agreed: 50, Others: 2, Kept: 1},
		3: {Own: 0, Agreed: 0, Others: 3, Kept: 1},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Evidence{}, "Likely")); diff != "" {
		t.Error(diff)
	}
	for c, chance := range DefaultModel().Likely([]int{1, 2, 3}, tests) {
		if diff := float64(got[c].Likely) - 100*chance; diff > 0.5 || diff <= -0.5 {
			t.Errorf("candidate %d: %d %% for %v", c, got[c].Likely, chance)
		}
	}
}

func TestLikelyRanksCandidatesByTests(t *testing.T) {
	for name, c := range map[string]struct {
		tests []CrossTest
		order []int // the likeliest first
	}{
		"two agree, one is alone": {[]CrossTest{
			{Author: 1, Passes: []int{1, 2}}, {Author: 2, Passes: []int{1, 2}}, {Author: 3, Passes: []int{3}},
		}, []int{1, 3}},
		"the right one brings no test, and the wrong one's fails on it": {[]CrossTest{
			{Author: 2, Passes: []int{1, 2}}, {Author: 3, Passes: []int{3}},
		}, []int{1, 3}},
		"fifty tests of one are still one opinion": {append(slices.Repeat([]CrossTest{{Author: 3, Passes: []int{3}}}, 50),
			CrossTest{Author: 1, Passes: []int{1, 2}}, CrossTest{Author: 2, Passes: []int{1, 2}}), []int{1, 3}},
		"a held-out test decides": {[]CrossTest{{Author: 1, Passes: []int{1}}, {Author: 3, Passes: []int{3}},
			{Author: 0, Passes: []int{3}}}, []int{3, 1}},
		"tests that pass without the change say nothing": {[]CrossTest{
			{Author: 3, Base: true, Passes: []int{1, 2, 3}}, {Author: 1, Passes: []int{1, 2}},
		}, []int{1, 3}},
	} {
		got := DefaultModel().Likely([]int{1, 2, 3}, c.tests)
		if got[c.order[0]] <= got[c.order[1]] {
			t.Errorf("%s: %v", name, got)
		}
	}
	tests := []CrossTest{{Author: 1, Passes: []int{1, 2}}, {Author: 2, Passes: []int{2, 3}}, {Author: 0, Passes: []int{3}}}
	one, two := DefaultModel().Likely([]int{1, 2, 3}, tests), DefaultModel().Likely([]int{3, 2, 1}, tests)
	if diff := cmp.Diff(one, two, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("the order of the candidates matters: %s", diff)
	}
	if got := DefaultModel().Likely([]int{1, 2}, nil); got[1] != got[2] {
		t.Errorf("without a failed test they must be equal: %v", got)
	}
}

func TestWeighCountsAuthorsEqually(t *testing.T) {
	tests := []CrossTest{{Author: 1, Name: "right", Passes: []int{1, 3}}}
	for range 50 {
		tests = append(tests, CrossTest{Author: 2, Name: "padding", Passes: []int{2}})
	}
	if e := Weigh([]int{3}, tests)[3]; e.Agreed != 50 {
		t.Errorf("%+v", e)
	}
}

func TestEvidenceOutweighsSmallDiff(t *testing.T) {
	noise := Measure{Passed: true, Tests: 40, DiffLines: 0, Evidence: &Evidence{Likely: 20}}
	fix := Measure{Passed: true, Tests: 41, DiffLines: 60, LintWarnings: 5, Evidence: &Evidence{Own: 1, Likely: 60}}
	if Score(noise) >= Score(fix) {
		t.Errorf("%d, %d", Score(noise), Score(fix))
	}
}

// The terms of the evidence name only the kinds of tests that were tried.
func TestTermsOfEvidence(t *testing.T) {
	const own, likely = "1 own test that fails without its change", "right with a chance of 70 %, by all tests: 100 × 70"
	others := len((Scorer{}).Explain(Measure{Passed: true}))
	for name, c := range map[string]struct {
		e    Evidence
		want []string
	}{
		"none of others": {Evidence{Own: 1, Likely: 70}, []string{own, likely}},
		"of others": {Evidence{Own: 1, Agreed: 50, Others: 1, Likely: 70},
			[]string{own, "passes 50 % of 1 test of other candidates", likely}},
		"held-out tests": {Evidence{Own: 1, Held: 100, Kept: 1, Likely: 70},
			[]string{own, "passes 100 % of 1 held-out test", likely}},
	} {
		var got []string
		for _, term := range (Scorer{}).Explain(Measure{Passed: true, Evidence: &c.e}) {
			got = append(got, term.Text)
		}
		if diff := cmp.Diff(c.want, got[others:]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
