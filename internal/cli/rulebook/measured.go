package rulebook

import "github.com/runplan/runplan/gates/measured"

// measuredOf returns the measured precision of a built-in rule.
func measuredOf(rule string, builtIn bool) string {
	if !builtIn {
		return "-"
	}
	return measured.Of(rule).String()
}
