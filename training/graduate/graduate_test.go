package graduate

import (
	"testing"
	"time"

	"github.com/runplan/runplan/gates/blueprint/lifecycle"
)

func generations(n int, divergence float64, promoted int, alike int) []Generation {
	var out []Generation
	yes, no := true, false
	wrong := func(dimension string) lifecycle.Discrepancy {
		return lifecycle.Discrepancy{Dimension: dimension, Severity: lifecycle.Minor}
	}
	for i := range n {
		g := Generation{Unit: "u", At: time.Unix(int64(i), 0), Divergence: divergence, Promoted: &no, SelfKnown: true}
		if i < promoted {
			g.Promoted = &yes
		}
		// The reviewer finds two classes in each generation; the adapter's own review finds the same in the first
		// ones, and one class less in the others.
		g.Reviewer = []lifecycle.Discrepancy{wrong("contract"), wrong("intent")}
		g.Self = g.Reviewer
		if i >= alike {
			g.Self = g.Reviewer[:1]
		}
		out = append(out, g)
	}
	return out
}

// TRAIN-29: each threshold, from both sides.
func TestGraduationThresholds(t *testing.T) {
	for name, c := range map[string]struct {
		list []Generation
		want [3]bool
	}{
		"all of it":                {generations(10, 0.10, 10, 10), [3]bool{true, true, true}},
		"divergence on the border": {generations(10, 0.15, 10, 10), [3]bool{true, true, true}},
		"divergence above it":      {generations(10, 0.1501, 10, 10), [3]bool{false, true, true}},
		"nine generations":         {generations(9, 0.10, 9, 9), [3]bool{false, true, true}},
		"only the last ten count": {append(generations(1, 1, 1, 1), generations(10, 0.10, 10, 10)...),
			[3]bool{true, true, true}},
		"eight of ten promoted":            {generations(10, 0.10, 8, 10), [3]bool{true, true, true}},
		"seven of ten promoted":            {generations(10, 0.10, 7, 10), [3]bool{true, false, true}},
		"nobody agrees fully":              {generations(10, 0.10, 10, 0), [3]bool{true, true, false}}, // 5 of 10 classes
		"four were assessed":               {generations(4, 0.10, 4, 4), [3]bool{false, true, false}},
		"nothing":                          {nil, [3]bool{false, false, false}},
		"in five, one of ten classes less": {generations(5, 0.10, 5, 4), [3]bool{false, true, true}},  // 9 of 10 = 0.90
		"in five, two of ten classes less": {generations(5, 0.10, 5, 3), [3]bool{false, true, false}}, // 8 of 10
	} {
		t.Run(name, func(t *testing.T) {
			if name == "only the last ten count" {
				c.list[0].At = time.Unix(-1, 0)
			}
			got := Judge(1, c.list, 7)
			for i, f := range got.Figures {
				if f.Met != c.want[i] {
					t.Errorf("%s: %v (%v of %d, %s), want %v", f.Name, f.Met, f.Value, f.Of, f.Why, c.want[i])
				}
				if f.Met && f.Value == nil || f.Value == nil && f.Why == "" {
					t.Errorf("%s is met and unknown, or unknown without a reason: %+v", f.Name, f)
				}
			}
			if got.Met != (c.want == [3]bool{true, true, true}) {
				t.Errorf("met: %v", got.Met)
			}
		})
	}
}

func TestUndecidedGenerationsDoNotCount(t *testing.T) {
	list := generations(10, 0.1, 8, 10)
	list[9].Promoted = nil // one of the two that were not promoted
	if f := firstPass(list); f.Of != 9 || *f.Value != 0.888889 {
		t.Errorf("%+v", f)
	}
}

func TestEmptyReviewsAgree(t *testing.T) {
	list := generations(5, 0, 5, 5)
	for i := range list {
		list[i].Reviewer, list[i].Self = nil, nil
	}
	if f := agreement(list, 1); !f.Met || *f.Value != 1 {
		t.Errorf("%+v", f)
	}
	// an observation costs nothing and is not a class
	list[0].Self = []lifecycle.Discrepancy{{Dimension: "intent", Severity: lifecycle.Observation}}
	if f := agreement(list, 1); *f.Value != 1 {
		t.Errorf("%+v", f)
	}
}

// An adapter has graduated if its last two cycles met all criteria.
func TestGraduated(t *testing.T) {
	yes, no := Cycle{Met: true}, Cycle{}
	for _, c := range []struct {
		cycles []Cycle
		want   bool
	}{
		{nil, false}, {[]Cycle{yes}, false}, {[]Cycle{yes, yes}, true}, {[]Cycle{yes, no}, false}, {[]Cycle{no, yes}, false},
		{[]Cycle{yes, no, yes}, false}, {[]Cycle{no, yes, yes}, true}, {[]Cycle{yes, yes, no}, false},
	} {
		if got := Graduated(c.cycles); got != c.want {
			t.Errorf("%+v: %v", c.cycles, got)
		}
	}
}

// TRAIN-30: before graduation every generation is reviewed, afterwards every fifth.
func TestAuditDue(t *testing.T) {
	for n := 1; n <= 15; n++ {
		if !AuditDue(false, n) {
			t.Errorf("generation %d is not checked, although the stage has not graduated", n)
		}
		if got, want := AuditDue(true, n), n == 5 || n == 10 || n == 15; got != want {
			t.Errorf("generation %d after graduation: %v", n, got)
		}
	}
}
