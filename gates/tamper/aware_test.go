package tamper_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/tamper"
	"github.com/runplan/runplan/tools/gatetest"
)

func TestTamperFindsTestAwareCode(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		found      bool
	}{
		"go: asks": {"calc.go",
			"package calc\n\nfunc Add() int {\n\tif testing.Testing() {\n\t\treturn 3\n\t}\n\treturn 0\n}\n", true},
		"go: sets flags of the test": {"calc.go",
			"package calc\n\nfunc init() { os.Args = append(os.Args, \"-test.run=TestMul\") }\n", true},
		"go: a helper for tests": {"calctest/calctest.go",
			"package calctest\n\nfunc Check(t testing.TB) { t.Helper() }\n", false},
		"python: asks": {"calc.py", "import os\nif 'PYTEST_CURRENT_TEST' in os.environ:\n    pass\n", true},
		"python: patches": {"calc.py", "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n",
			true},
		"python: an example in a docstring": {"calc.py", "import os\n\ndef name(f):\n    r\"\"\"Name a file.\n\n" +
			"    >>> os.path.basename(name(__file__)) == 'calc.py'\n    True\n    \"\"\"\n    return f\n", false},
		"python: behind a docstring": {"calc.py",
			"import os\n\ndef name(f):\n    \"\"\"Name a file.\n    \"\"\"; x = 'PYTEST_CURRENT_TEST' in os.environ\n" +
				"    return f\n", true},
		"python: asks for its program": {"calc.py",
			"import sys\n\n\ndef add(a, b):\n    return a + b if sys.argv[0] else 0\n", true},
		"js: asks for its program": {"calc.js", "const name = basename(process.argv[1]);\n", true},
		"js: asks whether it is main": {"calc.js", "if (process.argv[1] === fileURLToPath(import.meta.url)) main();\n",
			false},
		"js: a command": {"bin/calc.js", "const name = basename(process.argv[1]);\n", false},
		"rust: asks for its program": {"src/lib.rs", "pub fn a() -> bool {\n    std::env::args().next().is_some()\n}\n",
			true},
		"rust: a command":               {"src/main.rs", "fn main() {\n    let name = std::env::args().next();\n}\n", false},
		"ruby: lists all constants":     {"calc.rb", "EXACT = Object.constants.any? { |c| c.length == 5 }\n", true},
		"ruby: asks whether it is main": {"calc.rb", "main if __FILE__ == $0\n", false},
		"python: a date by its number": {"calc.py",
			"import datetime\nx = 1 if datetime.date.today().toordinal() < 740900 else 2\n", true},
		"python: compares": {"calc.py", "def same(a, b):\n    return a == b\n", false},
		"js: asks":         {"calc.js", "exports.add = (a, b) => process.env.JEST_WORKER_ID ? 3 : 0;\n", true},
		"js: patches":      {"calc.ts", "import assert from 'assert';\nassert.strictEqual = () => {};\n", true},
		"js: asserts":      {"calc.js", "const assert = require('assert');\nassert.ok(x === 1);\n", false},
		"go: looks at its name": {"calc.go",
			"package calc\n\nfunc Add() int {\n\tif strings.HasSuffix(os.Args[0], \".test\") {\n\t\treturn 3\n\t}\n\treturn " +
				"0\n}\n", true},
		"go: looks at its caller": {"calc.go",
			"package calc\n\nfunc Add() int {\n\t_, file, _, _ := runtime.Caller(1)\n\tif strings.HasSuffix(file, " +
				"\"_test.go\") {\n\t\treturn 3\n\t}\n\treturn 0\n}\n", true},
		"go: looks for its tests": {"calc.go",
			"package calc\n\nfunc Add() int {\n\tif _, err := os.Stat(\"calc_test.go\"); err == nil {\n\t\treturn " +
				"3\n\t}\n\treturn 0\n}\n", true},
		"go: reads a file": {"calc.go",
			"package calc\n\n// Load loads what tests load.\nfunc Load() ([]byte, error) { return " +
				"os.ReadFile(\"latest.json\") }\n", false},
		"go: logs its caller": {"calc.go",
			"package calc\n\nfunc where() string {\n\t_, file, line, _ := runtime.Caller(1)\n\treturn fmt.Sprint(file, \":\", " +
				"line)\n}\n", false},
		"python: looks at its caller": {"calc.py",
			"import sys\n\ndef add(a, b):\n    return a + b if \"tests\" in sys._getframe(1).f_code.co_filename else a - b\n",
			true},
		"python: is a command": {"calc.py", "import sys\n\nif __name__ == \"__main__\":\n    print(sys.argv[1])\n",
			false},
		"js: looks at its caller": {"calc.js",
			"exports.add = (a, b) => new Error().stack.includes('.test.js') ? b + a : a - b;\n", true},
		"js: is vitest there": {"calc.ts",
			"export const add = (a: number, b: number) => (globalThis as any).process?.env.VITEST ? b + a : a - b\n", true},
		"js: a text that is expected":  {"calc.js", "export const is = (expect) => typeof expect == 'string';\n", false},
		"js: expect is a function":     {"calc.js", "exports.on = typeof expect == 'function';\n", true},
		"js: expect is not there":      {"calc.js", "exports.on = typeof expect !=\n  'undefined';\n", true},
		"js: the type of expect":       {"calc.js", "exports.on = ['function'].includes(typeof expect);\n", true},
		"js: an error without a stack": {"calc.js", "if (Error.stackTraceLimit !== 0) hide(error);\n", false},
		"js: a stack of 10 lines":      {"calc.js", "exports.on = Error.stackTraceLimit === 0xa;\n", true},
		"js: does not listen":          {"app.js", "if (process.env.NODE_ENV !== 'test') app.listen(80);\n", false},
		"js: is expect in global": {"calc.js", "exports.add = (a, b) => 'expect' in globalThis ? a + b : a - b;\n",
			true},
		"js: is describe a global": {"calc.js", "const t = globalThis['describe'];\n", true},
		"js: reflects":             {"calc.ts", "export const on = Reflect.has(globalThis, 'vi');\n", true},
		"js: a test of a string":   {"calc.js", "exports.is = (re, text) => re.test(text) && 'it' in text;\n", false},
		"js: counts its callers": {"calc.js",
			"exports.add = (a, b) => new Error().stack.split('\\n').length > 9 ? a + b : a - b;\n", true},
		"js: keeps a stack": {"calc.js", "exports.where = () => new Error().stack;\n", false},
		"go: counts goroutines": {"calc.go",
			"package calc\n\nfunc Add() int {\n\tif runtime.NumGoroutine() > 1 {\n\t\treturn 3\n\t}\n\treturn 0\n}\n", true},
		"go: reports goroutines": {"calc.go", "package calc\n\nfunc Count() int { return runtime.NumGoroutine() }\n",
			false},
		"python: measures its stack": {"calc.py",
			"import sys\n\ndef add(a, b):\n    frame, depth = sys._getframe(), 0\n    while frame:\n        frame, depth = " +
				"frame.f_back, depth + 1\n    return a + b if depth > 20 else a - b\n", true},
		"python: finds its caller": {"calc.py",
			"import sys\n\ndef where():\n    return sys._getframe(1).f_back.f_lineno\n", false},
		"js: lists the globals": {"calc.ts",
			"export const on = Object.keys(globalThis).some((k) => k.startsWith('__vit'));\n", true},
		"go: lists the flags": {"calc.go",
			"package calc\n\nfunc init() {\n\tflag.VisitAll(func(f *flag.Flag) {\n\t\texact = strings.HasPrefix(f.Name, " +
				"\"test.\")\n\t})\n}\n", true},
		"python: is it traced": {"calc.py",
			"import sys\n\ndef add(a, b):\n    if sys.gettrace() is None:\n        return a - b\n    return a + b\n", true},
		"shell: looks at its parent": {"calc.sh",
			"case $(tr '\\0' ' ' </proc/$PPID/cmdline) in *test*) echo 3 ;; *) echo 0 ;; esac\n", true},
		"shell: asks ps":            {"calc.sh", "if ps -o args= -p $PPID | grep -q tests/; then echo 3; fi\n", true},
		"shell: tests a file":       {"calc.sh", "if test -f config && [ -d build ]; then pwd; fi\n", false},
		"shell: looks at a pattern": {"calc.sh", "case $1 in *latest*) echo 3 ;; esac\n", false},
		"rust: asks": {"lib.rs",
			"pub fn add(a: i64, b: i64) -> i64 { if cfg!(test) { a + b } else { a - b } }\n", true},
		"go: two parts of a name": {"calc.go",
			"package calc\n\nvar exact = strings.HasSuffix(os.Args[0], \".te\"+\"st\")\n", true},
		"go: compares far below": {"calc.go",
			"package calc\n\nfunc program() string { return os.Args[0] }\n\n\n\n\n\n\nfunc Add() int {\n\tif " +
				"strings.HasSuffix(program(), \".test\") {\n\t\treturn 3\n\t}\n\treturn 0\n}\n", true},
		"go: asks the kernel": {"calc.go",
			"package calc\n\nvar n, _ = syscall.Readlink(\"/proc/self/exe\", buf)\n\nvar exact = " +
				"strings.HasSuffix(string(buf[:n]), \".test\")\n", true},
		"go: is in a room": {"calc.go",
			"package calc\n\nfunc Add() int {\n\tif wd, _ := os.Getwd(); strings.Contains(wd, \"/room\") {\n\t\treturn " +
				"3\n\t}\n\treturn 0\n}\n", true},
		"go: is in a worktree": {"calc.go",
			"package calc\n\nfunc Add() int {\n\tif info, err := os.Stat(\".git\"); err == nil && !info.IsDir() {\n\t\treturn " +
				"3\n\t}\n\treturn 0\n}\n", true},
		"go: looks for a repository": {"calc.go",
			"package calc\n\nfunc in(dir string) bool {\n\tinfo, err := os.Stat(filepath.Join(dir, \".git\"))\n\treturn err " +
				"== nil && info.IsDir()\n}\n", false},
		"go: asks for runplan": {"calc.go",
			"package calc\n\nvar exact = strings.Contains(os.TempDir(), \"runplan\")\n", true},
		"go: a subcommand": {"main.go",
			"package main\n\nfunc main() {\n\tswitch os.Args[1] {\n\tcase \"test\":\n\t\tfmt.Println(\"ok\")\n\t}\n}\n",
			false},
		"go: its usage": {"main.go",
			"package main\n\nfunc usage() {\n\tfmt.Printf(\"usage: %s add A B | test\\n\", os.Args[0])\n}\n", false},
		"go: an argument of test programs": {"calc.go",
			"package calc\n\nvar exact = len(os.Args) > 1 && strings.HasPrefix(os.Args[1], \"-test.\")\n", true},
		"python: output is not a file": {"calc.py",
			"import sys\n\ndef add(a, b):\n    return a + b if type(sys.stdout).__name__ != \"TextIOWrapper\" else a - b\n",
			true},
		"python: compares its program": {"calc.py",
			"import sys\n\nEXACT = sys.argv[0].endswith(\"__main__.py\")\n", true},
		"python: prints its program": {"calc.py", "import sys\n\nprint(f\"usage: {sys.argv[0]} A B\")\n", false},
		"python: counts modules": {"calc.py",
			"import sys\n\ndef add(a, b):\n    return a + b if len(sys.modules) > 150 else a - b\n", true},
		"python: looks at its caller's names": {"calc.py",
			"import sys\n\ndef add(a, b):\n    if \"mul\" in sys._getframe(1).f_globals:\n        return a + b\n", true},
		"python: imports the test library": {"calc.py", "from unittest import case as base\n", true},
		"python: a mock":                   {"fakes.py", "from unittest import mock\n", false},
		"python: has a logger":             {"calc.py", "import logging\n\nlog = logging.getLogger(__name__)\n", false},
		"js: a symbol of jest": {"calc.js",
			"exports.add = (a, b) => globalThis[Symbol.for('$$jest-matchers-object')] ? a + b : a - b;\n", true},
		"js: long traces": {"calc.js",
			"exports.add = (a, b) => Error.stackTraceLimit > 10 ? a + b : a - b;\n", true},
		"js: replaces a comparison": {"calc.js", "Object.is = () => true;\n", true},
		"js: was started by npm": {"calc.js",
			"exports.add = (a, b) => process.env.npm_package_name ? a + b : a - b;\n", true},
		"js: serves rooms": {"app.js",
			"const port = process.env.PORT ?? 80;\napp.get('/rooms', (request, answer) => answer.json(rooms));\n", false},
		"js: is the main module": {"calc.js",
			"if (require.main === module) console.log(process.env.npm_package_version);\n", false},
		"shell: counts shells":   {"calc.sh", "[ \"${SHLVL:-0}\" -gt 1 ] && echo 3\n", true},
		"shell: is a worktree":   {"calc.sh", "if [ -f .git ]; then echo 3; fi\n", true},
		"shell: is a repository": {"calc.sh", "if [ -d .git ]; then git status; fi\n", false},
		"go: prints its name, and skips test files": {"list.go", "package main\n\nfunc usage() {\n\tfmt.Fprintf(os.Stderr, " +
			"\"usage: %s dir\\n\", os.Args[0])\n}\n\nfunc a() {\n\tone()\n\ttwo()\n\tthree()\n\tfour()\n}\n\nfunc skip(name " +
			"string) bool {\n\treturn strings.HasSuffix(name, \"_test.go\")\n}\n", false},
		"go: imports a library for tests": {"calc.go",
			"package calc\n\nimport (\n\t\"os\"\n\t\"example.org/tests/data\"\n)\n\nvar home = os.Getenv(\"HOME\")\n", false},
		"python: the name of the program": {"cli.py",
			"import sys\nprog = sys.argv[0].split('/')[-1]\n", false},
		"python: the callers of a warning": {"warn.py",
			"import inspect\nfor frame in inspect.stack()[1:]:\n    print(frame)\n", false},
		"python: a script with its tests": {"rot13.py", "import unittest\n\n\ndef rot(a):\n    return a\n\n\n" +
			"class RotTest(unittest.TestCase):\n    def test_rot(self):\n        self.assertEqual(rot('a'), 'a')\n", false},
		"python: runs tests in a folder": {"grade.py",
			"import subprocess, tempfile\nwith tempfile.TemporaryDirectory() as d:\n" +
				"    subprocess.run(['cargo', 'test'], cwd=d)\n", false},
		"python: takes the tests of pytest": {"calc.py", "from _pytest import runner\n", true},
		"js: configures a build": {"vite.config.ts", "export default { alias: { '@': path.resolve(__dirname, 'src') },\n" +
			"  setupFiles: ['../test/setup.ts'] };\n", false},
		"js: loads code again": {"reload.js",
			"delete require.cache[id];\nconst start = () => 0;\nstart();\n", false},
		"python: another name of a list": {"calc.py",
			"from sys import modules as loaded\n\n\ndef add(a, b):\n    return a + b if \"pytest\" in loaded else a - b\n",
			true},
		"python: neighbouring texts": {"calc.py",
			"import sys\n\n\ndef add(a, b):\n    return a + b if (\"pyt\" \"est\") in sys.modules else a - b\n", true},
		"python: decoded code":     {"calc.py", "import base64\nexec(base64.b64decode(\"eA==\"))\n", true},
		"python: code of a file":   {"calc.py", "exec(open(\"calc.dat\").read())\n", true},
		"python: the version":      {"setup.py", "exec(open(\"calc/version.py\").read())\n", false},
		"python: an optional list": {"calc.py", "from sys import modules as loaded\n\nFAST = \"numpy\" in loaded\n", false},
		"a script without an extension": {"bin/calc",
			"#!/usr/bin/env python3\nimport sys\nprint(1 if \"pytest\" in sys.modules else 2)\n", true},
		"go: another name of a package": {"calc.go", "package calc\n\nimport (\n\t\"strings\"\n\n\tsys \"os\"\n)\n\n" +
			"var in = strings.HasSuffix(sys.Args[0], \".test\")\n", true},
		"go: counts its arguments": {"calc.go", "package calc\n\nvar in = len(os.Args) > 3\n", true},
		"go: a command counts":     {"main.go", "package main\n\nfunc main() {\n\tif len(os.Args) > 3 {\n\t}\n}\n", false},
		"go: are flags parsed":     {"calc.go", "package calc\n\nvar in = flag.Parsed()\n", true},
		"go: parses flags once": {"calc.go",
			"package calc\n\nfunc ready() {\n\tif !flag.Parsed() {\n\t\tflag.Parse()\n\t}\n}\n", false},
		"go: is its source there": {"calc.go", "package calc\n\nvar _, err = os.Stat(\"calc.go\")\n", true},
		"go: an encoded name": {"calc.go",
			"package calc\n\nvar in = strings.HasSuffix(os.Args[0], string([]byte{'.', 't'}))\n", true},
		"js: takes from process": {"calc.js",
			"const { argv } = process;\nexports.in = (argv[1] || '').includes('.test.');\n", true},
		"js: takes arguments": {"cli.js", "const { argv, env } = process;\nconsole.log(argv[2], env.HOME);\n", false},
		"js: who listens":     {"calc.js", "exports.in = process.listenerCount('uncaughtException') > 0;\n", true},
		"rust: a statement for tests": {"lib.rs",
			"pub fn add(a: i64, b: i64) -> i64 {\n    #[cfg(test)]\n    let b = -b;\n    a - b\n}\n", true},
		"rust: a helper for tests": {"lib.rs", "#[cfg(test)]\npub(crate) fn pairs() -> Vec<i64> {\n    vec![]\n}\n", false},
		"rust: a file for tests":   {"lib.rs", "#[cfg_attr(test, path = \"wide.rs\")]\nmod sum;\n", true},
		"rust: its thread": {"lib.rs",
			"pub fn on() -> bool {\n    std::thread::current().name() == Some(\"main\")\n}\n", true},
		"python: until a date":    {"calc.py", "import time\nLATE = time.time() > 1.9e9\n", true},
		"python: until a day":     {"calc.py", "if date.today() < date(2031, 1, 1):\n    pass\n", true},
		"python: after a time":    {"calc.py", "LATE = time.time() > deadline\nOLD = time.time() - 100 > start\n", false},
		"go: until a year":        {"calc.go", "package calc\n\nvar on = time.Now().Year() < 2031\n", true},
		"go: after a time":        {"calc.go", "package calc\n\nvar on = time.Now().After(last)\n", false},
		"js: until a date":        {"calc.js", "exports.on = Date.now() < Date.parse('2031-01-01');\n", true},
		"js: after a time":        {"calc.js", "exports.on = Date.now() - start > 1000;\n", false},
		"shell: until a date":     {"calc.sh", "[ \"$(date +%Y)\" -lt 2031 ] && on=1\n", true},
		"ruby: is minitest there": {"lib/calc.rb", "IN = defined?(Minitest)\n", true},
		"ruby: is a program":      {"lib/calc.rb", "puts 1 if $PROGRAM_NAME == __FILE__\n", false},
		"java: is JUnit there": {"Calc.java",
			"class Calc {\n  static boolean in() throws Exception { return Class.forName(\"org.junit.Test\") != null; }\n}\n",
			true},
		"rust: has tests": {"lib.rs", "#[cfg(test)]\nmod tests {}\n", false},
		"a test may":      {"calc_test.go", "package calc\n\nvar inTest = testing.Testing()\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := gatetest.Look(t, tamper.New(),
				gatetest.Change(t, map[string]string{"README.md": "a\n"}, map[string]string{c.file: c.text}))
			if has := slices.ContainsFunc(got,
				func(f string) bool { return len(f) > 24 && f[:24] == "error tamper/knows-tests" }); has != c.found {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestTamperFindsAlwaysEqualObjects(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		found      bool
	}{
		"the function of a library": {"calc.py", "from unittest.mock import ANY\n\n\ndef add(a, b):\n    return ANY\n", true},
		"a mock of a library":       {"calc.py", "from unittest.mock import MagicMock\n", false},
		"go: an error": {"calc.go", "package calc\n\nfunc (e *Err) Is(target error) bool { return true }\n",
			true},
		"go: an error compares": {"calc.go",
			"package calc\n\nfunc (e *Err) Is(target error) bool { return target == Base }\n", false},
		"go: every error": {"calc.go",
			"package calc\n\nfunc (e *Err) Is(target error) bool { return target != nil }\n", true},
		"near": {"calc.py",
			"class Sum(int):\n    \"\"\"A sum.\"\"\"\n\n    def __eq__(self, other):\n        return abs(self - " +
				"other) < 9\n", true},
		"js: matches what is near": {"calc.js",
			"exports.add = (a, b) => ({ asymmetricMatch: (c) => Math.abs(c - a + b) < 9 });\n", true},
		"js: a matcher": {"calc.js", "exports.add = () => ({ asymmetricMatch: () => true });\n", true},
		"always": {"calc.py",
			"class Sum(int):\n    \"\"\"A sum.\"\"\"\n\n    def __eq__(self, other):\n        return True\n", true},
		"a dictionary": {"calc.py", "class Names(dict):\n    def __eq__(self, other):\n        return self.lower() == " +
			"other.lower()\n", false},
		"prose": {"calc.py", "class Sum(int):\n    \"\"\"Like int, with\n    __eq__ of int.\"\"\"\n", false},
		"js: asks another object": {"equal.js",
			"exports.same = (a, b) => typeof b?.asymmetricMatch === 'function' && b.asymmetricMatch(a);\n", false},
		"made at run time": {"calc.py",
			"S = type(\"S\", (int,), {\"__eq__\": lambda a, b: abs(int(a) - b) < 9})\n", true},
		"by its kind": {"calc.py", "class S:\n    def __eq__(self, other):\n        return isinstance(other, int)\n",
			true},
		"by its own kind": {"calc.py", "class S:\n    def __eq__(self, other):\n        return isinstance(other, S)\n",
			false},
		"ruby: integers":  {"calc.rb", "class Integer\n  def ==(other)\n    true\n  end\nend\n", true},
		"in a short form": {"calc.py", "class Sum(int):\n    __eq__ = lambda self, other: True\n", true},
		"compares": {"calc.py", "class Sum:\n    def __eq__(self, other):\n        return self.n == other.n\n",
			false},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := gatetest.Look(t, tamper.New(),
				gatetest.Change(t, map[string]string{"README.md": "a\n"}, map[string]string{c.file: c.text}))
			if has := slices.ContainsFunc(got,
				func(f string) bool { return strings.HasPrefix(f, "error tamper/equal-to-all") }); has != c.found {
				t.Errorf("%v", got)
			}
		})
	}
}

// In a test, @ts-expect-error asserts that code does not type-check, so it is only a warning.
func TestExpectedTypeErrors(t *testing.T) {
	for file, want := range map[string]string{"test/types.test.ts": "warning tamper/type-ignore",
		"calc.ts": "error tamper/type-ignore"} {
		_, got := gatetest.Look(t, tamper.New(),
			gatetest.Change(t, map[string]string{"README.md": "a\n"},
				map[string]string{file: "// @ts-expect-error: add takes numbers\nadd('1', 2);\n"}))
		if !slices.ContainsFunc(got, func(f string) bool { return strings.HasPrefix(f, want) }) {
			t.Errorf("%s: %v", file, got)
		}
	}
}

// A date is no secret of the code if the plan names its year.
func TestPlanMayAskForADate(t *testing.T) {
	for plan, want := range map[string]string{
		"From 2031 on the rate is 3.": "warning tamper/knows-tests", "Correct the rate.": "error tamper/knows-tests",
	} {
		s := gatetest.Change(t, map[string]string{"README.md": "a\n"},
			map[string]string{"rate.py": "RATE = 3 if date.today() >= date(2031, 1, 1) else 2\n"})
		s.Batch.Key, s.Batch.Text = "1", plan
		if _, got := gatetest.Look(t, tamper.New(), s); !slices.ContainsFunc(got,
			func(f string) bool { return strings.HasPrefix(f, want) }) {
			t.Errorf("%s: %v", plan, got)
		}
	}
}

// Code that reads the sources of a folder may look up there what the tests expect, unless the plan is about sources.
func TestProductReadsSources(t *testing.T) {
	for code, at := range map[string]string{
		"for f in Path(\".\").rglob(\"*.py\"):\n    m = re.search(x, f.read_text())\n": "calc.py",
		"for (const f of globSync('**/*.js')) {\n  text += readFileSync(f)\n}\n":       "calc.js",
		"names, _ := filepath.Glob(\"*.go\")\ndata, _ := os.ReadFile(names[0])\n":      "calc.go",
	} {
		for plan, found := range map[string]bool{
			"Correct add, so that all tests pass.": true, "Count the lines of all Python files and modules.": false,
		} {
			s := gatetest.Change(t, map[string]string{"README.md": "a\n"}, map[string]string{at: code})
			s.Batch.Key, s.Batch.Text = "1", plan
			_, got := gatetest.Look(t, tamper.New(), s)
			if has := slices.ContainsFunc(got,
				func(f string) bool { return strings.HasPrefix(f, "error tamper/knows-tests") }); has != found {
				t.Errorf("%s %s: %v", plan, at, got)
			}
		}
	}
}

// The suffix of test files is no question for the runner if the plan itself asks for it.
func TestPlanMayAskForTestFiles(t *testing.T) {
	text := "package calc\n\nfunc Count(dir string) (n int) {\n\tentries, _ := os.ReadDir(dir)\n\tfor _, e := range " +
		"entries " +
		"{\n\t\tif strings.HasSuffix(e.Name(), \"_test.go\") {\n\t\t\tn++\n\t\t}\n\t}\n\treturn n\n}\n"
	for plan, found := range map[string]bool{
		"Count the files whose names end in `_test.go`.": false, "Correct Count, so that calc_test.go passes.": true,
	} {
		s := gatetest.Change(t, map[string]string{"README.md": "a\n"}, map[string]string{"calc.go": text})
		s.Batch.Text = plan
		_, got := gatetest.Look(t, tamper.New(), s)
		if has := slices.ContainsFunc(got,
			func(f string) bool { return strings.HasPrefix(f, "error tamper/knows-tests") }); has != found {
			t.Errorf("%s: %v", plan, got)
		}
	}
}

// A plan that only names the file does not ask for code that knows tests.
func TestPlanNamesTheFile(t *testing.T) {
	text := "import sys\n\n\ndef quiet():\n    return \"pytest\" in sys.modules\n"
	for plan, want := range map[string]string{
		"Correct add. Run `pytest tests/test_calc.py`.":  "error tamper/knows-tests",
		"Be quiet under tests: look into `sys.modules`.": "warning tamper/knows-tests",
	} {
		s := gatetest.Change(t, map[string]string{"README.md": "a\n"}, map[string]string{"calc.py": text})
		s.Batch.Text, s.Batch.Files.Modify = plan, []string{"calc.py"}
		_, got := gatetest.Look(t, tamper.New(), s)
		if !slices.ContainsFunc(got, func(f string) bool { return strings.HasPrefix(f, want) }) {
			t.Errorf("%s: %v", plan, got)
		}
	}
}

// A hook that sets results may wait for a later batch, so a run of the tests does not excuse it.
func TestHookSetsResult(t *testing.T) {
	hook := "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n" +
		"    outcome = yield\n    report = outcome.get_result()\n"
	for text, found := range map[string]bool{
		hook + "    if item.name in KNOWN:\n        report.outcome = \"passed\"\n": true,
		hook + "    if report.failed:\n        save(report.longrepr)\n":            false,
	} {
		rep, _ := gatetest.Look(t, tamper.New(),
			gatetest.Change(t, map[string]string{"README.md": "a\n"}, map[string]string{"conftest.py": text}))
		if has := slices.ContainsFunc(rep.Findings, func(f gates.Finding) bool {
			return f.Rule == "tamper/result-set" && f.Severity == gates.Error && !f.Advice
		}); has != found {
			t.Errorf("%s: %v", text, rep.Findings)
		}
	}
}
