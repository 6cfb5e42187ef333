package sampling

import (
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/planparse"
)

func names(slots []Slot) string {
	var out []string
	for _, s := range slots {
		name := s.Variant.Name
		if s.Digest {
			name += "+digest"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

var testTime = time.Date(2026, 2, 21, 12, 5, 0, 0, time.UTC)

// rows returns n outcomes of a variant, of which the first few won.
func rows(batchType, variant string, won, n int) []Outcome {
	var out []Outcome
	for i := range n {
		out = append(out, Outcome{BatchType: batchType, Variant: variant, Won: i < won, Timestamp: testTime})
	}
	return out
}

// SAMP-03: slots come from a fixed list until the batch type has ten outcomes. SAMP-10 defines the pool.
func TestColdStartUsesFixedSlots(t *testing.T) {
	for want, ask := range map[string]Ask{
		"vanilla":                           {"refactoring", 1, true},
		"vanilla different-approach+digest": {"refactoring", 2, true},
		"vanilla check-all-imports":         {"new-file", 2, false},
		"vanilla minimal-change":            {"no such type", 2, false},
		"":                                  {"new-file", 0, true},
		"vanilla different-approach+digest minimal-change+digest":                                                           {"new-file", 3, true},
		"vanilla different-approach+digest minimal-change+digest check-all-imports+digest write-tests-first+digest":         {"new-file", 5, true},
		"vanilla different-approach+digest minimal-change+digest run-tests-after-each-edit+digest write-tests-first+digest": {"refactoring", 5, true},
		"vanilla check-all-imports write-tests-first":                                                                       {"new-file", 3, false},
		"vanilla minimal-change run-tests-after-each-edit":                                                                  {"refactoring", 3, false},
		"vanilla trace-end-to-end check-every-import-export":                                                                {"integration-wiring", 3, false},
		"vanilla real-objects-not-mocks edge-cases-only":                                                                    {"test-only", 3, false},
		"vanilla real-objects-not-mocks edge-cases-only minimal-change run-tests-after-each-edit":                           {"test-only", 5, false},
	} {
		slots := Allocate(ask, rows(ask.BatchType, Vanilla, 9, 9), Rand(1, "1"), DefaultOptions())
		if got := names(slots); got != want {
			t.Errorf("%+v: %q, want %q", ask, got, want)
		}
		for i, s := range slots {
			if s.Number != i+1 || s.Why == "" || (s.Kind == KindVanilla) != (i == 0) || i > 0 && s.Kind != KindCold {
				t.Errorf("%+v: slot %d is %+v", ask, i+1, s)
			}
		}
	}
	slots := Allocate(Ask{"refactoring", 2, true}, rows("refactoring", Vanilla, 2, 4), Rand(1, "1"), DefaultOptions())
	if want := "fixed list: 4 of 10 outcomes of refactoring batches"; slots[1].Why != want {
		t.Errorf("%q, want %q", slots[1].Why, want)
	}
}

// Learning starts with the tenth outcome of the batch type. Outcomes of other types, and of syntheses, do not count.
func TestLearningStartsAtTenthOutcome(t *testing.T) {
	nine := rows("refactoring", MinimalChange, 9, 9)
	nine = append(nine, rows("new-file", MinimalChange, 50, 50)...)
	nine = append(nine, Outcome{BatchType: "refactoring", Variant: Synthesis, Won: true})
	nine = append(nine, Outcome{BatchType: "refactoring", Variant: "x", Kind: KindSynthesis, Won: true})
	ask := Ask{"refactoring", 3, true}
	kinds := func(slots []Slot) (out []Kind) {
		for _, s := range slots {
			out = append(out, s.Kind)
		}
		return out
	}
	if diff := cmp.Diff([]Kind{KindVanilla, KindCold, KindCold},
		kinds(Allocate(ask, nine, Rand(1, "1"), DefaultOptions()))); diff != "" {
		t.Error(diff)
	}
	ten := append(nine, rows("refactoring", Vanilla, 0, 1)...)
	for n, want := range map[int][]Kind{
		1: {KindVanilla},
		2: {KindVanilla, KindExperimental},
		3: {KindVanilla, KindLearned, KindExperimental},
		4: {KindVanilla, KindLearned, KindLearned, KindExperimental},
	} {
		if diff := cmp.Diff(want,
			kinds(Allocate(Ask{"refactoring", n, true}, ten, Rand(1, "1"), DefaultOptions()))); diff != "" {
			t.Errorf("%d: %s", n, diff)
		}
	}
}

// For any request, the number of slots is right, vanilla comes first and never gets the digest, no variant repeats
// while others are free, different-approach needs a digest, and the same seed gives the same slots.
func TestSlotAllocationInvariants(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	types := []string{"new-file", "refactoring", "integration-wiring", "test-only", ""}
	all := variants(t)
	for range 3000 {
		ask := Ask{types[rng.IntN(len(types))], 1 + rng.IntN(16), rng.IntN(2) == 0}
		var history []Outcome
		for range rng.IntN(60) {
			history = append(history,
				Outcome{BatchType: types[rng.IntN(len(types))], Variant: all[rng.IntN(len(all))].Name, Won: rng.IntN(3) == 0})
		}
		seed := rng.Uint64()
		slots := Allocate(ask, history, Rand(seed, "4"), DefaultOptions())
		if diff := cmp.Diff(slots, Allocate(ask, history, Rand(seed, "4"), DefaultOptions())); diff != "" {
			t.Fatalf("%+v: the same seed gives other slots: %s", ask, diff)
		}
		seen := map[string]bool{}
		for i, s := range slots {
			name := s.Variant.Name
			switch {
			case s.Number != i+1, s.Why == "", i == 0 && name != Vanilla:
				t.Fatalf("%+v: slot %d is %+v", ask, i+1, s)
			case s.Digest != (ask.Digest && name != Vanilla), name == DifferentApproach && !ask.Digest:
				t.Fatalf("%+v: %s and the digest: %+v", ask, name, s)
			case seen[name] && (name != Vanilla || i < 6):
				t.Fatalf("%+v: %s is repeated: %s", ask, name, names(slots))
			case name != Vanilla && s.Variant.Prompt == "":
				t.Fatalf("%s has no prompt", name)
			}
			seen[name] = true
		}
		if len(slots) != ask.Count {
			t.Fatalf("%+v: %d slots", ask, len(slots))
		}
	}
}

// The variant with the most wins gets the learned slot most of the time, and no variant is abandoned.
func TestLearnedSlotFollowsWins(t *testing.T) {
	history := slices.Concat(rows("new-file", WriteTestsFirst, 12, 20), rows("new-file", CheckAllImports, 2, 20),
		rows("new-file", MinimalChange, 2, 20), rows("new-file", DifferentApproach, 0, 20))
	o := DefaultOptions()
	o.Forget = 0
	learned, random := map[string]int{}, map[string]int{}
	for seed := range uint64(2000) {
		for _, s := range Allocate(Ask{"new-file", 3, true}, history, Rand(seed, "2"), o) {
			switch s.Kind {
			case KindLearned:
				learned[s.Variant.Name]++
			case KindExperimental:
				random[s.Variant.Name]++
			}
		}
	}
	if learned[WriteTestsFirst] < 1950 {
		t.Errorf("too few learned slots have the best variant: %v", learned)
	}
	for _, name := range []string{CheckAllImports, MinimalChange, DifferentApproach} {
		if n := random[name]; n < 550 || n > 800 {
			t.Errorf("experimental slots are not evenly distributed: %v", random)
		}
	}
}

// Old outcomes lose weight: a variant that won long ago ranks below one that wins now.
func TestOldOutcomesLoseWeight(t *testing.T) {
	history := append(rows("t", MinimalChange, 100, 100), rows("t", MinimalChange, 0, 100)...)
	o := DefaultOptions()
	o.Forget = 0.02
	r := Records("t", history, o)[MinimalChange]
	// Sums of 0.98^k, for k from 0 to 99 and from 100 to 199.
	if r.Won != 100 || r.Lost != 100 || math.Abs(r.Losses-43.369) > 0.001 || math.Abs(r.Wins-5.752) > 0.001 {
		t.Errorf("%+v", r)
	}
	o.Forget = 0
	if r := Records("t", history, o)[MinimalChange]; r.Wins != 100 || r.Losses != 100 {
		t.Errorf("nothing is forgotten with 0: %+v", r)
	}
}

// Draws have the mean and the variance of the Beta distribution.
func TestBeta(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, p := range [][2]float64{{1, 1}, {1, 9}, {3.5, 1}, {40, 60}} {
		const n = 40000
		a, b := p[0], p[1]
		sum, squares := 0.0, 0.0
		for range n {
			x := beta(rng, a, b)
			if !(x >= 0 && x <= 1) {
				t.Fatalf("Beta(%g, %g) gave %g", a, b, x)
			}
			sum, squares = sum+x, squares+x*x
		}
		mean, variance := sum/n, squares/n-sum/n*sum/n
		wantMean, wantVariance := a/(a+b), a*b/((a+b)*(a+b)*(a+b+1))
		if math.Abs(mean-wantMean) > 5*math.Sqrt(wantVariance/n) || math.Abs(variance/wantVariance-1) > 0.05 {
			t.Errorf("Beta(%g, %g): mean %g, variance %g; want %g, %g", a, b, mean, variance, wantMean, wantVariance)
		}
	}
}

// Each batch has its own random source, which does not depend on the batches sampled before it.
func TestRandDependsOnSeedAndBatch(t *testing.T) {
	if Rand(1, "4").Uint64() != Rand(1, "4").Uint64() || Rand(1, "4").Uint64() == Rand(1, "5").Uint64() ||
		Rand(1, "4").Uint64() == Rand(2, "4").Uint64() {
		t.Error("seed and batch do not make the source")
	}
}

// variants returns all variants.
func variants(t *testing.T) []Variant {
	t.Helper()
	var out []Variant
	for _, name := range []string{
		Vanilla, DifferentApproach, MinimalChange, CheckAllImports, WriteTestsFirst, RunTestsAfterEdit,
		TraceEndToEnd, CheckImportExport, RealObjects, EdgeCasesOnly,
	} {
		v, ok := Named(name)
		if !ok {
			t.Fatalf("there is no variant %s", name)
		}
		out = append(out, v)
	}
	return out
}

// Each variant has its own directive, and each batch type of the parser has a pool.
func TestVariants(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range variants(t) {
		if seen[v.Prompt] || (v.Prompt == "") != (v.Name == Vanilla) {
			t.Errorf("%s has no directive of its own: %q", v.Name, v.Prompt)
		}
		seen[v.Prompt] = true
	}
	if len(seen) != 10 {
		t.Errorf("%d variants", len(seen))
	}
	for _, name := range []string{"", "no-such", Synthesis, "../prompts/minimal-change"} {
		if v, ok := Named(name); ok {
			t.Errorf("%q is %+v", name, v)
		}
	}
	other := pool("")
	for _, batchType := range []planparse.BatchType{planparse.TypeNewFile, planparse.TypeRefactoring, planparse.TypeWiring,
		planparse.TypeTestOnly} {
		p := pool(string(batchType))
		if len(p) != 3 || p[0] != Vanilla || cmp.Equal(p, other) {
			t.Errorf("%s: %v", batchType, p)
		}
	}
}

// The prompts folder contains only prompts, and each of them is used.
func TestPromptFiles(t *testing.T) {
	set, err := prompt.LoadEmbedded("sampling", prompts)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range set.Names() {
		if _, ok := Named(name); !ok && name != Synthesis {
			t.Errorf("%s.md is not the directive of a variant", name)
		}
	}
	files, err := fs.ReadDir(prompts, "prompts")
	// vanilla has no file; the synthesis and the writer of tests have one each
	if err != nil || len(files) != len(variants(t))+1 {
		t.Errorf("%d files for %d variants (%v)", len(files), len(variants(t)), err)
	}
}
