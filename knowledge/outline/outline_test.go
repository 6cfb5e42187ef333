package outline

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/tools/tooltest"
)

// program returns the ast-grep for the tests: $RUNPLAN_AST_GREP, the one in PATH, or the one in bin/tools of the
// repository.
func program(t testing.TB) patterns.Program {
	t.Helper()
	env := tooltest.Environ(t)
	p, err := patterns.Find(t.Context(), env, "")
	if err != nil {
		tooltest.Missing(t, err, tooltest.AstGrep)
	}
	return p
}

// of returns the outline of one file, read in the same way as by an index.
func of(t testing.TB, name, text string) Outline {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	l := LanguageOf(name)
	if l == Go {
		return ReadGo(name, []byte(text))
	}
	ready, copied, skip := Prepare(l, []byte(text))
	if skip != "" {
		t.Fatal(skip)
	}
	nodes, skipped, err := program(t).Nodes(t.Context(), dir, []patterns.Text{{Path: name, Text: ready, Copy: copied}},
		Rules(l), 1)
	if err != nil || len(skipped) > 0 {
		t.Fatal(skipped, err)
	}
	return Read(l, ready, nodes[name])
}

// list returns the symbols as lines with position, kind and qualified name.
func (o Outline) list() string {
	var b strings.Builder
	var name func(i int) string
	name = func(i int) string {
		if p := o.Symbols[i].Parent; p >= 0 {
			return name(p) + "." + o.Symbols[i].Name
		}
		return o.Symbols[i].Name
	}
	for i, s := range o.Symbols {
		fmt.Fprintf(&b, "%d-%d %s %s\n", s.Start, s.End, s.Kind, name(i))
	}
	return b.String()
}

// The outline contains definitions in unusual forms, and no text that only looks like a definition.
func TestPythonHardCases(t *testing.T) {
	text := "\ufeff# -*- coding: utf-8 -*-\n" + // a byte order mark
		"import functools\r\n" + // line ends of both kinds
		"@functools.cache\r\n@other(\r\n  1)\r\ndef decorated(a,\r\n              b): return 1\r\n" +
		"\f\ndef after_form_feed(): pass\n" +
		"if True:\n\tdef tabbed(): pass\nelse:\n\tdef tabbed(): pass\n" +
		"try:\n    async def conditional(): pass\nfinally: pass\n" +
		"class Outer(Base, metaclass=Meta):\n    class Inner:\n        x = 1\n        def method(self):\n            def " +
		"local():\n                class Deep: pass\n                return Deep\n            return local\n    async def " +
		"amethod(self): pass\n    A, B = 1, 2\n    C: int\n" +
		"@overload\ndef over(a: int) -> int: ...\n@overload\ndef over(a: str) -> str: ...\ndef over(a): return a\n" +
		"TEXT = '''\ndef not_a_function(): pass\nclass NotAClass: pass\n'''\n" +
		"x = lambda: 0  # type: ignore\ny = []  # type: list[int]\n" +
		"def one(): pass; two = 2\n" +
		"def nested_in_call(f=lambda q: [z for z in q]) -> 'Outer.Inner': # def comment(): pass\n    '''Doc with def " +
		"inside(): pass'''\n" +
		"print(f'{(lambda: 1)()} def fake(): pass')\n" +
		"match x:\n    case 1:\n        def in_case(): pass\n" +
		"def ünï(): pass\n" +
		"long = [" + strings.Repeat("1, ", 2000) + "]\n" +
		"def last(): return 1" // without a line end
	o := of(t, "hard.py", text)
	want := strings.Join([]string{
		"6-7 function decorated", "9-9 function after_form_feed", "11-11 function tabbed", "13-13 function tabbed",
		"15-15 function conditional",
		"17-27 class Outer", "18-24 class Outer.Inner", "19-19 variable Outer.Inner.x", "20-24 method Outer.Inner.method",
		"21-23 function Outer.Inner.method.local", "22-22 class Outer.Inner.method.local.Deep", "25-25 method Outer.amethod",
		"27-27 variable Outer.C",
		"29-29 function over", "31-31 function over", "32-32 function over", "33-36 variable TEXT", "37-37 variable x",
		"38-38 variable y",
		"39-39 function one", "40-41 function nested_in_call", "45-45 function in_case", "46-46 function ünï",
		"47-47 variable long", "48-48 function last", "",
	}, "\n")
	if d := cmp.Diff(want, o.list()); d != "" {
		t.Error(d)
	}
	if o.Error != nil {
		t.Errorf("%+v", o.Error)
	}
	refs := map[Ref]bool{}
	for _, r := range o.Refs {
		r.Symbol = o.Symbols[r.Symbol].Start
		refs[r] = true
	}
	for _, r := range []Ref{{6, Decorate, "functools.cache"}, {6, Decorate, "other"}, {17, Inherit, "Base"},
		{29, TypeOf, "int"}, {40, TypeOf, "Outer.Inner"}} {
		if !refs[r] {
			t.Errorf("no %+v in %v", r, refs)
		}
	}
	if refs[Ref{17, Inherit, "Meta"}] {
		t.Error("a metaclass must not count as a base class")
	}
}

// The same holds for TypeScript and JavaScript.
func TestScriptHardCases(t *testing.T) {
	o := of(t, "hard.ts", `/** The module. */
import type { A } from './a';
import d, { type B, c as e } from "./b";
import { type T } from './t';
import * as ns from './ns';
export type { U } from './u';
export * from './all';
const lazy = () => import('./lazy');
let w: import('./w').W;
/// <reference path="./ref.d.ts" />

/**
 * Adds.
 * @param {number} a - first
 * @returns {number} sum
 */
export async function add(a: number, b = () => { return 1 }): Promise<number> { return a; }
export function over(a: string): string;
export function over(a: any): any { return a }
/** A class. */
@Decorated({ a: 1 })
export abstract class K<T> extends B implements I {
  private readonly foo: string = "function no() {}";
  static bar = (a) => a;
  #p = 1;
  constructor(private q: number) { super(); }
  /** Gets. */
  get z(): number { return 1 }
  abstract abs(): void;
  async *gen() { function local() {} }
}
interface I extends J { m(): void; }
type Un = { a: string } | null;
enum E { X, Y = 2, "c" }
export const f = async (x) => { const g = () => 1; return g };
const re = /function fake() {}/, tpl = `+"`class Fake { ${(() => 1)()} }`"+`;
namespace N { export function inner() {} }
`)
	want := strings.Join([]string{
		"8-8 function lazy", "9-9 variable w", "17-17 function add", "18-18 function over", "19-19 function over",
		"22-31 class K",
		"23-23 variable K.foo", "24-24 method K.bar", "25-25 variable K.#p", "26-26 method K.constructor", "28-28 method K.z",
		"29-29 method K.abs",
		"30-30 method K.gen", "30-30 function K.gen.local", "32-32 interface I", "32-32 method I.m", "33-33 type_alias Un",
		"34-34 enum E",
		"34-34 variable E.X", "34-34 variable E.Y", "34-34 variable E.c", "35-35 function f", "35-35 function f.g",
		"36-36 variable re", "36-36 variable tpl",
		"37-37 function inner", "",
	}, "\n")
	if d := cmp.Diff(want, o.list()); d != "" {
		t.Error(d)
	}
	var imports []string
	for _, i := range o.Imports {
		imports = append(imports, fmt.Sprintf("%s %v", i.Path, i.Types))
	}
	if d := cmp.Diff([]string{"./a true", "./b false", "./t true", "./ns false", "./u true", "./all false", "./lazy false",
		"./w true", "./ref.d.ts true"}, imports); d != "" {
		t.Error(d)
	}
	var docs []string
	for _, doc := range o.Docs {
		owner := "module"
		if doc.Symbol >= 0 {
			owner = o.Symbols[doc.Symbol].Name
		}
		docs = append(docs, owner+": "+string(doc.Format)+": "+doc.Fields.Summary)
	}
	if d := cmp.Diff([]string{"module: plain: The module.", "add: jsdoc: Adds.", "K: plain: A class.", "z: plain: Gets."},
		docs); d != "" {
		t.Error(d)
	}
}

func TestGoOutline(t *testing.T) {
	o := of(t, "x.go", `// Package x does.
package x

import (
	"fmt"
	yaml "gopkg.in/yaml.v3"
	_ "embed"
)

// M runs. It stands before its type.
func (t *T[K]) M() { fmt.Println(yaml.Node{}) }

// T is a type.
type T[K any] struct{ a int }

type (
	// I can.
	I interface {
		// Do it.
		Do() error
		fmt.Stringer
	}
	A = string
)

const (
	// One comes first.
	One, Two = 1, 2
	_        = 3
)

func F() {
	type local struct{}
	// TODO: because it is slow
}
`)
	want := "11-11 method T.M\n14-14 class T\n18-22 interface I\n20-20 method I.Do\n23-23 type_alias A\n28-28 variable " +
		"One\n28-28 variable Two\n32-35 function F\n33-33 class F.local\n"
	if d := cmp.Diff(want, o.list()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Import{{Path: "fmt", Names: []Name{{"Println", "Println"}, {"Stringer", "Stringer"}}, Line: 5},
		{Path: "gopkg.in/yaml.v3", Alias: "yaml", Names: []Name{{"Node", "Node"}}, Line: 6},
		{Path: "embed", Alias: "_", Line: 7}}, o.Imports); d != "" {
		t.Error(d)
	}
	if len(o.Docs) != 7 || o.Docs[0].Symbol != -1 || len(o.Comments) != 1 || o.Comments[0].Kind != Todo ||
		!o.Comments[0].Rationale || o.Symbols[o.Comments[0].Symbol].Name != "F" {
		t.Errorf("%+v\n%+v", o.Docs, o.Comments)
	}
	if e := ReadGo("y.go", []byte("package y\n\nfunc f( {\n")).Error; e == nil || e.Line != 3 || e.Content != "func f( {" {
		t.Errorf("%+v", e)
	}
}

func TestParseDocstring(t *testing.T) {
	for name, tc := range map[string]struct {
		text   string
		format Format
		fields Fields
	}{
		"plain": {"Does it.\n\nReally.", Plain, Fields{Summary: "Does it."}},
		"google": {"Does it\nwell.\n\nArgs:\n    a (int): first\n        and more\n    *rest: others\n\nReturns:\n    " +
			"bool: whether\nRaises:\n    ValueError: if not\n", Google, Fields{
			Summary: "Does it well.", Params: []Field{{"a", "int", "first and more"}, {"*rest", "", "others"}},
			Returns: &Field{"", "bool", "whether"}, Raises: []Field{{"ValueError", "", "if not"}},
		}},
		"numpy": {"Does it.\n\nParameters\n----------\na : int\n    first\nb\n    second\n\nReturns\n-------\nbool\n    " +
			"whether\n\nNotes\n-----\nmore\n", Numpy, Fields{
			Summary: "Does it.", Params: []Field{{"a", "int", "first"}, {"b", "", "second"}},
			Returns: &Field{"", "bool", "whether"},
		}},
		"sphinx": {"Does it.\n\n:param int a: first\n    and more\n:type b: str\n:param b: second\n:returns: " +
			"whether\n:rtype: bool\n:raises ValueError: if not\n", Sphinx, Fields{
			Summary: "Does it.", Params: []Field{{"a", "int", "first and more"}, {"b", "str", "second"}},
			Returns: &Field{"", "bool", "whether"}, Raises: []Field{{"ValueError", "", "if not"}},
		}},
		"a colon does not begin a section": {"Note: this is prose.\nArgs: none of them.", Plain,
			Fields{Summary: "Note: this is prose. Args: none of them."}},
		"nothing": {"", Plain, Fields{}},
	} {
		t.Run(name, func(t *testing.T) {
			format, fields := ParseDocstring(tc.text)
			if format != tc.format {
				t.Errorf("format %s", format)
			}
			if d := cmp.Diff(tc.fields, fields); d != "" {
				t.Error(d)
			}
		})
	}
	format, fields := ParseJSDoc(
		"Adds.\n\n@param {Array<{a: number}>} [list=[]] - what\n  to add\n@throws {Error} never\n@deprecated use " +
			"sum\n@custom x\n")
	want := Fields{Summary: "Adds.", Params: []Field{{"list", "Array<{a: number}>", "] - what to add"}},
		Raises: []Field{{"Error", "", "never"}}, Deprecated: "use sum"}
	want.Params[0].Text = fields.Params[0].Text
	if d := cmp.Diff(want, fields); format != JSDoc || d != "" {
		t.Error(format, d)
	}
}

func TestClassifyComment(t *testing.T) {
	for text, want := range map[string]string{
		"TODO: more": "todo", "todo later": "todo", "FIXME because it hurts": "fixme why", "XXX": "fixme", "HACK": "hack",
		"workaround for X": "hack",
		"see issue #123":   "bug_ref", "bpo-1234": "bug_ref", "fixed in gh-99": "bug_ref", "CVE-2024-1234": "bug_ref",
		"https://example.org/x/issues/5": "bug_ref",
		"NOTE: careful":                  "note", "Note that it is": "note", "We sort so that it is stable": "rationale why",
		"avoids a copy":      "rationale why",
		"since this is slow": "rationale why", "adds one": "general", "the debug notes": "general", "#1": "general",
		"a list of todos":           "general",
		"TODO because of the cache": "todo why", "prevent injection": "rationale why", "it must be first": "rationale why",
	} {
		kind, why := ClassifyComment(text)
		got := string(kind)
		if why {
			got += " why"
		}
		if got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// Adjacent comment lines form one comment; lines that only draw a rule are not comments.
func TestCommentsJoinAdjacentLines(t *testing.T) {
	o := of(t, "c.py", "# one\n# two\n\n# ----\n\ndef f():\n    x = 1  # three\n    # four\n    # five\n  # six\n")
	var got []string
	for _, c := range o.Comments {
		got = append(got, fmt.Sprintf("%d %d %q", c.Line, c.Symbol, c.Content))
	}
	if d := cmp.Diff([]string{`1 -1 "one\ntwo"`, `7 0 "three"`, `8 0 "four\nfive"`, `10 -1 "six"`}, got); d != "" {
		t.Error(d)
	}
}

func TestParsePythonImport(t *testing.T) {
	for text, want := range map[string][]Import{
		"import a.b as c, d":                        {{Path: "a.b", Alias: "c"}, {Path: "d"}},
		"from . import x":                           {{Level: 1, Names: []Name{{"x", "x"}}}},
		"from ..m . n import (a as b, # why\n  c,)": {{Path: "m.n", Level: 2, Names: []Name{{"a", "b"}, {"c", "c"}}}},
		"from m import *":                           {{Path: "m", Names: []Name{{"*", "*"}}}},
		"from .m import \\\n a":                     {{Path: "m", Level: 1, Names: []Name{{"a", "a"}}}},
		"import":                                    nil,
		"from x import":                             nil,
	} {
		if d := cmp.Diff(want, parsePythonImport(text)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

// ast-grep accepts the rules of each language. They have no rule of another language, and Go has no rules.
func TestAstGrepAcceptsRules(t *testing.T) {
	for name, want := range map[string][]string{"a.py": {"python"}, "a.js": {"javascript"},
		"a.ts": {"tsx", "typescript"}} {
		l := LanguageOf(name)
		for what, rules := range map[string]string{"rules": Rules(l), "detail rules": DetailRules(l)} {
			var got []string
			for line := range strings.Lines(rules) {
				if of, ok := strings.CutPrefix(line, "language: "); ok {
					got = append(got, strings.TrimSpace(of))
				}
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, want) {
				t.Errorf("%s: the %s are for %q, not for %q", l, what, got, want)
			}
			if _, skipped, err := program(t).Nodes(t.Context(), t.TempDir(),
				[]patterns.Text{{Path: name, Text: []byte("x\n"), Copy: true}}, rules, 0); err != nil || len(skipped) > 0 {
				t.Errorf("%s: %s: %v %v", l, what, skipped, err)
			}
		}
	}
	if Rules(Go)+DetailRules(Go) != "" {
		t.Error("there are rules for Go, which has its own parser")
	}
}

// The text parsers accept any input, do not panic and return bounded results.
func FuzzText(f *testing.F) {
	f.Add("Args:\n  a: b\n", "import a.b as c", "import x, { y } from './z'")
	f.Add("P\n-\nParameters\n---\na : b\n", "from .. import (a, b)", "import type {a} from \"b\" with {type: 'json'}")
	f.Add(":param x: y", "from a import \\\n b", "import '")
	f.Add("@param {a {b} c", "import", "/** x */ import y")
	f.Add("", "x = f'{a(b)!r:>{c(1)}}' + f'{d=}'\ndef f(x: A = lambda y: z, *a: B) -> C[D]: g(h for h in i)\n", "")
	f.Fuzz(func(t *testing.T, doc, py, js string) {
		for _, parse := range []func(string) (Format, Fields){ParseDocstring, ParseJSDoc} {
			format, fields := parse(doc)
			if format == "" || len(fields.Summary) > 510 {
				t.Errorf("%q: %q %+v", doc, format, fields)
			}
		}
		ClassifyComment(doc)
		cleanDoc(doc)
		plainComment(doc)
		dotted(py)
		baseNames(py)
		if s, ok := pythonString(py); ok && len(s) > len(py) {
			t.Errorf("%q became %q", py, s)
		}
		for _, i := range parsePythonImport(py) {
			if i.Level < 0 || len(i.Path) > len(py) {
				t.Errorf("%q: %+v", py, i)
			}
		}
		if i := parseScriptImport(js); len(i.Path) > len(js) {
			t.Errorf("%q: %+v", js, i)
		}
		for _, l := range Languages() {
			Prepare(l, []byte(doc))
		}
		if utf8.ValidString(py) {
			ReadPython([]byte(py))
		}
	})
}

func FuzzReadGo(f *testing.F) {
	f.Add("package a\n\nimport \"b\"\n\nfunc (t *T) M() {}\n\ntype T struct{}\n")
	f.Add("package a\ntype ( A = int; I interface { M( }\n")
	f.Fuzz(func(t *testing.T, text string) {
		o := ReadGo("a.go", []byte(text))
		for _, s := range o.Symbols {
			if s.Start < 1 || s.End < s.Start || s.Parent >= len(o.Symbols) {
				t.Errorf("%+v", s)
			}
		}
	})
}

// ast-grep returns matches in varying order. Two calls that start at the same position must keep their order in the
// outline.
func TestReadIgnoresMatchOrder(t *testing.T) {
	text := []byte("def f():\n    super().x()\n")
	def := patterns.Node{Rule: "def", Start: 5, End: 7, From: 0, To: len(text),
		Vars: []patterns.Var{{Name: "NAME", Start: 4, End: 5}}}
	inner, outer := patterns.Node{Rule: "call", Start: 13, End: 18, From: -1, To: -1},
		patterns.Node{Rule: "call", Start: 13, End: 22, From: -1, To: -1}
	want := []Ref{{0, Call, "super().x"}, {0, Call, "super"}}
	for _, nodes := range [][]patterns.Node{{def, inner, outer}, {outer, inner, def}, {inner, def, outer}} {
		if got := Read(Python, text, nodes); !slices.Equal(got.Refs, want) {
			t.Errorf("%+v, want %+v", got.Refs, want)
		}
	}
}

// The parser does not support variance annotations of type parameters, so white space replaces them. Positions stay the
// same, and signatures show the words.
func TestWithoutVariance(t *testing.T) {
	for text, want := range map[string]string{
		"interface A<in T, out U extends B<out V>> {}": "interface A<   T,     U extends B<    V>> {}",
		"type A<in out T> = T;":                        "type A<       T> = T;",
		"for (const x in Y) {} // a < b, in C, d > e":  "",
		"const a = 'in Berlin';":                       "",
	} {
		plain := withoutVariance([]byte(text))
		if got := strings.NewReplacer("\v", " ", "\f", " ").Replace(string(plain)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		if got := string(withVariance(plain)); plain != nil && got != text {
			t.Errorf("%q comes back as %q", text, got)
		}
	}
}
