package measured

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each rule in the source of a gate is listed, and each listed rule is in a source.
func TestEveryRuleIsListed(t *testing.T) {
	literal := regexp.MustCompile(`"((?:tamper|protected|license|size|memory|prose|names)/[a-z][a-z-]+|docs/[a-z]+-[a-z-]+)"`)
	found := map[string]bool{}
	for _, dir := range []string{"../tamper", "../hygiene", "../review/prose"} {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go") {
				return err
			}
			src, err := os.ReadFile(p)
			for _, m := range literal.FindAllStringSubmatch(string(src), -1) {
				found[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	listed := map[string]bool{}
	for _, r := range Rules() {
		listed[r.ID] = true
		if !found[r.ID] && !strings.HasSuffix(r.ID, "*") {
			t.Errorf("no gate has the rule %s", r.ID)
		}
	}
	for id := range found {
		if !listed[id] {
			t.Errorf("the rule %s is not listed", id)
		}
	}
}

// Once enough of its findings were judged, a rule of severity error has to be right in 95 of 100 cases and a warning
// in 80.
func TestRulesMeetSeverityPrecision(t *testing.T) {
	const enough = 5
	for _, r := range Rules() {
		if strings.HasSuffix(r.ID, "*") {
			// good commits contain no secrets and few flaws; TestPlantedFlaws and the tests of secrets measure these
			// rules on planted ones
			continue
		}
		if p := Of(r.ID); p.Total() >= enough &&
			(r.Outside == "error" && p.Percent() < 95 || r.Outside == "warning" && p.Percent() < 80) {
			t.Errorf("%s is of severity %s and was right in %s", r.ID, r.Outside, p)
		}
	}
	if commits, _ := Sample(); commits < 400 {
		t.Errorf("%d commits are too few", commits)
	}
	if !slices.ContainsFunc(Rules(), func(r Rule) bool { return Of(r.ID).Total() > 0 }) {
		t.Error("no rule was measured")
	}
}
