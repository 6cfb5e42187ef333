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
	"github.com/runplan/runplan/tools/tooltest"
)

// Costs in the simulation: the time of an agent grows with the number of tasks and varies randomly; the gates run
// after it. A team also needs time for each worktree and for each rebase onto merged batches.
const (
	gatesTake = 45 * time.Second
	mergeTake = 5 * time.Second
	roomTake  = 15 * time.Second
)

// offKnown and offUnknown are the largest errors of the simulation in nine of ten runs, as a fraction of the real
// speed-up: with known durations, and with equal durations for all batches. "make bench" measured them on 30 random
// graphs (docs/bench.md, "predicted speed-up").
const (
	offKnown   = 0.033
	offUnknown = 0.096
)

// memories are the sizes of the memory of the simulated machines, in GB.
var memories = []float64{16, 64}

func batchTakes(r *rand.Rand, b *planparse.Batch) time.Duration {
	minutes := 3 * math.Pow(float64(max(len(b.Tasks), 1)), 0.7) * math.Exp(0.4*r.NormFloat64())
	return time.Duration(minutes*float64(time.Minute)) + gatesTake + mergeTake
}

// corpusPlan is a plan of the corpus in which no batch counts as done, although many are.
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

// earlierRuns returns sample durations for batches of each class. They are drawn independently and have no titles, so
// they do not reveal the duration of a batch in the corpus.
func earlierRuns(plans []corpusPlan) []Sample {
	r := rand.New(rand.NewPCG(1, 1))
	var out []Sample
	for _, p := range plans {
		for i := range p.Batches {
			class, _, _, _ := classify(p.Plan, &p.Batches[i], DefaultRules())
			out = append(out, Sample{Run: p.name, Class: string(class), Duration: batchTakes(r, &p.Batches[i]), Passed: true})
		}
	}
	return out
}

// speedUp returns how many times faster team mode is than sequential batches, simulated with the costs above. It
// returns 1 if the team would have one worker.
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

// quicker returns the faster mode, or "" if the speed-up differs from 1 by no more than off.
func quicker(up, off float64) Mode {
	switch {
	case up > 1+off:
		return Team
	case up < 1/(1+off):
		return Headless
	}
	return ""
}

// In at least 95 of 100 decisions over the corpus, runplan names the mode that is faster in the simulation. It names
// a mode by choosing it or, for scores of 20 to 60, by advising that team mode would save a share of the time
// (ROUTE-05). Modes that differ by no more than the error of the simulation count as equal. The test also logs the
// shares without the advice and without the error.
func TestDecideNamesFasterMode(t *testing.T) {
	tooltest.Slow(t)
	plans := corpusPlans(t)
	speedUps := map[string][]float64{} // by the name of the plan, for each size of memory
	for _, p := range plans {
		for _, memory := range memories {
			speedUps[p.name] = append(speedUps[p.name], speedUp(t, p, memory))
		}
	}
	for _, tt := range []struct {
		name    string
		history []Sample
		off     float64
		chosen  float64 // least share of decisions that choose the quicker mode
	}{{"durations known", earlierRuns(plans), offKnown, 0.95}, {"first run", nil, offUnknown, 0.80}} {
		var all, raw, chosen, named, equal, teams, advised int
		var foretold []float64
		for _, p := range plans {
			for k, memory := range memories {
				d, err := Decide(p.Plan, Options{TeamsEnabled: true, Memory: machine(memory), History: tt.history})
				if err != nil {
					t.Fatal(p.name, err)
				}
				up := speedUps[p.name][k]
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
