package gates

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A coverage threshold applies to the whole suite; a run of one test file ignores it.
func TestSingleFileIgnoresCoverageThreshold(t *testing.T) {
	for tool, files := range map[string]map[string]string{
		"jest": {
			"package.json": `{"name":"x","version":"1.0.0","devDependencies":{"jest":"29"},"jest":{"collectCoverage":true,` +
				`"coverageThreshold":{"global":{"lines":100}}}}`,
			"calc.js":           "exports.add = (a, b) => a + b;\nexports.sub = (a, b) => {\n  return a - b;\n};\n",
			"test/calc.test.js": "test('adds', () => { expect(require('../calc.js').add(1, 2)).toBe(3); });\n",
		},
		"vitest": {
			"package.json": `{"name":"x","version":"1.0.0","type":"module","devDependencies":{"vitest":"3"}}`,
			"vitest.config.js": "export default { test: { coverage: { enabled: true, provider: 'v8', thresholds: { lines: 100 " +
				"} } } };\n",
			"test/calc.test.js": "import { expect, test } from 'vitest';\n" +
				"test('adds', () => { expect(1 + 2).toBe(3); });\n",
		},
	} {
		t.Run(tool, func(t *testing.T) {
			dir := nodeTree(t, nodeCase{module: tool, files: files}, nil)
			var got SingleRun
			g := New(Info{Name: "one"}, func(ctx context.Context, l *Look) error {
				return l.Single(ctx, Single{Path: "test/calc.test.js"}, 1,
					func(one SingleRun) bool { got = one; return false })
			})
			s := Subject{Dir: dir, Env: os.Environ(), Timeout: time.Minute}
			if _, err := g.Check(t.Context(), s); err != nil || got.Outcome != RunPassed {
				t.Errorf("%v, %v: %s", got.Outcome, err, got.Text)
			}
		})
	}
}

// A file of Ruby, and an integration test of Rust, runs by a command in its gem or crate. One test of it does not.
func TestSingleByCommand(t *testing.T) {
	dir := tree(t, map[string]string{".rspec": "", "Cargo.toml": "", "app/Cargo.toml": "", "gems/a/a.gemspec": ""})
	command := func(dir, file string) string {
		args, root := Single{Path: file}.command(dir)
		return strings.TrimSpace(root + " " + strings.Join(args, " "))
	}
	if got := command(t.TempDir(), "spec/add_spec.rb"); got != ". ruby -Ilib -Itest spec/add_spec.rb" {
		t.Errorf("a spec of minitest: %q", got)
	}
	for file, want := range map[string]string{
		"tests/add.rs":     ". cargo test --offline --quiet --test add",
		"app/tests/add.rs": "app cargo test --offline --quiet --test add",
		"src/add.rs":       "", "other/tests/add.rs": "",
		"spec/add_spec.rb": ". rspec spec/add_spec.rb",
		"test/add_test.rb": ". ruby -Ilib -Itest test/add_test.rb", "a.txt": "",
		"gems/a/spec/add_spec.rb": "gems/a ruby -Ilib -Itest spec/add_spec.rb",
		"gems/a/test/add_test.rb": "gems/a ruby -Ilib -Itest test/add_test.rb",
	} {
		if got := command(dir, file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

// A test file of a workspace runs with the runner of its own package, in its folder.
func TestSingleInWorkspace(t *testing.T) {
	dir := tree(t, map[string]string{"package.json": `{"workspaces": ["packages/*"], "scripts": {"test": "npm test -ws"}}`,
		"packages/a/package.json":      `{"scripts": {"test": "mocha"}, "devDependencies": {"mocha": "10"}}`,
		"packages/a/test/package.json": `{"type": "commonjs"}`, "packages/a/test/a.test.js": "", "node_modules/.bin/mocha": ""})
	_, err := New(Info{Name: "one"}, func(_ context.Context, l *Look) error {
		r, err := Single{Path: "packages/a/test/a.test.js"}.nodeRun(l, ".")
		if r.dir != "packages/a" || len(r.args) != 2 || !strings.HasSuffix(r.args[0], "node_modules/.bin/mocha") ||
			r.args[1] != "test/a.test.js" {
			t.Errorf("%q in %s", r.args, r.dir)
		}
		return err
	}).Check(t.Context(), Subject{Dir: dir})
	if err != nil {
		t.Error(err)
	}
}

// One test file of Node is loaded as the test script of the project loads it.
func TestSingleNodeFileKeepsModuleHooks(t *testing.T) {
	for script, want := range map[string]string{
		"tape -r esm test/*.js | tap-spec":                        "-r esm",
		"node --require=./hook.js --test":                         "--require ./hook.js",
		"node --loader ts-node/esm --experimental-vm-modules x":   "--loader ts-node/esm --experimental-vm-modules",
		"c8 node --import @swc-node/register --test 'a/*.ts'":     "--import @swc-node/register",
		"tsx --test test/*.ts":                                    "--import tsx",
		"cross-env NODE_ENV=test ts-node test/all.ts":             "--require ts-node/register",
		"uvu tests --reporter=dot":                                "",
		"node --test test/*.js --test-reporter=spec && npm run x": "",
	} {
		if got := strings.Join(moduleHooks(script), " "); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
	dir := nodeTree(t, nodeCase{files: map[string]string{
		"package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"node -r ./hook.js --test test"}}`,
		"hook.js":      "globalThis.unit = 1;\n",
		"test/a.js":    "require('node:test')('unit', () => { require('node:assert').equal(unit, 1); });\n",
	}}, nil)
	var got SingleRun
	g := New(Info{Name: "one"}, func(ctx context.Context, l *Look) error {
		return l.Single(ctx, Single{Path: "test/a.js"}, 1, func(one SingleRun) bool { got = one; return false })
	})
	if _, err := g.Check(t.Context(), Subject{Dir: dir, Env: os.Environ(), Timeout: time.Minute}); err != nil ||
		got.Outcome != RunPassed {
		t.Errorf("%v, %v: %s", got.Outcome, err, got.Text)
	}
}

// alone runs one test file once.
func alone(t *testing.T, dir string, s Single, env ...string) (got SingleRun, err error) {
	t.Helper()
	g := New(Info{Name: "one"}, func(ctx context.Context, l *Look) error {
		return l.Single(ctx, s, 3, func(one SingleRun) bool { got = one; return false })
	})
	_, err = g.Check(t.Context(), Subject{Dir: dir, Env: append(os.Environ(), env...), Timeout: time.Minute})
	return got, err
}

// goEvents is a fake go command that prints the events of a test run.
func goEvents(exit int, lines ...string) string {
	return "#!/bin/bash\necho \"$*\" >\"${0%/*}/called\"\ncat <<'END'\n" + strings.Join(lines, "\n") + "\nEND\nexit " +
		strconv.Itoa(exit) + "\n"
}

// The outcome of a single file says whether its tests checked the code at all.
func TestSingleOutcomes(t *testing.T) {
	needs(t, "bash")
	python := func(says string, exit int) map[string]string {
		return map[string]string{"tests/test_a.py": "import unittest\n", "setup.py": "",
			".venv/bin/python!": "#!/bin/bash\n[ \"$1\" = -c ] && exit 1\n" + strings.TrimPrefix(prints(says, exit),
				"#!/bin/bash\n")}
	}
	pytest := func(exit int) map[string]string {
		return map[string]string{"tests/test_a.py": "", "pytest.ini": "[pytest]\n",
			".venv/bin/python!": "#!/bin/bash\n[ \"$1\" = -c ] && exit 0\nexit " + strconv.Itoa(exit) + "\n"}
	}
	script := func(text string) map[string]string { return map[string]string{"a.sh": text} }
	node := func(says string, exit int) map[string]string {
		return map[string]string{"package.json": "{}", "a.test.js": "", "bin/node!": prints(says, exit)}
	}
	golang := func(exit int, lines ...string) map[string]string {
		return map[string]string{"go.mod": "module m\n", "a_test.go": "package m\n\nfunc TestA() {}\n",
			"bin/go!": goEvents(exit, lines...)}
	}
	const tests = `{"Action":"run","Package":"m","Test":"TestA"}`
	for name, c := range map[string]struct {
		files   map[string]string
		s       Single
		want    RunOutcome
		why     string // a part of it
		failed  string
		command string
	}{
		"a command that passes": {nil, Single{Path: "x", Shell: "echo fine"}, RunPassed, "", "",
			"bash -eu -o pipefail -c 'echo fine'"},
		"a command that fails": {nil, Single{Path: "x", Shell: "echo error: no; exit 3"}, RunFailed,
			"exit 3: error: no", "", ""},
		"a command of Python's own exit status": {nil, Single{Path: "x.py", Shell: "exit 4"}, RunFailed, "exit 4", "", ""},
		"a script that hides failures": {script("echo '1 passed, 2 failed'"), Single{Path: "a.sh"}, RunHidFailures,
			"exit 0", "",
			"bash ./a.sh"},
		"a script whose test is skipped": {script("echo 'ok 1 - a # SKIP no net'; echo 1..1"), Single{Path: "a.sh"},
			RunSkipped, "", "", ""},
		"a script with a failure beside a skipped test": {
			script("printf 'ok 1 - a # SKIP no net\\nnot ok 2 - b\\n1..2\\n'; exit 1"), Single{Path: "a.sh"}, RunFailed, "not ok", "b",
			""},
		"a script without tests": {script("echo 1..0"), Single{Path: "a.sh"}, RunEmpty, "", "", ""},
		"a script that fails by name": {script("echo 'not ok 1 - one'; echo 1..1; exit 1"), Single{Path: "a.sh"},
			RunFailed, "not ok", "one", ""},
		"a script that cannot start":  {script("exit 127"), Single{Path: "a.sh"}, RunBroken, "exit 127", "", ""},
		"a script that may not start": {script("exit 126"), Single{Path: "a.sh"}, RunBroken, "exit 126", "", ""},
		"a script that ends with 2":   {script("exit 2"), Single{Path: "a.sh"}, RunFailed, "exit 2", "", ""},
		"a script with a syntax error": {script("if true; then\n"), Single{Path: "a.sh"}, RunBroken, "syntax error",
			"./a.sh", ""},
		"a file of unittest": {python("Ran 2 tests in 0.1s\n\nOK", 0), Single{Path: "tests/test_a.py"}, RunPassed, "", "",
			"-m unittest discover -s tests -t tests -p test_a.py"},
		"a file of unittest in a package": {with(python("Ran 2 tests in 0.1s\n\nOK", 0),
			map[string]string{"tests/__init__.py": ""}),
			Single{Path: "tests/test_a.py"}, RunPassed, "", "", "-s tests -t . -p test_a.py"},
		"one test of unittest": {python("Ran 1 test in 0.1s\n\nOK", 0), Single{Path: "tests/test_a.py",
			Only: "A::test_b"}, RunPassed, "", "", "-k '*.A.test_b'"},
		"a file of unittest without tests": {python("NO TESTS RAN", 5), Single{Path: "tests/test_a.py"}, RunEmpty, "", "",
			""},
		"a class that is not set up": {python(strings.Repeat("=", 70)+"\nERROR: setUpClass "+
			"(tests.test_a.A)\n"+strings.Repeat("-", 70)+
			"\nTraceback (most recent call last):\n  File \"DIR/tests/test_a.py\", line 3, in setUpClass\nValueError: x\n\n"+
			strings.Repeat("-", 70)+"\nRan 0 tests in 0.1s\n\nFAILED (errors=1)", 1), Single{Path: "tests/test_a.py"}, RunBroken,
			"ValueError: x", "tests.test_a.A.setUpClass", ""},
		"pytest without tests": {pytest(5), Single{Path: "tests/test_a.py"}, RunEmpty, "", "", "tests/test_a.py"},
		"one test of pytest": {pytest(0), Single{Path: "tests/test_a.py", Only: "A.test_b"}, RunPassed, "",
			"", "tests/test_a.py::A::test_b"},
		"some tests of pytest": {pytest(0), Single{Path: "tests/test_a.py",
			Tests: []string{"tests/test_a.py::test_b"}}, RunPassed, "", "", "-x tests/test_a.py::test_b"},
		"pytest with an internal error": {pytest(3), Single{Path: "tests/test_a.py"}, RunBroken, "exit 3", "", ""},
		"pytest without the file":       {pytest(4), Single{Path: "tests/test_a.py"}, RunBroken, "exit 4", "", ""},
		"pytest that was interrupted":   {pytest(2), Single{Path: "tests/test_a.py"}, RunFailed, "exit 2", "", ""},
		"a file of node": {node("# tests 1\n# pass 1\n# fail 0", 0), Single{Path: "a.test.js"}, RunPassed,
			"", "", "node --test a.test.js"},
		"a file of node that fails": {node("# tests 1\n# pass 0\n# fail 1", 1), Single{Path: "a.test.js"}, RunFailed,
			"exit 1", "", ""},
		"a file of node without imports": {node("Error: Cannot find module './x'\n# pass 0\n# fail 1", 1),
			Single{Path: "a.test.js"}, RunBroken, "", "", ""},
		"a file of node that does not load": {
			node("# SyntaxError: Unexpected token\nnot ok 1 - a.test.js\n  ---\n  error: 'test failed'\n  ...\n# pass 0\n# fail 1", 1),
			Single{Path: "a.test.js"}, RunBroken, "SyntaxError: Unexpected token", "a.test.js", ""},
		"a file of Go": {golang(0, tests, `{"Action":"pass","Package":"m","Test":"TestA"}`,
			`{"Action":"pass","Package":"m"}`),
			Single{Path: "a_test.go"}, RunPassed, "", "", "go test -json -count=1 -vet=off -run '^(TestA)$' ./."},
		"one test of Go": {golang(0, tests, `{"Action":"pass","Package":"m","Test":"TestA"}`,
			`{"Action":"pass","Package":"m"}`),
			Single{Path: "a_test.go", Only: "TestA/a.b"}, RunPassed, "", "", `-run '^TestA$/^a\.b$' ./.`},
		"a file of Go that fails": {golang(1, tests,
			`{"Action":"output","Package":"m","Test":"TestA","Output":"    a_test.go:3: no\n"}`,
			`{"Action":"fail","Package":"m","Test":"TestA"}`, `{"Action":"fail","Package":"m"}`), Single{Path: "a_test.go"},
			RunFailed, "no", "m.TestA", ""},
		"a file of Go that does not build": {golang(1, `{"Action":"fail","Package":"m"}`), Single{Path: "a_test.go"},
			RunBroken, "", "m", ""},
		"a file of Go whose package is skipped": {golang(0, tests, `{"Action":"skip","Package":"m","Test":"TestA"}`,
			`{"Action":"pass","Package":"m"}`), Single{Path: "a_test.go"}, RunSkipped, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, c.files)
			got, err := alone(t, dir, c.s, "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
			if err != nil || got.Outcome != c.want || !strings.Contains(got.Why, c.why) ||
				(got.Why == "") != (c.want == RunPassed || c.want == RunSkipped || c.want == RunEmpty) ||
				strings.Join(got.Failed, " ") != c.failed || !strings.Contains(got.Command, c.command) {
				t.Errorf("%+v, %v", got, err)
			}
			if got.OK != (c.want == RunPassed || c.want == RunHidFailures || c.want == RunSkipped || c.want == RunEmpty &&
				!strings.Contains(got.Command, "python")) {
				t.Errorf("the runner's success is %v", got.OK)
			}
		})
	}
}

// A file whose runner is missing, unknown, or cannot run one test alone has no result.
func TestSingleWithoutResult(t *testing.T) {
	needs(t, "bash")
	for name, c := range map[string]struct {
		files map[string]string
		s     Single
		want  string
	}{
		"a command that cannot start": {nil, Single{Path: "x", Shell: "no-such-program-here"},
			"exit 127: the shell could not start a program: "},
		"no module": {map[string]string{"a_test.go": ""}, Single{Path: "a_test.go"},
			"there is no go.mod above a_test.go"},
		"an unknown file": {map[string]string{"a.txt": ""}, Single{Path: "a.txt"}, "no runner is known for a.txt"},
		"one test of bash": {map[string]string{"a.sh": ""}, Single{Path: "a.sh", Only: "x"},
			"one test of a.sh cannot be run by itself"},
		"one test of node": {map[string]string{"a.test.js": ""}, Single{Path: "a.test.js", Only: "x"},
			"cannot be run by itself"},
		"one test of Ruby": {map[string]string{"a_test.rb": ""}, Single{Path: "a_test.rb", Only: "x"},
			"cannot be run by itself"},
		"a runner that is not installed": {map[string]string{"package.json": `{"devDependencies":{"mocha":"1"}}`},
			Single{Path: "a.test.js"}, "the package of a.test.js depends on mocha, which is not installed: run npm install"},
		"no pytest": {map[string]string{"setup.py": "", "test_a.py": "import pytest, unittest\n",
			".venv/bin/python!": "#!/bin/sh\nexit 1\n"}, Single{Path: "test_a.py"}, "test_a.py asks for pytest, which "},
		"no pytest for functions": {map[string]string{"setup.py": "", "test_a.py": "def test_a(): pass\n",
			".venv/bin/python!": "#!/bin/sh\nexit 1\n"}, Single{Path: "test_a.py"}, "asks for pytest"},
		"Go's own limit": {map[string]string{"go.mod": "module m\n", "a_test.go": "package m\n", "bin/go!": goEvents(1,
			`{"Action":"output","Package":"m","Output":"panic: test timed out after 10m0s\n"}`,
			`{"Action":"fail","Package":"m"}`)},
			Single{Path: "a_test.go"}, "go test ended a_test.go after its own limit of 10m0s (-timeout)"},
		"a module that Go cannot get": {map[string]string{"go.mod": "module m\n", "a_test.go": "package m\n", "bin/go!": goEvents(1,
			`a_test.go:3:8: example.com/x@v1.0.0: reading https://proxy.golang.org/example.com/x: 403 Forbidden`,
			`{"Action":"fail","Package":"m","FailedBuild":"m"}`)},
			Single{Path: "a_test.go"}, "the tools are not ready: go could not get a module"},
	} {
		dir := tree(t, c.files)
		if got, err := alone(t, dir, c.s, "PATH="+filepath.Join(dir,
			"bin")+string(os.PathListSeparator)+os.Getenv("PATH")); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	dir := tree(t, map[string]string{"a_test.rb": ""})
	if _, err := alone(t, dir, Single{Path: "a_test.rb"}, "PATH=/nowhere"); !errors.Is(err, ErrNoProgram) {
		t.Errorf("ruby is missing: %v", err)
	}
}

// A runner of Node that the package depends on runs the file, without limits of coverage.
func TestSingleByRunnerOfPackage(t *testing.T) {
	needs(t, "bash")
	for tool, want := range map[string]string{"jest": "--ci --coverage=false test/a.test.js",
		"vitest": "run --coverage.enabled=false test/a.test.js", "mocha": "test/a.test.js"} {
		dir := tree(t, map[string]string{"web/package.json": `{"devDependencies":{"` + tool + `":"1"}}`,
			"web/node_modules/.bin/" + tool + "!": "#!/bin/sh\necho called with $*\n"})
		got, err := alone(t, dir, Single{Path: "web/test/a.test.js"})
		if err != nil || got.Outcome != RunPassed || got.Text != "called with "+want+"\n" || got.Dir != "web" {
			t.Errorf("%s: %+v, %v", tool, got, err)
		}
	}
}

// All tests, fuzz tests and examples of a Go file run, but not the tests of other files or methods.
func TestGoTestsOfFile(t *testing.T) {
	for text, want := range map[string]string{
		"package m\nfunc TestA() {}\nfunc FuzzB() {}\nfunc Example() {}\nfunc TestMain() {}\nfunc helper() {}\n" +
			"type s int\nfunc (s) TestC() {}\nvar TestD = 1\n": "TestA FuzzB Example",
		"package m\n": "", "no Go": "Test",
	} {
		if got := strings.Join(goTests(text), " "); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// A file is run again until the caller has seen enough.
func TestSingleRunsAgain(t *testing.T) {
	needs(t, "bash")
	dir := tree(t, nil)
	for stop, want := range map[int]int{1: 1, 2: 2, 9: 3} {
		runs := 0
		g := New(Info{Name: "one"}, func(ctx context.Context, l *Look) error {
			return l.Single(ctx, Single{Path: "x", Shell: "exit 1"}, 3, func(SingleRun) bool { runs++; return runs < stop })
		})
		if _, err := g.Check(t.Context(), Subject{Dir: dir}); err != nil || runs != want {
			t.Errorf("%d runs, not %d, %v", runs, want, err)
		}
	}
}
