package promise

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/gatetest"
)

// What sentences of a batch ask for is compared with the change; each rule has a change that breaks and one that keeps it.
func TestSentencesOfBatch(t *testing.T) {
	const (
		add = "def add(a, b):\n    return a - b\n"
		sub = "def sub(a, b):\n    return a - b\n"
	)
	for _, c := range []worded{
		{"no error", "Add parse(text). An empty text raises ValueError.", nil,
			files{"parse.py": "def parse(text):\n    return text or 0\n"}, "no-error"},
		{"an error of today", "`parse` raises `ValueError` for empty text. After the change it must return 0. Add a test.",
			files{"parse.py": "def parse(text):\n    return int(text)\n"},
			files{"parse.py": "def parse(text):\n    return int(text or 0)\n"}, ""},
		{"raised", "Add parse(text). An empty text raises ValueError.", nil,
			files{"parse.py": "def parse(text):\n    if not text:\n        raise ValueError\n    return text\n"}, ""},
		{"expected by a test", "Add parse(text). A bad text raises ValueError.", nil,
			files{"parse.py": "def parse(text):\n    return int(text)\n",
				"tests/test_parse.py": "def test_parse():\n    with pytest.raises(ValueError):\n        parse('x')\n"}, ""},
		{"raised by the fault", "`best` ignores blanks. `parse` does not: it raises a `ValueError`. Add a rule for blanks.", nil,
			files{"parse.py": "def parse(text):\n    return text or 0\n"}, ""},
		{"not tested", "Add `Range`. Another text raises `Bad::InvalidValue`. Add tests.", nil,
			files{"a.rb": "class InvalidValue < Bad\nend\n\ndef range(t)\n  raise InvalidValue unless t\nend\n",
				"a_test.rb": "def test_range\n  assert_nil range('x')\nend\n"}, "no-error"},
		{"raised so far", "Currently an empty text raises ValueError. Add a default.", nil,
			files{"parse.py": "def parse(text):\n    return text or 0\n"}, ""},
		{"only declared", "Create a module. Another code raises CodeError.", nil,
			files{"code.py": "class CodeError(Exception):\n    pass\n\n\ndef code(n):\n    return n\n"}, "no-error"},
		{"an error of Go", "Add Convert. Another code is an error.", nil,
			files{"a.go": "package a\n\nfunc Convert(c string) (int, error) {\n\treturn rates[c], nil\n}\n"}, "no-error"},
		{"not called", "Add check(n), and call check in main.", nil,
			files{"a.py": "def check(n):\n    return n\n\n\ndef main():\n    return 1\n"}, "not-called"},
		{"called", "Add check(n), and call check in main.", nil,
			files{"a.py": "def check(n):\n    return n\n\n\ndef main():\n    return check(1)\n"}, ""},
		{"a condition without the function", "`save` raises an error if `valid` is false for the text. Add a test.",
			files{"a.py": "def valid(text):\n    return text\n\n\ndef save(text):\n    return text\n"},
			files{"a.py": "def valid(text):\n    return text\n\n\ndef save(text):\n    if not text:\n        raise ValueError\n    return text\n"}, "not-called"},
		{"a condition", "`save` raises an error if `valid` is false for the text. Add a test.",
			files{"a.py": "def valid(text):\n    return text\n\n\ndef save(text):\n    return text\n"},
			files{"a.py": "def valid(text):\n    return text\n\n\ndef save(text):\n    if not valid(text):\n        raise ValueError\n    return text\n"}, ""},
		{"a condition that changes itself", "It must work when `valid` is given a list. Add a test.",
			files{"a.py": "def valid(text):\n    return text\n"}, files{"a.py": "def valid(text):\n    return list(text)\n"}, ""},
		{"an ignored flag", "Add a flag `--json` to the command.", nil,
			files{"a.py": "def main(p):\n    p.add_argument(\"--json\")\n    return p.parse_args().a\n"}, "option-unused"},
		{"a flag", "Add a flag `--json` to the command.", nil,
			files{"a.py": "def main(p):\n    p.add_argument(\"--json\")\n    return p.parse_args().json\n"}, ""},
		{"an ignored parameter", "Add mean(values, weights).", nil,
			files{"a.py": "def mean(values, weights=None):\n    n = len(values)\n    return sum(values) / n\n"}, "option-unused"},
		{"an ignored variable", "Add a limit: the environment variable `CALC_LIMIT`.", nil,
			files{"a.py": "# CALC_LIMIT\nLIMIT = 10\n\n\ndef limited(n):\n    return min(n, LIMIT)\n"}, "option-unused"},
		{"an ignored setting", "Add a setting `digits = 2`, and use it.", nil,
			files{"a.toml": "digits = 2\n", "a.py": "def rounded(n):\n    return round(n, 2)\n"}, "option-unused"},
		{"a missing case", "Add the operations `sub`, `div` and `mod`. Use them.", nil,
			files{"a.py": "def f(op):\n    if op == \"sub\":\n        return g(1)\n    if op == \"div\":\n        return g(2)\n"}, "case-missing"},
		{"an idle case", "Add the operations `sub`, `div` and `mod`. Use them.", nil, files{"a.py": "def f(op):\n    if op == \"sub\":\n" +
			"        return g(1)\n    if op == \"div\":\n        return g(2)\n    if op == \"mod\":\n        return 0\n"}, "case-missing"},
		{"missing values", "Add the rates 1.08 and 1.27 to rates.json. Use them.", files{"rates.json": "{}\n"},
			files{"rates.json": "{\"EUR\": null}\n"}, "value-missing"},
		{"not corrected", "Fix add in a.py.", files{"a.py": add, "b.py": "def total(a):\n    return add(a, 1)\n"},
			files{"b.py": "def total(a):\n    return add(a, -1)\n"}, "not-corrected"},
		{"corrected below", "Fix total in b.py.", files{"a.py": add, "b.py": "def total(a):\n    return add(a, 1)\n"},
			files{"a.py": "def add(a, b):\n    return a + b\n"}, ""},
		{"one of two", "`add(1, 2)` and `sub(2, 1)` are 1 today.", files{"a.py": add, "b.py": sub},
			files{"a.py": "def add(a, b):\n    return a + b\n"}, "not-corrected"},
		{"two of two", "`add(1, 2)` and `total(2)` are 1 today.", files{"a.py": add, "b.py": "def total(a):\n    return add(a, 1)\n"},
			files{"a.py": "def add(a, b):\n    return a + b\n"}, ""},
		{"the other is right", "`add(1, 2)` is 1 today; `sub(2, 1)` is still 1.", files{"a.py": add, "b.py": sub},
			files{"a.py": "def add(a, b):\n    return a + b\n"}, ""},
		{"no parameter", "`add(a, b)` ignores the sign of `b`.", files{"a.py": add}, files{"a.py": "def add(a):\n    return a\n"},
			"option-unused"},
		{"a parameter less", "Remove b from `add(a, b)`.", files{"a.py": add}, files{"a.py": "def add(a):\n    return a\n"}, ""},
		{"a parameter more", "`add(a, b)` ignores the sign of `b`.", files{"a.py": add},
			files{"a.py": "def add(a, b, c=0):\n    return a + b\n"}, ""},
		{"answers", "Correct sums so that tests pass.", files{"a.py": "def f(a, b):\n    return 1\n",
			"tests/test_a.py": "def test_f():\n    assert f(2, 3) == 5\n    assert f(4, 5) == 9\n"},
			files{"a.py": "def f(a, b):\n    if a == 2 and b == 3:\n        return 5\n    if a == 4 and b == 5:\n        return 9\n    return 1\n"},
			"answers-only"},
		{"a parser", "Correct sums so that tests pass.", files{"a.py": "def f(a):\n    return 1\n",
			"tests/test_a.py": "def test_f():\n    assert f(0, 0) == 1\n    assert f(1, 1) == 2\n"},
			files{"a.py": "def f(a, i=0):\n    if len(a) == 1 and a[0] == \"x\":\n        return a[0]\n" +
				"    if i + 1 < len(a) and a[i + 1] == \"y\":\n        return 2\n    return 1\n"}, ""},
		{"left for later", "Add the operation div. Use it.", nil,
			files{"a.go": "package a\n\nfunc f() int {\n\t// TODO: the operation div\n\treturn 0\n}\n"}, "left-for-later"},
		{"the old code", "Replace it with a new loop.", files{"a.py": "def f(a):\n    n = 0\n    for b in a:\n        n += b\n    return n\n"},
			files{"a.py": "def f(a):\n    try:\n        return g(a)\n    except E:\n        return h(a)\n\n\ndef h(a):\n" +
				"    n = 0\n    for b in a:\n        n += b\n    return n\n"}, "old-code-kept"},
		{"a check", "Correct f. What it refuses stays the same.", files{"a.py": "def f(a):\n    if not a:\n        raise E\n    return a\n"},
			files{"a.py": "def f(a):\n    return a\n"}, "check-gone"},
		{"no order", "Create ranked(a), sorted by name.", nil, files{"a.py": "def ranked(a):\n    return a\n",
			"tests/test_a.py": "def test_a():\n    assert sorted(ranked(a)) == sorted(b)\n"}, "no-order"},
		{"a warning in words", "Add new(a). old(a) warns with a `DeprecationWarning`.", nil,
			files{"a.py": "def old(a):\n    \"\"\"DeprecationWarning\"\"\"\n    return new(a)\n"}, "no-error"},
		{"a warning", "Add new(a). old(a) warns with a `DeprecationWarning`.", nil,
			files{"a.py": "def old(a):\n    warn('new', DeprecationWarning)\n    return new(a)\n"}, ""},
		{"an ignored context", "Create Sum(ctx context.Context, next func() int) int.", nil,
			files{"a.go": "package a\n\nfunc Sum(ctx context.Context, next func() int) int {\n\tn := next()\n\treturn n\n}\n"},
			"option-unused"},
		{"a context", "Create Sum(ctx context.Context, next func() int) int.", nil,
			files{"a.go": "package a\n\nfunc Sum(ctx context.Context, next func() int) int {\n\tn := next()\n\treturn n + at(ctx)\n}\n"}, ""},
		{"an old flag", "Rename `--loud` to `--verbose`. Keep `--loud` working.", files{"a.py": "add('--loud')\n"},
			files{"a.py": "add('--verbose')\n"}, "option-unused"},
		{"an old flag kept", "Rename `--loud` to `--verbose`. Keep `--loud` working.", files{"a.py": "add('--loud')\n"},
			files{"a.py": "add('--loud', '--verbose')\n"}, ""},
		{"not sorted", "Add names(m), which returns a list sorted by name.", nil,
			files{"a.py": "def names(m):\n    return list(m)\n"}, "demand-unmet"},
		{"sorted", "Add names(m), which returns a list sorted by name.", nil,
			files{"a.py": "def names(m):\n    return sorted(m)\n"}, ""},
		{"sorted input", "Add names(m). It takes a list, sorted by name.", nil,
			files{"a.py": "def names(m):\n    return list(m)\n"}, ""},
		{"a lock in words", "Add a counter that is safe for concurrent use.", nil,
			files{"a.go": "package a\n\ntype c struct {\n\tmu sync.Mutex\n\tn int\n}\n\nfunc (c *c) Inc() {\n\tc.n++\n}\n"}, "demand-unmet"},
		{"a lock", "Add a counter that is safe for concurrent use.", nil, files{"a.go": "package a\n\ntype c struct {\n" +
			"\tmu sync.Mutex\n\tn int\n}\n\nfunc (c *c) Inc() {\n\tc.mu.Lock()\n\tdefer c.mu.Unlock()\n\tc.n++\n}\n"}, ""},
		{"no state to lock", "Add Point, a class that is safe for concurrent use.", nil,
			files{"a.py": "class Point:\n    def __init__(self, x):\n        self.x = x\n"}, ""},
		{"local time", "Add stamp(n), which returns the UTC time.", nil,
			files{"a.py": "def stamp(n):\n    return datetime.fromtimestamp(n)\n"}, "demand-unmet"},
	} {
		c.check(t)
	}
}

type files = map[string]string

// worded is a batch with a change, and the rule that it breaks or "".
type worded struct {
	name, plan    string
	before, after files
	want          string
}

func (c worded) check(t *testing.T) {
	t.Helper()
	s := gatetest.Change(t, c.before, c.after)
	s.Batch.Text = c.plan
	if title, text, has := strings.Cut(c.plan, "\n\n"); has && strings.HasPrefix(title, "## ") {
		s.Batch.Title, s.Batch.Text = title[3:], text
	}
	if strings.Contains(c.plan, "Files:") {
		s.Batch.Files.Modify = []string{"a.py"}
	}
	all := maps.Clone(c.after)
	for p := range c.before {
		all[p] = ""
	}
	o := Options{Tree: tree(slices.Sorted(maps.Keys(all)))}
	named := []planparse.Named{{Verb: "modify", Path: slices.Sorted(maps.Keys(c.after))[0]}}
	gates := Gates(&planparse.Batch{Text: c.plan, Named: named}, o)
	_, got := gatetest.Look(t, gates[0], s)
	if text := strings.Join(got, " "); c.want == "" && text != "" || !strings.Contains(text, c.want) || len(got) > 1 {
		t.Errorf("%s: %q, want %q", c.name, got, c.want)
	}
}
