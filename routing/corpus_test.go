package routing

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/planparse"
)

// The costs of the simulation: what an agent takes grows with the tasks of its batch and varies as agents do; gates
// follow; a team pays for each worktree and for the rebase onto what others merged.
const (
	gatesTake = 45 * time.Second
	mergeTake = 5 * time.Second
	roomTake  = 15 * time.Second
)

// offKnown and offUnknown bound the error of the simulation, as a part of the real speed-up, in nine runs of ten: where
// durations are known, and where all batches count as equally long. "make bench" measured them on 30 random graphs
// (docs/bench.md, "predicted speed-up").
const (
	offKnown   = 0.033
	offUnknown = 0.096
)

func batchTakes(r *rand.Rand, b *planparse.Batch) time.Duration {
	minutes := 3 * math.Pow(float64(max(len(b.Tasks), 1)), 0.7) * math.Exp(0.4*r.NormFloat64())
	return time.Duration(minutes*float64(time.Minute)) + gatesTake + mergeTake
}

// corpusPlan is a plan of the corpus, as if nothing of it were done: many are.
type corpusPlan struct {
	*planparse.Plan
	name string
}

func corpusPlans(t *testing.T) []corpusPlan {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "planparse", "testdata", "corpus", "files", "*", "*"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d plans, %v", len(files), err)
	}
	var plans []corpusPlan
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p, err := planparse.Parse(f, src)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Batches {
			for k := range p.Batches[i].Tasks {
				p.Batches[i].Tasks[k].Done = false
			}
			for k := range p.Batches[i].Steps {
				p.Batches[i].Steps[k].Done = false
			}
		}
		plans = append(plans, corpusPlan{p, filepath.Base(f)})
	}
	return plans
}

// earlierRuns are samples of what batches of each class take. They are drawn by themselves, and bear no title that
// would give away what a batch of the corpus takes.
func earlierRuns(plans []corpusPlan) []Sample {
	r := rand.New(rand.NewPCG(1, 1))
	var out []Sample
	for _, p := range plans {
		for i := range p.Batches {
			class, _, _, _ := classify(p.Plan, &p.Batches[i], DefaultRules())
			out = append(out, Sample{Run: p.name, Class: string(class), Duration: batchTakes(r, &p.Batches[i]), Passed: true,
				Attempts: 1})
		}
	}
	return out
}

// speedUp returns how many times faster team mode is than one batch after the other, simulated with the costs above. It
// is 1 where a team would be one worker.
func speedUp(t *testing.T, p corpusPlan, memory float64) float64 {
	t.Helper()
	d, err := Decide(p.Plan, Options{Mode: "team", Memory: machine(memory)})
	if err != nil {
		t.Fatal(p.name, err)
	}
	h := fnv.New64a()
	h.Write([]byte(p.name))
	r := rand.New(rand.NewPCG(h.Sum64(), 7))
	took, needs := map[string]time.Duration{}, map[string][]string{}
	var alone time.Duration
	for i, s := range d.Steps {
		takes := batchTakes(r, &p.Batches[i])
		if s.Skip == "" {
			alone += takes
			took[s.Batch], needs[s.Batch] = takes+roomTake, s.Needs
		}
	}
	if d.Workers < 2 || alone == 0 {
		return 1
	}
	return float64(alone) / float64(Makespan(took, needs, d.Workers))
}

// quicker says which mode ends first, or "" where the speed-up is within the error off of 1.
func quicker(up, off float64) Mode {
	switch {
	case up > 1+off:
		return Team
	case up < 1/(1+off):
		return Headless
	}
	return ""
}

// Over the corpus runplan names the mode that ends first by simulation in 95 of 100 decisions at least. A mode is named
// by being chosen, or, at scores of 20 to 60, by the advice that team mode would save a share of the time (ROUTE-05).
// Two modes within the error of the simulation are equal. The shares without the advice, and without the error, are
// printed as well.
func TestTheQuickerModeIsNamed(t *testing.T) {
	plans := corpusPlans(t)
	for _, tt := range []struct {
		name    string
		history []Sample
		off     float64
		chosen  float64 // least share of decisions that choose the quicker mode
	}{{"durations known", earlierRuns(plans), offKnown, 0.95}, {"first run", nil, offUnknown, 0.80}} {
		var all, raw, chosen, named, equal, teams, advised int
		var foretold []float64
		for _, p := range plans {
			for _, memory := range []float64{16, 64} {
				d, err := Decide(p.Plan, Options{TeamsEnabled: true, Memory: machine(memory), History: tt.history})
				if err != nil {
					t.Fatal(p.name, err)
				}
				up := speedUp(t, p, memory)
				is := func(m Mode, off float64) int {
					if q := quicker(up, off); q == "" || q == m {
						return 1
					}
					return 0
				}
				told := d.Mode
				if d.TeamSaves > 0 {
					told = Team
					advised++
					foretold = append(foretold, math.Abs(1/(1-d.TeamSaves/100)-up)/up)
				}
				all++
				raw += is(d.Mode, 0)
				chosen += is(d.Mode, tt.off)
				named += is(told, tt.off)
				if quicker(up, tt.off) == "" {
					equal++
				}
				if d.Mode == Team {
					teams++
				}
				if is(d.Mode, tt.off) == 0 {
					t.Logf("%s, %.0f GB: %s, a team is %.2f times as fast; %s", p.name, memory, d.Mode, up,
						cmp.Or(strings.Join(d.Reasons, "; "), "no reason"))
				}
			}
		}
		share := func(n int) float64 { return 100 * float64(n) / float64(all) }
		t.Logf("%s: %d decisions, %d for a team, %d headless with advice", tt.name, all, teams, advised)
		t.Logf("  the quicker mode is chosen, by any difference:              %5.1f %%", share(raw))
		t.Logf("  the quicker mode is chosen, differences above %.1f %% count:   %5.1f %% (%d are equal)", 100*tt.off,
			share(chosen), equal)
		t.Logf("  the quicker mode is chosen or advised, the same differences: %5.1f %%", share(named))
		if len(foretold) > 0 {
			slices.Sort(foretold)
			t.Logf("  the advised speed-up is off by %.0f %% (median), %.0f %% at most", 100*foretold[len(foretold)/2],
				100*foretold[len(foretold)-1])
		}
		if share(named) < 95 || share(chosen) < 100*tt.chosen {
			t.Errorf("%s: %.1f %% named and %.1f %% chosen, less than 95 %% or %.0f %%", tt.name, share(named), share(chosen),
				100*tt.chosen)
		}
	}
}
