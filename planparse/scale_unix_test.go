//go:build unix

package planparse

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Eight times the plan may take a bit more than eight times the work, never sixty-four times. What counts is the processor's time,
// which other programs at work hardly change, and the bound is wide; a quadratic step would miss it by far.
func TestScales(t *testing.T) {
	for name, unit := range map[string]func(i int) string{
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
	} {
		measure := func(n int) time.Duration {
			var s strings.Builder
			s.WriteString("# P\n\n### Task 1: A\n\n**Files:** ")
			for i := range n {
				s.WriteString(unit(i))
			}
			best := time.Hour
			for range 3 {
				start := processorTime(t)
				if p, err := Parse("p.md", []byte(s.String())); err == nil {
					Check(p)
				}
				best = min(best, processorTime(t)-start)
			}
			return best
		}
		small, big := measure(2000), measure(16000)
		if ratio := float64(big) / float64(small); ratio > 30 && big > 200*time.Millisecond {
			t.Errorf("%s: eight times the plan takes %.0f times as long (%v, %v)", name, ratio, small, big)
		} else {
			t.Logf("%-24s %8v %8v", name, small.Round(time.Microsecond), big.Round(time.Microsecond))
		}
	}
}

// processorTime is what this program has used of the processor by itself, without the kernel's part.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano())
}
