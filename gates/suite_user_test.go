package gates

import (
	"context"
	"testing"
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
		"nothing asks for a CI": {"def add(a, b):\n    return a + b\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, map[string]string{"pyproject.toml": "[project]\nname = 'calc'\n", "calc.py": c.code,
				"test_calc.py": test})
			s := Subject{Dir: dir, Sealed: true, Diff: oneChange{"calc.py", "", c.code}}
			rep, err := find(t, Builtin(dir, Settings{Detect: true}), "tests:python").Check(t.Context(), s)
			if err != nil || hasFinding(rep, ruleOnlyInCI, "calc.py", 0, "without the variable CI") != c.found ||
				(rep.Status == Fail) != c.found {
				t.Errorf("%v %s %+v", err, rep.Status, rep.Findings)
			}
		})
	}
}
