package promise

import "testing"

// A function that the batch changes, or a new one that an old function should use, is not left beside the old code.
func TestNewCodeIsUsed(t *testing.T) {
	const (
		merge  = "`Columnize` must merge its settings with `MergeConfig`. Add tests."
		format = "package a\n\nfunc Format(s string) int {\n\treturn len(s)\n}\n"
		hex    = "## Make `bytes.parse` accept hex\n\nNumbers such as 0x1f are sizes too. Add tests."
		parse  = "function parse(text) {\n  return Number(text);\n}\n"
		own    = "\nfunction parseHex(text) {\n  return parseInt(text, 16);\n}\n"
		runes  = "\nfunc runeLen(s string) int {\n\treturn utf8.RuneCountInString(s)\n}\n"
	)
	columnize := func(body string) string {
		return "package a\n\nfunc Columnize(c *Config) string {\n\treturn " + body + "\n}\n"
	}
	merged := "\nfunc MergeConfig(a, b *Config) *Config {\n\treturn b\n}\n"
	for _, c := range []worded{
		{"a function beside the old one", merge, files{"a.go": columnize("c.Glue")}, files{"a.go": columnize("c.Glue") + merged}, "not-called"},
		{"a function that the old one uses", merge, files{"a.go": columnize("c.Glue")},
			files{"a.go": columnize("MergeConfig(nil, c).Glue") + merged}, ""},
		{"an old function that does not change", merge, files{"a.go": columnize("c.Glue") + merged},
			files{"a.go": columnize("c.Glue") + merged + "\nfunc Both(c *Config) string {\n\treturn Columnize(MergeConfig(nil, c))\n}\n"}, "not-corrected"},
		{"a new helper", "`Format` uses a new helper `runeLen`. Add tests.", files{"a.go": format}, files{"a.go": format + runes}, "not-called"},
		{"a new helper for another function", "`Format` uses a new helper `runeLen`. Add tests.", files{"a.go": format},
			files{"a.go": format + runes + "\nfunc Size(s string) int {\n\treturn runeLen(s)\n}\n"}, "not-called"},
		{"a new helper with an import", "`Format` uses a new helper `runeLen`. Add tests.", files{"a.go": format},
			files{"a.go": "package a\n\nimport (\n\t\"unicode/utf8\"\n)\n" + format[10:] + runes}, "not-called"},
		{"a new helper below another one", "`Format` uses a new helper `runeLen`. Add tests.", files{"a.go": format},
			files{"a.go": "package a\n\nfunc Format(s string) int {\n\treturn size(s)\n}\n\nfunc size(s string) int {\n\treturn runeLen(s)\n}\n" + runes}, ""},
		{"a new helper that is used in a place", "Add `runeLen`, used by `Format`.", files{"a.go": format}, files{"a.go": format + runes}, "not-called"},
		{"a new helper in a table of the file", "`Format` calls `runeLen`.", files{"a.go": format},
			files{"a.go": "package a\n\nvar sizes = []func(string) int{runeLen}\n\nfunc Format(s string) int {\n\treturn sizes[0](s)\n}\n" + runes}, ""},
		{"functions that work together", "Add `runeLen`. `Format` works with `runeLen` as before.", files{"a.go": format}, files{"a.go": format + runes}, ""},
		{"a function beside the title's", hex, files{"a.js": parse}, files{"a.js": parse + own}, "not-corrected"},
		{"a function beside the title's, with a constant", hex, files{"a.js": parse}, files{"a.js": "const HEX = /^0x/;\n\n" + parse + own}, "not-corrected"},
		{"the title's function", hex, files{"a.js": parse},
			files{"a.js": "function parse(text) {\n  return parseHex(text);\n}\n" + own}, ""},
		{"a constant of the title's function", hex, files{"a.js": "const BASE = 10;\n\nfunction parse(text) {\n  return parseInt(text, BASE);\n}\n"},
			files{"a.js": "const BASE = 0;\n\nfunction parse(text) {\n  return parseInt(text, BASE);\n}\n"}, ""},
		{"a table of the title's function", hex, files{"a.js": "const UNITS = {\n  kb: 1024,\n};\n\nfunction parse(text) {\n  return UNITS[text];\n}\n"},
			files{"a.js": "const UNITS = {\n  kb: 1024,\n  '0x': 16,\n};\n\nfunction parse(text) {\n  return UNITS[text];\n}\n"}, ""},
		{"support in a function", "## Support hex in `parse`\n\nAdd tests.", files{"a.js": parse}, files{"a.js": parse + own}, "not-corrected"},
		{"a function that is made to accept more", "## Make parse accept hex\n\nAdd tests.", files{"a.js": parse}, files{"a.js": parse + own}, "not-corrected"},
		{"a call", "parse() should accept hex, too. Add tests.", files{"a.js": parse}, files{"a.js": parse + own}, "not-corrected"},
		{"two functions", "`parse` and `show` must accept hex. Add tests.", files{"a.js": parse}, files{"a.js": parse + own}, "not-corrected"},
		{"a use in a function", "Add `runeLen`, and use `runeLen` in `Format`.", files{"a.go": format}, files{"a.go": format + runes}, "not-called"},
		{"a way through a function", "Let `Format` count through the new `runeLen`.", files{"a.go": format}, files{"a.go": format + runes}, "not-called"},
		{"names without marks", "a.Format uses a helper runeLen.", files{"a.go": format}, files{"a.go": format + runes}, "not-called"},
		{"another function for the same", "Add `runeLen`, like `Format` but with runes.", files{"a.go": format}, files{"a.go": format + runes}, ""},
		{"a function that uses the old one", "Add `runeLen`, which uses `Format`.", files{"a.go": format},
			files{"a.go": format + "\nfunc runeLen(s string) int {\n\treturn Format(s)\n}\n"}, ""},
		{"a function beside others", "## Make listing sortable\n\nAdd `sorted`.", files{"a.py": "def listing(a):\n    return a\n"},
			files{"a.py": "def listing(a, by=None):\n    return sort(a, by)\n\n\ndef sort(a, by):\n    return sorted(a, key=by)\n"}, ""},
		{"hex in a function", "## Hex numbers in `bytes.parse`\n\nAdd tests.", files{"a.js": parse}, files{"a.js": parse + own}, "not-corrected"},
		{"tests of a function", "## More tests of hex in `bytes.parse`\n\nAdd tests.", files{"a.js": parse}, files{"a.js": parse + own}, ""},
		{"a sentence of what is new", "`parse` now accepts hex. Add tests.", files{"a.js": parse}, files{"a.js": parse + own}, "not-corrected"},
		{"a new function without the old one", "Add `runeLen`, which must use `Format`.", files{"a.go": format}, files{"a.go": format + runes}, "not-called"},
		{"two old functions", "`Format` must call `Size`. Add tests.", files{"a.go": format + "\nfunc Size(s string) int {\n\treturn 1\n}\n"},
			files{"a.go": "package a\n\nfunc Format(s string) int {\n\treturn len(s) + 1\n}\n\nfunc Size(s string) int {\n\treturn 1\n}\n"}, "not-called"},
		{"a use that goes", "`Format` uses `Size`, which is slow. Add a faster way.",
			files{"a.go": "package a\n\nfunc Format(s string) int {\n\treturn Size(s)\n}\n\nfunc Size(s string) int {\n\treturn 1\n}\n"},
			files{"a.go": format + "\nfunc Size(s string) int {\n\treturn 1\n}\n"}, ""},
		{"a function that may stay", "## Add parseHex\n\n`parse` must still refuse hex. Add tests.", files{"a.js": parse}, files{"a.js": parse + own}, ""},
		{"an option of that name", "Add `sum(list, parse)`. The option `parse` must accept hex.", files{"a.js": parse},
			files{"a.js": parse + "\nfunction sum(list, parse) {\n  return list.map(parse).length;\n}\n"}, ""},
		{"code that runs without its name", "`show` must accept hex.", files{"a.py": "def show(n):\n    return str(n)\n"},
			files{"a.py": "def show(n):\n    return str(n)\n\n\nclass Hex:\n    def __str__(self):\n        return '0x'\n"}, ""},
	} {
		c.check(t)
	}
}
