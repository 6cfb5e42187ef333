package routing

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/planparse"
)

// The tiers of models, cheapest first. Configurations may also use the names in brackets. They come from one vendor's
// models, but stand for any models (MODEL-08).
const (
	Small  = "small"  // haiku
	Medium = "medium" // sonnet
	Large  = "large"  // opus
)

const tierNames = "small, medium and large; haiku, sonnet and opus are older names of them"

// tiers lists the tiers with their aliases, cheapest first.
var tiers = [][2]string{{Small, "haiku"}, {Medium, "sonnet"}, {Large, "opus"}}

// TierOf returns the tier with a name or an alias.
func TierOf(name string) (string, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	t := lists.First(tiers, func(t [2]string) bool { return t[0] == name || t[1] == name })
	return t[0], t != [2]string{}
}

// Alias returns the short name of a tier: haiku for small. Any other name is returned unchanged.
func Alias(tier string) string {
	return cmp.Or(lists.First(tiers, func(t [2]string) bool { return t[0] == tier })[1], tier)
}

// NextTier returns the tier above. There is none above the large one.
func NextTier(tier string) (string, bool) {
	i := slices.IndexFunc(tiers, func(t [2]string) bool { return t[0] == tier })
	if i < 0 || i+1 == len(tiers) {
		return "", false
	}
	return tiers[i+1][0], true
}

// ParseOverrides parses the values of --model-override: "B3=large", or several separated by commas. The names are
// resolved with the plan, see [Options].
func ParseOverrides(texts []string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			batch, value, ok := strings.Cut(part, "=")
			batch, value = strings.TrimSpace(batch), strings.TrimSpace(value)
			if !ok || batch == "" || value == "" {
				return nil, fmt.Errorf("--model-override %q: write BATCH=TIER, such as B3=large", part)
			}
			if old, twice := out[batch]; twice && old != value {
				return nil, fmt.Errorf("--model-override: batch %s has both %s and %s", batch, old, value)
			}
			out[batch] = value
		}
	}
	return out, nil
}

// tiers sets the class and the model of each step.
func (o Options) tiers(p *planparse.Plan, steps []Step) error {
	overrides, err := o.overrides(p)
	if err != nil {
		return err
	}
	for i := range steps {
		s := &steps[i]
		b, ok := p.Batch(s.Batch)
		if !ok {
			return fmt.Errorf("choose a model for batch %s: the plan has no such batch", s.Batch)
		}
		if s.Class, s.Confidence, s.Why, err = classify(p, b, o.Rules); err != nil {
			return err // of the settings, which it names
		}
		key, label := o.Rules.model(s.Class)
		if s.Tier, ok = TierOf(label); !ok {
			return unknownTier(key, label)
		}
		s.Label, s.Model = label, o.Models[s.Tier]
		if x, ok := overrides[s.Batch]; ok {
			s.Tier, s.Label, s.Model = x.tier, x.label, x.model
			s.Why += "; by --model-override"
		}
		_, above := NextTier(s.Tier)
		s.Escalates = o.Rules.Escalate && above
	}
	return nil
}

func unknownTier(key, label string) error {
	return fmt.Errorf("%s = %q: unknown tier; tiers are %s", key, label, tierNames)
}

// model is the tier of a class as the settings name it, with the key that does.
func (r Rules) model(c Class) (key, label string) {
	switch c {
	case Verification:
		return "routing.model_verification", r.ModelVerification
	case Architecture:
		return "routing.model_architecture", r.ModelArchitecture
	case Wiring:
		return "routing.model_wiring", r.ModelWiring
	}
	return "routing.model_implementation", r.ModelImplementation
}

type override struct{ name, tier, label, model string }

// overrides resolves Options.ModelOverride, by key of the batch (MODEL-09).
func (o Options) overrides(p *planparse.Plan) (map[string]override, error) {
	out := map[string]override{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(o.ModelOverride)) {
		value := o.ModelOverride[name]
		found, err := find(p, "--model-override", name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		x := override{name: name, label: value}
		if x.tier, x.model, err = o.modelNamed(value); err != nil {
			errs = append(errs, fmt.Errorf("--model-override %s=%s: %w", name, value, err))
			continue
		}
		for _, i := range found {
			key := p.Batches[i].Key
			if old, twice := out[key]; twice {
				errs = append(errs, fmt.Errorf("--model-override: %s and %s are the same batch", old.name, name))
			}
			out[key] = x
		}
	}
	return out, errors.Join(errs...)
}

// modelNamed resolves a tier, an alias, or the model of a tier.
func (o Options) modelNamed(value string) (tier, model string, err error) {
	if tier, ok := TierOf(value); ok {
		return tier, o.Models[tier], nil
	}
	// A model of several tiers counts as the highest, because no better one exists.
	for _, tier := range []string{Large, Medium, Small} {
		if value != "" && o.Models[tier] == value {
			return tier, value, nil
		}
	}
	models := slices.Compact(slices.Sorted(maps.Values(o.Models)))
	if len(models) == 0 {
		return "", "", fmt.Errorf("unknown tier, and the agent has no models in the settings; tiers are %s", tierNames)
	}
	return "", "", fmt.Errorf("unknown tier or model; tiers are %s, models of the agent %s", tierNames,
		strings.Join(models, ", "))
}
