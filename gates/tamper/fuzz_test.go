package tamper

import (
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
)

// Whatever a file of tests holds, it is read to its end, and its tests have names and places in it.
func FuzzRead(f *testing.F) {
	for name, text := range map[string]string{
		"a_test.go": "package a\n\nfunc TestA(t *testing.T) { assert.True(t, true); return }\n", "test_a.py": "@skip\nclass T:\n  def test_a(self,\n x=(1)): assert 1 # x\n",
		"a.test.js": "describe.each`a`('x', () => { it('y', function() { expect(1).toBe(/a'/) }) })", "a.bats": "@test \"a\" { true; }\n@test b {\n skip\n}\n",
		"test-a.sh": "test_a() {\n  [ 1 = 1 ] || true\n}\nexit 0\n[ x ]\n", "a.txtar": "! exec x\nstdout y\n-- f --\n", "tests/a.rs": "#[test]\n#[ignore]\nfn a<'a>() { assert!(true); }",
		"ATest.java": "@Test @Disabled void a() { assertTrue(true); }", "conftest.py": "def pytest_runtest_call(x): '''",
	} {
		f.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		if len(text) > 1<<14 {
			return
		}
		s := read(name, text)
		lines := strings.Count(strings.ReplaceAll(text, "\r\n", "\n"), "\n") + 1
		for _, u := range s.units {
			if u.line < 1 || u.line > lines || u.asserts < 0 || u.trivial < 0 {
				t.Errorf("%q of %d lines: %+v", text, lines, u)
			}
		}
		if isTest(name) && touched(gates.File{Change: gates.Change{Path: name}, Before: text, After: text}) {
			t.Errorf("%q differs from itself", text)
		}
		if len(mask(text, false)) != len(text) || len(maskPython(text)) != len(text) {
			t.Errorf("%q: masking changes the length", text)
		}
	})
}

// A shared file has the same sections each time it is read.
func FuzzSections(f *testing.F) {
	f.Add("pyproject.toml", "[tool.ruff]\nselect = []\n[tool.pytest]\n")
	f.Add("tsconfig.json", "{// x\n\"compilerOptions\": {\"strict\": true,},/* */}")
	f.Add("package.json", `{"scripts": {"test": "x"}, "jest": 1}`)
	f.Add("Makefile", "test check: a ## b\n\tx\n    y\n")
	f.Add("setup.cfg", "[flake8]\nx=1\n[y]\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		r := reader(name)
		if r == nil || len(text) > 1<<14 {
			return
		}
		a, b := byName(r(text)), byName(r(text))
		for n, s := range a {
			if b[n].value != s.value && !strings.Contains(s.value, "\n") {
				t.Errorf("%q: %q is %q and %q", text, n, s.value, b[n].value)
			}
			if s.line < 1 {
				t.Errorf("%q: line %d", text, s.line)
			}
		}
	})
}
