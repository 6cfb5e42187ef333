package stamps

import (
	"strings"
	"testing"
)

func TestWeighConfiguration(t *testing.T) {
	const before = "[core]\n\tbare = false\n[alias]\n\tst = status\n[remote \"origin\"]\n\turl = a\n[branch " +
		"\"main\"]\n\tremote = origin\n"
	for name, c := range map[string]struct {
		after      string
		left, mild bool
	}{
		"the same": {before, true, true},
		"a branch": {before + "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n", true,
			true},
		"a branch less":                     {strings.Split(before, "[branch")[0], true, true},
		"a new remote":                      {before + "[remote \"mine\"]\n\turl = b\n\tfetch = +c\n", true, true},
		"a submodule that is checked out":   {before + "[submodule \"s\"]\n\tactive = true\n\turl = b\n", true, true},
		"a submodule that runs a program":   {before + "[submodule \"s\"]\n\tupdate = !evil\n", false, false},
		"another name":                      {before + "[user]\n\tname = Evil\n", false, true},
		"another address of a remote":       {strings.Replace(before, "url = a", "url = b", 1), false, true},
		"a second address of a remote":      {before + "[remote \"origin\"]\n\turl = b\n", false, true},
		"a program of a remote":             {before + "[remote \"mine\"]\n\tuploadpack = evil\n", false, false},
		"hooks from elsewhere":              {before + "[core]\n\thooksPath = evil\n", false, false},
		"hooks from elsewhere, on one line": {before + "[core] hooksPath = evil\n", false, false},
		"an alias in an existing section":   {strings.Replace(before, "st = status", "st = !evil", 1), false, false},
		"an alias less":                     {strings.Replace(before, "\tst = status\n", "", 1), false, false},
		"another file":                      {before + "[include]\n\tpath = evil\n", false, false},
		"a filter":                          {before + "[filter \"x\"]\n\trequired = true\n", false, false},
		"what cannot be read":               {before + "[core\n", false, false},
		"a continued line":                  {before + "[user]\n\tname = a\\\nb\n", false, false},
	} {
		if left, mild := Weigh(before, c.after); left != c.left || mild != c.mild {
			t.Errorf("%s: left %v, mild %v; want %v, %v", name, left, mild, c.left, c.mild)
		}
	}
}
