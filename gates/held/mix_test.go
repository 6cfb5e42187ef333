package held

import (
	"strings"
	"testing"
)

func TestMergePackage(t *testing.T) {
	before := `{"name": "a", "scripts": {"test": "jest"}, "dependencies": {"x": "1"}, "jest": {"bail": 1}}`
	for name, c := range map[string]struct {
		after, want string
		changed     bool
	}{
		"a new dependency": {`{"name": "a", "scripts": {"test": "jest"}, "dependencies": {"x": "1", "y": "2"}, "jest": {"bail": 1}}`, `"y"`, false},
		"another test script": {`{"scripts": {"test": "true"}, "dependencies": {"y": "2"}, "jest": {"bail": 1}}`,
			`"test": "jest"`, true},
		"a script before tests": {`{"scripts": {"pretest": "sed", "test": "jest"}, "jest": {"bail": 1}}`, `"test": "jest"`,
			true},
		"settings of jest are deleted": {`{"scripts": {"test": "jest"}}`, `"bail": 1`, true},
		"no JSON any more":             {`{`, `"test": "jest"`, true},
	} {
		got, changed := mergePackage(before, c.after)
		if changed != c.changed || !strings.Contains(got, c.want) || strings.Contains(got, "sed") {
			t.Errorf("%s: %v\n%s", name, changed, got)
		}
	}
}

func TestMergeModule(t *testing.T) {
	head := "module m\n\ngo 1.21\n\n"
	for name, c := range map[string]struct{ before, after, want, not string }{
		"nothing replaced": {"require a v1.0.0\n", "require a v1.1.0\n", "", ""},
		"a folder for a module": {"require a v1.0.0\n", "require a v1.0.0\nreplace a => ./fake\n", "require a v1.0.0",
			"fake"},
		"in a block": {"require a v1.0.0\n", "require a v1.0.0\nreplace (\n\ta v1.0.0 => ./fake\n)\n",
			"require a v1.0.0", "fake"},
		"another folder": {"require a v1.0.0\nreplace a => ./a\n", "require a v1.0.0\nreplace a => ./fake\n",
			"replace a => ./a", "fake"},
		"one more for a version": {"require a v1.0.0\nreplace a => ./a\n",
			"require a v1.0.0\nreplace a => ./a\nreplace a v1.0.0 => ./fake\n", "replace a => ./a", "fake"},
		"the base's replacement is deleted": {"require a v1.0.0\nreplace a => ./a\n", "require a v1.0.0\n",
			"replace a => ./a", ""},
		"deleted with its module": {"require a v1.0.0\nreplace a => ./a\n", "", "", ""},
		"a new module of the tree": {"require a v1.0.0\n", "require a v1.0.0\nrequire b v0.0.0\nreplace b => ./b\n",
			"", ""},
		"a fork in a newer version": {"require a v1.0.0\nreplace a => c v1.0.0\n",
			"require a v1.0.0\nreplace a => c v1.1.0\n", "replace a => c v1.0.0", "v1.1.0"},
	} {
		got, changed := mergeModule(head+c.before, head+c.after)
		if changed != (c.want != "") || !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %v %q", name, changed, got)
		}
	}
	if got, _ := mergeModule("module m\n\ngo 1.16\n",
		"module m\n\ngo 1.16\n\nrequire b v1.0.0\nreplace b => ./b\n"); strings.Contains(got, "./b") {
		t.Error("a go.mod of 1.16 does not list all modules: the base may use b")
	}
	folders := replacedFolders("sub", []byte("module m\n\nrequire a v1.0.0\n\nreplace a => ../third_party/a\n"),
		[]byte("module m\n"))
	if len(folders) != 1 || folders[0] != "third_party/a" {
		t.Error(folders)
	}
}

func TestHelpers(t *testing.T) {
	for _, c := range []struct {
		path, text string
		want       bool
	}{
		{"check/check.go", "package check\n\nimport \"testing\"\n", true},
		{"check/check.go", "package check\n\nfunc Equal(t T) {\n\tt.Helper()\n}\n", true},
		{"check/t.go", "package check\n\ntype T interface {\n\tErrorf(format string, args ...any)\n\tFailNow()\n}\n", true},
		{"log/log.go", "package log\n\ntype L interface {\n\tErrorf(format string, args ...any)\n}\n", false},
		{"lib/checks.py", "def equal(a, b):\n    if a != b:\n        raise AssertionError(a)\n", true},
		{"lib/prices.py", "def price(a):\n    raise AssertionError(\"not reached\")\n", false},
		{"lib/checks.py", "def check(order):\n    return order.total > 0\n", false},
	} {
		if got := helps(c.path, c.text); got != c.want {
			t.Errorf("%s %q: %v", c.path, c.text, got)
		}
	}
}

func TestSupportShadowAndFixturePaths(t *testing.T) {
	for p, want := range map[string]bool{
		"tests/calc.py": true, "test/support/sums.ts": true, "test/package.json": true, "iniconfig.py": true,
		"getpass/__init__.py": true, "src/json.py": true,
		"tests/test_more.py": false, "tests/__init__.py": false, "test/more.test.ts": false, "calc/json.py": false,
		"stats.py": false, "spec/parser.go": false,
	} {
		if got := support(p) || shadows(p); got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
	for p, want := range map[string]bool{
		"tests/cases.json": true, "spec/data/a.csv": true, "pkg/testdata/a.txt": true, "spec/parser.go": false,
		"data/a.csv": false,
	} {
		if got := fixture(p); got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
}

func TestReachesDetectsGlobalChanges(t *testing.T) {
	for text, want := range map[string]bool{
		"package a\n\nfunc init() { add = nil }\n":   true,
		"package a\n\nfunc TestA(t *testing.T) {}\n": false,
	} {
		if got := reaches("a_test.go", text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if !reaches("test/a.test.js", "beforeEach(function () {\n  this.currentTest.fn = () => {};\n});\n") ||
		reaches("test/a.test.js", "describe('a', () => {\n  beforeEach(() => {});\n});\n") {
		t.Error("root hooks of JavaScript are not recognised, or nested ones are")
	}
	if !reaches("tests/test_a.py", "import calc\ncalc.add = sum\n") ||
		reaches("tests/test_a.py", "from calc import add\n\n\ndef test_a():\n    assert add(1) == 1\n") {
		t.Error("python")
	}
}
