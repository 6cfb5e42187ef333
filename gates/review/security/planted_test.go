package security_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/runplan/runplan/gates/review/security"
	"github.com/runplan/runplan/tools/gatetest"
)

var wanted = regexp.MustCompile(`(?://|#) want (\S+)$`)

// The gate finds at least nine in ten of the planted flaws, on their lines, and nothing in their clean twins.
func TestPlantedFlaws(t *testing.T) {
	files, err := filepath.Glob("testdata/planted/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	planted, found := 0, 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range txtar.Parse(text).Files {
			lines := strings.Split(string(f.Data), "\n")
			want := map[string]bool{}
			for i, l := range lines {
				if m := wanted.FindStringSubmatch(l); m != nil {
					want[fmt.Sprintf("%d %s", i+1, m[1])] = true
					lines[i] = strings.TrimRight(strings.TrimSuffix(l, m[0]), " ")
				}
			}
			planted += len(want)
			s := gatetest.Change(t, map[string]string{"x": "x"}, map[string]string{f.Name: strings.Join(lines, "\n")})
			rep, err := security.New().Check(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range rep.Findings {
				at := fmt.Sprintf("%d %s", g.Line, g.Rule)
				if !want[at] {
					t.Errorf("%s:%d: %s: %s", f.Name, g.Line, g.Rule, strings.TrimSpace(lines[g.Line-1]))
					continue
				}
				delete(want, at)
				found++
			}
			for at := range want {
				t.Logf("%s: not found: %s", f.Name, at)
			}
		}
	}
	t.Logf("%d of %d found", found, planted)
	if planted < 60 || found*10 < planted*9 {
		t.Errorf("%d of %d planted flaws were found", found, planted)
	}
}
