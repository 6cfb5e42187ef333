package tamper_test

import (
	"slices"
	"testing"

	"github.com/runplan/runplan/gates/tamper"
	"github.com/runplan/runplan/tools/gatetest"
)

// Code has no invisible characters, and no attribute of git keeps it out of diffs.
func TestTamperFindsHiddenCode(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		found      bool
	}{
		"a text that turns":  {"calc.go", "package calc\n\n/*\u202e } \u2066*/\n", true},
		"no width in a name": {"calc.py", "def ad\u200bd():\n    return 1\n", true},
		"two alphabets":      {"calc.py", "x = role == \"gu\u0435st\"\n", true},
		"one alphabet each": {"calc.py",
			"x = re.compile(\"[A-Za-z\u0410-\u042f\u0430-\u044fA-Z]\")  # \u0440\u0430\u0437\n", false},
		"tags":                    {"calc.js", "const a = 'x\U000e0041';\n", true},
		"marks of languages":      {"calc.py", "NAME = '\u200f\u0628\u200e'\n", false},
		"an emoji of parts":       {"calc.py", "NAME = '\U0001f469\u200d\U0001f467'\n", false},
		"prose":                   {"README.md", "a\u200bb\n", false},
		"code without diffs":      {".gitattributes", "calc/*.go -diff\n", true},
		"code made by hand":       {".gitattributes", "src/*.py linguist-generated=true\n", true},
		"code made by programs":   {".gitattributes", "dist/*.js linguist-generated\n*.pb.go linguist-generated\n", false},
		"pictures, and line ends": {".gitattributes", "*.png binary\n*.go text eol=lf diff=golang\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := gatetest.Change(t, map[string]string{"x": "x"}, map[string]string{"x": "x", c.file: c.text})
			s.Batch.Key = "1"
			_, got := gatetest.Look(t, tamper.New(), s)
			if found := slices.ContainsFunc(got,
				func(f string) bool { return len(f) > 19 && f[:19] == "error tamper/hidden" }); found != c.found {
				t.Errorf("%q, want a finding: %v", got, c.found)
			}
		})
	}
}
