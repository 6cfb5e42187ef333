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
		es     = "def plural(word):\n    return word + ('z' if word[-1] == 'z' else '') + 'es'\n"
		old    = "def plural(word):\n    return word + 'es'\n"
		ranks  = "Correct rank. `rank(-1)` should return `\"-1st\"` and `rank(-22)` should return `\"-22nd\"`."
		beside = old + "\n\ndef capitals(word):\n    return plural(word).upper()\n"
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
		{"a word in the title", "## Fix search for names\n\nIt must work for names too.", files{"a.py": "def search(word):\n    return word + 's'\n"},
			files{"a.py": "def search(word):\n    return word + 's'\n\n\ndef names(word):\n    return search(word).title()\n"}, ""},
		{"no tests asked", strings.ReplaceAll(both, "Add tests.", ""), files{"a.py": old},
			files{"a.py": es, "test_a.py": "def test_plural():\n    assert plural('tax') == 'taxes'\n"}, ""},
		{"the first of a list", "Fix `plural` and `single` in `a.py`.",
			files{"a.py": old + "\n\ndef single(word):\n    return word[:-2]\n"},
			files{"a.py": "def plural(word):\n    return word + 's'\n\n\ndef single(word):\n    return word[:-2]\n"},
			"not-corrected"},
	} {
		c.check(t)
	}
}
