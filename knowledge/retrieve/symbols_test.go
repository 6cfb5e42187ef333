package retrieve

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/tools/tooltest"
)

// pieces returns the pieces of a file that a model may choose: their lines and names.
func pieces(t *testing.T, name, text string) (out []string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	files := newTree(Deps{Environ: tooltest.Environ(t), Program: astGrep(t)}, dir)
	c := &content{source: files.source(name)}
	o, err := files.outline(t.Context(), c.source)
	if err != nil {
		t.Fatal(err)
	}
	c.take(o)
	c.addBlocks()
	for i, s := range c.symbols {
		if c.choosable(i) {
			out = append(out, fmt.Sprintf("%d-%d %s", s.start, s.end, s.name))
		}
	}
	return out
}

// A piece ends where its statement or block ends.
func TestPiecesAreWhole(t *testing.T) {
	long := strings.Repeat("export const x = 1;\n", 4) + strings.Repeat("\n// none\n", 20)
	for name, c := range map[string]struct{ text, want string }{
		"group.go": {"package a\n\n// Why.\nconst (\n\tA = 1\n\n\t// B is two.\n\tB = 2\n)\n\nvar C = 1\n\ntype (\n\tD int\n)\n",
			"4-9 A, 4-9 B, 11-11 C, 13-15 D"},
		"long.go": {"package a\n\nconst (\n\tA = 1\n" + strings.Repeat("\n", 40) + "\tB = 2\n)\n", "4-4 A, 45-45 B"},
		"if.py":   {"if True:\n    def a(): pass\nelse:\n    def a(): pass\n\nb = 1\n", "1-4 if True:, 2-2 a, 4-4 a, 6-6 b"},
		"many.js": {"const a = 1,\n  b = 2,\n  c = { d() {\n    return 1\n  } };\n\nlet e;\n",
			"1-5 a, 1-5 b, 1-5 c, 1-5 d, 7-7 e"},
		"functions.js": {"export const a = () => {\n  return 1;\n}, b = function () {\n  return 2;\n};\n", "1-5 a, 1-5 b"},
		"ns.ts": {"declare module \"foo\" {\n  export function a(\n    b: string,\n  ): void;\n}\n\nnamespace NS {\n" +
			"  export const c = 1;\n}\n\n" + long + "namespace Far {\n  export class E {\n    a() {\n" + strings.Repeat("\n", 40) + "    }\n  }\n}\n",
			"1-5 declare module \"foo\" {, 2-4 a, 7-9 namespace NS {, 8-8 c, 11-11 x, 12-12 x, 13-13 x, 14-14 x, " +
				"56-99 E, 57-98 E.a"},
		"attribute.rs": {"#[derive(\n    Debug,\n)]\nstruct A {\n" + strings.Repeat("    a: u8,\n", 12) + "}\n" +
			strings.Repeat("\nfn b() {\n"+strings.Repeat("    b();\n", 30)+"}\n", 2),
			"1-17 struct A {, 19-50 fn b() {, 52-83 fn b() {"},
		"default.ts": {"import a from 'a';\n\nexport default {\n  name: 'x',\n  open() {\n    return 1;\n  },\n  shut: () => {\n" +
			"    return 2;\n  },\n};\n", "3-11 export default {, 5-7 open, 8-10 shut"},
	} {
		got := strings.Join(pieces(t, name, c.text), ", ")
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Names that share their lines, as in a group of constants, are shown once.
func TestSameLinesAreShownOnce(t *testing.T) {
	a := Choice{Path: "a.go", Symbol: "A", Kind: "variable", Start: 1, End: 4, Detail: TypeContext}
	b := a
	b.Symbol = "B"
	if !a.covers(b) || b.covers(a) {
		t.Error("of two equal choices one is left out")
	}
	b.Detail = Primary
	if a.covers(b) || !b.covers(a) {
		t.Error("the more important one stays")
	}
	a.Kind, b.Kind, b.Detail = "function", "function", TypeContext
	if a.covers(b) || b.covers(a) {
		t.Error("only signatures are shown")
	}
}
