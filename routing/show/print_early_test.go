package show

import (
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
)

// The expected time ignores early starts; the output says so if some batch can start early.
func TestEstimateIgnoresEarlyStarts(t *testing.T) {
	plan, err := planparse.Parse("plan.md", []byte("# A plan\n\n## Batch 1: A\n\n**Files:**\n- Create: `a.py`\n\n"+
		"## Batch 2: B\n\ndepends_on: 1\n\n**Files:**\n- Create: `b.py`\n\n## Batch 3: C\n\n**Files:**\n- Create: `c.py`\n"))
	must(t, err)
	memory := func() (uint64, error) { return 64 << 30, nil }
	cost := 10.0
	past := routing.Sample{Run: "r1", Class: "implementation", Tier: "medium", Duration: 10 * time.Minute, Cost: &cost,
		Passed: true}
	for name, tt := range map[string]struct {
		o    routing.Options
		want bool
	}{
		"with history": {routing.Options{Mode: "team", Memory: memory,
			History: []routing.Sample{past, past, past}}, true},
		"without history": {routing.Options{Mode: "team", Memory: memory}, true},
		"none starts":     {routing.Options{Mode: "team", Memory: memory, NoSpeculate: true}, false},
		"headless":        {routing.Options{Mode: "headless"}, false},
	} {
		var out strings.Builder
		d, err := routing.Decide(plan, tt.o)
		must(t, err)
		must(t, Print(&out, plan, d, PrintOptions{}))
		if got := strings.Contains(strings.Join(strings.Fields(out.String()), " "),
			"; early starts are not counted)"); got != tt.want {
			t.Errorf("%s: %v\n%s", name, got, out.String())
		}
	}
}
