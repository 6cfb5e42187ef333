package mutant

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/tools/tooltest"
)

// every returns the numbers of all lines of a text.
func every(text string) map[int]bool {
	lines := map[int]bool{}
	for i := range strings.Count(text, "\n") + 1 {
		lines[i+1] = true
	}
	return lines
}

func told(list []Mutant) []string {
	var out []string
	for _, m := range list {
		out = append(out, fmt.Sprintf("%d %s: %s → %s", m.Line, m.Kind, m.Old, m.New))
	}
	slices.Sort(out)
	return out
}

func check(t *testing.T, got []Mutant, want ...string) {
	t.Helper()
	slices.Sort(want)
	if have := told(got); !slices.Equal(have, want) {
		t.Errorf("mutants:\n\t%s\nwant:\n\t%s", strings.Join(have, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestGoMutants(t *testing.T) {
	const head = "package p\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a comparison and its condition": {"func f(a int) int {\n\tif a < 3 {\n\t\treturn a\n\t}\n\treturn 7\n}", []string{
			"3 condition: a < 3 → !(a < 3)", "3 constant: 3 → 4", "4 return: a → 0", "6 constant: 7 → 8", "6 return: 7 → 0",
		}},
		"an error that is returned": {"func f() error {\n\tif err := g(); err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}",
			[]string{
				"3 swallow: err != nil → err != nil && false", "4 swallow: err → nil",
			}},
		"calls and assignments are left out": {"func f(s *T) {\n\tg(s)\n\ts.n = h()\n\ts.n++\n}", []string{
			"3 call: g(s) → ", "4 call: s.n = h() → ", "5 operator: ++ → --",
		}},
		"arithmetic, not text": {"func f(a, b int, s string) (int, string) {\n\treturn a + b*2, s + \"x\"\n}", []string{
			"3 operator: + → -", "3 operator: * → /", "3 constant: 2 → 3", "3 return: a + b*2 → 0", "3 return: s + \"x\" → \"\"",
		}},
		"what is printed, logged or only capacity": {"func f(n int) []int {\n\tlog.Printf(\"%d\", n+1)\n\tfmt.Println(n - " +
			"1)\n\treturn make([]int, 0, n+1)\n}", []string{
			"5 constant: 0 → 1", "5 return: make([]int, 0, n+1) → nil",
		}},
		"and, or, not": {"func f(a, b bool) bool { return a && (b || !a) }", []string{
			"2 condition: && → ||", "2 condition: || → &&", "2 condition: ! → ", "2 return: a && (b || !a) → false",
		}},
		"a clamp does the same with <=": {"func f(x, lo int) int {\n\tif x < lo {\n\t\tx = lo\n\t}\n\treturn x\n}", []string{
			"3 condition: x < lo → !(x < lo)", "4 call: x = lo → ", "6 return: x → 0",
		}},
		"a negation is made once": {"func f(a int, b bool) {\n\tif a == 3 {\n\t\tg()\n\t}\n\tif !b {\n\t\tg()\n\t}\n}",
			[]string{
				"3 condition: == → !=", "3 constant: 3 → 4", "4 call: g() → ", "6 condition: ! → ", "7 call: g() → ",
			}},
		"a loop continues": {"func f() {\n\tfor i := 0; i < 9; i++ {\n\t\tg(-i)\n\t}\n}", []string{
			"3 boundary: < → <=", "3 condition: i < 9 → (i < 9) && false", "3 constant: 0 → 1", "3 constant: 9 → 10",
			"4 call: g(-i) → ", "4 operator: - → ",
		}},
		"conditions of a switch": {"func f(a int) {\n\tswitch {\n\tcase a < 3, a != 5:\n\t\tg()\n\t}\n}", []string{
			"4 boundary: < → <=", "4 condition: != → ==", "4 condition: a < 3 → !(a < 3)", "4 constant: 3 → 4",
			"4 constant: 5 → 6", "5 call: g() → ",
		}},
		"a value that is already zero": {"func f(s string) {\n\tif s != x {\n\t\ta, err = g(s)\n\t} else {\n\t\ta = 0\n\t}\n}", []string{
			"3 condition: != → ==", "6 constant: 0 → 1",
		}},
		"-1 is changed once, other numbers twice": {"func f(a int) bool {\n\treturn a != -1\n}\n\nfunc g() int {\n\treturn " +
			"-90\n}",
			[]string{
				"3 condition: != → ==", "3 operator: - → ", "3 return: a != -1 → false",
				"7 constant: 90 → 91", "7 operator: - → ", "7 return: -90 → 0",
			}},
		"no code": {"const a = 3\n\ntype t struct{ n int }", nil},
		"no Go":   {"func {", nil},
	} {
		t.Run(name, func(t *testing.T) { check(t, Of("p.go", head+c.text+"\n", every(head+c.text)), c.want...) })
	}
}

func TestOnlyGivenLinesAreMutated(t *testing.T) {
	text := "package p\n\nfunc f(a int) int {\n\treturn a + 1\n}\n\nfunc g(a int) int {\n\treturn a - 1\n}\n"
	for _, m := range Of("p.go", text, map[int]bool{8: true}) {
		if m.Line != 8 {
			t.Errorf("a mutant of line %d", m.Line)
		}
	}
}

func TestSpreadTakesEachLineFirst(t *testing.T) {
	text := "package p\n\nfunc f(a int) int {\n\tif a < 3 && a > 1 {\n\t\treturn a + 1\n\t}\n\treturn 7\n}\n"
	list := Spread(Of("p.go", text, every(text)))
	first := map[int]bool{}
	for _, m := range list[:3] {
		first[m.Line] = true
	}
	if len(first) != 3 {
		t.Errorf("the first three mutants are on %d lines", len(first))
	}
}

func TestScriptMutants(t *testing.T) {
	program, err := patterns.Find(t.Context(), tooltest.Environ(t), "")
	if err != nil {
		tooltest.Missing(t, err, tooltest.AstGrep)
	}
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"Python": {"a.py",
			"def f(a):\n    if a < 3 and not a:\n        raise ValueError(\"no\")\n    g(a)\n    print(a + 1)\n    return a * " +
				"2\n", []string{
				"2 boundary: < → <=", "2 condition: and → or", "2 condition: not  → ",
				"2 condition: a < 3 and not a → not (a < 3 and not a)",
				"2 constant: 3 → 4", "3 swallow: raise ValueError(\"no\") → pass", "4 call: g(a) → pass",
				"6 operator: * → /", "6 constant: 2 → 3", "6 return: a * 2 → None",
			}},
		"JavaScript": {"a.js",
			"export function f(a) {\n  if (a === 3 || !a) {\n    throw new Error('no');\n  }\n  g(a);\n  console.log(a - " +
				"1);\n  return a ?? true;\n}\n", []string{
				"2 condition: === → !==", "2 condition: || → &&", "2 condition: ! → ",
				"2 condition: a === 3 || !a → !(a === 3 || !a)", "2 constant: 3 → 4",
				"3 swallow: throw new Error('no'); → ;", "5 call: g(a); → ;", "7 condition: ?? → &&", "7 constant: true → false",
				"7 return: a ?? true → undefined",
			}},
		"conditions in Python": {"b.py",
			"TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import a\n\ndef f(a):\n    if a == b:\n        g()\n    elif a > b:\n" +
				"        raise ValueError(1 + a)\n    return [-x if x in a else x for x in a if x]\n", []string{
				"10 condition: in → not in", "10 condition: x → not (x)", "10 operator: - → ",
				"10 return: [-x if x in a else x for x in a if x] → None", "6 condition: == → !=", "7 call: g() → pass",
				"8 boundary: > → >=", "8 condition: a > b → not (a > b)", "9 swallow: raise ValueError(1 + a) → pass",
			}},
		"conditions in JavaScript": {"b.js",
			"function f(a) {\n  while (a > b) {\n    if (!a) throw new RangeError(1 + a);\n  }\n  return a ? -a : b;\n}\n",
			[]string{
				"2 boundary: > → >=", "2 condition: a > b → !(a > b)", "3 condition: ! → ",
				"3 swallow: throw new RangeError(1 + a); → ;", "5 condition: a → !(a)", "5 operator: - → ",
				"5 return: a ? -a : b → undefined",
			}},
		"-1 and declarations of overloads in Python": {"c.py",
			"@t.overload\ndef f(a, b=True) -> int: ...\n\n@overload\ndef f(a, b=1) -> str: ...\n\n@cache\ndef f(a, b=-1):\n" +
				"    return a - 1\n", []string{
				"8 operator: - → ", "9 constant: 1 → 2", "9 operator: - → +", "9 return: a - 1 → None",
			}},
		"-1 and other numbers in JavaScript": {"c.js", "const f = (a) => a.indexOf('x', -90) === -1;\n", []string{
			"1 condition: === → !==", "1 constant: 90 → 91", "1 operator: - → ", "1 operator: - → ",
		}},
		"TypeScript": {"a.ts", "type T = 1 | 2;\nexport const f = (a: number): boolean => {\n  return a >= 3;\n};\n",
			[]string{
				"3 boundary: >= → >", "3 constant: 3 → 4", "3 return: a >= 3 → undefined",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			list, err := Script(t.Context(), program, dir, []patterns.Text{{Path: c.file, Text: []byte(c.text)}},
				map[string]map[int]bool{c.file: every(c.text)})
			if err != nil {
				t.Fatal(err)
			}
			check(t, list, c.want...)
		})
	}
}

// For any file, each mutant is inside the file and changes it, and the mutants are in order.
func FuzzOf(f *testing.F) {
	f.Add(
		"package p\n\nfunc f(a int) (int, error) {\n\tif a < 1 { return 0, nil }\n\treturn make([]int, a)[0] + 1, g()\n}\n")
	f.Add("package p\nvar _ = func() bool { return !true || false }\n")
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, m := range Of("p.go", text, every(text)) {
			if m.Start < last || m.End < m.Start || m.End > len(text) || text[m.Start:m.End] != m.Old || m.Apply(text) == text {
				t.Fatalf("%+v", m)
			}
			last = m.Start
		}
	})
}

func TestTakeBack(t *testing.T) {
	const before = "package p\n\nfunc f() int {\n\treturn 1\n}\n\nfunc g() {\n\th()\n}\n"
	const after = "package p\n\n// f is new.\nfunc f() int {\n\tx := 2\n\treturn x\n}\n\nfunc g() {\n}\n"
	list := TakeBack("a.go", before, after)
	var got []string
	for _, m := range list {
		got = append(got, m.DescribeBack())
		if text := m.Apply(after); text == after || strings.Count(text, "func") != 2 {
			t.Errorf("%s makes %q", m.DescribeBack(), text)
		}
	}
	want := []string{"lines 5 to 6 are reverted", "the lines removed before line 10 are restored"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	whole := TakeBack("a.go", before, strings.ReplaceAll(after, "// f is new.\n", ""))
	text := strings.ReplaceAll(after, "// f is new.\n", "")
	for _, m := range slices.Backward(whole) {
		text = m.Apply(text)
	}
	if text != before {
		t.Errorf("all parts reverted give %q", text)
	}
}
