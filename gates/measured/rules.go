package measured

import (
	"cmp"
	"fmt"
	"strings"
)

// Rule is a rule of a gate other than lessons and patterns, or a rule by which a run reports a change.
type Rule struct {
	ID      string
	InRun   string // its severity in a batch that does not ask for the change; "-" if runs do not look for it
	Outside string // its severity in gate and review without a plan; "-" if only runs look for it
	Finds   string
	Why     string // why it matters
	Do      string // what to do about a finding
	Off     string // how to turn the rule off, or how to change its severity
}

// Rules lists the rules of the gates, by gate. A name that ends in an asterisk covers all rules with that prefix except
// those with an entry of their own.
func Rules() []Rule {
	var all []Rule
	for _, g := range groups {
		for _, r := range g.rules {
			all = append(all, Rule{ID: r.id, InRun: r.inRun, Outside: r.outside, Finds: r.finds, Why: g.why, Do: g.do,
				Off: cmp.Or(g.off, g.settings(r.id))})
		}
	}
	return all
}

// group holds rules of one gate that have the same reason.
type group struct {
	gate    string // its name in the settings
	why, do string
	off     string // how to turn the rules off, if not by the settings of the gate
	rules   []row
}

// row is a rule of a group.
type row struct{ id, inRun, outside, finds string }

// settings says which settings turn off the gate of a rule, and change the severity of the rule alone.
func (g group) settings(id string) string {
	family, _, _ := strings.Cut(g.gate, ":")
	name := family + "/" + strings.TrimPrefix(id, family+"/")
	is := fmt.Sprintf("rule == %q", name)
	if prefix, many := strings.CutSuffix(name, "*"); many {
		is = fmt.Sprintf("rule startsWith %q", prefix)
	}
	return fmt.Sprintf("[gates] disable = [%q] turns the gate off; [[gates.severity]] with when = '%s' changes the "+
		"severity.", g.gate, is)
}

// Ways to turn off rules that have no setting of their own.
const (
	offTests = `[gates] disable = ["tests"] turns off all test gates, and "tests:go" only those of Go.`
	offPlan  = `[gates.plan] severity = "warning" only warns, and "off" checks nothing; ` +
		`[gates] disable = ["plan:run:34"] turns off one gate.`
	offRun      = "no setting turns it off."
	offDiffers  = "no setting turns it off; it runs only for the line Regression of a batch, and with --regression."
	offMutants  = "[gates.mutants] budget = 0 and no \"mutants:\" in the plan; runplan gate needs --mutants to try any."
	offReviewer = `[review] batches and final: "programs" asks no model, "off" reviews nothing.`
)
