package section

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
		r := Reader(name, nil)
		if r == nil || len(text) > 1<<14 {
			return
		}
		a, b := ByName(r(text)), ByName(r(text))
		for n, s := range a {
			if b[n].Value != s.Value && !strings.Contains(s.Value, "\n") {
				t.Errorf("%q: %q is %q and %q", text, n, s.Value, b[n].Value)
			}
			if s.Line < 1 {
				t.Errorf("%q: line %d", text, s.Line)
			}
		}
	})
}
