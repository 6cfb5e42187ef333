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
		// A test about the error itself raises it.
		{language.Python, "def test_f():\n    try:\n        1 / 0\n    except E as e:\n        assert f(e) == 1\n", false},
		// The words should and catch are in a comment and in a text.
		{language.Node, "t => {\n  // should not retry\n  t.is(f(), 1);\n}", false},
		{language.Node, "() => {\n  const a = 'catch {'; // should retry\n  is(f(a), 1);\n}", false},
		{language.Node, "t => {\n  try { f(); } catch (e) { expect(e).toBe(1); }\n  t.is(g(), 1);\n}", false},
		{language.Node, "() => {\n  // else the first would throw\n  try { f(); } catch (e) { expect(e).toBe(1); }\n}", true},
		{language.Node, "() => {\n  f(log);\n  log.info('x');\n  expect(log.info).toHaveBeenCalled();\n}", true},
		{language.Node, "() => {\n  f(log);\n  expect(log.info).toHaveBeenCalled();\n}", false},
		{language.Go, "{ f() }", false},
	} {
		if got := (Unit{Text: c.text}).Vacuous(c.lang); (got != "") != c.want {
			t.Errorf("%s: %q", c.text, got)
		}
	}
}
