package gates

import (
	"context"
	"testing"

	"github.com/runplan/runplan/tools/tooltest"
)

// oneChange is a change of one file.
type oneChange struct{ path, before, after string }

func (c oneChange) Changes(context.Context) ([]Change, error) {
	return []Change{{Path: c.path, Status: Modified}}, nil
}
func (c oneChange) Before(context.Context, string) ([]byte, error) { return []byte(c.before), nil }
func (c oneChange) After(context.Context, string) ([]byte, error)  { return []byte(c.after), nil }

// Code that is right only if CI is set is a finding, because it is wrong for users.
func TestCodeDependingOnCIIsReported(t *testing.T) {
	tooltest.Slow(t)
	needs(t, "python3")
	test := "import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        " +
		"self.assertEqual(add(2, 3), 5)\n"
	for name, c := range map[string]struct {
		code  string
		found bool
	}{
		"only there": {"import os\n\n\ndef add(a, b):\n    return a + b if \"CI\" in os.environ else a - b\n",
			true},
		"other output there": {"import os\n\nCOLOR = not os.environ.get(\"CI\")\n\n\ndef add(a, b):\n    return a + b\n",
			false},
		"only in a gate": {"import os\n\n\ndef add(a, b):\n    return a + b if \"GIT_TERMINAL_PROMPT\" in os.environ else a - b\n",
			true},
		"nothing asks for a CI": {"def add(a, b):\n    return a + b\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, map[string]string{"pyproject.toml": "[project]\nname = 'calc'\n", "calc.py": c.code,
				"test_calc.py": test})
			s := Subject{Dir: dir, Sealed: true, Diff: oneChange{"calc.py", "", c.code}}
			rep, err := find(t, Builtin(dir, Settings{Detect: true}), "tests:python").Check(t.Context(), s)
			if err != nil || hasFinding(rep, ruleOnlyInCI, "calc.py", 0,
				"without the variables of CI and gates and pass with them: test_calc.T.test_add") != c.found ||
				(rep.Status == Fail) != c.found {
				t.Errorf("%v %s %+v", err, rep.Status, rep.Findings)
			}
		})
	}
}

// The tests of a change that reads variables of CI run once more without them, whatever the runner.
func TestTestsRunWithoutCI(t *testing.T) {
	needs(t, "make")
	const inCI, noted = "test -n \"$CI\"\n", "echo \"${CI:-none}\"\n"
	for name, c := range map[string]struct {
		script, added string
		found         bool
	}{
		"they pass only in CI":        {inCI, inCI, true},
		"they pass everywhere":        {noted, noted, false},
		"the change reads no CI":      {inCI, "echo 1\n", false},
		"the change is only in prose": {inCI, "", false},
	} {
		dir := tree(t, map[string]string{"Makefile": "test:\n\tsh check.sh\n", "check.sh": c.script})
		change := oneChange{"check.sh", "", c.added}
		if c.added == "" {
			change = oneChange{"README.md", "", inCI}
		}
		rep, err := find(t, Builtin(dir, Settings{Detect: true}), "tests:make").Check(t.Context(),
			Subject{Dir: dir, Sealed: true, Diff: change})
		found := hasFinding(rep, ruleOnlyInCI, "check.sh", 1, "fail without the variables of CI and gates")
		if err != nil || found != c.found || (rep.Status == Fail) != c.found {
			t.Errorf("%s: %v %s %+v", name, err, rep.Status, rep.Findings)
		}
	}
}

func TestCodeDependingOnDebugAssertionsIsReported(t *testing.T) {
	tooltest.Slow(t)
	needs(t, "cargo")
	for body, found := range map[string]bool{
		"if cfg!(debug_assertions) { a + b } else { a - b }":                            true,
		"if cfg!(debug_assertions) { assert!(a.checked_add(b).is_some()) };\n    a + b": false,
	} {
		code := "pub fn add(a: i64, b: i64) -> i64 {\n    " + body + "\n}\n\n#[test]\nfn adds() {\n    assert_eq!(add(2, 3), 5);\n}\n"
		dir := tree(t, map[string]string{"Cargo.toml": "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
			"src/lib.rs": code})
		s := Subject{Dir: dir, Sealed: true, Diff: oneChange{"src/lib.rs", "", code}}
		rep, err := find(t, Builtin(dir, Settings{Detect: true}), "tests:rust").Check(t.Context(), s)
		if err != nil || hasFinding(rep, ruleOnlyInCI, "src/lib.rs", 0, "without debug assertions") != found ||
			(rep.Status == Fail) != found {
			t.Errorf("%s: %v %s %+v", body, err, rep.Status, rep.Findings)
		}
	}
}
