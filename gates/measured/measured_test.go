package measured

import (
	"slices"
	"strings"
	"testing"
)

// Each rule that the product gives to a finding is listed, or is a lesson or pattern. Each listed rule is given to a
// finding.
func TestEveryRuleIsListed(t *testing.T) {
	rules, found := Rules(), map[string]bool{}
	for _, rule := range rulesOfFindings(t) {
		listed := strings.HasSuffix(rule, "*") && (rule == "lesson/*" || rule == "pattern/*")
		for _, r := range rules {
			prefix, many := strings.CutSuffix(r.ID, "*")
			if r.ID == rule || many && strings.HasPrefix(rule, prefix) {
				listed, found[r.ID] = true, true
			}
		}
		if !listed {
			t.Errorf("a finding has the rule %s, which is not listed in rules.toml", rule)
		}
	}
	seen := map[string]bool{}
	for _, r := range rules {
		if !found[r.ID] {
			t.Errorf("no finding has the rule %s", r.ID)
		}
		if seen[r.ID] {
			t.Errorf("the rule %s is listed twice", r.ID)
		}
		seen[r.ID] = true
		if r.Finds == "" || r.Why == "" || r.Do == "" || r.Off == "" || r.InRun == "-" && r.Outside == "-" {
			t.Errorf("the rule %s is not described: %+v", r.ID, r)
		}
	}
}

// Once enough of its findings were judged, a rule of severity error has to be right in 95 of 100 cases and a warning
// in 80.
func TestRulesMeetSeverityPrecision(t *testing.T) {
	const enough = 5
	for _, r := range Rules() {
		if strings.HasSuffix(r.ID, "*") {
			// good commits contain no secrets and few flaws; TestPlantedFlaws and the tests of secrets measure these
			// rules on planted ones
			continue
		}
		if p := Of(r.ID); p.Total() >= enough &&
			(r.Outside == "error" && p.Percent() < 95 || r.Outside == "warning" && p.Percent() < 80) {
			t.Errorf("%s is of severity %s and was right in %s", r.ID, r.Outside, p)
		}
	}
	if commits, _ := Sample(); commits < 400 {
		t.Errorf("%d commits are too few", commits)
	}
	if !slices.ContainsFunc(Rules(), func(r Rule) bool { return Of(r.ID).Total() > 0 }) {
		t.Error("no rule was measured")
	}
}
