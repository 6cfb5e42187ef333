package gates

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/glob"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
)

// pythonSuite runs pytest if the project uses or has it, else unittest.
func pythonSuite(dir string, p Project, all []Project) []suite {
	found := map[string][]string{} // folders that hold tests, by the pattern with which unittest finds them
	samples := map[string]string{} // a test file of each
	unseen := map[string]string{}  // and one that pytest finds only if it is told its name, such as tests.py
	wants, globs := pytestConfig(dir, p.Root), pytestFiles(dir, p.Root)
	unittest := false
	for rel, name := range filesOf(dir, p, all) {
		if name == "conftest.py" && wants == "" {
			wants = path.Join(p.Root, rel, name)
		}
		glob := ""
		if strings.HasSuffix(name, ".py") {
			glob = globOf(globs, path.Join(rel, name))
		}
		// unittest finds test*.py, which is more than pytest finds by default.
		named := language.PythonTest(name) || strings.HasPrefix(name, "test") && strings.HasSuffix(name, ".py")
		if !named && glob == "" {
			continue
		}
		text := readText(dir, path.Join(p.Root, rel), name)
		if !named && !language.DefinesTests(text) {
			continue
		}
		pattern := "test*.py" // its default
		if strings.HasSuffix(name, "_test.py") && !strings.HasPrefix(name, "test") {
			pattern = "*_test.py"
		}
		found[pattern] = lists.Add(found[pattern], rel)
		if glob != "" && (samples[rel] == "" || strings.Contains(glob, "*")) { // a fixed name allows no other file
			samples[rel] = name
		}
		if glob == "" && language.DefinesTests(text) {
			unseen[rel] = name
		}
		unittest = unittest || strings.Contains(text, "unittest")
		if wants == "" && (strings.Contains(text, "import pytest") || strings.Contains(text, "from pytest")) {
			wants = path.Join(p.Root, rel, name)
		}
	}
	if len(found) == 0 {
		return nil
	}
	if wants == "" && !unittest {
		wants = "pytest tests, which are plain functions"
	}
	var more []string
	for _, q := range all { // those are separate gates
		if q.Language == LangPython && within(q.Root, p.Root) {
			more = append(more, "--ignore="+strings.TrimPrefix(q.Root, p.Root+"/"))
		}
	}
	if wants != "" && len(samples) == 0 && len(unseen) > 0 { // pytest would find no test at all
		samples = unseen
		more = append(more, "-o", "python_files="+strings.Join(slices.Compact(slices.Sorted(maps.Values(unseen))), " "))
	}
	plan := func(ctx context.Context, w *Look) ([]testRun, error) {
		python, err := w.Interpreter(p.Root)
		if err != nil {
			return nil, err
		}
		has, err := w.hasPytest(ctx, python, p.Root)
		switch {
		case err != nil:
			return nil, err
		case has && (wants != "" || len(samples) > 0): // pytest finds no test.py
			return w.pytestRun(ctx, p.Root, python, more, samples)
		case wants != "":
			return nil, notReady{fmt.Errorf(
				"%s asks for pytest, which %s does not have: install it, or set up the project's .venv", wants, python)}
		}
		return unittestRuns(ctx, w, p.Root, python, found)
	}
	tools := []Tool{{
		Name: "python3", Program: "python3", Version: []string{"--version"},
		Own: []string{".venv/bin/python", "venv/bin/python"}, Root: p.Root,
		Install: "https://www.python.org/downloads",
	}}
	runner := "unittest"
	if wants != "" {
		runner = "pytest"
		pytest := PythonTool(dir, p.Root, runner, wants)
		pytest.Program, pytest.Version = "python3", []string{"-m", runner, "--version"}
		tools = append(tools, pytest)
	}
	return []suite{{project: p, tools: tools, command: commandLine(p.Root, []string{"python3", "-m", runner}), plan: plan}}
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

// pytestFiles returns the globs of the files in which pytest looks for tests.
func pytestFiles(dir, root string) []string {
	var globs []string
	if config := pytestConfig(dir, root); path.Base(config) == "pyproject.toml" {
		options := readPyproject(dir, root).Tool.Pytest
		if old, ok := options["ini_options"].(map[string]any); ok {
			options = old
		}
		switch set := options["python_files"].(type) {
		case string:
			globs = strings.Fields(set)
		case []any:
			globs = lists.Map(set, func(g any) string { return fmt.Sprint(g) })
		}
	} else if set := pythonFiles.FindStringSubmatch(readText(dir, ".", config)); set != nil {
		globs = strings.Fields(set[1])
	}
	if len(globs) == 0 {
		return []string{"test_*.py", "*_test.py"}
	}
	return lists.Map(globs, func(g string) string {
		if strings.Contains(g, "/") { // pytest compares the end of the path
			return "**/" + strings.TrimPrefix(g, "/")
		}
		return g
	})
}

// globOf returns the first of the globs that matches a file; "" if none does.
func globOf(globs []string, file string) string {
	for _, g := range globs {
		if Match([]string{g}, file) {
			return g
		}
	}
	return ""
}

// Interpreter chooses the own Python of the project at root, else that of the environment.
func (w *Look) Interpreter(root string) (string, error) {
	for _, name := range []string{".venv/bin/python", "venv/bin/python", ".venv/Scripts/python.exe"} {
		if at, ok := upwards(w.subject.Dir, root, name); ok {
			return w.at(at), nil
		}
	}
	if venv := proc.Getenv(toolEnv(w.subject.Env, nil), "VIRTUAL_ENV"); venv != "" {
		if python := filepath.Join(venv, "bin", "python"); exists(python, ".", ".") {
			return python, nil
		}
	}
	var missing error
	for _, name := range []string{"python3", "python"} {
		_, err := proc.LookPath(name, w.environ(nil))
		if err == nil {
			return name, nil
		}
		missing = cmp.Or(missing, err)
	}
	return "", missing
}

// hasPytest reports whether a Python has pytest. It asks once for each Python and project.
func (w *Look) hasPytest(ctx context.Context, python, root string) (bool, error) {
	at := python + "\n" + root
	if has, known := w.pytests[at]; known {
		return has, nil
	}
	has, err := w.installed(ctx, python, root, "pytest")
	if err != nil {
		return false, err
	}
	if w.pytests == nil {
		w.pytests = map[string]bool{}
	}
	w.pytests[at] = has
	return has, nil
}

// pytestRun asks pytest for a JUnit report, outside the tree. more are further arguments.
func (w *Look) pytestRun(ctx context.Context, root, python string, more []string, samples map[string]string) (
	[]testRun, error) {
	call := func(args, only []string) (testRun, error) {
		r, err := w.pytest(ctx, root, python, args)
		r.plant = plantPytest(root, samples, only)
		return r, err
	}
	all, err := call(more, nil)
	all.again = func(failed []testout.Failure) (testRun, error) {
		ids := []string{}
		for _, f := range failed {
			if f.ID == "" {
				return call(more, nil)
			}
			ids = append(ids, f.ID)
		}
		return call(ids, ids)
	}
	return []testRun{all}, err
}

// pytest makes one call of pytest.
func (w *Look) pytest(ctx context.Context, root, python string, more []string) (testRun, error) {
	report, err := newReport("")
	if err != nil {
		return testRun{}, err
	}
	args := []string{python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1",
		// One file that cannot be imported does not stop the tests of the others.
		"--continue-on-collection-errors", "--junitxml=" + report.name}
	args = append(args, more...)
	const noTests = 5 // pytest: "no tests were collected"
	return testRun{
		program: program{args: args, dir: root, env: w.sourcePath(ctx, root)},
		empty:   noTests,
		exact:   true,
		read: func(r ran) testout.Result {
			printed := testout.Text(r.text)
			if res, ok := report.read(testout.JUnit); ok {
				return contradicted(res, printed)
			}
			return printed
		},
		done: report.remove,
	}, nil
}

// unittestRuns covers all folders with tests. Discovery enters only packages, so a folder without __init__.py needs
// its own call, as does a pattern.
func unittestRuns(ctx context.Context, w *Look, root, python string, found map[string][]string) ([]testRun, error) {
	var out []testRun
	for _, pattern := range sortedKeys(found) {
		runs, err := patternRuns(ctx, w, root, python, pattern, found[pattern])
		if err != nil {
			return nil, err
		}
		out = append(out, runs...)
	}
	return out, nil
}

func patternRuns(ctx context.Context, w *Look, root, python, pattern string, folders []string) ([]testRun, error) {
	reached := func(rel string) bool {
		for at := rel; at != "."; at = path.Dir(at) {
			if !exists(w.subject.Dir, path.Join(root, at), "__init__.py") {
				return false
			}
		}
		return true
	}
	var out []testRun
	add := func(top string, reach []string) error {
		more := []string{}
		if top != "." {
			more = []string{"-s", top}
		}
		if pattern != "test*.py" {
			more = append(more, "-p", pattern)
		}
		r, err := unittestRun(ctx, w, root, python, more...)
		r.plant = plantUnittest(root, top, pattern, reach)
		out = append(out, r)
		return err
	}
	whole := lists.Filter(folders, reached)
	if len(whole) > 0 {
		if err := add(".", whole); err != nil {
			return nil, err
		}
	}
	slices.Sort(folders)
	tops := map[string][]string{}
	for _, f := range folders {
		if reached(f) {
			continue
		}
		top := f // of the packages that the folder belongs to
		for exists(w.subject.Dir, path.Join(root, top), "__init__.py") && path.Dir(top) != "." {
			top = path.Dir(top)
		}
		tops[top] = append(tops[top], f)
	}
	for _, top := range sortedKeys(tops) {
		if err := add(top, tops[top]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unittestRun makes one call of discovery, with a report outside the tree.
func unittestRun(ctx context.Context, w *Look, root, python string, more ...string) (testRun, error) {
	report, err := newReport("unittest.py")
	if err != nil {
		return testRun{}, err
	}
	const noTests = 5 // since Python 3.12
	return testRun{
		program: program{
			args: append([]string{python, report.script, "discover"}, more...), dir: root, env: w.sourcePath(ctx, root),
			shown: append([]string{python, "-m", "unittest", "discover"}, more...),
		},
		empty: noTests,
		exact: true,
		read: func(r ran) testout.Result {
			res := testout.Text(r.text) // whose failures have their places
			named, ok := report.read(func(in io.Reader) (testout.Result, error) { return testout.Lines(in, w.at(root)) })
			if !ok {
				return res
			}
			named.Failures = res.Failures
			return named
		},
		done: report.remove,
	}, nil
}

// contradicted returns the result of a report with the failures that pytest printed of tests that passed in the report:
// code in the process of pytest can edit the report after pytest wrote it.
func contradicted(report, printed testout.Result) testout.Result {
	for _, f := range printed.Failures {
		i := slices.IndexFunc(report.Cases, func(c testout.Case) bool {
			return c.Status == testout.Passed && c.NodeID() != "" && c.NodeID() == f.Path+"::"+f.Name
		})
		if i < 0 {
			continue
		}
		report.Cases[i].Status = testout.Failed
		report.Passed, report.Failed = report.Passed-1, report.Failed+1
		f.ID = report.Cases[i].NodeID()
		report.Failures = append(report.Failures, f)
	}
	return report
}

//go:embed python_library.txt
var pythonLibrary string

// PythonLibrary returns the modules of Python's library that a folder of the project can hide, and the two that Python
// runs when it starts.
func PythonLibrary() []string { return strings.Fields(pythonLibrary) }

// sourcePath returns the environment in which tests import the packages below src from the tree, as after an editable
// installation. Without it they fail to import, or test an installed copy of another tree. It is empty if the settings
// of pytest say where the packages are, if a name below src would hide a module of Python, and if the project uses
// pytest and builds a part of its package: then an installed copy is tested. Loose tests in a folder may also be meant
// to run in the root of the tree (from tools.gen import names), so this root takes the place of src.
func (w *Look) sourcePath(ctx context.Context, root string) []string {
	with := func(dir string) []string {
		if own := proc.Getenv(toolEnv(w.subject.Env, nil), "PYTHONPATH"); own != "" { // the user's folders stay
			dir += string(filepath.ListSeparator) + own
		}
		return []string{"PYTHONPATH=" + dir}
	}
	if root != "." && !slices.ContainsFunc(strings.Fields(pythonMarkers), func(f string) bool {
		return exists(w.subject.Dir, root, f)
	}) && w.hidesModule(".") == "" {
		return with(w.at("."))
	}
	dir := filepath.Join(w.at(root), "src")
	packages := glob.Below(dir, "*/__init__.py")
	config := pytestConfig(w.subject.Dir, root)
	if len(packages) == 0 || exists(w.subject.Dir, root, "src/__init__.py") ||
		pythonPath.MatchString(readText(w.subject.Dir, path.Dir(config), path.Base(config))) {
		return nil
	}
	if file := w.hidesModule(path.Join(root, "src")); file != "" {
		w.Note("src is not in PYTHONPATH, because src/%s would hide a module of Python", file)
		return nil
	}
	builds := pythonBuilds.MatchString(readTexts(w.subject.Dir, root, "pyproject.toml", "setup.py", "setup.cfg"))
	if python, err := w.Interpreter(root); err == nil && config != "" && builds {
		names := lists.Map(packages, func(p string) string { return filepath.Base(filepath.Dir(p)) })
		if has, err := w.installed(ctx, python, root, names...); err == nil && has {
			w.Note("Python imports an installed copy of the package, and not src, because the project builds a part of it: "+
				"install it in [workspace] setup, or set pythonpath = [\"src\"] in %s", config)
			return nil
		}
	}
	return with(dir)
}

// hidesModule returns the file of a folder that would hide a module of Python's library, if the folder were in
// PYTHONPATH; "" if none does.
func (w *Look) hidesModule(folder string) string {
	for _, name := range PythonLibrary() {
		for _, file := range []string{name + ".py", name + "/__init__.py"} {
			if exists(w.subject.Dir, folder, file) {
				return file
			}
		}
	}
	return ""
}

// installed reports whether a Python finds all the packages, without src. It does not import them, which takes longer.
func (w *Look) installed(ctx context.Context, python, root string, packages ...string) (bool, error) {
	const find = "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"
	found, err := w.run(ctx, program{args: append([]string{python, "-c", find}, packages...), dir: root, quiet: true})
	return err == nil && found.ok(), err
}

var (
	pythonPath  = lazyre.New(`(?m)^\s*pythonpath\b`)
	pythonFiles = lazyre.New(`(?m)^python_files[ \t]*[=:](.*(?:\n[ \t]+\S.*)*)`)
	// pythonBuilds finds settings that generate a file of the package or compile an extension.
	pythonBuilds = lazyre.New(`ext_modules|Extension\(|cffi_modules|maturin|setuptools[-_]rust|scikit[-_]build|meson|` +
		`mypyc|[Cc]ython\b|version[-_]file|write_to|build_py`)
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
