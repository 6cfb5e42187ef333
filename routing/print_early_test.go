package routing

import (
	"strings"
	"testing"
)

// The expected time ignores early starts; the output says so if some batch can start early.
func TestEstimateIgnoresEarlyStarts(t *testing.T) {
	chain := batches("A\n**Files:**\n- Create: `a.py`", "B\ndepends_on: 1\n\n**Files:**\n- Create: `b.py`",
		"C\n**Files:**\n- Create: `c.py`")
	for name, tt := range map[string]struct {
		o    Options
		want bool
	}{
		"with history": {Options{Mode: "team", Memory: machine(64),
			History: samples("r1", "implementation", "medium", 10, 10, 10)}, true},
		"without history": {Options{Mode: "team", Memory: machine(64)}, true},
		"none starts":     {Options{Mode: "team", Memory: machine(64), NoSpeculate: true}, false},
		"headless":        {Options{Mode: "headless"}, false},
	} {
		var out strings.Builder
		if err := Print(&out, parsed(t, chain), decided(t, chain, tt.o), PrintOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(strings.Fields(out.String()), " "),
			"; early starts are not counted)"); got != tt.want {
			t.Errorf("%s: %v\n%s", name, got, out.String())
		}
	}
}
