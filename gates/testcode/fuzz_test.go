package testcode

import (
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/language"
)

// Any test file is read to its end, and its tests have names and places inside the file.
func FuzzRead(f *testing.F) {
	for name, text := range map[string]string{
		"a_test.go": "package a\n\nfunc TestA(t *testing.T) { assert.True(t, true); return }\n",
		"test_a.py": "@skip\nclass T:\n  def test_a(self,\n x=(1)): assert 1 # x\n",
		"a.test.js": "describe.each`a`('x', () => { it('y', function() { expect(1).toBe(/a'/) }) })",
		"a.bats":    "@test \"a\" { true; }\n@test b {\n skip\n}\n",
		"test-a.sh": "test_a() {\n  [ 1 = 1 ] || true\n}\nexit 0\n[ x ]\n", "a.txtar": "! exec x\nstdout y\n-- f --\n",
		"tests/a.rs": "#[test]\n#[ignore]\nfn a<'a>() { assert!(true); }",
		"ATest.java": "@Test @Disabled void a() { assertTrue(true); }", "conftest.py": "def pytest_runtest_call(x): '''",
	} {
		f.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		if len(text) > 1<<14 {
			return
		}
		s := Read(name, text)
		lines := strings.Count(strings.ReplaceAll(text, "\r\n", "\n"), "\n") + 1
		for _, u := range s.Units {
			if u.Line < 1 || u.Line > lines || u.Asserts < 0 || u.Trivial < 0 {
				t.Errorf("%q of %d lines: %+v", text, lines, u)
			}
		}
		if len(Mask(text, language.Node)) != len(text) || len(Mask(text, language.Python)) != len(text) {
			t.Errorf("%q: masking changes the length", text)
		}
	})
}
