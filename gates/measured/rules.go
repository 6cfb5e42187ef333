package measured

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/tables"
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

//go:embed rules.toml
var listed string

// Rules lists the rules of the gates, by gate. A name that ends in an asterisk covers all rules with that prefix except
// those with an entry of their own.
func Rules() []Rule {
	var t struct{ Group []group }
	tables.Read(listed, &t)
	var all []Rule
	for _, g := range t.Group {
		for _, r := range g.Rules {
			all = append(all, Rule{ID: r[0], InRun: r[1], Outside: r[2], Finds: r[3], Why: g.Why, Do: g.Do,
				Off: cmp.Or(g.Off, g.settings(r[0]))})
		}
	}
	return all
}

// group holds rules of one gate that have the same reason.
type group struct {
	Gate, Why, Do, Off string
	Rules              [][4]string // the first fields of a [Rule]
}

// settings says which settings turn off the gate of a rule, and change the severity of the rule alone.
func (g group) settings(id string) string {
	family, _, _ := strings.Cut(g.Gate, ":")
	name := family + "/" + strings.TrimPrefix(id, family+"/")
	is := fmt.Sprintf("rule == %q", name)
	if prefix, many := strings.CutSuffix(name, "*"); many {
		is = fmt.Sprintf("rule startsWith %q", prefix)
	}
	return fmt.Sprintf("[gates] disable = [%q] turns the gate off; [[gates.severity]] with when = '%s' changes the "+
		"severity.", g.Gate, is)
}
