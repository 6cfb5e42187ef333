package outline

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/tools/tooltest"
)

// outlines returns the outlines of ast-grep for several texts, read in one call.
func outlines(t testing.TB, name string, texts []string) []Outline {
	t.Helper()
	var ask []patterns.Text
	l := LanguageOf(name)
	for i, text := range texts {
		ask = append(ask, patterns.Text{Path: fmt.Sprintf("%d/%s", i, name), Text: []byte(text), Copy: true})
	}
	nodes, skipped, err := program(t).Nodes(t.Context(), t.TempDir(), ask, Rules(l), 0)
	if err != nil || len(skipped) > 0 {
		t.Fatal(skipped, err)
	}
	out := make([]Outline, len(texts))
	for i, x := range ask {
		out[i] = Read(l, x.Text, nodes[x.Path])
	}
	return out
}

// asGlanced removes the parts of an outline that a glance does not provide.
func asGlanced(o Outline) Outline {
	o.Refs = nil
	o.Comments = slices.Clone(o.Comments)
	for i := range o.Comments {
		o.Comments[i].Kind = ""
	}
	o.Docs = slices.Clone(o.Docs)
	for i := range o.Docs {
		o.Docs[i].Format, o.Docs[i].Fields = "", Fields{}
	}
	o.Imports = slices.Clone(o.Imports)
	for i := range o.Imports {
		o.Imports[i].Types = false
	}
	return o
}

// spoiled returns the text and n versions of it with lines deleted, duplicated or moved.
func spoiled(rnd *rand.Rand, text string, n int) []string {
	out := []string{text}
	for range n {
		lines := strings.SplitAfter(text, "\n")
		at, to := rnd.IntN(len(lines)), rnd.IntN(len(lines))
		switch rnd.IntN(4) {
		case 0:
			lines = slices.Delete(lines, at, at+1)
		case 1:
			lines = slices.Insert(lines, to, lines[at])
		case 2:
			lines = slices.Insert(lines, to, "\n")
		default:
			lines[at], lines[to] = lines[to], lines[at]
		}
		text = strings.Join(lines, "")
		out = append(out, text)
	}
	return out
}

// corpus returns the files of a language in this module and in $RUNPLAN_OUTLINE_CORPUS.
func corpus(t testing.TB, language Language) []string {
	t.Helper()
	var out []string
	for _, root := range []string{"../..", os.Getenv("RUNPLAN_OUTLINE_CORPUS")} {
		if root == "" {
			continue
		}
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "bin" {
				return filepath.SkipDir
			}
			if LanguageOf(path) != language || !d.Type().IsRegular() {
				return nil
			}
			raw, err := os.ReadFile(path)
			if text, _, skip := Prepare(language, raw); skip == "" && len(raw) < 512<<10 {
				out = append(out, string(text))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no files of %s", language)
	}
	return out
}

// sameAsAstGrep fails if a glance or a reading differs from the outline of ast-grep. If strict is set, the glance must also reject
// each text with a syntax error. It returns the number of compared texts.
func sameAsAstGrep(t *testing.T, texts []string, strict bool) (read int) {
	t.Helper()
	for part := range slices.Chunk(texts, 200) {
		for i, o := range outlines(t, "a.py", part) {
			got, ok := GlancePython([]byte(part[i]))
			if !ok || o.Error != nil && !strict {
				continue
			}
			if o.Error != nil {
				t.Errorf("%+v is not seen in\n%s", *o.Error, part[i])
			} else if d := cmp.Diff(asGlanced(o), asGlanced(got), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s\nof\n%s", d, part[i])
			}
			if full, ok := ReadPython([]byte(part[i])); ok && o.Error == nil {
				if d := cmp.Diff(o, full, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("ReadPython: %s\nof\n%s", d, part[i])
				}
			}
			read++
		}
	}
	return read
}

func TestGlancePython(t *testing.T) {
	texts := []string{
		"def f():\n    a.b(c(1)).d()[0].e(g for g in h())\n    'x'.join(y)\n    'x' 'y'.join(y)\n    (z or w).v()\n    del (q), r\n",
		"def f():\n    return f'{a(1)!r:>{b(2)}} {{c()}} {d()=} {e(\"k\")[0]:x}' + rf\"{g(lambda: h())}\" + '{no()}'\n",
		"@a.b(c)\n@ d\ndef f(x: A.B = c(), *y: 'D', z=lambda q: q, **k: E[F, G]) -> H[I]: ...\n",
		"class A(B, m=c()):\n    x: D = e()\n    y: F.G\n\n    def f(self):\n        self.z: H = 1; g()\n",
		"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import b\nelse:\n    import c\nif t.TYPE_CHECKING: import d\n",
		"import __future__\nasync def f():\n    await a.b()\n    print(c)\n    return not d(), -e(), {**i()}\n",
		"", "\n", "# only words\n", "'''Doc.'''", "\"a\" \"b\"\n", "\"a\"; x = 1\n", "\"a\" % 1\n", "x = 1\n'''no doc'''\n",
		"def f():\n    # first\n    '''Doc.'''\n    return 1\n    # because it belongs\n  # because it does not\n\n# outside\n",
		"class A:\n    x = 1\n    y: int\n    z: int = 3 # so that\n\n    def f(self): return 1\n    w = [\n        1,\n    ]\n",
		"class A: x = 1; y = 2\nclass B(C, metaclass=D): '''Doc.'''\n", "def f(a, /, b, *, c=lambda x: x) -> int: ...\n",
		"if x:\n    a = 1\n    class B:\n        b = 2\nelse: c = 3\nd = e = 4\nf, g = 5, 6\nh.i = 7\nj[0] = 8\nk += 9\n",
		"from __future__ import annotations\nfrom .a import (\n    b,  # because\n    c as d,\n)\nimport e.f as g, h\n",
		"def f():\n    import a\n    try:\n        from b import c\n    except ImportError: c = None\n    finally:\n        pass\n",
		"async def f():\n    async with a as b: pass\n    async for c in d:\n        await e\n",
		"x = '\\\n'\ny = r'\\'\nz = \"\"\"\ndef no(): pass\n\"\"\"\nw = rb'''a'''  # b\n", "print 'a', b\nprint >>c, 'd'\nexec 'e'\n",
		"def f(\n  a,\n):\n\treturn 1\n\ndef g():\n        return 2\n", "x = 1 if y else 2\nwhile (lambda: x)(): pass\n",
		"@a\n@b.c(\n    1)\nclass D[T](E[T]):\n    @property\n    def f[T](self): pass\n", "a = 1\\\n  + 2\n\\\nb = 3\n",
		"def f():\n  if a:\n    b\n    # in the block because\n   # in the function because\n  # in the function\nc = 1\n",
		"x = 0xFFe-1 + 1e-5 + 1_0j + .5\n", "assert isinstance(a, b), \"c\"\nraise E, 'f'\n", "x = f\"{a['b']}\"\nx = f'{a!r:>{b}}'\n",
		"def f(): pass\n    # deeper\nclass A:\n    pass\n\n\n    # of A since it is\n\nx = 1\r\ny = 2\r\n", "x: int\nx = y = 1\n(z) = 2\n",
		"<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> b\n", "def f(:\n    pass\n", "class\n", "x = = 1\n", "x = (1\n", "foo bar\n", "x = `1`\n",
		"def f():\nreturn 1\n", "  x = 1\n", "if x:\n    a\n  b\n", "match a:\n    case b: c = 1\n", "type A = int\n", "x = 'a\n", "else x\n",
		"def f(self):\n    self.a: int = 1\n    self.b[0]: int\n    return self\n",
		"a(): int\n", "a.b:\n", "if not if not a: pass\n",
		"from . import async\n", "x = (if)\n", "x return\n",
	}
	sameAsAstGrep(t, texts, true)
	rnd := rand.New(rand.NewPCG(1, 1))
	files := corpus(t, Python)
	if n := sameAsAstGrep(t, files, true); n < len(files)*9/10 {
		t.Errorf("it read %d of %d files", n, len(files))
	}
	for _, f := range files {
		sameAsAstGrep(t, spoiled(rnd, f, 6)[1:], false)
	}
}

// The outline of a Python file assembled from pieces equals that of the whole file, regardless of earlier reads.
func TestPythonMemoryMatchesWholeFile(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	texts := []string{"", "\n", "# a\n\nclass A:\n\n    def f(self): pass\n\n    x = 1\n",
		"class A:\n    x = 1\n\n# outside?\n\n    def f(self): pass\n\n    x = 2\n\n    # c\n    @b\n    def g(self):\n        pass\n" +
			"        # of g, so that\n    # of A\n  # of none\n\nx = 1\n\ndef h(): pass\n\nx = 2\ny = 3\n",
		"class A:\n  x = 1\n\n    def f(self): pass\n",
		"class A:\n    '''\n\n    def f(self): pass\n\n    '''\n\n    def g(self): pass\n",
		"class A: pass\n\nfor x in y:\n    z\n\n    def f(): pass\n", "def f():\n    x\n\n    def g():\n        pass\n",
		"@a\nclass A(B):\n    'Doc.'\n\n    class C:\n        'Inner.'\n\n        def f(self): pass\n\n    def g(self): pass  # because",
		"class A:\n    x = (\n\n    def f(self): pass\n\n    )\n",
		"class A:\n    x = 1\n\n    def f(self): pass\n\n  # left\n\n    def g(self): pass\n",
		"def f() -> '\\'':\n    pass\n\ndef g() -> ':': pass\n", "class A:\n    x = 1\n\n    def f(self): pass\n    \n",
		"if x:\n    class A:\n        y = 1\n\n    def f(): pass\n\nif y: pass\nelse: pass\n",
		"class A:\n    x = 1\n\n    def f(self): pass\n\ny = 1\nclass B:\n    x = 1\n\n    def g(self): pass\n\n    def h(self): pass\n"}
	for _, f := range corpus(t, Python) {
		texts = append(texts, spoiled(rnd, f, 12)...)
	}
	m := NewPythonMemory()
	pieces := 0
	for _, text := range slices.Concat(texts, texts[:20]) {
		want, sound := GlancePython([]byte(text))
		got, ok := m.Glance(text)
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || ok != sound {
			t.Fatalf("%v, want %v: %s\nof\n%s", ok, sound, d, text)
		}
		pieces += len(pythonPieces(text))
	}
	if pieces < 3*len(texts) {
		t.Errorf("%d pieces of %d texts", pieces, len(texts))
	}
}

// The outline of a script assembled from pieces equals that of the whole file, regardless of earlier reads and of how
// questions are combined.
func TestScriptMemoryMatchesWholeFile(t *testing.T) {
	tooltest.Slow(t)
	for _, name := range []string{"a.ts", "a.js"} {
		rnd := rand.New(rand.NewPCG(1, 1))
		texts := []string{"", "\n", "// a\n", "const a = `\n\nfunction b() {}\n`;\n\nfunction c() {}\n", "/*\n\nfunction a() {}\n\n*/\n\nlet b\n",
			"class A {\n\n", "const a = '{'\n\nfunction b() {}\n\nconst c = '}'\n", "describe('a', () => {\n  function b() {}\n\n  it('c');\n});\n",
			"// it's {\n\nconst a = ':(';\n\n// a `b\n\nfunction c() {}\n\nlet d = /['`]/;\n\nfunction e() {}\n",
			"a.b = function() {\n}\n", "(function() {\n})()\n",
			"describe 'A'\n  it 'b'\n    c(function(){\n      return 1\n    })\n  end\nend\n",
			"a.b = function() {\n}\n\n// so\nc()\n", "// d\n", "// e\n", "// f\n",
			"a.b = function() {\n}\n\n// so\n(function() {\n})()\n", // calls the function above the comment
			"a.b = function() {\n}\n\n/* so */ /* it\n is */\n(function() {\n})()\n"}
		for _, f := range corpus(t, LanguageOf(name)) {
			texts = append(texts, spoiled(rnd, f, 6)...)
		}
		m := NewScriptMemory()
		pieces, sound := 0, 0
		for round := range slices.Chunk(texts, 3) {
			m.Begin()
			var versions []*ScriptVersion
			q := &ScriptQuestion{}
			for _, text := range round {
				versions = append(versions, m.Version(name, []byte(text), q))
			}
			ask := func(q *ScriptQuestion) bool {
				nodes, _, err := program(t).Nodes(t.Context(), t.TempDir(),
					[]patterns.Text{{Path: name, Text: q.Text(), Copy: true}}, Rules(LanguageOf(name)), 0)
				if err != nil {
					t.Fatal(err)
				}
				return q.Take(nodes[name])
			}
			if q.Len() > 0 && !ask(q) {
				for _, x := range q.Apart() {
					ask(x)
				}
			}
			all := outlines(t, name, round)
			whole := !slices.ContainsFunc(all, func(o Outline) bool { return o.Error != nil })
			for i, want := range all {
				if whole { // else they may have waited for the answer about one with an error
					sound++
				}
				found, ok := versions[i].Nodes()
				if !ok {
					continue
				}
				if whole {
					pieces++
				}
				got := Read(LanguageOf(name), []byte(round[i]), found)
				if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
					t.Fatalf("%s: %s\nof\n%s", name, d, round[i])
				}
			}
		}
		if pieces < sound*3/4 {
			t.Errorf("%s: %d of %d versions are read by their pieces", name, pieces, sound)
		}
	}
}

// A script is split although regular expressions in it have brackets, quotes and slashes, and divisions are none.
func TestScriptsAreSplitAtRegularExpressions(t *testing.T) {
	for text, want := range map[string]int{
		"a(/\\(/)\n\nb()\n\nc()\n":                                      3,
		"a = b.split(/[/(]/, 2)\n\nb()\n\nc()\n":                        3,
		"x = function() { return /'{/ }\n\nb = /\\//\n\nc()\n":          3,
		"a = b / (c\n\n/ d)\n\ne()\n":                                   2,
		"a = (b) / c; d = '(' / 2\n\ne(f / '(/')\n\ng()\n":              3,
		"<a href={b}/>\n\nc = [/(/, /[)]/]\n\nd = /'/ // it's\n\ne()\n": 4,
	} {
		m := NewScriptMemory()
		m.Begin()
		if got := len(m.Version(".js", []byte(text), &ScriptQuestion{}).units); got != want {
			t.Errorf("%d pieces, want %d, of\n%s", got, want, text)
		}
	}
}
