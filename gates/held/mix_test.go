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
		"a new dependency":      {`{"name": "a", "scripts": {"test": "jest"}, "dependencies": {"x": "1", "y": "2"}, "jest": {"bail": 1}}`, `"y"`, false},
		"another test script":   {`{"scripts": {"test": "true"}, "dependencies": {"y": "2"}, "jest": {"bail": 1}}`, `"test": "jest"`, true},
		"a script before tests": {`{"scripts": {"pretest": "sed", "test": "jest"}, "jest": {"bail": 1}}`, `"test": "jest"`, true},
		"settings of jest gone": {`{"scripts": {"test": "jest"}}`, `"bail": 1`, true},
		"no JSON any more":      {`{`, `"test": "jest"`, true},
	} {
		got, changed := mergePackage(before, c.after)
		if changed != c.changed || !strings.Contains(got, c.want) || strings.Contains(got, "sed") {
			t.Errorf("%s: %v\n%s", name, changed, got)
		}
	}
}

func TestMergeModule(t *testing.T) {
	before := "module m\n\nreplace a => ../a\n"
	got, changed := mergeModule(before, before+"require b v1.0.0\nreplace b => ./fake\nreplace (\n\tc v1 => ./c\n)\n")
	if want := before + "require b v1.0.0\nreplace (\n)\n"; got != want || !changed {
		t.Errorf("%v %q", changed, got)
	}
	if _, changed := mergeModule(before, before); changed {
		t.Error("nothing changed")
	}
}

func TestNewTestFilesThatReachOut(t *testing.T) {
	for text, want := range map[string]bool{
		"package a\n\nfunc init() { add = nil }\n":   true,
		"package a\n\nfunc TestA(t *testing.T) {}\n": false,
	} {
		if got := reaches("a_test.go", text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if !reaches("test/a.test.js", "beforeEach(function () {\n  this.currentTest.fn = () => {};\n});\n") || reaches("test/a.test.js", "describe('a', () => {\n  beforeEach(() => {});\n});\n") {
		t.Error("root hooks of JavaScript")
	}
	if !reaches("tests/test_a.py", "import calc\ncalc.add = sum\n") || reaches("tests/test_a.py", "from calc import add\n\n\ndef test_a():\n    assert add(1) == 1\n") {
		t.Error("python")
	}
}
