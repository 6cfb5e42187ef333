package gates

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/proc"
)

// pythonSuite runs pytest where the project is made for it or has it, else unittest.
func pythonSuite(dir string, p Project, all []Project) []suite {
	var folders []string // that hold tests
	wants := pytestConfig(dir, p.Root)
	unittest := false
	filesOf(dir, p, all, func(rel, name string) {
		if name == "conftest.py" && wants == "" {
			wants = path.Join(p.Root, rel, name)
		}
		if !pythonTest(name) && !(strings.HasPrefix(name, "test") && strings.HasSuffix(name, ".py")) {
			return
		}
		if !slices.Contains(folders, rel) {
			folders = append(folders, rel)
		}
		text := readText(dir, path.Join(p.Root, rel), name)
		unittest = unittest || strings.Contains(text, "unittest")
		if wants == "" && (strings.Contains(text, "import pytest") || strings.Contains(text, "from pytest")) {
			wants = path.Join(p.Root, rel, name)
		}
	})
	if len(folders) == 0 {
		return nil
	}
	if wants == "" && !unittest {
		wants = "its tests, which are plain functions"
	}
	var nested []string
	for _, q := range all {
		if q.Language == LangPython && within(q.Root, p.Root) {
			nested = append(nested, strings.TrimPrefix(q.Root, p.Root+"/"))
		}
	}
	plan := func(ctx context.Context, w *work) ([]testRun, error) {
		python, err := interpreter(ctx, w, p.Root)
		if err != nil {
			return nil, err
		}
		probe, err := w.run(ctx, program{args: []string{python, "-c", "import pytest"}, dir: p.Root, quiet: true})
		switch {
		case err != nil:
			return nil, err
		case probe.ok():
			return pytestRun(p.Root, python, nested)
		case wants != "":
			return nil, fmt.Errorf("%s asks for pytest, which %s does not have: install it, or set up the project's .venv", wants, python)
		}
		return unittestRuns(w, p.Root, python, folders), nil
	}
	return []suite{{project: p, command: commandLine(p.Root, []string{"python3", "-m", cmp.Or(map[bool]string{true: "pytest"}[wants != ""], "unittest")}), plan: plan}}
}

// pytestConfig names the file that configures pytest; "" if none does.
func pytestConfig(dir, root string) string {
	at := func(name string) string { return path.Join(root, name) }
	switch {
	case exists(dir, root, "pytest.ini"):
		return at("pytest.ini")
	case readPyproject(dir, root).Tool.Pytest != nil:
		return at("pyproject.toml")
	case strings.Contains(readText(dir, root, "setup.cfg"), "[tool:pytest]"):
		return at("setup.cfg")
	case strings.Contains(readText(dir, root, "tox.ini"), "[pytest]"):
		return at("tox.ini")
	}
	return ""
}

// interpreter picks the project's own Python, else the one of the environment.
func interpreter(ctx context.Context, w *work, root string) (string, error) {
	for _, name := range []string{".venv/bin/python", "venv/bin/python", ".venv/Scripts/python.exe"} {
		if at, ok := upwards(w.subject.Dir, root, name); ok {
			return filepath.Abs(filepath.Join(w.subject.Dir, filepath.FromSlash(at)))
		}
	}
	for _, kv := range slices.Backward(toolEnv(w.subject.Env, nil)) {
		if venv, ok := strings.CutPrefix(kv, "VIRTUAL_ENV="); ok && venv != "" {
			if python := filepath.Join(venv, "bin", "python"); exists(python, ".", ".") {
				return python, nil
			}
		}
	}
	var missing error
	for _, name := range []string{"python3", "python"} {
		_, err := w.run(ctx, program{args: []string{name, "-c", ""}, quiet: true})
		if err == nil || !errors.Is(err, proc.ErrNotFound) {
			return name, err
		}
		if missing == nil {
			missing = err
		}
	}
	return "", missing
}

// pytestRun asks pytest for a JUnit report, outside the tree.
func pytestRun(root, python string, nested []string) ([]testRun, error) {
	var ignore []string
	for _, n := range nested { // those are gates of their own
		ignore = append(ignore, "--ignore="+n)
	}
	all, err := pytest(root, python, ignore)
	all.again = func(failed []testout.Failure) (testRun, error) {
		ids := []string{}
		for _, f := range failed {
			if f.ID == "" {
				return pytest(root, python, ignore)
			}
			ids = append(ids, f.ID)
		}
		return pytest(root, python, ids)
	}
	return []testRun{all}, err
}

func pytest(root, python string, more []string) (testRun, error) {
	f, err := os.CreateTemp("", "runplan-pytest-*.xml")
	if err != nil {
		return testRun{}, fmt.Errorf("make a file for pytest's report: %w", err)
	}
	name := f.Name()
	if err := f.Close(); err != nil {
		return testRun{}, fmt.Errorf("make a file for pytest's report: %w", err)
	}
	args := []string{python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", "--junitxml=" + name}
	args = append(args, more...)
	const noTests = 5 // pytest: "no tests were collected"
	return testRun{
		program: program{args: args, dir: root},
		empty:   noTests,
		read: func(r ran) testout.Result {
			if data, err := os.ReadFile(name); err == nil {
				if res, err := testout.JUnit(bytes.NewReader(data)); err == nil {
					return res
				}
			}
			return testout.Text(r.text)
		},
		done: func() { _ = os.Remove(name) },
	}, nil
}

// unittestRuns covers all folders with tests: discovery enters packages only, so that a folder without __init__.py
// needs a call of its own.
func unittestRuns(w *work, root, python string, folders []string) []testRun {
	reached := func(rel string) bool {
		for at := rel; at != "."; at = path.Dir(at) {
			if !exists(w.subject.Dir, path.Join(root, at), "__init__.py") {
				return false
			}
		}
		return true
	}
	const noTests = 5 // since Python 3.12
	var out []testRun
	add := func(more ...string) {
		args := append([]string{python, "-m", "unittest", "discover"}, more...)
		out = append(out, testRun{program: program{args: args, dir: root}, empty: noTests})
	}
	if slices.ContainsFunc(folders, reached) {
		add()
	}
	var tops []string
	slices.Sort(folders)
	for _, f := range folders {
		if reached(f) {
			continue
		}
		top := f // of the packages that the folder belongs to
		for exists(w.subject.Dir, path.Join(root, top), "__init__.py") && path.Dir(top) != "." {
			top = path.Dir(top)
		}
		if !slices.Contains(tops, top) {
			tops = append(tops, top)
			add("-s", top)
		}
	}
	return out
}
