package planparse

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// manyUnits lists constructs that a plan can repeat; for each of them, a careless parser takes quadratic time.
var manyUnits = map[string]func(i int) string{
	"tasks of one number":    func(int) string { return "### Task 1: A\n- [ ] a\n" },
	"boxes in one section":   func(i int) string { return fmt.Sprintf("- [ ] %d. a `f%d.go`\n", i, i) },
	"files of one task":      func(i int) string { return fmt.Sprintf("- Create: `f%d.go`\n", i) },
	"fences with files":      func(i int) string { return fmt.Sprintf("``` file=f%d\nx\n```\n- Delete: `g%d`\n", i, i) },
	"commands":               func(int) string { return "Run: `x`\n\nExpected: PASS\n\n" },
	"loose boxes":            func(int) string { return "## Notes\n- [ ] a\n" },
	"code spans in one line": func(int) string { return "`a/b` " },
	"unclosed fences":        func(int) string { return "```markdown\n```bash\n" },
	"open comments":          func(int) string { return "# <!-- a\n" },
	"T-items":                func(i int) string { return fmt.Sprintf("- [ ] T%03d a\n", i) },
}

// repeated returns a plan with n copies of unit.
func repeated(unit func(i int) string, n int) []byte {
	var s strings.Builder
	s.WriteString("# P\n\n### Task 1: A\n\n**Files:** ")
	for i := range n {
		s.WriteString(unit(i))
	}
	return []byte(s.String())
}

// A plan that is eight times as long takes at most twenty times the memory; quadratic growth would take sixty-four
// times. The number of bytes is the same on every machine; BenchmarkScales measures the time.
func TestParseMemoryGrowth(t *testing.T) {
	units := 1000
	if testing.Short() {
		units = 250
	}
	for name, unit := range manyUnits {
		allocated := func(n int) float64 {
			plan := repeated(unit, n)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if p, err := Parse("p.md", plan); err == nil {
				Check(p)
			}
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		allocated(10) // what is made once
		if small, big := allocated(units), allocated(8*units); big > 20*small {
			t.Errorf("%s: eight times the plan takes %.1f times the memory (%.0f and %.0f kB)", name, big/small, small/1e3,
				big/1e3)
		}
	}
}

func BenchmarkScales(b *testing.B) {
	for name, unit := range manyUnits {
		for _, n := range []int{2000, 16000} {
			plan := repeated(unit, n)
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(name, " ", "_"), n), func(b *testing.B) {
				for b.Loop() {
					if p, err := Parse("p.md", plan); err == nil {
						Check(p)
					}
				}
			})
		}
	}
}

// BenchmarkNestedBoxes parses boxes that are each below the one before. The time of a level must not grow with the
// depth.
func BenchmarkNestedBoxes(b *testing.B) {
	for _, n := range []int{250, 500, 1000, 2000} {
		var text strings.Builder
		text.WriteString("# Plan\n\n## Task 1: Nest\n\n")
		for i := range n {
			fmt.Fprintf(&text, "%s- [ ] box %d\n", strings.Repeat("  ", i), i)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := Parse("plan.md", []byte(text.String())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
