package routing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fourKinds = `# Plan

## Batch 1: The store

**Files:**
- Create: ` + "`a.go`" + `

## Batch 2: Wire it

**Files:**
- Modify: ` + "`main.go`" + `

## Batch 3: Verify it

Run: ` + "`go test ./...`" + `

## Batch 4: Design what comes next

**Files:**
- Create: ` + "`b.go`" + `
`

// tiered returns the choice of models as text: "1 medium=medium(m)+", where + means that the batch escalates.
func tiered(t *testing.T, o Options) (string, error) {
	t.Helper()
	p := parsed(t, fourKinds)
	var steps []Step
	for _, b := range p.Batches {
		steps = append(steps, Step{Batch: b.Key})
	}
	err := o.tiers(p, steps)
	var out []string
	for _, s := range steps {
		text := fmt.Sprintf("%s %s=%s(%s)", s.Batch, s.Tier, s.Label, s.Model)
		if s.Escalates {
			text += "+"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; "), err
}

func TestTiers(t *testing.T) {
	models := map[string]string{"small": "s-1", "medium": "m-1", "large": "l-1"}
	rules := func(change func(r *Rules)) Rules {
		r := DefaultRules()
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"the defaults": {Options{Rules: DefaultRules()},
			"1 medium=medium()+; 2 small=small()+; 3 small=small()+; 4 large=large()"},
		"with models": {Options{Rules: DefaultRules(), Models: models},
			"1 medium=medium(m-1)+; 2 small=small(s-1)+; 3 small=small(s-1)+; 4 large=large(l-1)"},
		"other tiers": {Options{Rules: rules(func(r *Rules) { r.ModelImplementation, r.ModelWiring = "Large", "medium" })},
			"1 large=Large(); 2 medium=medium()+; 3 small=small()+; 4 large=large()"},
		"no escalation": {Options{Rules: rules(func(r *Rules) { r.Escalate = false })},
			"1 medium=medium(); 2 small=small(); 3 small=small(); 4 large=large()"},
		"overrides by alias, tier and model": {Options{Rules: DefaultRules(), Models: models,
			ModelOverride: map[string]string{"B1": "opus", "2": "medium", "b3": "l-1"}},
			"1 large=opus(l-1); 2 medium=medium(m-1)+; 3 large=l-1(l-1); 4 large=large(l-1)"},
		"a model of two tiers": {Options{Rules: DefaultRules(), Models: map[string]string{"small": "one", "large": "one"},
			ModelOverride: map[string]string{"1": "one"}},
			"1 large=one(one); 2 small=small(one)+; 3 small=small(one)+; 4 large=large(one)"},
	} {
		if got, err := tiered(t, c.o); got != c.want || err != nil {
			t.Errorf("%s: %s %v\nwant %s", name, got, err, c.want)
		}
	}
}

// The reason for a model says whether a flag chose it.
func TestOverrideIsNamed(t *testing.T) {
	d := decided(t, fourKinds, Options{ModelOverride: map[string]string{"2": "opus"}})
	for _, s := range d.Steps {
		if strings.HasSuffix(s.Why, "; by --model-override") != (s.Batch == "2") {
			t.Errorf("batch %s: %s", s.Batch, s.Why)
		}
	}
}

// An unknown name of a tier, model or batch is an error that lists the valid names; runplan never guesses.
func TestTierErrors(t *testing.T) {
	for name, c := range map[string]struct {
		models, override map[string]string
		rule             string
		want             string
	}{
		"no such tier": {override: map[string]string{"B3": "gpt"},
			want: "--model-override B3=gpt: unknown tier, and the agent has no models in the settings; tiers are small, " +
				"medium and large; haiku, sonnet and opus are older names of them"},
		"no such model": {override: map[string]string{"B3": "gpt"}, models: map[string]string{"large": "l-1", "small": "s-1"},
			want: "--model-override B3=gpt: unknown tier or model; tiers are small, medium and large; haiku, sonnet and opus " +
				"are older names of them, models of the agent l-1, s-1"},
		"no value": {override: map[string]string{"B3": ""}, want: "unknown tier"},
		"no such batch": {override: map[string]string{"B9": "opus"},
			want: "--model-override B9: the plan has no such batch; it has 1, 2, 3, 4"},
		"a batch twice": {override: map[string]string{"B3": "opus", "3": "haiku"},
			want: "--model-override: 3 and B3 are the same batch"},
		"a rule of nothing": {rule: "turbo",
			want: `routing.model_implementation = "turbo": unknown tier; tiers are small, medium and large`},
	} {
		o := Options{Rules: DefaultRules(), Models: c.models, ModelOverride: c.override}
		if c.rule != "" {
			o.Rules.ModelImplementation = c.rule
		}
		if _, err := tiered(t, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
	o := Options{Rules: DefaultRules()}
	o.Rules.Class = `"magic"`
	if _, err := tiered(t, o); err == nil ||
		!strings.HasPrefix(err.Error(), `routing.class: expression "\"magic\"" gives "magic" for batch 1`) {
		t.Error(err)
	}
}

func TestTierNames(t *testing.T) {
	for name, want := range map[string]string{"small": Small, "haiku": Small, "MEDIUM": Medium, " sonnet ": Medium,
		"Opus": Large, "large": Large, "": "", "huge": ""} {
		if got, ok := TierOf(name); got != want || ok != (want != "") {
			t.Errorf("%q is %q, %v", name, got, ok)
		}
	}
	for _, tier := range []string{Small, Medium, Large} {
		if back, ok := TierOf(Alias(tier)); !ok || back != tier || Alias(tier) == tier {
			t.Errorf("the alias of %s is %s", tier, Alias(tier))
		}
	}
	if got := Alias("x"); got != "x" {
		t.Error(got)
	}
	for tier, want := range map[string]string{Small: Medium, Medium: Large, Large: "", "haiku": "", "": ""} {
		if got, ok := NextTier(tier); got != want || ok != (want != "") {
			t.Errorf("above %q is %q, %v", tier, got, ok)
		}
	}
}

func TestParseOverrides(t *testing.T) {
	got, err := ParseOverrides([]string{"B3=opus", " 4 = some/model:1 ,5-2=haiku", "B3=opus"})
	if d := cmp.Diff(map[string]string{"B3": "opus", "4": "some/model:1", "5-2": "haiku"}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if got, err := ParseOverrides(nil); len(got) != 0 || err != nil {
		t.Error(got, err)
	}
	for text, want := range map[string]string{
		"B3": `--model-override "B3": write BATCH=TIER, such as B3=large`, "=opus": "write BATCH=TIER",
		"B3=":      "write BATCH=TIER",
		"B3=opus,": "write BATCH=TIER", "": "write BATCH=TIER", "B3=opus,B3=haiku": "batch B3 has both opus and haiku",
	} {
		if got, err := ParseOverrides([]string{text}); err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
}
