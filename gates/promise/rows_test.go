package promise

import (
	"strings"
	"testing"
)

// If a batch asks for tests, and these have most inputs of a table, they have all of them.
func TestRowsOfTablesAreTested(t *testing.T) {
	const (
		table = "Add `Caret(s string)`. It accepts what does not change the first number.\n\n| constraint | means |\n|---|---|\n| `^1.2` | below 2 |\n| `^0.2` | below 0.3 |\n| `^0` | below 1 |\n| `^0.0.3` | only this |\n\nAdd tests."
		names = "Add `Caret(s string)`.\n\n| field | means |\n|---|---|\n| `size` | bytes |\n| `mode` | rights |\n| `kind` | type |\n| `from` | origin |\n\nAdd tests."
		code  = "package a\n\nfunc Caret(s string) string {\n\treturn s[1:]\n}\n"
	)
	tests := func(list string) files {
		return files{"a.go": code, "a_test.go": "package a\n\nfunc TestCaret(t *testing.T) {\n\tfor _, s := range []string{" + list + "} {\n\t\tcheck(t, Caret(s))\n\t}\n}\n"}
	}
	for _, c := range []worded{
		{"a row less", table, nil, tests(`"^1.2", "^0.2", "^0.0.3"`), "example-untested"},
		{"a row only in a remark", table, nil, tests(`"^1.2", "^0.2", "^0.0.3" /* ^0 */`), "example-untested"},
		{"all rows", table, nil, tests(`"^1.2", "^0.2", "^0", "^0.0.3"`), ""},
		{"a row with another one", table, nil, tests(`"^1.2", "^0.2", "^0, != 0.3", "^0.0.3"`), ""},
		{"a row in an old test", table, files{"b_test.go": "package a\n\nvar old = \"^0\"\n"}, tests(`"^1.2", "^0.2", "^0.0.3"`), ""},
		{"few of the rows", table, nil, tests(`"^1.2", "^5", "^6"`), ""},
		{"made by other code", table, nil, tests(`"1.2", "0.2", "0.0.3"`), ""},
		{"no tests asked", strings.TrimSuffix(table, "Add tests."), nil, tests(`"^1.2", "^0.2", "^0.0.3"`), ""},
		{"the results so far", strings.ReplaceAll(table, "means", "today"), nil, tests(`"^1.2", "^0.2", "^0.0.3"`), ""},
		{"names", names, nil, tests(`"size", "mode", "kind"`), ""},
	} {
		c.check(t)
	}
}

// New code computes the rows of a table of inputs, and does not have some of them as special cases.
func TestRowsOfTablesAreNoSpecialCases(t *testing.T) {
	const table = "Add `caret(s, v)`. Rules that the table does not show: none.\n\n| constraint | means |\n|---|---|\n| `^1.2.3` | below 2 |\n| `^0.2.3` | below 0.3 |\n| `^0` | below 1 |\n| `^0.0.3` | only this |\n"
	code := func(lines string) files {
		return files{"a.py": "def caret(s, v):\n" + lines + "    return first(s) == first(v)\n"}
	}
	for _, c := range []worded{
		{"compared", table, nil, code("    if s.text == '0.2.3':\n        return v[1] == 2\n    if s.text == '0.0.3':\n        return v[2] == 3\n"), "answers-only"},
		{"with their sign", table, nil, code("    if s in ('^0.2.3', '^0.0.3'):\n        return v[1] == 2\n"), "answers-only"},
		{"a switch", table, nil, files{"a.go": "package a\n\nfunc caret(s, v string) bool {\n\tswitch s {\n\tcase \"0\":\n\t\treturn v[0] == s[0]\n\tcase \"0.2.3\", \"0.0.3\":\n\t\treturn v[2] == s[2]\n\t}\n\treturn false\n}\n"}, "answers-only"},
		{"computed", table, nil, code("    if first(s) == '0':\n        return second(s) == second(v)\n"), ""},
		{"one of them", table, nil, code("    if s == '0.0.3':\n        return v[2] == 3\n"), ""},
		{"others as well", table, nil, code("    if s in ('0.2.3', '0.0.3', '7.7.7'):\n        return v[1] == 2\n"), ""},
		{"a table is asked for", strings.ReplaceAll(table, "Rules that", "Write a lookup. Rules that"), nil,
			code("    if s in ('0.2.3', '0.0.3'):\n        return v[1] == 2\n"), ""},
		{"all rows", "Add `tls(s)`.\n\n| version | means |\n|---|---|\n| `1.0` | old |\n| `1.1` | old |\n| `1.2` | good |\n| `1.3` | best |\n", nil,
			files{"a.py": "def tls(s):\n    if s in ('1.0', '1.1'):\n        return weak(s)\n    if s in ('1.2', '1.3'):\n        return strong(s)\n    raise ValueError(s)\n"}, ""},
		{"words", "Add `unit(s)`.\n\n| unit | means |\n|---|---|\n| `k` | kilo |\n| `m` | mega |\n| `g` | giga |\n| `h2` | two |\n", nil,
			files{"a.py": "def unit(s):\n    if s in ('k', 'm'):\n        return small(s)\n    return big(s)\n"}, ""},
	} {
		c.check(t)
	}
}
