package planparse

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Shuffled lines of real plans test the parser harder than random bytes. The invariants of [checkPlan] hold for them
// too.
func TestSplicedPlans(t *testing.T) {
	var lines []string
	for _, f := range corpus(t) {
		src, err := os.ReadFile(filepath.Join(corpusDir(), f.path))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(src)) {
			if s := strings.TrimSpace(line); strings.ContainsAny(s[:min(len(s), 3)], "#-*`~<0123456789>") ||
				strings.Contains(s, ":") {
				lines = append(lines, line)
			}
		}
	}
	rounds := 2000
	if testing.Short() {
		rounds = 200
	}
	if n := atoi(os.Getenv("SPLICES")); n > 0 {
		rounds = n
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		var s strings.Builder
		for range 2 + rng.IntN(60) {
			switch rng.IntN(8) {
			case 0:
				s.WriteString("\n")
			case 1:
				s.WriteString(strings.Repeat(" ", rng.IntN(7)))
			}
			s.WriteString(lines[rng.IntN(len(lines))])
		}
		src := s.String()
		p, err := Parse("spliced.md", []byte(src))
		if err != nil {
			continue
		}
		func() {
			defer func() {
				if t.Failed() {
					t.Logf("the plan was:\n%s", src)
				}
			}()
			checkPlan(t, p, len(lineOffsets([]byte(src))))
			Check(p)
		}()
	}
}
