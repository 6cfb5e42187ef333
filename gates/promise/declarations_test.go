package promise

import "testing"

// A parameter that the batch writes in a signature, or calls an option, is used by the new function that has it.
func TestNamedParametersAreUsed(t *testing.T) {
	const (
		plan   = "Implement `Parser.sub` and the function `sub(format, string, count=0, strict=False)`."
		parser = "class Parser:\n    def __init__(self, format, strict):\n        self.format = format\n        self.strict = strict\n\n"
		method = "    def sub(self, string, count=0):\n        return self.format.replace(string, '', count)\n\n\n"
		option = "`join` takes a parameter `glue`. Add it."
		render = "Add class `Plain` with `render(text, width)`."
		wide   = "class Wide:\n    def render(self, text, width):\n        return text.center(width)\n"
	)
	for _, c := range []worded{
		{"beside a method of the same name", plan, files{"a.py": parser}, files{"a.py": parser + method +
			"def sub(format, string, count=0, strict=False):\n    return Parser(format, False).sub(string, count)\n"}, "option-unused"},
		{"on several lines", plan, files{"a.py": parser}, files{"a.py": parser + method +
			"def sub(\n    format,\n    string,\n    count=0,\n    strict=False,\n):\n    return Parser(format, False).sub(string, count)\n"}, "option-unused"},
		{"only in a text", plan, files{"a.py": parser}, files{"a.py": parser + method +
			"def sub(format, string, count=0, strict=False):\n    print('strict')\n    return Parser(format, False).sub(string, count)\n"}, "option-unused"},
		{"all are used", plan, files{"a.py": parser}, files{"a.py": parser + method +
			"def sub(\n    format,\n    string,\n    count=0,\n    strict=False,\n):\n    return Parser(format, strict).sub(string, count)\n"}, ""},
		{"in a text with code", plan, files{"a.py": parser}, files{"a.py": parser + method +
			"def sub(format, string, count=0, strict=False):\n    return Parser(f'{format}{strict}', False).sub(string, count)\n"}, ""},
		{"all at once", plan, files{"a.py": parser}, files{"a.py": parser + method +
			"def sub(format, string, count=0, strict=False):\n    return Parser(**locals())\n"}, ""},
		{"not written yet", plan, files{"a.py": parser}, files{"a.py": parser + method +
			"def sub(format, string, count=0, strict=False):\n    raise NotImplementedError\n"}, ""},
		{"abstract", plan, files{"a.py": parser}, files{"a.py": parser + method +
			"class Base:\n    @abstractmethod\n    def sub(format, string, count=0, strict=False):\n        return None\n"}, ""},

		{"an option of a sentence", option, files{"a.js": "function join(list) {\n  return list.join(',');\n}\nconst glue = 1;\nuse(glue);\n"},
			files{"a.js": "function join(list, glue) {\n  return list.join(',');\n}\nconst glue = 1;\nuse(glue);\n"}, "option-unused"},
		{"an option that is used", option, files{"a.js": "function join(list) {\n  return list.join(',');\n}\n"},
			files{"a.js": "const join = (list, glue) =>\n  list.join(glue);\n"}, ""},
		{"an old signature", option, files{"a.js": "function join(list, glue) {\n  return list.join(',');\n}\n"},
			files{"a.js": "function join(list, glue) {\n  return list.join(';');\n}\nfunction both(a, b) {\n  return join(a, glue);\n}\n"}, ""},
		{"a type of its own", "Add `cut(text, end)`.", nil,
			files{"a.ts": "export function cut(text: string, end: string): string {\n  return text.slice(0, 2);\n}\n"}, "option-unused"},
		{"a declaration", "Add `cut(text, end)`.", nil,
			files{"a.ts": "export function cut(text: string): string;\nexport function cut(text: string, end?: string): string {\n" +
				"  return text.slice(0, 2) + (end ?? '');\n}\n"}, ""},

		{"Ruby", "Add `cut(text, omission: '.')`.", nil,
			files{"a.rb": "def cut(text, omission: '.')\n  text[0, 2] + '.'\nend\n"}, "option-unused"},
		{"Ruby with a base class", "Add `cut(text, omission: '.')`.", nil,
			files{"a.rb": "class A < B\n  def cut(text, omission: '.')\n    super\n  end\nend\n"}, ""},
		{"Go", "Add `Cut(s string, words bool) string`.", nil,
			files{"a.go": "package a\n\nfunc Cut(s string, words bool) string {\n\treturn s[:2]\n}\n"}, "option-unused"},

		{"a method of many types", render, files{"w.py": wide}, files{"a.py": "class Plain:\n    def render(self, text, width):\n        return text\n"}, ""},
		{"a method of one type", render, nil, files{"a.py": "class Plain:\n    def render(self, text, width):\n        return text\n"}, "option-unused"},
		{"what a server gives", "Add `health(req, res)`.", nil, files{"a.js": "function health(req, res) {\n  res.send('ok');\n}\n"}, ""},
		{"code of the plan", "Add:\n\n```python\ndef cut(text, end):\n    return text[:2]\n```\n\nIt is `cut(text, end)`.", nil,
			files{"a.py": "def cut(text, end):\n    return text[:2]\n"}, ""},
	} {
		c.check(t)
	}
}
