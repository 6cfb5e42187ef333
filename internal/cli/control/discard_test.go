package control

import (
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/runner"
)

func TestSelects(t *testing.T) {
	for name, want := range map[string]bool{"": true, "1f0c": true, "1f0c2a7b": true, "plan": true, "docs/plan.md": true,
		"0c2a": false, "plan.md": false, "other": false} {
		if got := cli.Selects(name, "1f0c2a7b-aa", "plan", "docs/plan.md"); got != want {
			t.Errorf("selects(%q) = %v, want %v", name, got, want)
		}
	}
}

// discard and undo select a run by the beginning of its id only if that beginning is unambiguous.
func TestOnlyRun(t *testing.T) {
	sums := []runner.Summary{{Run: "1fb0", Slug: "shop", Plan: "a.md"}, {Run: "1fa0", Slug: "cart", Plan: "a.md"},
		{Run: "2c00", Slug: "list", Plan: "b.md"}}
	for name, want := range map[string]string{"1fb": "1fb0", "1fa0": "1fa0", "2": "2c00", "cart": "1fa0", "a.md": "1fb0",
		"1f": "begin with 1f", "9": "run 9 not found"} {
		got, err := onlyRun(sums, name, name)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && got.Run != want {
			t.Errorf("onlyRun(%q) = %q, %v; want %s", name, got.Run, err, want)
		}
	}
}
