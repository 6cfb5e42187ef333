package guess

import (
	"math/rand/v2"
	"testing"
)

// example shows four parts of twelve lines, of which the given one is edited at a line.
func example(edited, line int) Trials {
	parts := make([]Part, 4)
	for i := range parts {
		parts[i] = Part{Path: "a.go", Lines: 12}
	}
	parts[edited].Edits = []Quote{{At: line, Lines: 1}}
	return Try(parts)
}

// written returns how many of 300 examples are written if none is that makes a guess better than chance, and their
// trials.
func written(draw func(*rand.Rand) (edited, line int)) (n int, all Trials) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		if more := example(draw(rng)); !all.Tell(more) {
			n, all = n+1, all.Plus(more)
		}
	}
	return n, all
}

// Edits at random places are all written. If many are at one place, some of these are not, and no guess is better than
// chance.
func TestNoGuessOfWrittenExamplesIsBetter(t *testing.T) {
	often := func(likely, other int, rng *rand.Rand) int {
		if rng.IntN(2) == 0 {
			return likely
		}
		return other
	}
	for name, c := range map[string]struct {
		draw        func(*rand.Rand) (edited, line int)
		least, most int
	}{
		"anywhere":       {func(r *rand.Rand) (int, int) { return r.IntN(4), r.IntN(12) }, 290, 300},
		"the first part": {func(r *rand.Rand) (int, int) { return often(0, r.IntN(4), r), r.IntN(12) }, 150, 270},
		"the last part":  {func(r *rand.Rand) (int, int) { return often(3, r.IntN(4), r), r.IntN(12) }, 150, 270},
		"the last line":  {func(r *rand.Rand) (int, int) { return r.IntN(4), often(11, r.IntN(12), r) }, 150, 270},
	} {
		n, all := written(c.draw)
		if n < c.least || n > c.most {
			t.Errorf("%s: %d of 300 examples are written; want %d to %d", name, n, c.least, c.most)
		}
		for i, way := range Names() {
			if x := all[i]; float64(x.Hits) > x.Chance+x.Limit() {
				t.Errorf("%s: %q is right %d times, %.0f by chance", name, way, x.Hits, x.Chance)
			}
		}
	}
}

func TestTryCountsEachEditedPart(t *testing.T) {
	got := Try([]Part{{"a.go", 10, []Quote{{0, 1}}}, {"a.go", 20, nil}, {"b.go", 10, []Quote{{9, 1}}}, {"b.go", 10, nil}})
	for i, want := range []int{1, 0, 1, 0, 1, 1} { // first, last, middle, longest, shortest, busiest file
		if x := got[i]; x.N != 1 || x.Hits != want || x.Chance != 0.5 {
			t.Errorf("%s: %+v, want %d hits and a chance of a half", Names()[i], x, want)
		}
	}
	if first := got[len(picks)+3]; first.N != 2 || first.Hits != 1 {
		t.Errorf("%s: %+v, want one hit of two", Names()[len(picks)+3], first)
	}
	if none := Try([]Part{{"a.go", 10, nil}}); none[0].N != 0 {
		t.Errorf("an example without edits counts: %+v", none[0])
	}
}
