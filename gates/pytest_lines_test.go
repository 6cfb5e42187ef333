package gates

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The record of pytest says which tests run which lines. A record that something disturbed does not count.
func TestPytestLines(t *testing.T) {
	needs(t, "bash")
	const record = `{"Children":true,"Tests":["","tests/test_a.py::test_b"],"Lines":{"DIR/api/a.py":{"3":[0,1],"4":[1]}}}`
	want := map[string]map[int][]string{"api/a.py": {3: {"", "tests/test_a.py::test_b"}, 4: {"tests/test_a.py::test_b"}}}
	for name, c := range map[string]struct {
		record string
		exit   string
		pytest string // exit status of the search for pytest
		ok     bool
		got    PytestLines
	}{
		"a record":        {record, "0", "0", true, PytestLines{Passed: true, Children: true, Tests: want}},
		"tests that fail": {record, "1", "0", true, PytestLines{}},
		"no pytest":       {record, "0", "1", false, PytestLines{}},
		"no record":       {"", "0", "0", false, PytestLines{}},
		"a broken record": {"{", "0", "0", false, PytestLines{}},
		"a disturbed one": {`{"Lost":true}`, "0", "0", false, PytestLines{}},
		"a test too far":  {`{"Tests":["a"],"Lines":{"DIR/api/a.py":{"3":[1]}}}`, "0", "0", false, PytestLines{}},
		"a test before":   {`{"Tests":["a"],"Lines":{"DIR/api/a.py":{"3":[-1]}}}`, "0", "0", false, PytestLines{}},
		"a record of no line": {`{"Tests":[],"Lines":{"DIR/api/a.py":{}}}`, "0", "0", true, PytestLines{Passed: true,
			Tests: map[string]map[int][]string{"api/a.py": {}}}},
	} {
		dir := tree(t, map[string]string{"api/setup.py": "", "api/a.py": "", "api/tests/test_a.py": "", "setup.py": "",
			"b.py": ""})
		write(t, dir, map[string]string{"api/.venv/bin/python!": "#!/bin/bash\nscript=$1\n[ \"$1\" = -c ] && exit " +
			c.pytest + "\n" +
			"{ pwd; cat \"$1.files\"; echo; shift; echo \"$*\"; } >" + dir + "/called\n" +
			"record='" + strings.ReplaceAll(c.record, "DIR", dir) + "'\n[ -n \"$record\" ] && echo \"$record\" " +
			">\"$script.report\"\nexit " + c.exit + "\n"})
		_, err := New(Info{Name: "own"}, func(ctx context.Context, l *Look) error {
			got, ok, err := l.PytestLines(ctx, []string{"api/a.py"})
			if d := cmp.Diff(c.got, got); d != "" || ok != c.ok {
				t.Errorf("%s: %v %s", name, ok, d)
			}
			return err
		}).Check(t.Context(), Subject{Dir: dir})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		called, _ := os.ReadFile(filepath.Join(dir, "called"))
		if said := string(called); c.pytest == "0" && (!strings.HasPrefix(said, dir+"/api\n[\""+dir+"/api/a.py\"]\n-q ") ||
			strings.Contains(said, "-m pytest")) {
			t.Errorf("%s: called with %s", name, said)
		}
	}
}

// A file belongs to the innermost project that holds it.
func TestProjectOfFile(t *testing.T) {
	dir := tree(t, map[string]string{"setup.py": "", "a.py": "", "api/setup.py": "", "api/b.py": "", "api/v2/setup.py": "",
		"api/v2/c.py": "", "web/package.json": "{}"})
	for file, want := range map[string]string{"a.py": ".", "api/b.py": "api", "api/v2/c.py": "api/v2", "web/d.py": "."} {
		if got := projectOf(dir, LangPython, file); got != want {
			t.Errorf("%s is in %s", file, got)
		}
	}
	if !SameProject(dir, "a.py", "web/d.py") || SameProject(dir, "a.py", "api/b.py") {
		t.Error("two files of one project")
	}
}

// Limits of coverage are switched off only if the settings have them, because other installations have no such option.
func TestCoverageIsSwitchedOff(t *testing.T) {
	for config, want := range map[string]string{"[pytest]\naddopts = --cov=x": "--no-cov", "[pytest]\naddopts = -q": ""} {
		if got := strings.Join(withoutCoverage(tree(t, map[string]string{"pytest.ini": config}), "."), " "); got != want {
			t.Errorf("%q: %q", config, got)
		}
	}
	if got := withoutCoverage(tree(t, nil), "."); got != nil {
		t.Error(got)
	}
}
