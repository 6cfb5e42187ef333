package promise

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/gatetest"
)

// A batch that asks for tests of what was asked before has tests of the errors and examples of the batches before it.
func TestTestsOfEarlierBatches(t *testing.T) {
	const (
		work   = "Add sub(text). An empty text raises a `TypeError`. A negative count raises `ValueError`."
		shown  = "`sub(\"a b\")` returns `\"a-b\"`, and `sub(\"ccc d\")` returns `\"ccc-d\"`."
		both   = "Create `tests/test_a.py`. Cover texts and both errors."
		code   = "def sub(text, count=0):\n    return str(text)[:max(count, 0)]\n"
		others = "def test_errors():\n    with pytest.raises(KeyError):\n        sub('{a}')\n    with pytest.raises(IndexError):\n        sub('{0}')\n"
		named  = "def test_errors():\n    with pytest.raises(TypeError):\n        sub('')\n    with pytest.raises(ValueError):\n        sub('a', -1)\n"
		own    = "class NoText(TypeError):\n    pass\n\n\nclass BadError(ValueError):\n    pass\n\n\n"
	)
	for _, c := range []struct {
		name    string
		earlier []planparse.Batch
		plan    string
		code    string
		tests   string
		want    string
	}{
		{"other errors", []planparse.Batch{{Text: work}}, both, code, others, "no-error"},
		{"no error", []planparse.Batch{{Text: work}}, "Tests for every rule above.", code, "def test_sub():\n    assert sub('a') == 'a'\n", "no-error"},
		{"two batches before", []planparse.Batch{{Text: work}, {Text: "Export it."}}, both, code, others, "no-error"},
		{"the named errors", []planparse.Batch{{Text: work}}, both, code, named, ""},
		{"an error derived from one", []planparse.Batch{{Text: work}}, both, own + code, strings.ReplaceAll(others, "KeyError", "BadError"), ""},
		{"any error", []planparse.Batch{{Text: work}}, both, code, strings.ReplaceAll(others, "KeyError", "Exception"), ""},
		{"tests of their own before", []planparse.Batch{{Text: work + " Add tests."}}, both, code, others, ""},
		{"a batch with tests between", []planparse.Batch{{Text: work}, {Title: "Tests"}}, both, code, others, ""},
		{"no tests of what was before", []planparse.Batch{{Text: work}}, "Create `tests/test_a.py` for unknown fields.", code, others, ""},
		{"an example less", []planparse.Batch{{Text: shown}}, "Tests for everything above.", code, "def test_sub():\n    assert sub('a b') == 'a-b'\n", "example-untested"},
		{"all examples", []planparse.Batch{{Text: shown}}, "Tests for everything above.", code, "def test_sub():\n    assert sub('a b') == 'a-b'\n    assert sub('ccc d') == 'ccc-d'\n", ""},
		{"its own words", []planparse.Batch{{Text: shown}}, "Tests for everything above.", code, "def test_sub():\n    assert sub('x y') == 'x-y'\n", ""},
	} {
		after := files{"a.py": c.code, "tests/test_a.py": c.tests}
		s := gatetest.Change(t, files{"README": "a\n"}, after)
		s.Batch.Text = c.plan
		o := Options{Tree: tree(slices.Sorted(maps.Keys(after))), Earlier: c.earlier, Since: s.Diff}
		b := planparse.Batch{Text: c.plan, Named: []planparse.Named{{Verb: "create", Path: "tests/test_a.py"}}}
		_, got := gatetest.Look(t, Gates(&b, o)[0], s)
		if text := strings.Join(got, " "); c.want == "" && text != "" || !strings.Contains(text, c.want) || len(got) > 1 {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
