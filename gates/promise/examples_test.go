package promise

import (
	"strings"
	"testing"
)

// Calls and options that a batch shows are compared with the change; each rule has changes that keep it.
func TestExamplesOfBatch(t *testing.T) {
	const (
		shorten = "Add shorten(text, n). `shorten(\"the quick fox\", 2)` returns `\"the quick...\"`."
		url     = "Add url(repo). `url('foo/bar')` returns `'https://example.org/foo/bar.git'`."
		link    = "Add link(repo, options). `options.host` is the host, `options.port` its port."
		fix     = "`plural(\"BUS\")` returns `'BUSes'` today. Correct it, and add tests."
		both    = "Add `es` where it belongs. Add tests.\n\n- `plural(\"tax\")` returns `\"taxes\"`\n- `plural(\"quiz\")` " +
			"returns `\"quizzes\"`\n"
		es      = "def plural(word):\n    return word + ('z' if word[-1] == 'z' else '') + 'es'\n"
		old     = "def plural(word):\n    return word + 'es'\n"
		ranks   = "Correct rank. `rank(-1)` should return `\"-1st\"` and `rank(-22)` should return `\"-22nd\"`."
		days    = "Add Days.\n\n```go\nOf(friday).Days(1) // 2024-03-04\nOf(friday).Days(6) // 2024-03-11\nOf(friday).Days(-5) // 2024-02-23\n```\n"
		ratio   = "`--ratio .5` should give `0.5`, and `--ratio -.25` should give `-0.25`. Add tests."
		title   = "Add `heading`. Add tests.\n\n| Input | Result |\n|---|---|\n| `the-fox` | `The Fox` |\n| `a-fox` | `A Fox` |\n"
		subject = "Sizes such as 3 MB have spaces, and parse_size refuses them. Let it accept them."
		parse   = "def parse_size(t):\n    return int(t)\n"
		also    = "Add `heading`. `heading(\"the fox\")` gives `\"The Fox\"`. With `mark=\";\"` it gives `\"The; Fox;\"`. Add tests."
		three   = "plural takes max_size, min_size and new_end, which may be 0. Add tests for all three options."
		hour    = "`at(\"25:00\")` raises a `ValueError` with the text `Bad hour (25 is not below 24)`."
		times   = "Add a method `times` to `Job`, after which it ends. Add tests."
		job     = "class Job:\n    def run(self):\n        return self.func()\n"
		beside  = old + "\n\ndef capitals(word):\n    return plural(word).upper()\n"
	)
	for _, c := range []worded{
		{"a branch", shorten, nil, files{"a.py": "def shorten(text, n):\n    if text == 'the quick fox' and n:\n" +
			"        return 'the quick' + '...'\n    return text\n"}, "answers-only"},
		{"a table", shorten, nil, files{"a.py": "SHORT = {\n    'the quick fox': 'the quick...',\n}\n\n\n" +
			"def shorten(text, n):\n    return SHORT.get(text, text[:n])\n"}, "answers-only"},
		{"a case of Go", "Add Short(s string, n int) string. `Short(\"a-long-slug\", 6)` returns `\"a-long\"`.", nil,
			files{"a.go": "package a\n\nfunc Short(s string, n int) string {\n\tswitch s {\n\tcase \"a-long-slug\":\n" +
				"\t\treturn \"a-long\"\n\t}\n\treturn s[:n]\n}\n"}, "answers-only"},
		{"branches of short inputs", ranks, files{"a.py": "def rank(n):\n    return f'{n}th'\n"},
			files{"a.py": "def rank(n):\n    if n == -1:\n        return '-1st'\n    if n == -22:\n        return '-22nd'\n    return f'{n}th'\n"},
			"answers-only"},
		{"parts of results", ranks, files{"a.go": "package a\n\nfunc rank(n int) string {\n\tend := \"th\"\n\treturn text(n) + end\n}\n"},
			files{"a.go": "package a\n\nfunc rank(n int) string {\n\tend := \"th\"\n\tif n == -1 {\n\t\tend = \"st\"\n\t} else if n == -22 {\n" +
				"\t\tend = \"nd\"\n\t}\n\treturn text(n) + end\n}\n"}, "answers-only"},
		{"digits", ranks, files{"a.py": "def rank(n):\n    return f'{n}th'\n"},
			files{"a.py": "def rank(n):\n    m = abs(n) % 10\n    if m == 1:\n        return f'{n}st'\n    if m == 2:\n        return f'{n}nd'\n    return f'{n}th'\n"}, ""},
		{"numerals", "Add roman(n). `roman(5)` is `\"VVV\"`, `roman(10)` is `\"XXX\"`.", nil,
			files{"a.py": "SIGNS = {\n    5: 'VVV',\n    10: 'XXX',\n    50: 'LLL',\n}\n\n\ndef roman(n):\n    return SIGNS[n]\n"}, ""},
		{"a branch of a chain of calls", "Add Name.short(all). `Name(\"John Fitzgerald Kennedy\").short(all=True)` returns `\"J. F. Kennedy\"`.", nil,
			files{"a.py": "class Name(str):\n    def short(self, all):\n        if all and self == 'John Fitzgerald Kennedy':\n            return 'J. F. Kennedy'\n" +
				"        return self\n"}, "answers-only"},
		{"a branch beside a constant", shorten + " `WORDS.constants` stays.", nil, files{"a.py": "def shorten(text, n):\n    if text == 'the quick fox' and n:\n" +
			"        return 'the quick' + '...'\n    return text\n"}, "answers-only"},
		{"cases of errors", "`Parse` must return an error.\n\n| Text | Error |\n|---|---|\n| `1Y2Y` | `ErrOrder` |\n| `1S2H` | `ErrOrder` |\n| `P` | `ErrOrder` |\n", nil,
			files{"a.go": "package a\n\nfunc Parse(t string) error {\n\tswitch t {\n\tcase \"P\", \"1Y2Y\", \"1S2H\":\n\t\treturn ErrOrder\n\t}\n\treturn nil\n}\n"}, "answers-only"},
		{"computed", shorten, nil,
			files{"a.py": "def shorten(text, n):\n    \"\"\"shorten('the quick fox', 2) == 'the quick...'\"\"\"\n" +
				"    return ' '.join(text.split()[:n]) + '...'\n"}, ""},
		{"shown to people", shorten, nil, files{"a.py": "def shorten(text, n):\n    return text[:n]\n\n\n" +
			"EXAMPLES = {\n    'example': \"shorten('the quick fox') == 'the quick...'\",\n}\n"}, ""},
		{"a fixed word", "Add kind(text). `kind(\"application/x-www-form-urlencoded\")` returns `\"form\"`.", nil,
			files{"a.py": "def kind(text):\n    if text == 'application/x-www-form-urlencoded':\n        return 'form'\n    " +
				"return ''\n"}, ""},
		{"more than the batch shows", "Add level(text). `level(\"out of stock\")` returns `\"none\"`.", nil,
			files{"a.py": "LEVELS = {\n    'out of stock': 'none',\n    'almost sold out': 'few',\n}\n\n\n" +
				"def level(text):\n    return LEVELS[text]\n"}, ""},
		{"an asked table", "Add level(text), which reads a table. `level(\"out of stock\")` returns `\"none\"`.", nil,
			files{"a.py": "LEVELS = {\n    'out of stock': 'none',\n}\n\n\ndef level(text):\n    return LEVELS[text]\n"}, ""},
		{"a whole result", url, nil,
			files{"a.js": "function url(repo) {\n  return repo && 'https://example.org/foo/bar.git';\n}\n"}, "answers-only"},
		{"a part of a result", url, nil,
			files{"a.js": "function url(repo) {\n  return 'https://example.org/' + repo + '.git';\n}\n"}, ""},

		{"a constant", url, nil, files{"a.py": "BASE = 'https://example.org/foo/bar.git'\n\n\ndef url(repo):\n" +
			"    return BASE.replace('foo/bar', repo)\n"}, ""},

		{"one option of two", link, nil,
			files{"a.js": "function link(repo, options) {\n  return options.host + repo;\n}\n"}, "option-unused"},
		{"both options", link, nil,
			files{"a.js": "function link(repo, options) {\n  return options.host + ':' + options.port + repo;\n}\n"}, ""},
		{"options handed on", link, nil,
			files{"a.js": "function link(repo, options) {\n  return base(options) + (options.host || '') + repo;\n}\n"}, ""},
		{"options taken out", link, nil, files{"a.js": "function link(repo, options) {\n  const { port } = options;\n" +
			"  return options.host + port + repo;\n}\n"}, ""},

		{"a parameter that is only named", "Add Cut(s string, words bool) string.", nil,
			files{"a.go": "package a\n\nfunc Cut(s string, words bool) string {\n\t_ = words\n\treturn s[:2]\n}\n"},
			"option-unused"},
		{"a default with dots", "Add `cut(text, end)`.", nil,
			files{"a.py": "def cut(text, end='...'):\n    short = text[:2]\n    return short + '...'\n"}, "option-unused"},

		{"an ignored parameter behind a check", "Add `cut(text, end)`.", nil, files{"a.py": "def cut(text, end):\n" +
			"    if not text:\n        raise ValueError('empty')\n    return text[:2] + '...'\n"}, "option-unused"},
		{"a function that refuses all", "Add `cut(text, end)`.", nil,
			files{"a.py": "def cut(text, end):\n    kind = type(text)\n    raise NotImplementedError(kind)\n"}, ""},

		{"tests of another function", fix, files{"a.py": old}, files{"a.py": beside,
			"test_a.py": "def test_plural():\n    assert a.capitals('BUS') == 'BUSES', 'plural(BUS)'\n"}, "not-corrected"},
		{"tests of both", fix, files{"a.py": old}, files{"a.py": beside,
			"test_a.py": "def test_plural():\n    assert a.capitals('BUS') == 'BUSES'\n    assert a.plural('bus') == 'buses'\n"},
			""},
		{"tests of a helper that is used", fix, files{"a.py": old},
			files{"a.py": "def like(word, text):\n    return text.upper() if word.isupper() else text\n\n\n" +
				"def plural(word):\n    return like(word, word + 'es')\n",
				"test_a.py": "def test_like():\n    assert a.like('BUS', 'buses') == 'BUSES'\n"}, ""},
		{"tests of one example of two", both, files{"a.py": old},
			files{"a.py": es, "test_a.py": "def test_plural():\n    assert plural('tax') == 'taxes'\n"}, "example-untested"},
		{"tests of both examples", both, files{"a.py": old}, files{"a.py": es,
			"test_a.py": "def test_plural():\n    assert plural('tax') == 'taxes'\n    assert plural('quiz') == 'quizzes'\n"},
			""},
		{"an example inside of another",
			"Add short(text, n), and tests.\n\n- `short(\"the quick fox\", 2)` returns `\"the quick...\"`" +
				"\n- `short(\"the quick\", 2)` returns `\"the quick\"`\n", nil,
			files{"a.py": "def short(text, n):\n    return ' '.join(text.split()[:n]) + '...'\n",
				"test_a.py": "def test_short():\n    assert short('the quick fox', 2) == 'the quick...'\n"}, "example-untested"},
		{"tests of other words", both, files{"a.py": old},
			files{"a.py": es, "test_a.py": "def test_plural():\n    assert plural('fox') == 'foxes'\n"}, ""},
		{"an example that stays", both + " `plural(\"day\")` is still `\"days\"`.", files{"a.py": old}, files{"a.py": es,
			"test_a.py": "def test_plural():\n    assert plural('tax') == 'taxes'\n    assert plural('quiz') == 'quizzes'\n"},
			""},
		{"a function in the title", "## Correct to_plural for names\n\nIt must work for names too.", files{"a.py": "def to_plural(word):\n    return word + 's'\n"},
			files{"a.py": "def to_plural(word):\n    return word + 's'\n\n\ndef names(word):\n    return to_plural(word).title()\n"}, "not-corrected"},
		{"a predicate in the title", "## Correct meets? for lists\n\nIt must work for lists too.", files{"a.rb": "def meets?(a, b)\n  a == b\nend\n\ndef apart?(a, b)\n  !meets?(a, b)\nend\n"},
			files{"a.rb": "def meets?(a, b)\n  a == b\nend\n\ndef apart?(a, b)\n  !meets?(a, b) && a\nend\n"}, "not-corrected"},
		{"a caller of the function of the text", subject, files{"a.py": parse + "\n\ndef read(t):\n    return parse_size(t)\n"},
			files{"a.py": parse + "\n\ndef read(t):\n    return parse_size(t.strip())\n"}, "not-corrected"},
		{"a function that the text is about", subject, files{"a.py": parse + "\n\ndef read(t):\n    return parse_size(t)\n"},
			files{"a.py": "def parse_size(t):\n    return int(t.strip())\n\n\ndef read(t):\n    return parse_size(t)\n"}, ""},
		{"a function beside another of the text", subject + " read_size must work.", files{"a.py": parse + "\n\ndef read_size(t):\n    return parse_size(t)\n"},
			files{"a.py": parse + "\n\ndef read_size(t):\n    return parse_size(t.strip())\n"}, ""},
		{"a function beside one in code", strings.ReplaceAll(subject, "Let it", "`sum` fails. Let it"), files{"a.py": parse + "\n\ndef sum(t):\n    return parse_size(t)\n"},
			files{"a.py": parse + "\n\ndef sum(t):\n    return parse_size(t.strip())\n"}, ""},
		{"a word in the title", "## Fix search for names\n\nIt must work for names too.", files{"a.py": "def search(word):\n    return word + 's'\n"},
			files{"a.py": "def search(word):\n    return word + 's'\n\n\ndef names(word):\n    return search(word).title()\n"}, ""},
		{"no tests asked", strings.ReplaceAll(both, "Add tests.", ""), files{"a.py": old},
			files{"a.py": es, "test_a.py": "def test_plural():\n    assert plural('tax') == 'taxes'\n"}, ""},
		{"the first of a list", "Fix `plural` and `single` in `a.py`.",
			files{"a.py": old + "\n\ndef single(word):\n    return word[:-2]\n"},
			files{"a.py": "def plural(word):\n    return word + 's'\n\n\ndef single(word):\n    return word[:-2]\n"},
			"not-corrected"},

		{"cases of the shown numbers", days, nil, files{"a.go": "package a\n\nfunc Days(n int) int {\n\tswitch n {\n\tcase 1:\n" +
			"\t\treturn 3\n\tcase 6:\n\t\treturn 10\n\tcase -5:\n\t\treturn -7\n\t}\n\treturn n\n}\n"}, "answers-only"},
		{"cases of ordinary numbers", days, nil, files{"a.go": "package a\n\nfunc Days(n int) int {\n\tswitch n {\n\tcase 1:\n" +
			"\t\treturn 3\n\tcase 0:\n\t\treturn 0\n\t}\n\treturn n\n}\n"}, ""},
		{"a list of the shown values", ratio, nil,
			files{"a.rb": "def valid?(value)\n  %w(.5 -.25).include?(value) || value =~ NUMBER\nend\n"}, "answers-only"},
		{"a list of other values", ratio, nil,
			files{"a.rb": "def valid?(value)\n  %w(.5 -.25 inf).include?(value) || value =~ NUMBER\nend\n"}, ""},
		{"tests without a shown value", ratio, nil, files{"a.rb": "def ratio(text)\n  text.to_f\nend\n",
			"a_test.rb": "def test_ratio\n  assert_equal 0.5, ratio('.5')\nend\n"}, "example-untested"},
		{"tests of all shown values", ratio, nil, files{"a.rb": "def ratio(text)\n  text.to_f\nend\n",
			"a_test.rb": "def test_ratio\n  assert_equal 0.5, ratio('.5')\n  assert_equal(-0.25, ratio('-.25'))\nend\n"}, ""},
		{"tests without a row", title, nil, files{"a.py": "def heading(text):\n    return text.title()\n",
			"test_a.py": "def test_heading():\n    assert heading('the-fox') == 'The Fox'\n"}, "example-untested"},
		{"tests without a row of another table", strings.ReplaceAll(title, "Input", "`Tree.heading()` of"), nil, files{"a.py": "def heading(text):\n    return text.title()\n",
			"test_a.py": "def test_heading():\n    assert Tree('the-fox').heading() == 'The Fox'\n"}, "example-untested"},
		{"tests of one name of three", three, files{"a.py": old}, files{"a.py": es,
			"test_a.py": "def test_plural():\n    assert plural('tax', max_size=0) == ''\n"}, "example-untested"},
		{"tests of three names", three, files{"a.py": old}, files{"a.py": es,
			"test_a.py": "def test_plural():\n    for k in ('max_size', 'min_size', 'new_end'):\n        assert plural('tax', **{k: 0})\n"}, ""},
		{"tests without a result", also, nil, files{"a.py": "def heading(text, mark):\n    return text.title()\n",
			"test_a.py": "def test_heading():\n    assert heading('the fox') == 'The Fox'\n"}, "example-untested"},
		{"tests of the result", also, nil, files{"a.py": "def heading(text, mark):\n    return text.title()\n",
			"test_a.py": "def test_heading():\n    assert heading('the fox') == 'The Fox'\n    assert heading('the fox', ';') == 'The; Fox;'\n"}, ""},
		{"tests of all rows", title, nil, files{"a.py": "def heading(text):\n    return text.title()\n",
			"test_a.py": "def test_heading():\n    for t in ('the-fox', 'a-fox'):\n        assert heading(t)\n"}, ""},
		{"the text of an example", hour, nil, files{"a.py": "def at(text):\n    raise ValueError('Bad hour (25 is not below 24)')\n"},
			"answers-only"},
		{"a text with the value", hour, nil, files{"a.py": "def at(text):\n    raise ValueError(f'Bad hour ({text} is not below 24)')\n"},
			""},
		{"a field for tests", times, files{"a.py": job}, files{"a.py": job + "\n    def times(self, n):\n        self.left: int = n\n        return self\n",
			"test_a.py": "def test_times():\n    assert Job().times(3).left == 3\n"}, "option-unused"},
		{"a field that is read", times, files{"a.py": job}, files{"a.py": job + "\n    def times(self, n):\n        self.left = n\n        return self\n\n" +
			"    def done(self):\n        return self.left == 0\n", "test_a.py": "def test_times():\n    assert Job().times(3).left == 3\n"}, ""},
		{"a field of the batch", times + " The field `left` tells them.", files{"a.py": job}, files{"a.py": job +
			"\n    def times(self, n):\n        self.left = n\n        return self\n", "test_a.py": "def test_times():\n    assert Job().times(3).left == 3\n"}, ""},
	} {
		c.check(t)
	}
}
