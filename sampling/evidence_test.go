package sampling

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWeighCountsOnlyTestsThatFailWithoutTheChange(t *testing.T) {
	got := Weigh([]int{1, 2, 3}, []CrossTest{
		{Author: 1, Name: "a", Passes: []int{1, 2}},
		{Author: 1, Name: "b", Passes: []int{1}},
		{Author: 2, Name: "c", Passes: []int{1, 2}},
		{Author: 3, Name: "empty", Base: true, Passes: []int{1, 2, 3}},
		{Author: 0, Name: "kept", Passes: []int{1}},
	})
	want := map[int]Evidence{
		1: {Own: 2, Agreed: 100, Held: 100, Others: 1, Kept: 1},
		2: {Own: 1, Agreed: 50, Others: 2, Kept: 1},
		3: {Own: 0, Agreed: 0, Others: 3, Kept: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnAuthorWithManyTestsHasNoMoreToSay(t *testing.T) {
	tests := []CrossTest{{Author: 1, Name: "right", Passes: []int{1, 3}}}
	for range 50 {
		tests = append(tests, CrossTest{Author: 2, Name: "padding", Passes: []int{2}})
	}
	if e := Weigh([]int{3}, tests)[3]; e.Agreed != 50 {
		t.Errorf("%+v", e)
	}
}

func TestEvidenceGoesBeforeASmallDiff(t *testing.T) {
	noise := Measure{Passed: true, Tests: 40, DiffLines: 0, Evidence: &Evidence{}}
	fix := Measure{Passed: true, Tests: 41, DiffLines: 60, LintWarnings: 5, Evidence: &Evidence{Own: 1}}
	if Score(noise) >= Score(fix) {
		t.Errorf("%d, %d", Score(noise), Score(fix))
	}
	var text []string
	for _, term := range (Scorer{}).Explain(Measure{Passed: true, Evidence: &Evidence{Own: 1, Agreed: 50, Others: 4}}) {
		text = append(text, term.Text)
	}
	if got := strings.Join(text[5:], "; "); got != "1 own test that fails without its change: 5000; passes 50 % of 4 tests of other candidates: 50 × 50" {
		t.Error(got)
	}
}

// One own test that fails without the change is as good as several: more of them are cheap to write.
func TestOwnTestsCountOnce(t *testing.T) {
	points := func(own int) int {
		for _, term := range (Measure{Passed: true, Evidence: &Evidence{Own: own}}).terms() {
			if term.Name == "own" {
				return term.Points
			}
		}
		return -1
	}
	if none, one, five := points(0), points(1), points(5); none != 0 || one != pointsOwn || five != pointsOwn {
		t.Error(none, one, five)
	}
}
