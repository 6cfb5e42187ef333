package chunks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Chunks follow blocks of equal indentation in every language: decorators and comments belong to the code after them,
// closing brackets to the block that they close.
func TestChunks(t *testing.T) {
	long := func(n int, text string) string { return strings.Repeat(text, n) }
	for name, c := range map[string]struct {
		text string
		want []Span
	}{
		"decorators and comments": {"import a\n\n# why\n@cached\ndef f():\n" + long(9, "    x\n") + "\ndef g():\n" +
			long(9, "    y\n"), []Span{{1, 1}, {3, 14}, {16, 25}}},
		"a value over several lines": {"A = 1\n\nROUTES = {\n" + long(12, "    'a': 1,\n") + "}\n\nB = 2\n",
			[]Span{{1, 1}, {3, 16}, {18, 18}}},
		"small neighbours": {"a = 1\n\nb = 2\n\nc = 3\n", []Span{{1, 5}}},
		"test cases of one long block": {"describe('x', () => {\n" +
			long(3, "  test('y', () => {\n"+long(14, "    z();\n")+"  });\n\n") + "});\n",
			[]Span{{1, 17}, {19, 34}, {36, 53}}},
		"a head over several lines": {"def f(\n    a,\n):\n    \"why\"\n" + long(20, "    x\n") + "\n" + long(20, "    y\n"),
			[]Span{{1, 24}, {26, 45}}},
		"no structure": {long(100, "word\n"), []Span{{1, 40}, {41, 80}, {81, 100}}},
		"nothing":      {"\n\n", nil},
	} {
		got := Chunks("", strings.Split(c.text, "\n"))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Each line that is not blank is in exactly one chunk, and no chunk exceeds the maximum length.
func TestChunksCoverEachLineOnce(t *testing.T) {
	text := strings.Repeat("func f() {\n\tif x {\n"+strings.Repeat("\t\ty()\n", 90)+
		"\t} else {\n\t\tz()\n\t}\n}\n\n}\n)\n\n  odd\n", 5)
	lines := strings.Split(text, "\n")
	seen := map[int]int{}
	for _, s := range Chunks("", lines) {
		if s.End-s.Start >= chunkLines+innerLines {
			t.Errorf("lines %d-%d are one chunk", s.Start, s.End)
		}
		for n := s.Start; n <= s.End; n++ {
			seen[n]++
		}
	}
	for i, l := range lines {
		if n := seen[i+1]; n > 1 || n == 0 && strings.TrimSpace(l) != "" {
			t.Errorf("line %d is in %d chunks", i+1, n)
		}
	}
}

// Words splits names into their parts, keeps the whole name as well, and removes grammatical endings.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"loadHTTPConfig(parsed_files)": "load http config loadhttpconfig pars file parsedfiles",
		"Parsing, parses and parsed":   "pars pars and pars",
		"x x x x a1 42":                "a1 42",
		"the the the the the":          "the the the",
		"Größe":                        "größ",
	} {
		if got := Words(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// Head returns the lines of the imports of a file, also if an import spans several lines.
func TestHead(t *testing.T) {
	for text, want := range map[string]Span{
		"// licence\n\npackage a\n\nimport (\n\t\"b\"\n)\n\nfunc f() {}\n":              {5, 7},
		"\"\"\"Doc.\n\nimport x\n\"\"\"\nimport a\nfrom b import (\n  c,\n)\n\nx = 1\n": {5, 8},
		"const a = require('a');\nimport {\n  b,\n} from 'b';\nf();\n":                  {1, 4},
		"x = 1\nimport a\n": {},
	} {
		if got := Head(strings.Split(text, "\n")); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
