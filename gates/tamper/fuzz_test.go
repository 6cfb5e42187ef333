package tamper

import (
	"strings"
	"testing"
)

// A shared file has the same sections each time it is read.
func FuzzSections(f *testing.F) {
	f.Add("pyproject.toml", "[tool.ruff]\nselect = []\n[tool.pytest]\n")
	f.Add("tsconfig.json", "{// x\n\"compilerOptions\": {\"strict\": true,},/* */}")
	f.Add("package.json", `{"scripts": {"test": "x"}, "jest": 1}`)
	f.Add("Makefile", "test check: a ## b\n\tx\n    y\n")
	f.Add("setup.cfg", "[flake8]\nx=1\n[y]\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		r := reader(name, nil)
		if r == nil || len(text) > 1<<14 {
			return
		}
		a, b := byName(r(text)), byName(r(text))
		for n, s := range a {
			if b[n].value != s.value && !strings.Contains(s.value, "\n") {
				t.Errorf("%q: %q is %q and %q", text, n, s.value, b[n].value)
			}
			if s.line < 1 {
				t.Errorf("%q: line %d", text, s.line)
			}
		}
	})
}
