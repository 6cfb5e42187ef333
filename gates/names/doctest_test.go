package names

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates/testout"
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
