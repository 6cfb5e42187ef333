package names

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
)

const documented = `"""Calculates."""


class Sum:
    """A sum.

    >>> Sum(1).add(2)
    3
    """

    def add(self, n):
        """Add n.

        >>> s = Sum(2)
        >>> s.add(
        ...     3)
        5

        It is a number.
        """


def mul(a, b):
    """Multiply."""
`

// Examples in Python docstrings are tests of their functions and classes.
func TestDoctests(t *testing.T) {
	var got []string
	for _, u := range doctests("src/calc/sums.py", documented) {
		got = append(got, u.Name+"|"+u.Text)
	}
	want := []string{"src.calc.sums.Sum| Sum(1).add(2)\n3\n", "src.calc.sums.Sum.add| s = Sum(2)\n s.add(\n     3)\n5\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWeakenedTestsInCode(t *testing.T) {
	doc := func(want string) string {
		return "def add(a, b):\n    \"\"\"Add.\n\n    >>> add(1, 2)\n    " + want + "\n    \"\"\"\n"
	}
	rust := func(want string) string {
		return "fn add() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), " +
			want + ");\n    }\n}\n"
	}
	for name, c := range map[string]struct {
		path, before, after, test string
		red, green                bool // found where it failed on the base, and where it passed
	}{
		"a doctest expects another value": {"calc.py", doc("3"), doc("-1"), "calc.add", true, true},
		"a doctest has one more line": {"calc.py", doc("3"), doc("3\n    >>> add(2, 2)\n    4"), "calc.add", false,
			false},
		"a doctest of a package":          {"src/a/calc.py", doc("3"), doc("-1"), "a.calc.add", true, true},
		"a unit test of Rust in the code": {"src/lib.rs", rust("3"), rust("-1"), "tests::adds", true, true},
		"it asserts the same and more": {"src/lib.rs", rust("3"), rust("3);\n        assert_eq!(add(0, 0), 0"),
			"tests::adds", false, false},
		"the documentation around it is new": {"calc.py", doc("3"), "# Sums.\n" + doc("3"), "calc.add", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			files := []File{{Path: c.path, Before: c.before, After: c.after}}
			runs := func(was testout.Status) Runs {
				return Runs{Base: []testout.Case{{Name: c.test, Status: was}},
					Now: []testout.Case{{Name: c.test, Status: testout.Passed}}}
			}
			if got := len(Weakened(runs(testout.Failed), Change{Files: files})) > 0; got != c.red {
				t.Errorf("red on the base: %v", got)
			}
			if got := len(ChangedInCode(runs(testout.Passed), Change{Files: files})) > 0; got != c.green {
				t.Errorf("green on the base: %v", got)
			}
		})
	}
}

// If the base's version of a shell script passes on the candidate, the script may print its checks under other names,
// but not fewer checks.
func TestScriptMayRenameChecks(t *testing.T) {
	const script = "tests/test-mul.sh"
	for name, c := range map[string]struct {
		now, held []string
		lost      int
	}{
		"as many":            {[]string{"mul 2 3", "tests/test-mul.sh"}, []string{"mul", "tests/test-mul.sh"}, 0},
		"fewer":              {[]string{"tests/test-mul.sh"}, []string{"mul", "tests/test-mul.sh"}, 1},
		"the base's fails":   {[]string{"mul 2 3", "tests/test-mul.sh"}, []string{"-mul", "-tests/test-mul.sh"}, 1},
		"the base's not run": {[]string{"mul 2 3", "tests/test-mul.sh"}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := Runs{Base: cases(script, "mul", "tests/test-mul.sh"), Now: cases(script, c.now...)}
			if c.held != nil {
				r.Held = cases(script, c.held...)
			}
			lost, _ := Compare(r, Change{Files: []File{{Path: script, Before: "echo ok - mul\n", After: "echo ok - mul 2 3\n"}}})
			if len(lost) != c.lost {
				t.Errorf("%+v", lost)
			}
		})
	}
}

// Scripts that were renamed or merged are not lost if the base's version passes and the new one has its lines.
func TestScriptMayMove(t *testing.T) {
	const was, is = "tests/test-mul.sh", "tests/test-all.sh"
	before := "set -eu\n[ \"$(sh calc.sh mul 2 3)\" = 6 ]\necho \"ok - mul\"\n"
	for name, c := range map[string]struct {
		after, held string
		lost        int
	}{
		"renamed":             {before, "", 0},
		"merged with another": {"set -eu\n[ \"$(sh calc.sh add 2 3)\" = 5 ]\n" + before, "", 0},
		"the base's fails":    {before, "-", 1},
		"it has other checks": {"set -eu\n[ \"$(sh calc.sh add 2 3)\" = 5 ]\necho \"ok - mul\"\n", "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := Runs{Base: cases(was, "mul", was), Now: cases(is, "mul", is), Held: cases(was, c.held+"mul", c.held+was)}
			lost, _ := Compare(r, Change{Files: []File{{Path: was, Before: before}, {Path: is, After: c.after}}})
			if len(lost) != c.lost {
				t.Errorf("%+v", lost)
			}
		})
	}
}

// A red test that the base cannot build any more must not compare under more conditions than before.
func TestWeakenedByCondition(t *testing.T) {
	before := goHead + "func TestAdd(t *testing.T) {\n\tif got := Add(2, 3); got != 5 {\n\t\tt.Error(got)\n\t}\n}\n"
	for condition, found := range map[string]bool{"err != nil || got != 5": false, "err != nil && got != 5": true} {
		after := strings.Replace(before, "got := Add(2, 3); got != 5", "got, err := Add(2, 3); "+condition, 1)
		r := Runs{Base: cases("", "-TestAdd"), Now: cases("", "TestAdd")}
		lost := Weakened(r, Change{Files: []File{{Path: "calc_test.go", Before: before, After: after}}})
		if len(lost) > 0 != found {
			t.Errorf("%s: %+v", condition, lost)
		}
	}
}

// An empty list of parameters of a Rust closure is no condition.
func TestClosureIsNoCondition(t *testing.T) {
	for text, loose := range map[string]int{
		"assert!(a || b);": 1, "thread::spawn(|| add(2, 3));": 0, "let f = || 1;": 0, "spawn(move || a);": 0,
		"x.map_or(1, || 2);": 0,
	} {
		if got := gather(language.Rust, text).loose; got != loose {
			t.Errorf("%s: %d, want %d", text, got, loose)
		}
	}
}

// A test that did not change may get another name from another runner, but it must run as often as before.
func TestRunnerMayRenameTest(t *testing.T) {
	const file = "test/calc.test.js"
	text := "describe('calc', () => {\n  it('adds', () => {\n    assert.strictEqual(add(2, 3), 5);\n  });\n});\n"
	files := []File{{Path: file, Before: text, After: "const { it } = require('node:test');\n" + text}}
	run := func(names ...string) []testout.Case {
		list := cases("", names...)
		for i := range list {
			list[i].Path = file
		}
		return list
	}
	lost, _ := Compare(Runs{Base: run("-calc adds"), Now: run("calc > adds")}, Change{Files: files})
	if len(lost) > 0 {
		t.Errorf("%+v", lost)
	}
	mixin := "class Mixin:\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n"
	files = []File{{Path: "tests/test_calc.py", Before: mixin, After: "# Sums.\n" + mixin}}
	base := append(cases("tests.test_calc.TestA", "Mixin.test_add"), cases("tests.test_calc.TestB", "Mixin.test_add")...)
	lost, _ = Compare(Runs{Base: base, Now: base[:1]}, Change{Files: files})
	if len(lost) != 1 {
		t.Errorf("a class that runs it again is gone: %+v", lost)
	}
}
