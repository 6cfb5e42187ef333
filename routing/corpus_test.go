package routing

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/runplan/runplan/planparse"
)

// Over the plans of the corpus, as if nothing of them were done, team mode is only chosen where it ends first by simulation.
func TestTeamModeIsQuicker(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "planparse", "testdata", "corpus", "files", "*", "*"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d plans, %v", len(files), err)
	}
	right, all, teams := 0, 0, 0 // decisions for the quicker mode, where a fifth of what could be saved counts
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p, err := planparse.Parse(f, src)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Batches { // many plans are done
			for k := range p.Batches[i].Tasks {
				p.Batches[i].Tasks[k].Done = false
			}
			for k := range p.Batches[i].Steps {
				p.Batches[i].Steps[k].Done = false
			}
		}
		for _, memory := range []float64{16, 64} {
			d, err := Decide(p, Options{TeamsEnabled: true, Memory: machine(memory)})
			if err != nil {
				t.Fatal(f, err)
			}
			all++
			s := d.Score.Facts
			quicker := Headless
			if s.M > 0 && s.S/s.M >= 0.2 {
				quicker = Team
			}
			if d.Mode == Team {
				teams++
				if quicker != Team {
					t.Errorf("%s: team at score %d, which saves %.2f of %.2f", filepath.Base(f), d.Score.Value, s.S, s.M)
				}
			}
			if d.Mode == quicker {
				right++
			}
		}
	}
	t.Logf("%d of %d decisions are the quicker mode, %d of them team", right, all, teams)
	if teams < 10 {
		t.Errorf("team mode was chosen %d times in %d decisions", teams, all)
	}
}
