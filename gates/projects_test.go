package gates

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/tools/tooltest"
)

func TestGoProject(t *testing.T) {
	needs(t, "go")
	t.Run("green", func(t *testing.T) {
		rep := look(t, tree(t, goProject), "tests:go")
		if rep.Status != Pass || *rep.Tests != (TestCount{Passed: 1, Skipped: 1}) {
			t.Errorf("%s %+v %+v", rep.Status, rep.Tests, rep.Findings)
		}
	})
	t.Run("a failing test is found with its line", func(t *testing.T) {
		dir := tree(t, with(goProject,
			map[string]string{"a/a.go": "package a\n\n// One is 1.\nfunc One() int { return 2 }\n"}))
		rep := look(t, dir, "tests:go")
		if rep.Status != Fail || !hasFinding(rep, "test", "a/a_test.go", 7, "TestOne: one is not 1") ||
			*rep.Exit != 1 {
			t.Errorf("%+v", rep)
		}
		if !strings.Contains(rep.Output, "one is not 1") || strings.Contains(rep.Output, `"Action"`) {
			t.Errorf("output is for programs:\n%s", rep.Output)
		}
	})
	t.Run("a build that breaks is found by both gates", func(t *testing.T) {
		dir := tree(t, with(goProject, map[string]string{"a/a.go": "package a\n\nfunc One() int { return nope }\n"}))
		for _, name := range []string{"tests:go", "lint:go"} {
			rep := look(t, dir, name)
			if rep.Status != Fail || !hasFinding(rep, "build", "a/a.go", 3, "undefined: nope") {
				t.Errorf("%s: %+v", name, rep)
			}
		}
	})
	t.Run("vet and gofmt", func(t *testing.T) {
		dir := tree(t, with(goProject,
			map[string]string{"b/b.go": "package b\n\nimport \"fmt\"\n\nfunc B() { fmt.Printf(\"%d\",  \"x\") }\n"}))
		rep := look(t, dir, "lint:go")
		if rep.Status != Fail || !hasFinding(rep, "vet", "b/b.go", 5, "%d") || !hasFinding(rep, "gofmt", "b/b.go", 0, "") {
			t.Errorf("%+v", rep)
		}
		rep, err := find(t, Builtin(dir, Settings{Detect: true}), "lint:go").Check(t.Context(),
			Subject{Dir: dir, Changed: []string{"a/a.go"}})
		if err != nil || rep.Status != Warn {
			t.Errorf("findings in other files must not block: %v %+v", err, rep)
		}
	})
	t.Run("the same code in another folder is found there with -trimpath", func(t *testing.T) {
		t.Setenv("GOFLAGS", "-trimpath")
		for range 2 {
			dir := tree(t, with(goProject,
				map[string]string{"b/b.go": "package b\n\nimport \"fmt\"\n\n// B is twice the same.\nfunc B() { " +
					"fmt.Printf(\"%d\", \"y\") }\n"}))
			if rep := look(t, dir, "lint:go"); !hasFinding(rep, "vet", "b/b.go", 6, "%d") {
				t.Errorf("%+v", rep.Findings)
			}
		}
	})
	t.Run("without go the gate is skipped", func(t *testing.T) {
		dir := tree(t, goProject)
		for _, name := range []string{"tests:go", "lint:go"} {
			_, err := find(t, Builtin(dir, Settings{Detect: true}), name).Check(t.Context(),
				Subject{Dir: dir, Env: []string{"PATH=/nowhere"}})
			if !errors.Is(err, proc.ErrNotFound) || !strings.Contains(err.Error(), "install go") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestPythonUnittest(t *testing.T) {
	tooltest.Slow(t)
	needs(t, "python3")
	test := "import unittest\nclass A(unittest.TestCase):\n    def test_ok(self): pass\n    def test_sum(self): " +
		"self.assertEqual(1 + 1, %s)\n" +
		"    @unittest.skip('later')\n    def test_later(self): pass\n"
	dir := tree(t, map[string]string{
		"pyproject.toml":  "[project]\nname = 'x'\n",
		"tests/test_a.py": strings.Replace(test, "%s", "3", 1),
	})
	rep := look(t, dir, "tests:python")
	if rep.Status != Fail || *rep.Tests != (TestCount{1, 1, 1}) ||
		!hasFinding(rep, "test", "tests/test_a.py", 4, "2 != 3") {
		t.Errorf("%+v %+v", rep, rep.Tests)
	}
	write(t, dir, map[string]string{"tests/test_a.py": strings.Replace(test, "%s", "2", 1)})
	if rep = look(t, dir, "tests:python"); rep.Status != Pass || *rep.Tests != (TestCount{2, 0, 1}) {
		t.Errorf("%+v %+v", rep, rep.Tests)
	}
	if _, err := os.Stat(filepath.Join(dir, "tests", "__pycache__")); err == nil {
		t.Error("the gate left a cache in the tree")
	}
	write(t, dir, map[string]string{"tests/test_a.py": "import unittest\n"})
	if rep = look(t, dir, "tests:python"); rep.Status != Warn || !hasFinding(rep, "no-tests-ran", "", 0, "") {
		t.Errorf("no test ran and it is %+v", rep)
	}
}

// Loose tests may import what they test from their own folder, or from the root of the tree.
func TestLoosePythonTests(t *testing.T) {
	tooltest.Slow(t)
	needs(t, "python3")
	test := "import unittest\nfrom %s import two\nclass A(unittest.TestCase):\n" +
		"    def test_two(self): self.assertEqual(two, 2)\n"
	rep := look(t, tree(t, map[string]string{
		"go.mod": "module a\n", "tools/gen/names.py": "two = 2\n",
		"tools/gen/test_a.py": strings.Replace(test, "%s", "names", 1),
		"tools/gen/test_b.py": strings.Replace(test, "%s", "tools.gen.names", 1),
	}), "tests:python:tools/gen")
	if rep.Status != Pass || *rep.Tests != (TestCount{Passed: 2}) {
		t.Errorf("%+v %+v", rep, rep.Tests)
	}
}

// A fake interpreter replaces pytest, so that pytest need not be installed.
func TestPytest(t *testing.T) {
	fake := `#!/bin/bash
[ "$1" = -c ] && exit 0
for a; do case $a in --junitxml=*) out=${a#--junitxml=};; esac; done
[ -e empty ] && { echo "no tests ran in 0.01s"; exit 5; }
cat > "$out" <<'X'
<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="3"><testcase classname="tests.test_a" name="test_ok" file="tests/test_a.py" line="0"/>
<testcase classname="tests.test_a" name="test_bad" file="tests/test_a.py" line="3"><failure message="assert 1 == 2">def test_bad():
&gt;       assert 1 == 2
E       assert 1 == 2

tests/test_a.py:5: AssertionError</failure></testcase>
<testcase classname="tests.test_a" name="test_skip"><skipped type="pytest.skip" message="later"/></testcase></testsuite></testsuites>
X
exit 1
`
	dir := tree(t, map[string]string{
		"pytest.ini": "[pytest]\n", "tests/test_a.py": "def test_ok(): pass\n", ".venv/bin/python!": fake,
	})
	rep := look(t, dir, "tests:python")
	if rep.Status != Fail || *rep.Tests != (TestCount{1, 1, 1}) ||
		!hasFinding(rep, "test", "tests/test_a.py", 5, "assert 1 == 2") {
		t.Errorf("%+v %+v", rep, rep.Tests)
	}
	write(t, dir, map[string]string{"empty": ""})
	if rep = look(t, dir, "tests:python"); rep.Status != Warn || !hasFinding(rep, "no-tests-ran", "", 0, "") {
		t.Errorf("%+v", rep)
	}
	write(t, dir, map[string]string{".venv/bin/python!": "#!/bin/bash\nexit 1\n"})
	_, err := find(t, Builtin(dir, Settings{Detect: true}), "tests:python").Check(t.Context(), Subject{Dir: dir})
	if !errors.Is(err, ErrHindered) || !strings.Contains(err.Error(), "pytest.ini asks for pytest") {
		t.Errorf("pytest is missing: %v", err)
	}
}

func TestNodeProject(t *testing.T) {
	tooltest.Slow(t)
	needs(t, "node")
	needs(t, "npm")
	dir := tree(t, map[string]string{
		"package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"node --test"}}`,
		"a.test.mjs": `import test from 'node:test';
import assert from 'node:assert';
test('fine', () => {});
test('bad', () => { assert.equal(1, 2) });
test('later', { skip: true }, () => {});
`,
	})
	rep := look(t, dir, "tests:node")
	if rep.Status != Fail || *rep.Tests != (TestCount{1, 1, 1}) || !hasFinding(rep, "test", "a.test.mjs", 4, "bad: ") {
		t.Errorf("%+v %+v", rep, rep.Tests)
	}
	if rep := look(t, dir, "lint:node"); rep.Status != Skipped || rep.Note == "" {
		t.Errorf("%+v", rep)
	}
	scripted := tree(t, map[string]string{"web/package.json": `{"scripts":{"lint":"biome check --write ."}}`,
		"web/yarn.lock": "", "web/a.js": "x\n"})
	if rep := look(t, scripted, "lint:node:web"); rep.Status != Skipped ||
		!strings.Contains(rep.Note, `name = "lint:node:web", run = "cd web && yarn run lint"`) {
		t.Errorf("%+v", rep)
	}
	bare := tree(t, map[string]string{
		"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`,
	})
	if rep := look(t, bare, "tests"); rep.Status != Skipped || !strings.Contains(rep.Note, "package.json") {
		t.Errorf("npm's placeholder counts as a suite: %+v", rep)
	}
}

// The advice to install dependencies fits the lock file: npm ci needs one.
func TestInstallAdviceFitsLockFile(t *testing.T) {
	for lock, want := range map[string]string{"": "npm install", "package-lock.json": "npm ci",
		"npm-shrinkwrap.json": "npm ci", "pnpm-lock.yaml": "pnpm install", "yarn.lock": "yarn install",
		"bun.lock": "bun install"} {
		files := map[string]string{"package.json": `{"devDependencies":{"vitest":"1"}}`, "a.test.js": ""}
		if lock != "" {
			files[lock] = ""
		}
		dir := tree(t, files)
		_, err := find(t, Builtin(dir, Settings{Detect: true}), "tests:node").Check(t.Context(), Subject{Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "run "+want+", or let") {
			t.Errorf("with %q: %v", lock, err)
		}
	}
	files := map[string]string{"package.json": `{"devDependencies":{"tshy":"1"}}`, "tsconfig.json": "{}",
		"package-lock.json": `{"packages":{"node_modules/typescript":{}}}`}
	if got := addsNode(tree(t, files), ".", "typescript"); got != "npm ci" {
		t.Errorf("a package that another one brings along: %s", got)
	}
	if got := addsNode(tree(t, files), ".", "eslint"); got != "npm install --save-dev eslint" {
		t.Errorf("a package that is not locked: %s", got)
	}
	if got := (ToolState{Name: "the packages of package.json"}).String(); !strings.Contains(got, "are not") {
		t.Error(got)
	}
}

func TestESLint(t *testing.T) {
	fake := `#!/bin/bash
if [ "$1" = --print-config ]; then echo '{"rules":{"no-undef":[0],"semi":"off"}}'; exit 0; fi
if [ -e broken ]; then echo "Oops! Something went wrong" >&2; exit 2; fi
if [ -e clean ]; then echo "[{\"filePath\":\"$PWD/a.js\",\"messages\":[]}]"; exit 0; fi
echo "[{\"filePath\":\"$PWD/a.js\",\"messages\":[{\"ruleId\":\"no-undef\",\"severity\":2,\"message\":\"'x' is not defined.\",\"line\":3,\"column\":7},{\"ruleId\":\"semi\",\"severity\":1,\"message\":\"Missing semicolon.\",\"line\":4,\"column\":1}]}]"
exit 1
`
	files := map[string]string{"package.json": "{}", "eslint.config.js": "", "a.js": "x\n"}
	if rep := look(t, tree(t, files), "lint:node"); rep.Status != Skipped || !strings.Contains(rep.Note, "not installed") {
		t.Errorf("%+v", rep)
	}
	dir := tree(t, with(files, map[string]string{"node_modules/.bin/eslint!": fake}))
	if rep := look(t, dir, "lint:node"); rep.Status != Fail || !hasFinding(rep, "no-undef", "a.js", 3, "not defined") ||
		len(rep.Findings) != 2 {
		t.Errorf("%+v", rep)
	}
	rep, err := find(t, Builtin(dir, Settings{Detect: true}), "lint:node").Check(t.Context(),
		Subject{Dir: dir, Changed: []string{"b.js"}})
	if err != nil || len(rep.Findings) != 2 || rep.Findings[0].Severity != Warning || rep.Findings[1].Severity != Note {
		t.Errorf("in an unchanged file an error is not a warning, or a warning is not a note: %v %+v", err, rep)
	}
	write(t, dir, map[string]string{"clean": ""})
	if rep := look(t, dir, "lint:node"); rep.Status != Warn ||
		!hasFinding(rep, "linter-without-rules", "eslint.config.js", 0, "") {
		t.Errorf("%+v", rep)
	}
	write(t, dir, map[string]string{"broken": ""})
	if _, err := find(t, Builtin(dir, Settings{Detect: true}), "lint:node").Check(t.Context(),
		Subject{Dir: dir}); err == nil {
		t.Error("a linter crashed, but there is no error")
	}
}

// The original bug: a suite had 224 assertions, and the gate reported no tests.
func TestShellSuites(t *testing.T) {
	dir := tree(t, map[string]string{
		"scripts/tests/run-all-tests.sh!": "#!/usr/bin/env bash\nset -e\ncd \"$(dirname \"$0\")\"\nfor t in test-*.sh; do " +
			"bash \"$t\"; done\necho 'TOTAL: 5 passed, 0 failed'\n",
		"scripts/tests/test-a.sh": "echo 'Results: 3 passed, 0 failed'\n",
		"scripts/tests/test-b.sh": "echo 'Results: 2 passed, 0 failed'\n",
	})
	rep := look(t, dir, "tests:shell")
	if rep.Status != Pass || *rep.Tests != (TestCount{Passed: 5}) || rep.Command != "./scripts/tests/run-all-tests.sh" {
		t.Errorf("%+v %+v", rep, rep.Tests)
	}
	loose := tree(t, map[string]string{
		"tests/test-a.sh": "echo 'ok 1 - one'; echo 'ok 2 - two # SKIP no net'; echo 1..2\n",
		"test-b.sh":       "echo 'not ok 1 - three'; echo 1..1; exit 1\n",
	})
	rep = look(t, loose, "tests:shell")
	if rep.Status != Fail || *rep.Tests != (TestCount{1, 1, 1}) || !hasFinding(rep, "test", "test-b.sh", 1, "three") {
		t.Errorf("%+v %+v", rep, rep.Tests)
	}
	quiet := tree(t, map[string]string{"tests/test-a.sh": "true\n"})
	if rep = look(t, quiet, "tests:shell"); rep.Status != Pass || rep.Tests != nil || rep.Note == "" {
		t.Errorf("an unknown number of tests must not be 0: %+v", rep)
	}
}

func TestMake(t *testing.T) {
	needs(t, "make")
	dir := tree(t,
		map[string]string{"Makefile": "all:\n\n.PHONY: test\ntest: all\n\t@echo 'PASS: a'; echo 'FAIL: b is 2'; exit 1\n"})
	rep := look(t, dir, "tests:make")
	if rep.Status != Fail || *rep.Tests != (TestCount{1, 1, 0}) || !hasFinding(rep, "test", "", 0, "b is 2") {
		t.Errorf("%+v %+v", rep, rep.Tests)
	}
	for text, want := range map[string]bool{
		"test:\n\ttrue\n": true, "test := x\n": false, "lint test: dep\n": true, "testing:\n": false, "test::\n": true,
		"a:\n\ttest: x\n": false,
	} {
		if _, got := makeTarget(text, "test"); got != want {
			t.Errorf("makeTarget(%q) = %v", text, got)
		}
	}
}

func TestMakefileIncludes(t *testing.T) {
	for include, want := range map[string]bool{
		"include mk/*.mk": true, "-include ./mk/none.mk mk/a.mk # tests": true, "sinclude mk/more.mk": true,
		"include $(DIR)/a.mk": false, "include ../a.mk": false, "# include mk/a.mk": false,
	} {
		dir := tree(t, map[string]string{"a.mk": "test:\n\ttrue\n", "p/mk/a.mk": "test:\n\ttrue\n",
			"p/mk/more.mk": "include mk/a.mk mk/more.mk\n", "p/Makefile": include + "\nall:\n"})
		got := slices.ContainsFunc(Builtin(dir, Settings{Detect: true}), func(g Gate) bool {
			return g.Info().Name == "tests:make:p"
		})
		if got != want {
			t.Errorf("%s: %v", include, got)
		}
	}
}

func TestDetectMonorepo(t *testing.T) {
	dir := tree(t, map[string]string{
		"go.mod": "module x\n", "Makefile": "test:\n\tgo test ./...\n", "x_test.go": "package x\n",
		"web/package.json":                `{"scripts":{"test":"vitest run"}}`,
		"svc/api/pyproject.toml":          "",
		"svc/api/tests/test_a.py":         "import unittest\n",
		"a/b/c/go.mod":                    "module y\n",
		"a/b/c/d/go.mod":                  "module too/deep\n",
		"node_modules/m/package.json":     "{}",
		"vendor/v/go.mod":                 "module v\n",
		"testdata/p/go.mod":               "module p\n",
		".runplan/go.mod":                 "module r\n",
		"ws/package.json":                 `{"workspaces":["p/*"],"scripts":{"test":"npm test --workspaces"}}`,
		"ws/p/one/package.json":           `{"scripts":{"test":"node --test"}}`,
		"tools/x/tests/test-something.sh": "",
	})
	var got []string
	for _, p := range Detect(dir) {
		got = append(got, string(p.Language)+" "+p.Root)
	}
	want := []string{"go .", "make .", "shell .", "go a/b/c", "python svc/api", "node web", "node ws"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var names []string
	for _, g := range Builtin(dir, Settings{Detect: true}) {
		names = append(names, g.Info().Name)
	}
	wantNames := []string{
		"lint:go", "lint:go:a/b/c", "lint:python:svc/api", "lint:node:web", "lint:node:ws", "lint:shell",
		"tests:go", "tests:shell", "tests:python:svc/api", "tests:node:web", "tests:node:ws",
	}
	if d := cmp.Diff(wantNames, names); d != "" {
		t.Error(d)
	}
}

func TestRequiredTestsMustRun(t *testing.T) {
	dir := tree(t, map[string]string{"tests/test-a.sh": "echo '1..0 # skip no network'\n"})
	for require, want := range map[bool]Status{false: Warn, true: Fail} {
		rep, err := find(t, Builtin(dir, Settings{Detect: true, RequireTests: require}), "tests:shell").Check(t.Context(),
			Subject{Dir: dir})
		if err != nil || rep.Status != want || !hasFinding(rep, "no-tests-ran", "", 0, "") {
			t.Errorf("%v %+v", err, rep)
		}
	}
}

func TestNoSuite(t *testing.T) {
	dir := tree(t, map[string]string{"README.md": "x"})
	if rep := look(t, dir, "tests"); rep.Status != Skipped || rep.Note == "" {
		t.Errorf("%+v", rep)
	}
	rep, err := find(t, Builtin(dir, Settings{Detect: true, RequireTests: true}), "tests").Check(t.Context(),
		Subject{Dir: dir})
	if err != nil || rep.Status != Fail {
		t.Errorf("%v %+v", err, rep)
	}
	none := find(t, Builtin(dir, Settings{Detect: true}), "tests")
	v, err := Run(t.Context(), []Gate{none}, Subject{Dir: dir, Before: &TestCount{Passed: 224}}, nil)
	if err != nil || v.Status != Fail || !hasFinding(v.Reports[0], RuleFewerTests, "", 0, "224 passed before") {
		t.Errorf("the suite was removed: %v %+v", err, v)
	}
}

func TestTimeLimitLeavesNoProcess(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(t.TempDir(), "pid")
	gate := Builtin(dir, Settings{Commands: []CommandGate{{
		Name: "hangs", Shell: "sleep 300 & echo $! > " + mark + "; echo begun; trap '' TERM; wait; sleep 300",
		Timeout: time.Second,
	}}})
	v, err := Run(t.Context(), gate[:1], Subject{Dir: dir}, nil)
	var ge *GateError
	if !errors.As(err, &ge) || !errors.Is(err, ErrTimeLimit) ||
		!strings.Contains(err.Error(), "could not run: time limit 1s") {
		t.Fatalf("%v", err)
	}
	if v.OK() || v.Status != "" || !strings.Contains(ge.Report.Output, "begun") || ge.Report.Status != "" {
		t.Errorf("%+v %+v", v, ge.Report)
	}
	pid, rerr := os.ReadFile(mark)
	if rerr != nil {
		t.Fatal(rerr)
	}
	if data, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat"); err == nil &&
		!strings.Contains(string(data), ") Z ") {
		t.Errorf("process %s is left: %s", pid, data)
	}
}

// A test that an agent deletes or skips is a finding, even if the suite passes (RUN-07).
func TestDeletedTestIsReported(t *testing.T) {
	tooltest.Slow(t)
	needs(t, "go")
	dir := tree(t, goProject)
	v, err := Run(t.Context(), Builtin(dir, Settings{Detect: true}), Subject{Dir: dir}, nil)
	if err != nil || v.Status != Pass || v.Tests().Passed != 1 {
		t.Fatalf("%v %+v", err, v)
	}
	before := v.Tests()
	write(t, dir,
		map[string]string{"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) { t.Skip() }\n"})
	v, err = Run(t.Context(), Builtin(dir, Settings{Detect: true}), Subject{Dir: dir, Before: before}, nil)
	if err != nil || v.OK() || len(v.Blocking()) != 1 || v.Blocking()[0].Rule != RuleFewerTests {
		t.Errorf("skipped: %v %+v", err, v)
	}
	if err := os.Remove(filepath.Join(dir, "a", "a_test.go")); err != nil {
		t.Fatal(err)
	}
	v, err = Run(t.Context(), Builtin(dir, Settings{Detect: true}), Subject{Dir: dir, Before: before}, nil)
	if err != nil || v.OK() || !strings.Contains(Digest(v, 0), "0 tests pass, 1 passed before") {
		t.Errorf("deleted: %v %+v", err, v)
	}
}
