// Package report writes the reports of gates for other programs: SARIF 2.1.0 for code scanning, JUnit XML for test
// reports, and workflow commands and the summary page of GitHub.
//
// Each format shows a gate that could not run as neither a pass nor a failure of the code.
package report

import (
	"cmp"
	"strings"

	"github.com/runplan/runplan/gates"
)

// Run is one run of all gates on a tree.
type Run struct {
	Version string // of runplan
	Verdict gates.Verdict
	Base    string // commit that the tree was compared with, "" for none
}

// message returns a finding's message with its fix.
func message(f gates.Finding) string {
	text := f.Message
	if f.Known {
		text = "known: " + text
	}
	if f.Fix != "" {
		text += "\nfix: " + f.Fix
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// ruleID names a rule so that rules of different gates do not collide.
func ruleID(gate string, f gates.Finding) string {
	rule := cmp.Or(strings.ToValidUTF8(f.Rule, "\ufffd"), "finding")
	family, _, _ := strings.Cut(gate, ":")
	if strings.HasPrefix(rule, family+"/") {
		return rule
	}
	return family + "/" + rule
}
