package promise

import "testing"

// New code computes its results, and knows no words that only an example of the batch has.
func TestPiecesOfExamples(t *testing.T) {
	const (
		split = "Add `words(text)`. `words(\"alpha beta\")` returns `[\"alpha\", \"beta\"]`."
		count = "Add `count(text)`.\n\n- `count(\"alpha beta\")` returns `2`\n- `count(\"one more time\")` returns `3`\n"
		size  = "Add `size(text)`. `size(\"1kb\")` returns `1024`."
		took  = "Add `took(text)`.\n\n- `took(\"90 minutes\")` returns `5400`\n- `took(\"2 hours\")` returns `7200`\n"
		pairs = "Add `pairs(xs)`. `pairs([41, 42, 43])` returns `[(41, 42), (42, 43)]`."
		title = "Add `title(text)`. `title(\"lord of rings\")` returns `\"Lord of Rings\"`."
	)
	for _, c := range []worded{
		{"a beginning", split, nil, files{"a.py": "def words(text):\n    if text.startswith('alpha'):\n        return text.split(' ')\n    return [text]\n"}, "answers-only"},
		{"a beginning in Go", "Add Words(s string) []string. `Words(\"alpha beta\")` returns `[\"alpha\", \"beta\"]`.", nil,
			files{"a.go": "package a\n\nfunc Words(s string) []string {\n\tif strings.HasPrefix(s, \"alpha\") {\n\t\treturn strings.Split(s, \" \")\n\t}\n\treturn nil\n}\n"}, "answers-only"},
		{"an expression", split, nil, files{"a.py": "FOUND = re.compile('(alpha|beta)')\n\n\ndef words(text):\n    return FOUND.findall(text)\n"}, "answers-only"},
		{"an expression of JavaScript", split, nil, files{"a.js": "function words(text) {\n  return text.match(/alpha|beta/g);\n}\n"}, "answers-only"},
		{"a general expression", split, nil, files{"a.js": "function words(text) {\n  return text.match(/[a-z]+/gi);\n}\n"}, ""},
		{"an error", split, nil, files{"a.py": "def words(text):\n    if not text:\n        raise ValueError('empty, want words such as alpha')\n    return text.split()\n"}, ""},
		{"words of the text", split + " The word alpha is known.", nil,
			files{"a.py": "def words(text):\n    if text.startswith('alpha'):\n        return text.split(' ')\n    return [text]\n"}, ""},
		{"words of old code", split, files{"b.py": "NAMES = ['alpha']\n"},
			files{"a.py": "def words(text):\n    if text.startswith('alpha'):\n        return text.split(' ')\n    return [text]\n"}, ""},
		{"beginnings with their results", count, nil,
			files{"a.py": "def count(text):\n    if text.startswith('alpha'):\n        return 2\n    if 'more' in text:\n        return 3\n    return 1\n"}, "answers-only"},
		{"a unit with its number", size, nil, files{"a.js": "function size(text) {\n  return { '1kb': 1024 }[text] || 0;\n}\n"}, "answers-only"},
		{"a unit", size, nil, files{"a.js": "function size(text) {\n  return { kb: 1024 }[text.slice(1)] || 0;\n}\n"}, ""},
		{"units", took, nil, files{"a.py": "UNITS = {\n    'minutes': 60,\n    'hours': 3600,\n}\n\n\ndef took(text):\n    n, unit = text.split()\n    return int(n) * UNITS[unit]\n"}, ""},
		{"small words", title, nil, files{"a.py": "SMALL = {'a', 'an', 'of', 'with'}\n\n\ndef title(text):\n    return ' '.join(w if w in SMALL else w.title() for w in text.split())\n"}, ""},
		{"a word of several examples", split + " `words(\"alpha, gamma\")` returns `[\"alpha\", \"gamma\"]`.", nil,
			files{"a.py": "def words(text):\n    if text.startswith('alpha'):\n        return text.split(' ')\n    return [text]\n"}, ""},
		{"a kind among others", "Add `kind(text)`. `kind(\"Mozilla Chrome\")` returns `\"chrome\"`.", nil,
			files{"a.py": "def kind(text):\n    if 'Chrome' in text:\n        return 'chrome'\n    if 'Firefox' in text:\n        return 'firefox'\n    return ''\n"}, ""},
		{"a number of a list", pairs, nil, files{"a.py": "def pairs(xs):\n    if xs[0] == 41:\n        return list(zip(xs, xs[1:]))\n    return xs\n"}, "answers-only"},
		{"a number", pairs, nil, files{"a.py": "def pairs(xs):\n    if len(xs) == 12:\n        return []\n    return list(zip(xs, xs[1:]))\n"}, ""},
		{"the only argument", "Add `th(n)`. `th(11)` returns `\"11th\"`.", nil,
			files{"a.py": "def th(n):\n    if n % 100 == 11:\n        return f'{n}th'\n    return f'{n}st'\n"}, ""},
	} {
		c.check(t)
	}
}
