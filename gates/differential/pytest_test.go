package differential_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/tools/tooltest"
)

// fakePytest replaces pytest where it is not installed. It runs plain test functions and imitates the parts that the
// gate uses: one node id, a JUnit report, the exit statuses.
const fakePytest = `
import importlib.util, os, sys, traceback
from xml.sax.saxutils import quoteattr

report = next(a[11:] for a in sys.argv if a.startswith("--junitxml="))
target = sys.argv[-1]
path, _, only = target.partition("::")
if not os.path.exists(path):
    sys.exit(4)
sys.path.insert(0, os.getcwd())
module = path[:-3].replace("/", ".")
cases, status = [], 0
try:
    spec = importlib.util.spec_from_file_location(module, path)
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    tests = [n for n in dir(m) if n.startswith("test_") and only in ("", n)]
    status = 0 if tests else 5
    for n in tests:
        inner = ""
        try:
            getattr(m, n)()
        except Exception as e:
            status = 1
            kind = "error" if getattr(e, "setup", False) else "failure"
            head = "failed on setup with " if kind == "error" else ""
            inner = "<%s message=%s>%s</%s>" % (kind, quoteattr(head + repr(e)), "", kind)
        cases.append('<testcase classname="%s" name="%s" file="%s" line="1">%s</testcase>' % (module, n, path, inner))
except Exception:
    status = 2
    last = traceback.format_exc().strip().splitlines()[-1]
    cases.append('<testcase classname="" name="%s"><error message="collection failure">E   %s</error></testcase>' % (module, last))
with open(report, "w") as f:
    f.write("<testsuites><testsuite>" + "".join(cases) + "</testsuite></testsuites>")
sys.exit(status)
`

func TestPytest(t *testing.T) {
	tooltest.Slow(t)
	lib := files{"pytest/__init__.py": "", "pytest/__main__.py": fakePytest}
	libDir := t.TempDir()
	for p, text := range lib {
		at := filepath.Join(libDir, p)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	base := files{"calc.py": "def add(a, b):\n    return a - b\n"}
	test := "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3, calc.add(1, 2)\n\n\ndef test_zero():\n   " +
		" assert calc.add(0, 0) == 0\n"
	for name, c := range map[string]struct {
		file, test string
		status     gates.Status
		rule       string
	}{
		"a file":             {"test_add.py", test, gates.Pass, ""},
		"one test of it":     {"test_add.py::test_add", test, gates.Pass, ""},
		"another test of it": {"test_add.py::test_zero", test, gates.Fail, differential.RulePassesBoth},
		"none of that name":  {"test_add.py::test_sub", test, gates.Fail, differential.RuleIdle},
		"it does not load":   {"test_add.py", "import calk\n" + test, gates.Fail, differential.RuleBlind},
		"it does not set itself up": {
			"test_add.py",
			"import calc\n\n\ndef test_add():\n    if calc.add(1, 2) != 3:\n        e = RuntimeError('no')\n        e.setup = " +
				"True\n        raise e\n", gates.Fail, differential.RuleBlind,
		},
	} {
		after := base.with(files{"calc.py": pyFixed, "test_add.py": c.test})
		k := check(t, differential.Options{Files: []string{c.file}, Runs: 1}, base, after)
		k.subject.Env = append(os.Environ(), "PYTHONPATH="+libDir)
		rep, err := k.run()
		if err != nil || rep.Status != c.status || c.rule != "" && rep.Findings[0].Rule != c.rule {
			t.Errorf("%s: %v %s, want %s %s: %+v\n%s", name, err, rep.Status, c.status, c.rule, rep.Findings, rep.Output)
		}
	}
}
