package held

import (
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/git"
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
		"tests/__init__.py": true, "tests/calc/__init__.py": true, "tests/test_more.py": false, "test/more.test.ts": false, "calc/json.py": false,
		"stats.py": false, "spec/parser.go": false,
	} {
		if got := support(p, "def add(a, b):\n    return b\n") || shadows(p); got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
	if support("tests/__init__.py", "\"\"\"Tests of calc: add and mul.\"\"\"\n\n# They need no server.\n") {
		t.Error("an __init__.py without code")
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
		"func init() { add = nil }\n":                                                            true,
		"func TestA(t *testing.T) {}\n":                                                          false,
		"func TestA(t *testing.T) { add = nil }\n":                                               true,
		"func TestA(t *testing.T) { operations[\"add\"] = nil }\n":                               true,
		"func TestA(t *testing.T) { Use(func() {}) }\n":                                          true,
		"func TestA(t *testing.T) { Default.Use(right) }\n\nfunc right() {}\n":                   true,
		"var known = names()\n\nfunc names() []string { return nil }\n":                          true,
		"var re = regexp.MustCompile(`a`)\n":                                                     false,
		"import \"slices\"\n\nfunc TestA(t *testing.T) { slices.SortFunc(x, func() {}) }\n":      false,
		"func TestA(t *testing.T) {\n\tgot := Add(1)\n\tgot = 2\n\tt.Run(\"a\", func() {})\n}\n": false,
		"func TestA(t *testing.T) {\n\tfor i, c := range list {\n\t\tc.n, i = 1, 2\n\t}\n}\n":    false,
	} {
		if got := reaches("a_test.go", "package a\n\n"+text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for text, want := range map[string]bool{
		"beforeEach(function () {\n  this.currentTest.fn = () => {};\n});\n":               true,
		"describe('a', () => {\n  beforeEach(() => {});\n});\n":                            false,
		"describe('a', () => {\n  Object.assign(calc, { add });\n});\n":                    true,
		"  require('../calc.js').add = (a, b) => a + b;\n":                                 true,
		"  calc['add'] = (a, b) => a + b;\n":                                               true,
		"it('a', () => {\n  const got = add(1, 2);\n  assert.ok(got.length === 1);\n});\n": false,
	} {
		if got := reaches("test/a.test.js", text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for text, want := range map[string]bool{
		"import calc\ncalc.add = sum\n":                                                        true,
		"def prepare():\n    import calc\n    calc.add = sum\n":                                true,
		"from calc import OPERATIONS as known\nknown[\"add\"] = sum\n":                         true,
		"import calc\ncalc.operations.update(add=sum)\n":                                       true,
		"import calc\ncalc.use(lambda a, b: a + b)\n":                                          true,
		"class TestA:\n    vars(calc).update(add=sum)\n":                                       true,
		"from calc import add\n\n\ndef test_a():\n    assert add(1) == 1\n":                    false,
		"from calc import Cart\n\n\ndef test_a():\n    cart = Cart()\n    cart.items[0] = 1\n": false,
		"class TestA:\n    def setUp(self):\n        self.cart = 1\n":                          false,
	} {
		if got := reaches("tests/test_a.py", text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestNewModuleHidesOldOne(t *testing.T) {
	there := []string{"calc.ts", "lib/index.js", "one.js", "data.json"}
	m := &mix{stays: func(p string) bool { return slices.Contains(there, p) },
		imported: func(stem string) bool { return stem != "data" }}
	for p, want := range map[string]bool{
		"calc.js": true, "calc.mjs": true, "lib.js": true, "calc.json": false, "one.ts": false, "other.js": false,
		"data.js": false, "calc.d.ts": false,
	} {
		if got := m.hides(p); got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
}

func TestNewConditionOfExportsIsNotHeld(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		changed       bool
	}{
		"a file":       {`"./a.js"`, `"./b.js"`, false},
		"types":        {`"./a.js"`, `{".": {"types": "./a.d.ts", "default": "./a.js"}}`, false},
		"a condition":  {`"./a.js"`, `{".": {"development": "./b.js", "default": "./a.js"}}`, true},
		"it was there": {`{"development": "./a.js"}`, `{"development": "./b.js"}`, false},
		"another one":  {`{"development": "./a.js"}`, `{"node": "./b.js"}`, true},
	} {
		_, changed := mergePackage(`{"exports": `+c.before+`}`, `{"exports": `+c.after+`}`)
		if changed != c.changed {
			t.Errorf("%s: %v", name, changed)
		}
	}
}

func TestServingName(t *testing.T) {
	for p, want := range map[string]string{
		"check.sh": "check", "scripts/run-tests.js": "run-tests", "internal/assert/assert.go": "assert",
		"tools/checks/index.js": "checks", "setupTests.js": "setupTests", "expected.csv": "expected",
		"expected/add.txt": "expected", "expected/add": "expected", "calc_report.py": "calc_report",
		"calc.go": "", "pkg/report.go": "", "src/setup.kt": "", "setup.py": "", "prices.json": "", "latest.py": "", "config/cases.py": "",
	} {
		if got, _ := servingName(p); got != want {
			t.Errorf("%s: %q", p, got)
		}
	}
}

func TestServantsAreNamedByTestsOnly(t *testing.T) {
	for name, c := range map[string]struct {
		path, key string
		hits      map[string]string
		want      bool
	}{
		"settings name it":     {"polyfill.js", "polyfill", map[string]string{"jest.config.js": "setupFiles: ['./polyfill.js'],"}, true},
		"a plugin of conftest": {"boot.py", "boot", map[string]string{"conftest.py": "pytest_plugins = [\"boot\"]"}, true},
		"settings and a test name it": {"sum.js", "sum",
			map[string]string{"jest.config.js": "setupFiles: ['./sum.js'],", "test/sum.test.js": "require('../sum.js')"}, false},
		"settings and the product name it": {"sum.js", "sum",
			map[string]string{"jest.config.js": "setupFiles: ['./sum.js'],", "index.js": "require('./sum.js')"}, false},
		"a script of make": {"check.sh", "check", map[string]string{"Makefile": "\tsh check.sh"}, true},
		"named by nobody":  {"check.sh", "check", nil, false},
		"a word":           {"check.sh", "check", map[string]string{"tests/test_a.py": "# check the sum"}, false},
		"assertions": {"internal/assert/assert.go", "assert",
			map[string]string{"calc_test.go": "\t\"example.org/calc/internal/assert\"", "README.md": "see `assert`"}, true},
		"in a list of imports": {"app/report.py", "report", map[string]string{
			"tests/test_app.py": "from app.report import total", "app/main.py": "from app import config, report"}, false},
		"an entry point": {"app/report.py", "report", map[string]string{
			"tests/test_app.py": "from app.report import total", "app/settings.py": "X = \"app.report.Middleware\""}, false},
		"of the product too": {"internal/assert/assert.go", "assert",
			map[string]string{"calc_test.go": "\t\"a/internal/assert\"", "calc.go": "\t\"a/internal/assert\""}, false},
		"it has a test": {"checks.py", "checks", map[string]string{"tests/test_checks.py": "from checks import valid"}, false},
		"a plugin": {"calc_report.py", "calc_report", map[string]string{"pyproject.toml": "addopts = \"-p calc_report\""},
			true},
		"a program of the package": {"check.js", "check", map[string]string{"package.json": "  \"bin\": \"check.js\","},
			false},
		"expected results": {"expected/add", "expected", map[string]string{"tests/test-add.sh": "cmp - expected/add"}, true},
	} {
		_, byName := servingName(c.path)
		s, named := &servant{path: c.path, key: c.key, tests: byName == "", configured: byName == ""}, reference(c.key)
		for p, text := range c.hits {
			if hit := (git.Hit{Path: p, Line: 1, Text: text}); named.MatchString(text) || s.inPython(hit) {
				s.note(hit, false)
			}
		}
		if got := s.tests && !s.product; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestChance(t *testing.T) {
	for line, want := range map[string]bool{
		"return random.choice((a + b, a - b))": true, "from random import choice": true, "rand.Intn(2) == 0": true,
		"Math.random() < 0.5": true, "[a, b].sample": true, "Random.new(7)": true, "$((RANDOM % 2))": true,
		"rand::random::<bool>()": true, "brand.Name": false, "operand.value": false, "randomised = True": false,
	} {
		if got := random.MatchString(line); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
