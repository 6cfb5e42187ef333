package promise

import "testing"

// A function that the batch adds to a type by name is in that type, and not only elsewhere.
func TestMembersAreInTheirType(t *testing.T) {
	const (
		plan   = "## Implement `Parser.sub` and the function\n\nThe function calls `Parser.sub(text)`."
		parser = "class Parser(Base):\n    \"\"\"Parses.\"\"\"\n\n    def parse(self, text):\n        return PATTERN.sub('', text)\n\n\n"
		base   = "class Base:\n    def parse(self, text):\n        return text\n\n\n"
		sub    = "def sub(text):\n    return Parser().parse(text)\n"
		cart   = "Add `Cart.total()`."
		js     = "export class Cart {\n  add(item) {\n    this.items.push(item);\n  }\n"
	)
	for _, c := range []worded{
		{"only a function", plan, files{"a.py": base + parser}, files{"a.py": base + parser + sub}, "no-function"},
		{"a function in another type", plan, files{"a.py": base + parser},
			files{"a.py": base + parser + "class Other:\n    def sub(self, text):\n        return text\n\n\n" + sub}, "no-function"},
		{"a method", plan, files{"a.py": base + parser},
			files{"a.py": base + parser + "    def sub(self, text):\n        return text\n\n\n" + sub}, ""},
		{"a method of its base", plan, files{"a.py": base + parser},
			files{"a.py": base + "    def sub(self, text):\n        return text\n\n\n" + parser + sub}, ""},
		{"a base that is elsewhere", plan, files{"a.py": parser}, files{"a.py": parser + sub}, ""},
		{"given afterwards", plan, files{"a.py": base + parser}, files{"a.py": base + parser + sub + "\n\nParser.sub = lambda self, t: sub(t)\n"}, ""},
		{"any name", plan, files{"a.py": base + parser},
			files{"a.py": base + parser + "    def __getattr__(self, name):\n        return lambda t: t\n\n\n" + sub}, ""},
		{"a type of another library", "Add sub(text). Its result is that of `Parser.sub(text)`.", nil, files{"a.py": sub}, ""},
		{"a text at the margin", plan, files{"a.py": base + parser}, files{"a.py": base + parser +
			"    USAGE = '''\nParser\n'''\n\n    def sub(self, text):\n        return text\n\n\n" + sub}, ""},
		{"a later batch", "Task 2 will call `Parser.sub(text)`. Add sub(text).", files{"a.py": base + parser}, files{"a.py": base + parser + sub}, ""},
		{"what is wrong today", "Today `Parser.sub(text)` fails. Add sub(text).", files{"a.py": base + parser}, files{"a.py": base + parser + sub}, ""},

		{"JavaScript", cart, files{"a.js": js + "}\n"}, files{"a.js": js + "}\nexport function total(cart) {\n  return cart.items.length;\n}\n"}, "no-function"},
		{"a getter", cart, files{"a.js": js + "}\n"}, files{"a.js": js + "  get total() {\n    return this.items.length;\n  }\n}\n"}, ""},
		{"a field with a function", cart, files{"a.js": js + "}\n"}, files{"a.js": js + "  total = () => this.items.length;\n}\n"}, ""},
		{"a prototype", cart, files{"a.js": js + "}\n"}, files{"a.js": js + "}\nCart.prototype.total = function () {\n  return this.items.length;\n};\n"}, ""},

		{"Ruby", "Add `Cart#total`.", files{"a.rb": "class Cart\nend\n"}, files{"a.rb": "class Cart\nend\n\ndef total(cart)\n  cart.sum\nend\n"}, "no-function"},
		{"an attribute", "Add `Cart#total`.", files{"a.rb": "class Cart\nend\n"}, files{"a.rb": "class Cart\n  attr_reader :total\nend\n"}, ""},
		{"a module function", "Add `Cart.total`.", files{"a.rb": "module Cart\nend\n"},
			files{"a.rb": "module Cart\n  class << self\n    def total(list)\n      list.sum\n    end\n  end\nend\n"}, ""},

		{"Go", "Add `Cart.Total`.", files{"a.go": "package a\n\ntype Cart struct {\n\tn int\n}\n"},
			files{"a.go": "package a\n\ntype Cart struct {\n\tn int\n}\n\nfunc Total(c Cart) int {\n\treturn c.n\n}\n"}, "no-function"},
		{"a method of Go", "Add `Cart.Total`.", files{"a.go": "package a\n\ntype Cart struct {\n\tn int\n}\n"},
			files{"a.go": "package a\n\ntype Cart struct {\n\tn int\n}\n\nfunc (c *Cart) Total() int {\n\treturn c.n\n}\n"}, ""},
		{"an embedded type", "Add `Cart.Total`.", files{"a.go": "package a\n\ntype Cart struct {\n\tlist\n}\n"},
			files{"a.go": "package a\n\ntype Cart struct {\n\tlist\n}\n\nfunc (l list) Total() int {\n\treturn l.n\n}\n"}, ""},
	} {
		c.check(t)
	}
}
