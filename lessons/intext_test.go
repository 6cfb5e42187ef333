package lessons

import (
	"bytes"
	"testing"
)

func TestInTextSeparatesCodeFromText(t *testing.T) {
	for text, want := range map[string]bool{
		"f()\nHERE":                        false,
		"x = 'HERE'":                       true,
		"x = 'it\\'s HERE'":                true,
		"// it's HERE":                     true,
		"/* a\n HERE */":                   true,
		"/* a */ HERE":                     false,
		"const a = `one\n  \"two\", HERE`": true,
		"const a = `one`\nHERE":            false,
		"don't\nHERE":                      false,
		"/it's/.test(x)\nHERE":             false,
	} {
		if got := inText("a.js", "javascript", []byte(text), bytes.Index([]byte(text), []byte("HERE"))); got != want {
			t.Errorf("%q: inText is %v", text, got)
		}
	}
	if !inText("a.swift", "swift", []byte("let s = \"\"\"\nHERE\n\"\"\""), 12) {
		t.Error("a string over several lines is not recognized")
	}
	if !inText("run", "python", []byte("# it's HERE"), 7) || inText("a.py", "python", []byte("a // 2\nHERE"), 7) {
		t.Error("comments of Python are not recognized")
	}
}

func FuzzInText(f *testing.F) {
	f.Add("a.js", []byte("`a ${'b'}` // c\n/* d"), 9)
	f.Add("a.py", []byte("'''a\n\"b\\"), 6)
	f.Fuzz(func(t *testing.T, file string, text []byte, pos int) {
		inText(file, "", text, max(0, min(pos, len(text))))
	})
}
