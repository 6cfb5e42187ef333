package names

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/planparse"
)

const goHead = "package calc\n\nimport \"testing\"\n\n"

// goTest returns a Go test of one call and its expected result.
func goTest(name, call, want string) string {
	return "func " + name + "(t *testing.T) {\n\tif got := " + call + "; got != " + want + " {\n\t\tt.Fatalf(\"" + call +
		" = %d\", got)\n\t}\n}\n\n"
}

// cases makes test cases from names; a leading - means failed, a leading ~ means skipped.
func cases(group string, names ...string) []testout.Case {
	out := []testout.Case{}
	for _, n := range names {
		c := testout.Case{Name: n, Group: group, Status: testout.Passed}
		if rest, ok := strings.CutPrefix(n, "-"); ok {
			c.Name, c.Status = rest, testout.Failed
		} else if rest, ok := strings.CutPrefix(n, "~"); ok {
			c.Name, c.Status = rest, testout.Skipped
		}
		out = append(out, c)
	}
	return out
}

const table = `func TestAll(t *testing.T) {
	for _, tt := range []struct{ a, b, want int }{{1, 2, 3}, {-1, 5, 4}} {
		if got := Add(tt.a, tt.b); got != tt.want {
			t.Errorf("got %d", got)
		}
	}
}
`

func TestCompareFindsLostTests(t *testing.T) {
	one, two := goTest("TestOne", "Add(1, 2)", "3"), goTest("TestTwo", "Add(-1, 5)", "4")
	mul := goTest("TestMul", "Mul(2, 3)", "6")
	goFile := func(path, before, after string) File {
		head := func(s string) string {
			if s == "" {
				return ""
			}
			return goHead + s
		}
		return File{path, head(before), head(after)}
	}
	for name, c := range map[string]struct {
		base, now, held []string
		nowGroup        string
		files           []File
		plan            string
		lost            []string
	}{
		"everything still runs": {base: []string{"TestOne"}, now: []string{"TestOne"}},
		"a file is not built any more": {
			base: []string{"-TestOne", "TestMul"}, now: []string{"TestMul"},
			files: []File{goFile("calc_test.go", one, ""), goFile("calc_windows_test.go", "", one)}, lost: []string{"TestOne"},
		},
		"no file of tests changed": {base: []string{"TestOne", "TestMul"}, lost: []string{"TestOne", "TestMul"}},
		"a test is skipped by a helper": {
			base: []string{"TestOne"}, now: []string{"~TestOne"}, lost: []string{"TestOne"},
		},
		"a script says what went wrong behind the name": {
			base: []string{"-add 2 3 is -1, want 5", "mul 2 3"}, now: []string{"add 2 3", "mul 2 3"},
		},
		"a script that changed says so": {
			base: []string{"-add 2 3 is -1, want 5"}, now: []string{"add 2 3"},
			files: []File{{"check.sh", "echo \"not ok - $1\"\n", "echo \"ok - $1\"\n"}}, lost: []string{"add 2 3 is -1, want 5"},
		},
		"a script says so of no test that passes": {
			base: []string{"-add 2 3 is -1, want 5", "mul 2 3"}, now: []string{"add 2 33", "mul 2 3"},
			lost: []string{"add 2 3 is -1, want 5"},
		},
		"a skipped test may go": {base: []string{"~TestOne"}, now: []string{"TestMul"}},
		"padding does not help": {
			base: []string{"TestOne", "TestMul"}, now: []string{"TestMul", "TestA", "TestB"},
			files: []File{goFile("calc_test.go", one+mul,
				mul+goTest("TestA", "Add(0, 0)", "0")+goTest("TestB", "Mul(1, 1)", "1"))}, lost: []string{"TestOne"},
		},
		"renamed": {
			base: []string{"TestOne"}, now: []string{"TestSum"},
			files: []File{goFile("calc_test.go", one, strings.ReplaceAll(one, "TestOne", "TestSum"))},
		},
		"renamed, with another expectation": {
			base: []string{"-TestOne"}, now: []string{"TestSum"},
			files: []File{goFile("calc_test.go", one, goTest("TestSum", "Add(1, 2)", "-1"))}, lost: []string{"TestOne"},
		},
		"a file renamed and moved to another package": {
			base: []string{"TestOne"}, now: []string{"TestOne"}, nowGroup: "m/sum",
			files: []File{goFile("calc_test.go", one, ""), goFile("sum/sum_test.go", "", one)},
		},
		"two tests become a table": {
			base: []string{"TestOne", "TestTwo"}, now: []string{"TestAll"},
			files: []File{goFile("calc_test.go", one+two, table)},
		},
		"a table loses a row": {
			base: []string{"TestOne", "TestTwo"}, now: []string{"TestAll"},
			files: []File{goFile("calc_test.go", one+two, strings.Replace(table, ", {-1, 5, 4}", "", 1))},
			lost:  []string{"TestTwo"},
		},
		"a table with its rows outside of the test": {
			base: []string{"TestOne", "TestTwo"}, now: []string{"TestAll"},
			files: []File{goFile("calc_test.go", one+two,
				"var rows = []struct{ a, b, want int }{\n\t{1, 2, 3},\n\t{-1, 5, 4},\n}\n\nfunc TestAll(t *testing.T) {\n\tfor "+
					"_, r := range rows {\n\t\tcheck(t, r.a, r.b, r.want)\n\t}\n}\n\nfunc check(t *testing.T, a, b, want int) "+
					"{\n\tif got := Add(a, b); got != want {\n\t\tt.Error(got)\n\t}\n}\n")},
		},
		"a test is split": {
			base: []string{"TestBoth"}, now: []string{"TestOne", "TestTwo"},
			files: []File{goFile("calc_test.go",
				"func TestBoth(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Error(\"one\")\n\t}\n\tif Add(-1, 5) != 4 "+
					"{\n\t\tt.Error(\"two\")\n\t}\n}\n", one+two)},
		},
		"flat tests become subtests": {
			base: []string{"TestOne", "TestTwo"}, now: []string{"TestAdd", "TestAdd/one", "TestAdd/two"},
			files: []File{goFile("calc_test.go", one+two,
				"func TestAdd(t *testing.T) {\n\tt.Run(\"one\", func(t *testing.T) {\n\t\tif Add(1, 2) != 3 "+
					"{\n\t\t\tt.Error()\n\t\t}\n\t})\n\tt.Run(\"two\", func(t *testing.T) {\n\t\tif Add(-1, 5) != 4 "+
					"{\n\t\t\tt.Error()\n\t\t}\n\t})\n}\n")},
		},
		"rows get other names": {
			base: []string{"TestAll", "TestAll/a", "TestAll/b"}, now: []string{"TestAll", "TestAll/x", "TestAll/y"},
		},
		"the tested code was removed": {
			base: []string{"TestOne", "TestMul"}, now: []string{"TestOne"},
			files: []File{goFile("calc_test.go", one+mul, one),
				{"calc.go", "package calc\n\nfunc Add(a, b int) int { return a + b }\n\nfunc Mul(a, b int) int { return a * b }\n",
					"package calc\n\nfunc Add(a, b int) int { return a + b }\n"}},
		},
		"a red test is not got rid of with its subject": {
			base: []string{"TestOne", "-TestMul"}, now: []string{"TestOne"},
			files: []File{goFile("calc_test.go", one+mul, one),
				{"calc.go", "package calc\n\nfunc Mul(a, b int) int { return a + b }\n", "package calc\n"}},
			lost: []string{"TestMul"},
		},
		"its subject has another name": {
			base: []string{"TestOne"}, now: []string{"TestSum"},
			files: []File{goFile("calc_test.go", one, goTest("TestSum", "Sum(1, 2)", "3")),
				{"calc.go", "package calc\n\nfunc Add(a, b int) int { return a + b }\n",
					"package calc\n\nfunc Sum(a, b int) int { return a + b }\n"}},
		},
		"the plan asks for it": {
			base: []string{"TestOne", "TestMul"}, now: []string{"TestMul"}, files: []File{goFile("calc_test.go", one+mul, mul)},
			plan: "Remove TestOne, which is obsolete.",
		},
		"the plan wants it to pass": {
			base: []string{"-TestOne", "TestMul"}, now: []string{"TestMul"}, files: []File{goFile("calc_test.go", one+mul, mul)},
			plan: "Change Add so that TestOne passes.", lost: []string{"TestOne"},
		},
		"rewritten, and held": {
			base: []string{"TestOne"}, now: []string{"TestSum"}, held: []string{"TestOne"},
			files: []File{goFile("calc_test.go", one, goTest("TestSum", "Add(7, 8)", "15"))},
		},
		"rewritten, and not held": {
			base: []string{"TestOne"}, now: []string{"TestSum"}, held: []string{"-TestOne"},
			files: []File{goFile("calc_test.go", one, goTest("TestSum", "Add(7, 8)", "15"))}, lost: []string{"TestOne"},
		},
		"a copy of another test": {
			base: []string{"TestOne", "TestAgain"}, now: []string{"TestOne"},
			files: []File{goFile("calc_test.go", one+strings.ReplaceAll(one, "TestOne", "TestAgain"), one)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			group := c.nowGroup
			if group == "" {
				group = "m"
			}
			r := Runs{Base: cases("m", c.base...), Now: cases(group, c.now...)}
			if c.held != nil {
				r.Held = cases("m", c.held...)
			}
			p := PlanOf(planparse.Batch{Text: c.plan})
			lost, answered := Compare(r,
				Change{Files: c.files, Removal: func(test, _ string) bool { return p.Removal(test) }, Plan: p})
			var got []string
			for _, l := range lost {
				got = append(got, l.Case.Name)
			}
			if d := cmp.Diff(c.lost, got); d != "" {
				t.Errorf("lost -want +got:\n%s\nanswered: %v", d, answered)
			}
		})
	}
}

func TestCompareOtherLanguages(t *testing.T) {
	for name, c := range map[string]struct {
		group, class  string
		path          string
		before, after string
		base, now     []string
		lost          []string
	}{
		"pytest: two functions are parametrised": {
			group: "tests.test_calc", path: "tests/test_calc.py",
			before: "from calc import add\n\ndef test_one():\n    assert add(1, 2) == 3\n\ndef test_two():\n    assert " +
				"add(-1, 5) == 4, \"four\"\n",
			after: "import pytest\nfrom calc import add\n\n@pytest.mark.parametrize(\"a,b,want\", [\n    (1, 2, 3),\n    " +
				"(-1, 5, 4),\n])\ndef test_add(a, b, want):\n    assert add(a, b) == want\n",
			base: []string{"test_one", "test_two"}, now: []string{"test_add[1-2-3]", "test_add[-1-5-4]"},
		},
		"pytest: a class becomes functions": {
			group: "test_calc", class: ".TestCalc", path: "test_calc.py",
			before: "class TestCalc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n",
			after:  "def test_adds():\n    assert add(1, 2) == 3\n",
			base:   []string{"test_add"}, now: []string{"test_adds"},
		},
		"pytest: another expectation": {
			group: "test_calc", path: "test_calc.py",
			before: "def test_add():\n    assert add(1, 2) == 3\n", after: "def test_adds():\n    assert add(1, 2) == -1\n",
			base: []string{"-test_add"}, now: []string{"test_adds"}, lost: []string{"test_add"},
		},
		"cargo: unit tests move out of the code": {
			group: "calc", path: "src/lib.rs",
			before: "pub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    " +
				"#[test]\n    fn adds() {\n        assert_eq!(add(2, 3), 5);\n    }\n}\n",
			after: "pub fn add(a: i64, b: i64) -> i64 {\n    a + b\n}\n\n#[cfg(test)]\nmod checks {\n    use super::*;\n\n   " +
				" #[test]\n    fn sums() {\n        assert_eq!(add(2, 3), 5);\n    }\n}\n",
			base: []string{"-tests::adds"}, now: []string{"checks::sums"},
		},
		"cargo: a unit test says less": {
			group: "calc", path: "src/lib.rs",
			before: "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(add(2, 3), 5);\n    }\n}\n",
			after:  "#[cfg(test)]\nmod tests {\n    #[test]\n    fn sums() {\n        assert_eq!(add(5, 0), 5);\n    }\n}\n",
			base:   []string{"-tests::adds"}, now: []string{"tests::sums"}, lost: []string{"tests::adds"},
		},
		"jest: describe changes": {
			group: "calc.test.js", path: "calc.test.js",
			before: "describe('calc', () => {\n  it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n  });\n});\n",
			after:  "describe('add', () => {\n  it('adds', () => {\n    expect(add(1, 2)).toEqual(3);\n  });\n});\n",
			base:   []string{"calc adds"}, now: []string{"add adds"},
		},
		"jest: a table": {
			group: "calc.test.js", path: "calc.test.js",
			before: "test('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\ntest('subtracts', () => {\n  expect(add(1, " +
				"-2)).toBe(-1);\n});\n",
			after: "test.each([[1, 2, 3], [1, -2, -1]])('add(%i, %i)', (a, b, want) => {\n  expect(add(a, " +
				"b)).toBe(want);\n});\n",
			base: []string{"adds", "subtracts"}, now: []string{"add(1, 2)", "add(1, -2)"},
		},
		"mocha: chai becomes expect": {
			group: "calc.test.js", path: "calc.test.js",
			before: "it('GET /a adds', () => {\n  expect(add(1, 2)).to.equal(3);\n  add(0, 0).should.equal(0);\n});\n",
			after:  "it('adds', () => {\n  expect(add(1, 2)).toBe(3);\n  expect(add(0, 0)).toBe(0);\n});\n",
			base:   []string{"GET /a adds"}, now: []string{"adds"},
		},
		"node: tests are made in a loop": {
			group: "calc.test.js", path: "calc.test.js",
			before: "test('adds', () => {\n  assert.strictEqual(add(1, 2), 3);\n});\ntest('multiplies', () => {\n  " +
				"assert.strictEqual(mul(2, 3), 6);\n});\n",
			after: "describe('calc', () => {\n  for (const [name, f, a, b, want] of [['add', add, 1, 2, 3], ['mul', mul, 2, " +
				"3, 6]]) {\n    it(name, () => {\n      assert.strictEqual(f(a, b), want);\n    });\n  }\n});\n",
			base: []string{"adds", "multiplies"}, now: []string{"calc > add", "calc > mul"},
		},
		"mocha: a route was removed and others were added": {
			group: "r.test.js", path: "r.test.js",
			before: "it('GET /a', () => {\n  expect(route('a')).toBe(1);\n});\nit('GET /b', () => {\n  " +
				"expect(route('b')).toBe(2);\n});\n",
			after: "it('GET /b', () => {\n  expect(route('b')).toBe(2);\n});\nit('GET /c', () => {\n  " +
				"expect(route('c')).toBe(2);\n});\n",
			base: []string{"GET /a", "GET /b"}, now: []string{"GET /b", "GET /c"}, lost: []string{"GET /a"},
		},
		"pytest: the setup moves into a fixture": {
			group: "test_calc", path: "test_calc.py",
			before: "def test_add():\n    calc = Calc(precision=2)\n    assert calc.add(1, 2) == 3\n",
			after: "@pytest.fixture\ndef calc():\n    return Calc(precision=2)\n\ndef test_adds(calc):\n    assert " +
				"calc.add(1, 2) == 3\n",
			base: []string{"test_add"}, now: []string{"test_adds"},
		},
		"unittest: raises": {
			group: "test_calc", class: ".TestCalc", path: "test_calc.py",
			before: "class TestCalc(unittest.TestCase):\n    def test_zero(self):\n        with " +
				"self.assertRaises(ZeroDivisionError):\n            div(1, 0)\n",
			after: "def test_division_by_zero():\n    with pytest.raises(ZeroDivisionError):\n        div(1, 0)\n",
			base:  []string{"test_zero"}, now: []string{"test_division_by_zero"},
		},
		"rust: a test is renamed": {
			path:   "tests/calc.rs",
			before: "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n",
			after:  "#[test]\nfn sums() {\n    assert_eq!(3, add(1, 2), \"sum\");\n}\n",
			base:   []string{"adds"}, now: []string{"sums"},
		},
		"java: a test is renamed": {
			group: "CalcTest", path: "src/test/java/CalcTest.java",
			before: "class CalcTest {\n  @Test\n  void adds() {\n    assertEquals(3, calc.add(1, 2));\n  }\n}\n",
			after:  "class CalcTest {\n  @Test\n  void sums() {\n    assertThat(calc.add(1, 2)).isEqualTo(3);\n  }\n}\n",
			base:   []string{"adds"}, now: []string{"sums"},
		},
		"jest: emptied": {
			group: "calc.test.js", path: "calc.test.js",
			before: "test('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\n",
			after:  "test('works', () => {\n  expect(true).toBe(true);\n});\n",
			base:   []string{"adds"}, now: []string{"works"}, lost: []string{"adds"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			lost, answered := Compare(Runs{Base: cases(c.group+c.class, c.base...), Now: cases(c.group, c.now...)},
				Change{Files: []File{{c.path, c.before, c.after}}})
			var got []string
			for _, l := range lost {
				got = append(got, l.Case.Name)
			}
			if d := cmp.Diff(c.lost, got); d != "" {
				t.Errorf("lost -want +got:\n%s\nanswered: %v\nbefore %v", d, answered, gather(language.OfTest(c.path), c.before))
			}
		})
	}
}

// Tests of Ruby are not read one by one. They may move and be renamed with all their lines.
func TestCompareKeepsLines(t *testing.T) {
	spec := func(title, check string) string {
		return "require 'spec_helper'\n\ndescribe 'width' do\n  it '" + title + "' do\n    " + check + "\n  end\nend\n"
	}
	check := "width('Ruby').should == 4"
	old := spec("counts", check)
	for name, c := range map[string]struct {
		files []File
		now   string // file and name of the test
		held  testout.Status
		lost  int
	}{
		"moved": {[]File{{"spec/a_spec.rb", old, ""}, {"spec/b_spec.rb", "", old}},
			"spec/b_spec.rb width counts", testout.Passed, 0},
		"renamed": {[]File{{"spec/a_spec.rb", old, spec("counts letters", check)}},
			"spec/a_spec.rb width counts letters", testout.Passed, 0},
		"moved and weaker": {[]File{{"spec/a_spec.rb", old, ""}, {"spec/b_spec.rb", "", spec("counts", "width('Ruby')")}},
			"spec/b_spec.rb width counts", testout.Passed, 1},
		"renamed, and the old one fails": {[]File{{"spec/a_spec.rb", old, spec("counts letters", check)}},
			"spec/a_spec.rb width counts letters", testout.Failed, 1},
		"renamed in one line, and weaker": {[]File{{"spec/a_spec.rb", "it('counts') { width('Ruby').should == 4 }\n",
			"it('counts letters') { width('Ruby') }\n"}}, "spec/a_spec.rb width counts letters", testout.Passed, 1},
		"removed": {[]File{{"spec/a_spec.rb", old, ""}, {"notes.md", "", old}}, "", testout.Passed, 1},
	} {
		at := func(file, name string, status testout.Status) []testout.Case {
			return []testout.Case{{Name: name, Group: file, Path: file, Status: status}}
		}
		runs := Runs{Base: at("spec/a_spec.rb", "width counts", testout.Passed),
			Held: at("spec/a_spec.rb", "width counts", c.held)}
		if file, name, ok := strings.Cut(c.now, " "); ok {
			runs.Now = at(file, name, testout.Passed)
		}
		if lost, _ := Compare(runs, Change{Files: c.files}); len(lost) != c.lost {
			t.Errorf("%s: %v", name, lost)
		}
	}
}

// The plan asks to remove a test by the name of its file, in a language whose tests are not read.
func TestCompareRemovesNamedFile(t *testing.T) {
	base := []testout.Case{{Name: "width counts", Group: "spec/a_spec.rb", Path: "spec/a_spec.rb", Status: testout.Passed}}
	for file, want := range map[string]int{"spec/a_spec.rb": 0, "spec/b_spec.rb": 1} {
		asks := func(_, path string) bool { return path == file }
		if lost, _ := Compare(Runs{Base: base}, Change{Removal: asks}); len(lost) != want {
			t.Errorf("%s: %v", file, lost)
		}
	}
}

// Any test file is read to its end without a crash.
func FuzzGather(f *testing.F) {
	for _, text := range []string{"if got := Add(1, -2); got != 3 {", "assert add(1) == '''x", "expect(a`b`).toBe(/x/)",
		"f(\"", "x.\"y\"(", "'a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, lang := range []string{language.Go, language.Python, language.Node, language.Shell, language.Rust} {
			gather(lang, text)
		}
		readSide([]File{{"a_test.go", text, text}, {"test_a.py", text, text}, {"a.test.js", text, text}},
			func(f File) string { return f.After })
	})
}

func TestKeeps(t *testing.T) {
	for text, want := range map[string]bool{
		"Simplify the code|Tidy the body of Add and its comment. What it returns stays the same.": true,
		"Split the parser|Move the lexer to a file of its own, without changing its behaviour.":   true,
		"Refactor the cache|Use one map for both.":                                                true,
		"Extract a helper|Share the code of both handlers. Behaviour must not change.":            true,
		"Make Add right|Add returns a wrong sum. Correct it so that all tests pass.":              false,
		"Simplify prices|Prices are now whole numbers.":                                           false,
		"Clamp Mul|From now on Mul returns 0 for negative factors. Add stays the same.":           false,
		"Discounts|Orders above 100 get 10 percent.":                                              false,
	} {
		title, body, _ := strings.Cut(text, "|")
		if got := PlanOf(planparse.Batch{Title: title, Text: body}).Keeps(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestWeaker(t *testing.T) {
	before := "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif got := Add(2, 3); got != 5 " +
		"{\n\t\tt.Errorf(\"%d\", got)\n\t}\n}\n"
	for name, c := range map[string]struct {
		old, new string
		want     bool
	}{
		"another value":       {"got != 5", "got != 6", false},
		"nothing is compared": {"got != 5", "got != got", true},
		"no assertion":        {"t.Errorf", "t.Logf", true},
		"another function":    {"Add(2, 3)", "sum(2, 3)", true},
		"nothing changed":     {"", "", false},
	} {
		after := strings.Replace(before, c.old, c.new, 1)
		got := Weaker(testout.Case{Name: "TestA"}, []File{{Path: "a_test.go", Before: before, After: after}})
		if got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPlanWordIsNotTestName(t *testing.T) {
	for _, c := range []struct {
		text, test string
		want       bool
	}{
		{"Correct add.", "add", false},
		{"Change what the test add expects.", "add", true},
		{"Correct TestAdd.", "TestAdd", true},
		{"Correct the case adds two numbers.", "adds two numbers", true},
	} {
		if got := PlanOf(planparse.Batch{Title: "One", Text: c.text}).Change(c.test); got != c.want {
			t.Errorf("%s, %s: %v", c.text, c.test, got)
		}
	}
	if !PlanOf(planparse.Batch{Title: "One", Text: "Remove parse."}).RemovalOf("parse") {
		t.Error("a function is removed under its name")
	}
}

// A test of behaviour that the plan drops may go.
func TestPlanAbandonsBehaviour(t *testing.T) {
	test := "def test_info_deprecated(self):\n    # passing info as positional parameter is deprecated\n    " +
		"cached(cache, 1, True)\n"
	drops := "Drop support for passing \"info\" as fourth positional parameter of @cached."
	for name, c := range map[string]struct {
		plan, left string
		want       bool
	}{
		"the plan drops it":                    {drops, "cached(info=1)", true},
		"in a conventional subject":            {"feat!: drop support for passing info as positional parameter", "", true},
		"another test is left that checks it":  {drops, test, false},
		"the plan drops something else":        {"Drop support for Python 2 in cached.", "", false},
		"the plan only mentions what it drops": {"Correct what passing info as positional parameter dropped.", "", false},
		"most of what it drops is not in it": {"Drop cached info of parameter lists, wide tables, and remote hosts.", "",
			false},
		"two words are too few to recognize it": {"Drop positional info.", "", false},
	} {
		if got := PlanOf(planparse.Batch{Title: "One", Text: c.plan}).Abandons(test, c.left); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The title of a test says what it checks, too.
func TestPlanAbandonsTestByTitle(t *testing.T) {
	title := "supports legacy .tool-version file"
	gone := "@test \"" + title + "\" {\n  echo 1 > .tool-version\n  run tool local\n  [ \"$output\" = 1 ]\n}\n"
	left := "@test \"reads the version file\" {\n  run tool local\n  [ \"$output\" = 2 ]\n}\n"
	c := Change{Files: []File{{"test/a.bats", gone + left, left}}, Plan: PlanOf(planparse.Batch{
		Title: "Remove support for legacy version file"})}
	at := func(names ...string) []testout.Case {
		out := cases("test/a.bats", names...)
		for i := range out {
			out[i].Path = "test/a.bats"
		}
		return out
	}
	if lost, _ := Compare(Runs{Base: at(title, "reads the version file"), Now: at("reads the version file")},
		c); len(lost) > 0 {
		t.Errorf("%+v", lost)
	}
	c.Plan = PlanOf(planparse.Batch{Title: "Tidy the version file"})
	if lost, _ := Compare(Runs{Base: at(title, "reads the version file"), Now: at("reads the version file")},
		c); len(lost) == 0 {
		t.Error("no plan drops it")
	}
}

// A test of Python is no copy of one that has other texts.
func TestCopyHasSameTexts(t *testing.T) {
	a := "def test_a():\n    assert render(\"a\") == \"1\"\n"
	for b, want := range map[string]int{
		strings.Replace(a, "test_a", "test_b", 1):                            0,
		strings.NewReplacer("test_a", "test_b", `("a")`, `("b")`).Replace(a): 1,
	} {
		base := cases("test_x.py", "test_a", "test_b")
		if lost, _ := Compare(Runs{Base: base, Now: base[1:]},
			Change{Files: []File{{"test_x.py", a + b, b}}}); len(lost) != want {
			t.Errorf("%s: %+v", b, lost)
		}
	}
}

// A test that is named after what the plan removes may go, if the product no longer has it.
func TestPlanRemovesWhatTestIsNamedAfter(t *testing.T) {
	gone := "def test_youtrack():\n    assert render(\"youtrack\") == \"||\"\n"
	left := "def test_html():\n    assert render(\"html\") == \"<p>\"\n"
	formats := "formats = {\n    \"html\": 1,\n    \"youtrack\": 2,\n}\n"
	for name, c := range map[string]struct {
		title, after string
		lost         int
	}{
		"the plan removes it":         {"[breaking] remove support of `youtrack`", "formats = {\n    \"html\": 1,\n}\n", 0},
		"the product still has it":    {"[breaking] remove support of `youtrack`", formats + "x = 1\n", 1},
		"the plan removes other code": {"Remove dead formats", "formats = {\n    \"html\": 1,\n}\n", 1},
		"the plan only mentions it":   {"Correct `youtrack`", "formats = {\n    \"html\": 1,\n}\n", 1},
	} {
		at := func(status testout.Status, names ...string) []testout.Case {
			out := cases("test_a.py", names...)
			for i := range out {
				out[i].Path, out[i].Status = "test_a.py", status
			}
			return out
		}
		runs := Runs{Base: at(testout.Passed, "test_youtrack", "test_html"), Now: at(testout.Passed, "test_html"),
			Held: append(at(testout.Failed, "test_youtrack"), at(testout.Passed, "test_html")...)}
		lost, _ := Compare(runs, Change{Files: []File{{"test_a.py", gone + left, left}, {"a.py", formats, c.after}},
			Plan: PlanOf(planparse.Batch{Title: c.title})})
		if len(lost) != c.lost {
			t.Errorf("%s: %+v", name, lost)
		}
	}
}

func TestCompareFollowsValuesIntoFile(t *testing.T) {
	before := "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
	after := "from calc import add\n\n\n@cases(\"cases.json\")\ndef test_add(a, b, want):\n    assert add(a, b) == want\n"
	for name, c := range map[string]struct {
		data string
		held testout.Status
		lost int
	}{
		"the values are in a file":                  {"[[2, 3, 5]]", testout.Passed, 0},
		"the values are nowhere":                    {"[[1, 1, 2]]", testout.Passed, 1},
		"the old version of the test does not pass": {"[[2, 3, 5]]", testout.Failed, 1},
	} {
		group := "tests/test_calc.py"
		runs := Runs{
			Base: []testout.Case{{Name: "test_add", Group: group, Path: group, Status: testout.Failed}},
			Now:  []testout.Case{{Name: "test_add[0]", Group: group, Path: group, Status: testout.Passed}},
			Held: []testout.Case{{Name: "test_add", Group: group, Path: group, Status: c.held}},
		}
		lost, _ := Compare(runs,
			Change{Files: []File{{Path: group, Before: before, After: after}, {Path: "tests/cases.json", After: c.data}}})
		if len(lost) != c.lost {
			t.Errorf("%s: %v", name, lost)
		}
	}
}
