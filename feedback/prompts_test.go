package feedback

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/feedback/critique"
	"github.com/runplan/runplan/internal/prompt"
)

// The prompts are files with slots, so that a fix of the class prompt changes nothing else. A project can replace a
// built-in prompt; an unknown slot in it is an error (FIX-31).
func TestPrompts(t *testing.T) {
	set, err := LoadPrompts()
	if err != nil {
		t.Fatal(err)
	}
	critic, err := critique.LoadPrompts()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"critique", "critique_system", "plan_review", "self_fix_plan", "self_fix_plan_task",
		"self_fix_triage"}, append(critic.Names(), set.Names()...)); d != "" {
		t.Error(d)
	}
	for name, want := range map[string][]string{
		"self_fix_triage":    {"identity", "classes"},
		"self_fix_plan":      {"identity"},
		"self_fix_plan_task": {"feedback", "triage", "places", "refused"},
	} {
		p, err := set.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Slots(); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%s has the slots %v, want %v", name, got, want)
		}
	}

	own := func(text string) error {
		a, m := asker(t, triageOf("tool", "90"))
		if a.Prompts, err = LoadPrompts(
			prompt.Layer{Dir: "here", FS: fstest.MapFS{"self_fix_triage.md": {Data: []byte(text)}}}); err != nil {
			return err
		}
		_, err = a.Triage(t.Context(), "text")
		if err == nil && strings.TrimSpace(m.asked.System) != "Mine: # Who this is" {
			t.Errorf("%q was asked", m.asked.System)
		}
		return err
	}
	if err := own("Mine: {{identity}}"); err != nil {
		t.Error(err)
	}
	if err := own("Mine: {{who}}"); err == nil || !strings.Contains(err.Error(), "who") {
		t.Errorf("an unknown slot was accepted: %v", err)
	}
}
