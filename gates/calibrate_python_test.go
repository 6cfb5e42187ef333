package gates

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/tools/tooltest"
)

// pytestPython finds an interpreter that has pytest.
func pytestPython(t *testing.T) string {
	t.Helper()
	tooltest.Slow(t)
	var err error
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		cmd := exec.CommandContext(t.Context(), python, "-c", "import pytest")
		if err = cmd.Run(); err == nil {
			return python
		}
	}
	tooltest.Missing(t, err, "install pytest for python3")
	return ""
}

// withPytest returns a PATH in which an interpreter with pytest comes first.
func withPytest(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath(pytestPython(t))
	if err != nil {
		t.Fatal(err)
	}
	bin := tree(t, map[string]string{"python3!": "#!/bin/sh\nexec " + python + " \"$@\"\n"})
	return "PATH=" + bin + ":" + filepath.Dir(python) + ":/usr/bin:/bin"
}

var pytestProject = map[string]string{
	"pytest.ini": "[pytest]\naddopts = -x\n",
	"calc.py":    "def add(a, b):\n    return a + b\n",
	"tests/test_calc.py": "import pytest\nfrom calc import add\n\n\n@pytest.mark.parametrize('n', [1, 2])\ndef " +
		"test_add(n):\n    assert add(n, n) == 2 * n\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n",
	"tests/deep/b_test.py": "import pytest\n\n\n@pytest.mark.skip\ndef test_later():\n    pass\n\n\ndef test_b():\n    " +
		"pass\n",
	"conftest.py": "",
}

func TestCalibratesPytest(t *testing.T) {
	env := withPytest(t)
	rep := sealed(t, tree(t, pytestProject), "tests:python", env)
	honest(t, rep, TestCount{Passed: 4, Skipped: 1})
	if status(rep, "test_add[2]") != testout.Passed || rep.Cases[0].Path == "" {
		t.Errorf("%+v", rep.Cases)
	}
	red := with(pytestProject, map[string]string{"calc.py": "def add(a, b):\n    return a - b\n"})
	rep = sealed(t, tree(t, red), "tests:python", env)
	honest(t, rep, TestCount{Passed: 2, Failed: 2, Skipped: 1})
	if status(rep, "test_add[2]") != testout.Failed || len(rep.Findings) != 2 {
		t.Errorf("%+v %+v", rep.Cases, rep.Findings)
	}
}

// The folders of the tests are no packages, so pytest accepts a file name only once.
func TestCalibratesFoldersThatAreNoPackages(t *testing.T) {
	project := with(pytestProject, map[string]string{"tests/more/test_more.py": "def test_more():\n    pass\n"})
	rep := sealed(t, tree(t, project), "tests:python", withPytest(t))
	honest(t, rep, TestCount{Passed: 5, Skipped: 1})
}

// The settings say in which files pytest looks for tests.
func TestCalibratesFilesThatPytestIsToldToCollect(t *testing.T) {
	env := withPytest(t)
	tests := "import pytest\nfrom calc import add\n\nplain = 1\n\n\ndef test_add():\n    assert add(plain, 1) == 2\n\n\n" +
		"def test_zero():\n    assert add(0, 0) == 0\n"
	for name, project := range map[string]map[string]string{
		"one name": {"pyproject.toml": "[tool.pytest.ini_options]\npython_files = \"tests.py\"\n",
			"shop/tests/tests.py":    tests,
			"shop/tests/__init__.py": "", "shop/__init__.py": ""},
		"one name, in a list": {"pyproject.toml": "[tool.pytest.ini_options]\npython_files = ['tests.py']\n",
			"tests.py": tests},
		"a glob": {"pytest.ini": "[pytest]\npython_files = check_*.py\n", "checks/check_a.py": tests},
		"several": {"setup.cfg": "[tool:pytest]\npython_files =\n    tests.py\n    test_*.py\ntestpaths = tests\n",
			"tests/test_a.py": tests, "tests/tests.py": ""},
		"not told":     {"setup.py": "", "tests/tests.py": tests, "tests/__init__.py": ""},
		"a folder":     {"tox.ini": "[pytest]\npython_files = tests/*.py\n", "tests/all.py": tests},
		"files of all": {"pytest.ini": "[pytest]\npython_files = *.py\n", "api/calls.py": tests},
	} {
		t.Run(name, func(t *testing.T) {
			project = with(project, map[string]string{"calc.py": "def add(a, b):\n    return a + b\n", "conftest.py": ""})
			dir := tree(t, project)
			honest(t, sealed(t, dir, "tests:python", env), TestCount{Passed: 2})
			write(t, dir, map[string]string{"calc.py": "def add(a, b):\n    return a - b\n"})
			rep := sealed(t, dir, "tests:python", env)
			honest(t, rep, TestCount{Passed: 1, Failed: 1})
			if status(rep, "test_add") != testout.Failed || len(rep.Findings) != 1 || strings.Count(rep.Output, "Error") != 1 {
				t.Errorf("%+v %+v\n%s", rep.Cases, rep.Findings, rep.Output)
			}
			write(t, dir, map[string]string{"conftest.py": "def pytest_collection_modifyitems(items):\n" +
				"    items[:] = [i for i in items if 'zero' in i.name]\n"})
			lying(t, sealed(t, dir, "tests:python", env), "not run")
		})
	}
}

func TestCalibrationCatchesPytest(t *testing.T) {
	env := withPytest(t)
	for name, c := range map[string]struct{ file, text, part string }{
		"collection that keeps some": {"conftest.py",
			"def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if 'zero' in i.name]\n", "not run"},
		"a report that is turned": {"conftest.py",
			"import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item):\n    out = yield\n   " +
				" out.get_result().outcome = 'passed'\n", "was reported as passed"},
		"functions that are not run": {"conftest.py", "def pytest_pyfunc_call(pyfuncitem):\n    return True\n",
			"was reported as passed"},
		"an import that ends":    {"conftest.py", "import os\n\nos._exit(0)\n", "without a report"},
		"product code that ends": {"calc.py", "import os\n\nos._exit(0)\n", "without a report"},
		"a library in its place": {"pytest.py", "print('3 passed in 0.01s')\n", "without a report"},
		"assertions without effect": {"calc.py",
			"import unittest\n\nunittest.TestCase.assertEqual = lambda *a: None\n\n\ndef add(a, b):\n    return a + b\n",
			"was reported as passed"},
		"an exit status that is wrong": {"conftest.py", "import os\n\n\ndef pytest_unconfigure():\n    os._exit(0)\n",
			"exited with status 0"},
		"a session that says 0": {"conftest.py", "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
			"exited with status 0"},
	} {
		t.Run(name, func(t *testing.T) {
			lying(t, sealed(t, tree(t, with(pytestProject, map[string]string{c.file: c.text})), "tests:python", env), c.part)
		})
	}
}

var unittestProject = map[string]string{
	"setup.py": "",
	"calc.py":  "def add(a, b):\n    return a + b\n",
	"tests/test_calc.py": "import unittest\nfrom calc import add\n\n\nclass TestCalc(unittest.TestCase):\n    def " +
		"test_add(self):\n        \"\"\"Adds.\"\"\"\n        print('noise')\n        self.assertEqual(add(1, 2), 3)\n\n    " +
		"@unittest.skip('later')\n    def test_later(self):\n        pass\n\n    def test_parts(self):\n        for n in " +
		"range(3):\n            with self.subTest(n=n):\n                self.assertEqual(add(n, 0), n)\n",
	"pkg/__init__.py":       "",
	"pkg/tests/__init__.py": "",
	"pkg/tests/test_other.py": "import unittest\n\n\nclass TestOther(unittest.TestCase):\n    def test_it(self):\n      " +
		"  pass\n",
}

// plainPython returns a PATH whose python3 has no pytest.
func plainPython(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		tooltest.Missing(t, err, "install python3")
	}
	bin := tree(t, map[string]string{"python3!": "#!/bin/sh\n[ \"$3\" = pytest ] && exit 1\nexec " + python +
		" \"$@\"\n"})
	return "PATH=" + bin + ":/usr/bin:/bin"
}

func TestCalibratesUnittest(t *testing.T) {
	env := plainPython(t)
	rep := sealed(t, tree(t, unittestProject), "tests:python", env)
	honest(t, rep, TestCount{Passed: 3, Skipped: 1})
	if status(rep, "pkg.tests.test_other.TestOther.test_it") != testout.Passed ||
		rep.Cases[0].Path != "pkg/tests/test_other.py" {
		t.Errorf("%+v", rep.Cases)
	}
	rep = sealed(t, tree(t, with(unittestProject, map[string]string{"calc.py": "def add(a, b):\n    return a + 2 * b\n"})),
		"tests:python", env)
	honest(t, rep, TestCount{Passed: 2, Failed: 1, Skipped: 1})
	if !hasFinding(rep, ruleTest, "tests/test_calc.py", 9, "5 != 3") {
		t.Errorf("%+v", rep.Findings)
	}
}

// Discovery finds test*.py by default, so files with the other usual name need a pattern.
func TestUnittestFindsFilesThatEndInTest(t *testing.T) {
	files := map[string]string{"setup.py": "", "pkg/__init__.py": "", "pkg/tests/__init__.py": "",
		"pkg/tests/calc_test.py": unittestProject["pkg/tests/test_other.py"], "tests/test_calc.py": "import unittest\n",
		"tests/more_test.py": unittestProject["pkg/tests/test_other.py"]}
	rep := sealed(t, tree(t, files), "tests:python", plainPython(t))
	honest(t, rep, TestCount{Passed: 2})
	if status(rep, "pkg.tests.calc_test.TestOther.test_it") != testout.Passed {
		t.Errorf("%+v", rep.Cases)
	}
}

func TestCalibrationCatchesUnittest(t *testing.T) {
	tooltest.Slow(t)
	env := plainPython(t)
	for name, c := range map[string]struct{ file, text, part string }{
		"product code that ends": {"calc.py", "import os\n\nos._exit(0)\n", "without a report"},
		"an exit in a test": {"tests/test_aaa.py",
			"import os, unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        os._exit(0)\n",
			"without a report"},
		"a program in its place": {"unittest/__main__.py", "print('Ran 2 tests in 0.001s\\n\\nOK')\n", ""}, // is not run
		"a library that forges": {"unittest/__init__.py",
			"import sys\n\nprint('Ran 2 tests in 0.001s\\n\\nOK')\nsys.exit(0)\n", "without a report"},
		"assertions without effect": {"calc.py",
			"import unittest\n\nunittest.TestCase.assertEqual = lambda *a: None\n\n\ndef add(a, b):\n    return 0\n",
			"was reported as passed"},
		"results that lie": {"calc.py",
			"import unittest\n\nunittest.TestCase.run = lambda self, r: (r.startTest(self), r.addSuccess(self), " +
				"r.stopTest(self))\n\n\ndef add(a, b):\n    return 0\n", "was reported as passed"},
		"failures that are dropped": {"calc.py",
			"import unittest\n\nunittest.TestCase.failureException = ValueError\nunittest.TestResult.wasSuccessful = lambda " +
				"self: True\n\n\ndef add(a, b):\n    return 0\n", "exited with status 0"},
	} {
		t.Run(name, func(t *testing.T) {
			files := with(unittestProject, map[string]string{"calc.py": "def add(a, b):\n    return 0\n"})
			files = with(files, map[string]string{c.file: c.text})
			rep := sealed(t, tree(t, files), "tests:python", env)
			if c.part == "" {
				if rep.Status != Fail {
					t.Errorf("%+v", rep)
				}
				return
			}
			lying(t, rep, c.part)
		})
	}
	// A folder that selects its own tests passes, and its report says that it is not calibrated.
	own := with(unittestProject,
		map[string]string{"pkg/tests/__init__.py": "import unittest\n\n\ndef load_tests(loader, tests, pattern):\n    from " +
			"pkg.tests import test_other\n    return loader.loadTestsFromModule(test_other)\n"})
	if rep := sealed(t, tree(t, own), "tests:python", env); rep.Status != Pass || rep.Proof.Calibration != Uncalibrated {
		t.Errorf("%+v %+v", rep.Proof, rep.Findings)
	}
}

// A report that was edited after pytest wrote it does not hide what pytest printed.
func TestPytestReportIsComparedWithOutput(t *testing.T) {
	report := testout.Result{Passed: 2, Known: true, Exact: true, Cases: []testout.Case{
		{Name: "test_add", Group: "tests.test_calc", Path: "tests/test_calc.py", Status: testout.Passed},
		{Name: "test_mul", Group: "tests.test_calc.TestMul", Path: "tests/test_calc.py", Status: testout.Passed},
	}}
	printed := func(line string) testout.Result {
		return testout.Text(line + "\n1 failed, 1 passed in 0.02s\n")
	}
	for line, failed := range map[string]string{
		"FAILED tests/test_calc.py::test_add - assert -1 == 5":  "test_add",
		"FAILED tests/test_calc.py::TestMul::test_mul - assert": "test_mul",
		"FAILED inner/test_calc.py::test_add - assert":          "",
	} {
		res := report
		res.Cases = slices.Clone(report.Cases)
		res = contradicted(res, printed(line))
		var got string
		for _, c := range res.Cases {
			if c.Status == testout.Failed {
				got += c.Name
			}
		}
		if got != failed || res.Failed != len(res.Failures) || res.Passed+res.Failed != 2 {
			t.Errorf("%s: %q %+v", line, got, res)
		}
	}
}

func TestSourcePath(t *testing.T) {
	project := map[string]string{"pytest.ini": "[pytest]\n", "pyproject.toml": "[project]\nname = 'shop'\n",
		"src/shop_below_src/__init__.py": ""}
	elsewhere := tree(t, map[string]string{"shop_below_src/__init__.py": ""})
	for name, c := range map[string]struct {
		more  map[string]string
		other string // PYTHONPATH of the user
		want  bool
		note  string
	}{
		"pytest has settings":      {nil, "", true, ""},
		"a copy is installed":      {nil, elsewhere, true, ""},
		"the settings have a path": {map[string]string{"pytest.ini": "[pytest]\npythonpath = src\n"}, "", false, ""},
		"src is a package":         {map[string]string{"src/__init__.py": ""}, "", false, ""},
		"it hides a module":        {map[string]string{"src/json.py": ""}, "", false, "src/json.py"},
		"it hides a package":       {map[string]string{"src/logging/__init__.py": ""}, "", false, "src/logging/__init__.py"},
		"it runs at the start":     {map[string]string{"src/sitecustomize.py": ""}, "", false, "src/sitecustomize.py"},
		"it has to be built":       {map[string]string{"setup.py": "setup(ext_modules=[])"}, "", true, ""},
		"it was built":             {map[string]string{"setup.py": "setup(ext_modules=[])"}, elsewhere, false, "pytest.ini"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, with(project, c.more))
			env := []string{"PATH=" + os.Getenv("PATH"), "PYTHONPATH=" + c.other}
			w := &Look{subject: Subject{Dir: dir, Env: env}, limit: time.Minute, end: time.Now().Add(time.Minute)}
			var want []string
			if c.want {
				want = []string{"PYTHONPATH=" + strings.TrimSuffix(filepath.Join(dir, "src")+":"+c.other, ":")}
			}
			if got := w.sourcePath(t.Context(), "."); !slices.Equal(got, want) || !strings.Contains(w.rep.Note, c.note) {
				t.Errorf("got %q, want %q; note %q", got, want, w.rep.Note)
			}
		})
	}
}
