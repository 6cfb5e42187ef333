package outline

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sameAsWhole fails if the outline that m combines from pieces differs from the outline of the whole file.
func sameAsWhole(t *testing.T, m *GoMemory, text string) {
	t.Helper()
	want := ReadGo("a.go", []byte(text))
	if d := cmp.Diff(want, m.Read("a.go", text), cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("%s\nof\n%s", d, text)
	}
}

// GoMemory returns the same outline as a parser that reads the whole file, regardless of earlier reads.
func TestGoMemoryMatchesWholeFile(t *testing.T) {
	m := NewGoMemory()
	for _, text := range []string{
		"", "\n", "package a", "// only words\n", "package a\n\nfunc F() {}",
		"// Copyright.\n\n// Package a is.\npackage a\n\nimport \"b\"\n\n// F calls.\nfunc F() { b.X() }\n\n// G calls, " +
			"too.\nfunc G() { b.Y(); b.X() }\n",
		"package a\n\n// M is of a type below.\nfunc (t *T) M() {}\n\n// T is above.\ntype T struct {\n\t// TODO: name " +
			"it\n\tX int\n}\n\nfunc (T) N() {}\n",
		"package a\n\nconst s = `\n\nfunc F() {}\n\n`\n\nfunc G() {}\n",       // a text goes over the end of a piece
		"package a\n\n/*\n\nfunc F() {}\n\n*/\n\nfunc G() {}\n",               // so does a comment
		"package a\n\nvar x = 1 +\n\nvar y = 2\n",                             // what begins is not completed
		"package a\n\nfunc F() {}\n\nimport \"b\"\n",                          // an import where none may stand
		"package a\n\nfunc F() {}\n\nvar x int\nimport \"b\"\n",               // and behind something
		"package a\n\n// of imports\nimport \"b\"\n\nvar X = b.X\n",           // a comment that is of none of the pieces
		"package a\n\n// ---- below ----\n\nfunc F() {}\n\n\n\nfunc G() {}\n", // a separate comment
		"package a\n\n// first\n\n// second\nvar (\n\tx = 1 // because it is so\n\n\ty = 2\n)\n",
		"package a\n\nfunc F() {}\n\npackage b\n\nfunc G() {}\n",
		"// package b\n\nfunc F() {}\n\npackage a\n",
		"package a\n\nfunc F() {}\n\n/*", "package a\n\nfunc F() {}\n\n/*/",
		"package a\r\n\r\nfunc F() {}\r\n\r\nfunc G() {}\r\n",
		"package a\n\ntype T = int\n\ntype T struct{}\n\nfunc (T) M() {}\n",
		"package a\n\nfunc F() {\n\tx := 1 // one\n\t// two\n\tg(x) /* three */ /* four */\n\ty := `a // no\nb` // " +
			"five\n\t// TODO: because\n\n\t/* six\n\t*/ g(y)\n\t// seven\n} // eight\n",
		"package a\n\nfunc F() {\n\ttype T struct {\n\t\t// x is so that it is\n\t\tx int\n\t}\n}\n\nfunc G(x any) " +
			"{\n\tswitch x.(type) { // of x\n\t}\n}\n",
		"package a\n\nfunc F(a struct{ b int }) interface{ /* a */ M() /* b */ } { // c\n\treturn '}', \"}\" }\n",
		"package a\n\nfunc asm() interface{ M() } // c\ntype I interface {\n\t// M is.\n\tM()\n}\n",
		"package a\n\nfunc F() {}; type I interface { M() }\n\nfunc F[T interface{ ~int }]() { a /* 1 */ + /* 2 */ b }\n",
		"package a\n\nfunc F() { 1 + }\n\nfunc G() {\n\treturn // c\n}\n", "package a\n\nfunc F() { } }\n\nfunc G() { ( }\n",
		"package a\n\nfunc F() {\n\tx := \"\n}\n",
		"\ufeffpackage a\n\nfunc F() {}\n", "package a\n\nfunc F() {}\n\n\ufefffunc G() {}\n",
		"package a\n\nfunc F() {}\n\nfunc G() { \x00 }\n",
	} {
		sameAsWhole(t, m, text)
		sameAsWhole(t, m, text) // now it is remembered
	}
}

// The same holds for the files of this module, unchanged and with lines deleted, duplicated or moved.
func TestGoMemoryReadsVersions(t *testing.T) {
	files, err := filepath.Glob("../*/*.go")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	m, rnd := NewGoMemory(), rand.New(rand.NewPCG(1, 1))
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for range 6 {
			sameAsWhole(t, m, text)
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
		}
	}
}

// If one declaration changes, only that declaration of the new version is parsed.
func TestGoMemoryParsesChangedDeclaration(t *testing.T) {
	m := NewGoMemory()
	text := "package a\n\nimport \"b\"\n\n// F is.\nfunc F() int { return 1 }\n\n// G is.\nfunc G() int { return b.X " +
		"}\n\ntype T int\n"
	m.Read("a.go", text)
	before := m.parts.Len()
	o := m.Read("a.go", strings.Replace(text, "return 1", "\n\treturn 2", 1))
	if n := m.parts.Len(); before != 4 || n != 5 {
		t.Errorf("%d pieces, then %d; want 4, then 5", before, n)
	}
	if s := o.Symbols[1]; s.Name != "G" || s.Start != 10 {
		t.Errorf("%+v", s)
	}
}

func FuzzGoMemory(f *testing.F) {
	f.Add("package a\n\nimport \"b\"\n\n// F is.\nfunc (T) F() { b.X() }\n\ntype T int // because\n")
	f.Add("package a\n\nvar x = `\n\nfunc F() {}\n\n`\n\n/* a\n\nfunc b() {}\n*/\n")
	m := NewGoMemory()
	f.Fuzz(func(t *testing.T, text string) { sameAsWhole(t, m, text) })
}
