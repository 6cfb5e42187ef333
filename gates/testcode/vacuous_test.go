package testcode

import (
	"testing"

	"github.com/runplan/runplan/internal/language"
)

// Tests that pass whatever the code does.
func TestVacuous(t *testing.T) {
	for _, c := range []struct {
		lang, text string
		want       bool
	}{
		{language.Python, "def test_f():\n    with pytest.raises(E):\n        f()\n        raise E\n", true},
		{language.Python, "def test_f():\n    with pytest.raises(E):\n        raise E\n", false},
		{language.Python, "def test_f():\n    with pytest.raises(E):\n        with f():\n            raise E\n", false},
		{language.Python, "def test_f():\n    try:\n        f()\n    except E as e:\n        assert e.n == 1\n", true},
		{language.Python, "def test_f():\n    try:\n        f()\n        pytest.fail()\n    except E as e:\n        assert e.n == 1\n", false},
		{language.Python, "def test_f():\n    try:\n        f()\n    except E as e:\n        assert e.n == 1\n    assert g() == 2\n", false},
		{language.Python, "def test_f(a):\n    a.f(1)\n    a.f.assert_called_once_with(1)\n", true},
		{language.Python, "def test_f(a):\n    g(a)\n    a.f.assert_called_once_with(1)\n", false},
		{language.Node, "() => { assert.throws(() => { f(); throw new E(); }, E); }", true},
		{language.Node, "() => { assert.throws(() => { f(() => { g(); throw new E(); }); }, E); }", false},
		{language.Node, "async () => { await f().catch((e) => assert.ok(e)); }", true},
		{language.Node, "async () => { expect.assertions(1); await f().catch((e) => expect(e).toBe(1)); }", false},
		{language.Node, "() => {\n  try { f(); } catch (e) { expect(e).toBe(1); }\n}", true},
		{language.Node, "() => {\n  f(log);\n  log.info('x');\n  expect(log.info).toHaveBeenCalled();\n}", true},
		{language.Node, "() => {\n  f(log);\n  expect(log.info).toHaveBeenCalled();\n}", false},
		{language.Go, "{ f() }", false},
	} {
		if got := (Unit{Text: c.text}).Vacuous(c.lang); (got != "") != c.want {
			t.Errorf("%s: %q", c.text, got)
		}
	}
}
