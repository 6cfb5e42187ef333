package examples

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/gatetest"
	"github.com/runplan/runplan/tools/tooltest"
)

const (
	pyWrong = "def slugify(text):\n    return text.lower()\n"
	pyCart  = "class Cart:\n    def __init__(self):\n        self.n = 0\n\n    def add(self, name, n):\n        if n < 0:\n            raise ValueError(name)\n" +
		"        self.n += 2 * n\n        return self.n\n\n    def total(self):\n        return self.n\n"
	pyRight = "def slugify(text):\n    if not text:\n        raise ValueError('empty')\n    return text.lower().replace(' ', '-')\n"
)

func TestGate(t *testing.T) {
	tooltest.Slow(t)
	const says = "`slugify(\"A b\")` returns `\"a-b\"`."
	differs := func(what string) []string {
		return []string{"error plan/example-differs : " + what}
	}
	for _, c := range []struct {
		name, plan    string
		before, after map[string]string
		want          []string // findings
		note          string
	}{
		{"holds", says, nil, map[string]string{"slug.py": pyRight}, nil, "1 of 1 example as shown"},
		{"differs", says, nil, map[string]string{"slug.py": pyWrong},
			differs(`the plan shows that slugify("A b") returns "a-b", but it returns 'a b'`), "0 of 1 example as shown"},
		{"package below src", says, nil, map[string]string{"src/shop/__init__.py": "", "src/shop/slug.py": pyWrong},
			differs(`the plan shows that slugify("A b") returns "a-b", but it returns 'a b'`), "0 of 1 example as shown"},
		{"error", "`slugify(\"\")` raises `ValueError`.", nil, map[string]string{"slug.py": pyWrong},
			differs(`the plan shows that slugify("") raises ValueError, but it returns ''`), "0 of 1 example as shown"},
		{"error holds", "`slugify(\"\")` raises `ValueError`.", nil, map[string]string{"slug.py": pyRight}, nil, "1 of 1 example as shown"},
		{"other error", says, nil, map[string]string{"slug.py": "def slugify(text):\n    raise KeyError(text)\n"},
			differs(`the plan shows that slugify("A b") returns "a-b", but it raises KeyError: 'A b'`), "0 of 1 example as shown"},
		{"shown fault", says, map[string]string{"slug.py": pyRight}, map[string]string{"slug.py": pyWrong}, nil,
			"0 of 1 example as shown; not decided: slugify(\"A b\"): the call had this result before the batch, and the plan may only describe a fault"},
		{"lost", "`slugify(\"A b\")` should return `\"a-b\"`.", map[string]string{"slug.py": pyRight}, map[string]string{"slug.py": pyWrong},
			differs(`the plan shows that slugify("A b") returns "a-b", but it returns 'a b'`), "0 of 1 example as shown"},
		{"no function", says, nil, map[string]string{"other.py": "x = 1\n"}, nil,
			"0 of 1 example as shown; not decided: slugify(\"A b\"): no file of Go, Python, JavaScript or Ruby defines slugify"},
		{"no library", says, nil, map[string]string{"slug.py": "import no_such_library\n" + pyRight}, nil,
			"0 of 1 example as shown; not decided: slugify(\"A b\"): slug.py cannot be imported: ModuleNotFoundError: No module named 'no_such_library'"},
		{"wrong arguments", "`slugify(\"A b\", 3)` is `\"a-b\"`", nil, map[string]string{"slug.py": pyRight}, nil,
			"0 of 1 example as shown; not decided: slugify(\"A b\", 3): TypeError: slugify() takes 1 positional argument but 2 were given"},
		{"state", "`add(1)` is `1`, then `add(2)` is `3`, and `add(3)` is `3`.", nil,
			map[string]string{"sum.py": "total = 0\n\n\ndef add(n):\n    global total\n    total += n\n    return total\n"}, nil, "3 of 3 examples as shown"},
		{"values", "`pair(1)` is `[1, 2]`, `half(1)` is `0.5`, `flag(1)` is `true`, `none(1)` is `null`, `price(\"3.50\")` is `3.50`.", nil,
			map[string]string{"v.py": "from decimal import Decimal\n\n\ndef pair(n):\n    return (n, n + 1)\n\n\ndef half(n):\n    return n / 2\n\n\n" +
				"def flag(n):\n    return True\n\n\ndef none(n):\n    return None\n\n\ndef price(t):\n    return Decimal(t)\n"}, nil, "5 of 5 examples as shown"},
		{"object with all names", "`Names(a=1).flat(2)` is `{\"a\": [{\"a\": 1}]}`, and `twice(1)` is `[1, 1]`.", nil,
			map[string]string{"names.py": "class Names(dict):\n    def __getattr__(self, name):\n        return name\n\n    def flat(self, n):\n" +
				"        return {\"a\": [self]}\n\n\ndef twice(n):\n    yield n\n    yield n\n"}, nil, "2 of 2 examples as shown"},
		{"class", "`Cart(2).total(3)` is `6`", nil,
			map[string]string{"cart.py": "class Cart:\n    def __init__(self, n):\n        self.n = n\n\n    def total(self, k):\n        return self.n * k\n"}, nil,
			"1 of 1 example as shown"},

		{"commonjs", says, nil, map[string]string{"slugify.js": "module.exports = function (t) { return t.toLowerCase() }\n"},
			differs(`the plan shows that slugify("A b") returns "a-b", but it returns 'a b'`), "0 of 1 example as shown"},
		{"other name", "`wrap('a', {indent: 1})` is `' a'`", nil, map[string]string{"index.js": "module.exports = function (t, o) { return t }\n"},
			differs(`the plan shows that wrap('a', {indent: 1}) returns ' a', but it returns 'a'`), "0 of 1 example as shown"},
		{"module", says, nil, map[string]string{"package.json": `{"type":"module"}`,
			"lib/text.js": "export function slugify (t) { return t.toLowerCase().replaceAll(' ', '-') }\n"}, nil, "1 of 1 example as shown"},
		{"promise and object", "`read('a')` is `{ b: 1, a: [2] }`", nil,
			map[string]string{"read.mjs": "export default async function read (k) { return { a: [2], b: 1 } }\n"}, nil, "1 of 1 example as shown"},
		{"throws", "`parse('')` throws `TypeError`, `parse('a')` is `1`.", nil,
			map[string]string{"parse.cjs": "function parse (t) { if (t) return 2; throw new RangeError('no') }\nexports.parse = parse\n"},
			[]string{"error plan/example-differs : the plan shows that parse('') raises TypeError, but it throws RangeError: no",
				"error plan/example-differs : the plan shows that parse('a') returns 1, but it returns 2"}, "0 of 2 examples as shown"},
		{"not exported", says, nil, map[string]string{"a.js": "function slugify (t) { return t }\n"}, nil,
			"0 of 1 example as shown; not decided: slugify(\"A b\"): a.js does not export slugify"},

		{"go", "`slug.Make(\"A b\")` returns `\"a-b\"`, and `slug.Make('')` is `''`.", nil, map[string]string{"go.mod": "module x\n\ngo 1.16\n",
			"slug/slug.go": "package slug\n\nfunc Make(s string) string { return s }\n"},
			differs(`the plan shows that slug.Make("A b") returns "a-b", but it returns "A b"`), "1 of 2 examples as shown"},
		{"go errors and lists", "`Parse(\"1,2\")` is `[1, 2]`, `Parse(\"x\")` returns an error, `Parse(3)` is `4`.", nil,
			map[string]string{"go.mod": "module x\n\ngo 1.24\n", "p.go": "package main\n\nimport \"errors\"\n\n" +
				"func Parse(s string) ([]int, error) {\n\tif s == \"x\" {\n\t\treturn nil, errors.New(\"no\")\n\t}\n\treturn []int{1, 2}, nil\n}\n\nfunc main() {}\n"},
			nil, "2 of 3 examples as shown; not decided: Parse(3): the program that makes the calls did not end as it should: FAIL"},

		{"go error by its name", "`Parse(\"P\")` must return the error in the table.\n\n| Text | Error |\n|---|---|\n| `P` | `ErrShort` |\n| `x` | `ErrShort` |\n| `PP` | `ErrShort` |\n", nil,
			map[string]string{"go.mod": "module x\n\ngo 1.16\n", "p.go": "package x\n\nimport (\n\t\"errors\"\n\t\"fmt\"\n)\n\nvar (\n\t// ErrShort is returned.\n\tErrShort = errors.New(\"short\")\n)\n\n" +
				"func Parse(s string) (int, error) {\n\tswitch s {\n\tcase \"P\":\n\t\treturn 0, fmt.Errorf(\"parse: %w\", ErrShort)\n\tcase \"x\":\n\t\treturn 0, errors.New(\"no\")\n\t}\n\treturn 1, nil\n}\n"},
			[]string{`error plan/example-differs : the plan shows that Parse("x") raises ErrShort, but it returns the error "no"`,
				`error plan/example-differs : the plan shows that Parse("PP") raises ErrShort, but it returns 1`}, "1 of 3 examples as shown"},
		{"go that prints", "```go\nfmt.Println(Half(3)) // 1.5\nfmt.Println(Text(3)) // 3\n```", nil, map[string]string{"go.mod": "module x\n\ngo 1.24\n",
			"h.go": "package x\n\nimport \"strconv\"\n\nfunc Half(n int) float64 { return float64(n) / 2 }\n\nfunc Text(n int) string { return strconv.Itoa(n) }\n"},
			nil, "2 of 2 examples as shown"},
		{"go number with methods", "`Parse(\"3b\")` is `3`, `Parse(\"3b\").Twice(1)` is `7`, and `Parse(\"4b\")` is `\"3B\"`.", nil, map[string]string{"go.mod": "module x\n\ngo 1.16\n",
			"s.go": "package x\n\nimport \"fmt\"\n\ntype Size uint8\n\nfunc (s Size) String() string { return fmt.Sprintf(\"%dB\", uint8(s)) }\n\n" +
				"func (s Size) Twice(int) Size { return 2 * s }\n\nfunc Parse(string) Size { return 3 }\n"},
			differs(`the plan shows that Parse("3b").Twice(1) returns 7, but it returns 0x6`), "2 of 3 examples as shown"},
		{"package of node", "`texts.slugify('A b')` is `'a-b'`", nil, map[string]string{"package.json": `{"name":"@x/texts","main":"lib"}`,
			"lib/index.js": "exports.slugify = t => t.toLowerCase().replace(' ', '-')\n"}, nil, "1 of 1 example as shown"},
		{"package of python", "`texts.slugify(\"A b\")` is `\"a-b\"`", nil, map[string]string{"src/texts/__init__.py": "from .slug import slugify\n",
			"src/texts/slug.py": pyRight}, nil, "1 of 1 example as shown"},
		{"ruby", "`Slug.make(\"A b\")` returns `\"a-b\"`, and `Slug.make(\"\")` raises `ArgumentError`.", nil,
			map[string]string{"lib/slug.rb": "module Slug\n  def self.make(text)\n    raise ArgumentError if text.empty?\n    text.downcase\n  end\nend\n"},
			differs(`the plan shows that Slug.make("A b") returns "a-b", but it returns "a b"`), "1 of 2 examples as shown"},

		{"block of ruby", "```ruby\nopts = Slop.parse(%w(--lines 3..7)) do |o|\n  o.range \"--lines\"\nend\nopts[:lines] # => 3..7\nopts[:lines].size # => 6\n```",
			nil, map[string]string{"slop.gemspec": "", "lib/slop.rb": "module Slop\n  LAST = 1\nend\nrequire 'slop/parser'\n",
				"lib/slop/parser.rb": "module Slop\n  OFF = LAST\n\n  def self.parse(list)\n    yield(o = Parser.new(list))\n    o.out\n  end\n\n  class Parser\n    attr_reader :out\n\n" +
					"    def initialize(list)\n      @list, @out = list, {}\n    end\n\n    def range(name)\n" +
					"      a, b = @list[@list.index(name) + 1].split('..').map(&:to_i)\n      @out[name[2..].to_sym] = (a..b - OFF + 1)\n    end\n  end\nend\n"},
			differs(`the plan shows that opts[:lines].size returns 6, but it returns 5`), "1 of 2 examples as shown"},
		{"ruby without a gemspec", "`Slop::Parser.parse(\"a\")` returns `1`.", nil, map[string]string{"lib/slop.rb": "module Slop\n  LAST = 1\nend\nrequire 'slop/parser'\n",
			"lib/slop/parser.rb": "module Slop\n  class Parser\n    def self.parse(text)\n      LAST + 1\n    end\n  end\nend\n"},
			differs(`the plan shows that Slop::Parser.parse("a") returns 1, but it returns 2`), "0 of 1 example as shown"},
		{"block of go", "```go\nfriday := time.Date(2024, 3, 1, 9, 30, 0, 0, time.UTC)\nunused := 3\nWith(friday).Add(3)  // 2024-03-04 09:30:00\n" +
			"days.With(friday).Add(1)  // 2024-03-03\ndays.With(friday).Add(1)  // => Saturday\n```", nil,
			map[string]string{"go.mod": "module x\n\ngo 1.24\n", "days.go": "package days\n\nimport \"time\"\n\ntype Day struct{ time.Time }\n\n" +
				"func With(t time.Time) Day { return Day{t} }\n\nfunc (d Day) Add(n int) time.Time { return d.AddDate(0, 0, n) }\n"},
			differs("the plan shows that days.With(friday).Add(1) returns 2024-03-03, but it returns 2024-03-02 09:30:00 +0000 UTC"),
			"1 of 3 examples as shown; not decided: days.With(friday).Add(1): it returns time.Date(2024, time.March, 2, 9, 30, 0, 0, time.UTC), which cannot be compared with what the plan shows"},
		{"block of go that panics", "```go\nc := New(2)\nc.Total() // 3\n```", nil,
			map[string]string{"go.mod": "module x\n\ngo 1.24\n", "c.go": "package x\n\ntype Cart struct{}\n\nfunc New(int) Cart { panic(\"no\") }\n\nfunc (Cart) Total() int { return 2 }\n"},
			nil, "0 of 1 example as shown; not decided: c.Total(): the code before it panics: no"},
		{"block of python", "```python\nfrom shop import Cart\nfrom no_such_library import x\ncart = Cart()\ncart.add(\"a\", 2)\nassert cart.total() == 4\nassert cart.add(\"b\", 1) == 6\nassert cart.total() == 7\n```",
			nil, map[string]string{"shop.py": pyCart}, differs("the plan shows that cart.total() returns 7, but it returns 6"), "2 of 3 examples as shown"},
		{"code before that fails", "```python\ncart = Cart()\ncart.put(1)\ncart.total()  # => 4\n```", nil, map[string]string{"shop.py": pyCart}, nil,
			"0 of 1 example as shown; not decided: cart.total(): the code before it raises AttributeError: 'Cart' object has no attribute 'put'"},
		{"session", "```\n>>> c = Cart()\n>>> c.total()\n0\n>>> c.add('a', 1)\n3\n>>> c.total()\n2\n>>> c.add('a', -1)\nTraceback (most recent call last):\nValueError: n\n```",
			nil, map[string]string{"shop.py": pyCart}, differs("the plan shows that c.add('a', 1) returns 3, but it returns 2"), "3 of 4 examples as shown"},
		{"block of javascript", "```js\nimport Counter from 'counter'\nconst c = new Counter(2)\nc.add(3)\nc.value // => 5\nc.missing // => 6\nc.add(1) // => [1]\n```", nil,
			map[string]string{"use.js": "const Counter = require('./counter')\nexports.x = new Counter(1)\n",
				"counter.js": "module.exports = class Counter {\n  constructor (n) { this.value = n }\n  add (n) { this.value += n }\n}\n"}, differs("the plan shows that c.missing returns 6, but it returns undefined"),
			"1 of 3 examples as shown; not decided: c.add(1): it returns undefined, which cannot be compared with what the plan shows"},
		{"list of calls", "```js\nvar o = { a: [1, 2] }\nempty(o)\n//get\nget(o, 'a') // => [1, 2]\nget(o, 'a').length // => 4\n```", nil,
			map[string]string{"o.js": "exports.empty = o => { o.a = [] }\nexports.get = (o, k) => o[k]\n"},
			differs("the plan shows that get(o, 'a').length returns 4, but it returns 0"),
			"0 of 2 examples as shown; not decided: get(o, 'a'): the call has this result even without the calls before it"},
		{"time zone", "`hour(new Date(0))` is `77`", nil, map[string]string{"hour.js": "exports.hour = d => d.getTime()\n"}, nil,
			"0 of 1 example as shown; not decided: hour(new Date(0)): it returns 0, and this may depend on the machine or its time zone"},
		{"block of another language", "```ruby\nc = Cart.new\nc.total # => 0\n```", nil, map[string]string{"shop.py": pyCart}, nil,
			"0 of 1 example as shown; not decided: c.total: no file of Go, Python, JavaScript or Ruby defines Cart"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := gatetest.Change(t, c.before, c.after)
			s.Env, s.Base = os.Environ(), "base"
			b := planparse.Batch{Text: c.plan}
			g, ok := Gate(&b, Options{Files: func() []string { return slices.Sorted(maps.Keys(c.after)) }, Base: func(context.Context, gates.Subject) (string, []string, func(), error) {
				dir := t.TempDir()
				write(t, dir, c.before)
				return dir, nil, nil, nil
			}})
			if !ok {
				t.Fatal("no gate")
			}
			s.Dir = t.TempDir()
			write(t, s.Dir, c.after)
			rep, err := g.Check(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range rep.Findings {
				got = append(got, fmt.Sprintf("%s %s %s: %s", f.Severity, f.Rule, f.Path, f.Message))
			}
			if diff := cmp.Diff(c.want, got); diff != "" || rep.Note != c.note {
				t.Errorf("%s\nnote %q", diff, rep.Note)
			}
			if none := strings.HasPrefix(rep.Note, "0 of 1 ") && strings.Contains(rep.Note, "not decided"); none != (rep.Status == gates.Skipped) {
				t.Errorf("status %s with the note %q", rep.Status, rep.Note)
			}
		})
	}
}

// Without the interpreter of a language, its examples are not decided.
func TestMissingProgram(t *testing.T) {
	s := gatetest.Change(t, nil, map[string]string{"slug.rb": "def slugify(t)\n  t\nend\n"})
	s.Dir = t.TempDir()
	write(t, s.Dir, map[string]string{"slug.rb": "def slugify(t)\n  t\nend\n"})
	s.Env = []string{"PATH=" + t.TempDir()}
	b := planparse.Batch{Text: "`slugify(\"A b\")` returns `\"a-b\"`."}
	g, _ := Gate(&b, Options{Files: func() []string { return []string{"slug.rb"} }})
	rep, err := g.Check(t.Context(), s)
	if err != nil || len(rep.Findings) > 0 || rep.Note == "" {
		t.Errorf("%+v, %v", rep, err)
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMain(m *testing.M) {
	for _, program := range []string{"python3", "node", "ruby", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			fmt.Fprintf(os.Stderr, "these tests need %s: %v\n", program, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
