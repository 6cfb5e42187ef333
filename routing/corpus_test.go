package routing

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/runplan/runplan/planparse"
)

// The costs of the simulation: what an agent takes grows with the tasks of its batch and varies as agents do; gates follow; a team pays for
// each worktree and for the rebase onto what others merged.
const (
	gatesTake = 45 * time.Second
	mergeTake = 5 * time.Second
	roomTake  = 15 * time.Second
)

// near bounds the difference of two modes' times, as a share of the sequential time, within which either is right.
const near = 0.05

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

// earlierRuns are samples of what batches of each class take. They are drawn by themselves, and bear no title that would give away what a
// batch of the corpus takes.
func earlierRuns(plans []corpusPlan) []Sample {
	r := rand.New(rand.NewPCG(1, 1))
	var out []Sample
	for _, p := range plans {
		for i := range p.Batches {
			class, _, _, _ := classify(p.Plan, &p.Batches[i], DefaultRules())
			out = append(out, Sample{Run: p.name, Class: string(class), Duration: batchTakes(r, &p.Batches[i]), Passed: true, Attempts: 1})
		}
	}
	return out
}

// gain returns the share of the sequential time that team mode saves, simulated with the costs above.
func gain(t *testing.T, p corpusPlan, memory float64) float64 {
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
		return 0
	}
	return 1 - float64(Makespan(took, needs, d.Workers))/float64(alone)
}

// Over the corpus the mode that is chosen is the one that ends first by simulation, in 95 of 100 decisions at least, where it is known what
// batches take. Without that the score alone decides, which leaves out what saves little.
func TestTheQuickerModeIsChosen(t *testing.T) {
	plans := corpusPlans(t)
	for _, tt := range []struct {
		name    string
		history []Sample
		least   float64
	}{{"with history", earlierRuns(plans), 0.95}, {"without history", nil, 0.75}} {
		right, either, teams, all := 0, 0, 0, 0
		for _, p := range plans {
			for _, memory := range []float64{16, 64} {
				d, err := Decide(p.Plan, Options{TeamsEnabled: true, Memory: machine(memory), History: tt.history})
				if err != nil {
					t.Fatal(p.name, err)
				}
				saved := gain(t, p, memory)
				quicker := d.Mode
				switch {
				case math.Abs(saved) <= near:
					either++
				case saved > 0:
					quicker = Team
				default:
					quicker = Headless
				}
				all++
				if d.Mode == Team {
					teams++
				}
				if d.Mode == quicker {
					right++
					continue
				}
				why := cmp.Or(fmt.Sprint(d.Reasons[0]), "no reason")
				t.Logf("%s, %.0f GB: %s, but a team saves %.0f %%: %s", p.name, memory, d.Mode, 100*saved, why)
			}
		}
		share := float64(right) / float64(all)
		t.Logf("%s: %d of %d decisions (%.1f %%) are for the quicker mode; in %d the two are within %.0f %%; %d are team",
			tt.name, right, all, 100*share, either, 100*near, teams)
		if share < tt.least {
			t.Errorf("%s: %.1f %%, less than %.0f %%", tt.name, 100*share, 100*tt.least)
		}
	}
}
