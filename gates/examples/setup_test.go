package examples

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Examples of blocks with code before them, as setup | call | want.
func TestPrepared(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"```ruby\nopts = Slop.parse(%w(--lines 3..7)) do |o|\n  o.range \"--lines\"\nend\nopts[:lines] # => 3..7\nopts.size #=> 1\n```", []string{
			"opts = Slop.parse(%w(--lines 3..7)) do |o|\n  o.range \"--lines\"\nend | opts[:lines] | 3..7",
			"opts = Slop.parse(%w(--lines 3..7)) do |o|\n  o.range \"--lines\"\nend\nopts[:lines] | opts.size | 1"}},
		{"```go\nfriday := time.Date(2024, 3, 1, 9, 30, 0, 0, time.UTC)\nWith(friday).AddBusinessDays(1)  // 2024-03-04 09:30:00\n```",
			[]string{"friday := time.Date(2024, 3, 1, 9, 30, 0, 0, time.UTC) | With(friday).AddBusinessDays(1) | 2024-03-04 09:30:00"}},
		{"```go\npackage main\n\nimport (\n\t\"fmt\"\n)\n\nfunc main() {\n\tc := cart.New(2)\n\tfmt.Println(c.Total()) // 2\n\tc.Size // 1, nil\n\t_ = c.Has(1) // true\n\tn := c.Pop() // 3\n}\n```",
			[]string{"c := cart.New(2) | c.Total() | 2", "c := cart.New(2)\nc.Total() | c.Size | 1", "c := cart.New(2)\nc.Total()\n_ = c.Size | c.Has(1) | true",
				"c := cart.New(2)\nc.Total()\n_ = c.Size\nc.Has(1)\nn := c.Pop() | n | 3"}},
		{"```python\nfrom shop import Cart\ncart = Cart()\ncart.add(\"a\", 2)\nassert cart.total() == 4\nassert cart.ok\ncart.size  # 1 item\ncart.size  # 1\n```",
			[]string{"from shop import Cart\ncart = Cart()\ncart.add(\"a\", 2) | cart.total() | 4",
				"from shop import Cart\ncart = Cart()\ncart.add(\"a\", 2)\ncart.total()\ncart.size | cart.size | 1"}},
		{"```js\nimport Counter from 'counter'\nconst c = new Counter(2)\nc.add(3)\nc.value // => 5\nconst d = c.next();\n//=> { value: 1,\n//   done: true }\nassert.equal(c.value, 6)\n```",
			[]string{"const c = new Counter(2)\nc.add(3) | c.value | 5",
				"const c = new Counter(2)\nc.add(3)\nc.value\nconst d = c.next(); | d | { value: 1, done: true }",
				"const c = new Counter(2)\nc.add(3)\nc.value\nconst d = c.next(); | c.value | 6"}},
		{"```\n>>> c = Cart(\n...     2)\n>>> c.total()\n2\n>>> c.pop(3)\nTraceback (most recent call last):\n  File \"x\"\nshop.EmptyError: no\n>>> c[0] = 1\n>>> c.total()\n1\n```",
			[]string{"c = Cart(\n    2) | c.total() | 2", "c = Cart(\n    2)\nc.total() | c.pop(3) | !EmptyError", "c = Cart(\n    2)\nc.total()\nc[0] = 1 | c.total() | 1"}},
		{"```js\nlet x = new Big(2)\nx = x.div(0) // TypeError: [big.js] Invalid\nx.e // => 0\n```",
			[]string{"let x = new Big(2) | x.div(0) | !TypeError", "let x = new Big(2) | x.e | 0"}},
		{"```irb\nirb> c = Cart.new\n=> #<Cart>\nirb> c.total\n=> 0\n```", []string{"c = Cart.new | c.total | 0"}},
		{"  ```js\n  const c = new Counter(2)\n  c.value // => 5\n  ```", []string{"const c = new Counter(2) | c.value | 5"}},

		{"```js\nsize.extend({})\nsize(2) // => 2\n```", nil}, // without a variable
		{"```js\nconst c = new Counter(Date.now())\nc.value // => 5\n```", nil},
		{"```js\nconst c = new Counter(...)\nc.value // => 5\n```", nil},
		{"```js\njest.mock('./c')\nconst c = new Counter(2)\nc.value // => 5\n```", nil},
		{"```js\nconst c = new Counter(2)\nif (c) {\n  c.value // => 5\n}\n```", nil},
		{"```js\nconst c = new Counter(2)\n// Today, wrongly:\nc.value // => 5\nc.value // counts\n```", nil},
		{"```js\nit('counts', () => {\nconst c = new Counter(2)\nc.value // => 5\n})\n```", nil}, // plan:given-tests runs tests
		{"```ruby\nopts = Slop.parse(ARGV)\nopts[:a] # => 1\nday = Chronic.parse('tomorrow')\nday.day # => 2\n```", nil},
		{"```python\nf = open(\"x\")\nc = Cart(f)\nc.total()  # => 2\n```", nil},
		{"```rust\nlet c = Cart::new();\nc.total() // => 2\n```", nil},
		{"const c = new Counter(2)\nc.value // => 5\n", nil},
	} {
		var got []string
		for _, e := range prepared(c.text) {
			if e.Raises != "" {
				e.Want = "!" + e.Raises
			}
			got = append(got, e.Setup+" | "+e.Call+" | "+e.Want)
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
}

// An example with set-up differs only if the two values can be compared.
func TestJudged(t *testing.T) {
	for _, c := range []struct {
		want        string
		signed      bool
		shown, text string
		state       state
	}{
		{"5", false, "6", "6", differs},
		{"5", false, `"5"`, "5", unknown},
		{"'a'", false, `"b"`, "b", differs},
		{"3.14", false, "3.14159", "3.14159", unknown},
		{"[1, 2]", false, "[ 2, 1 ]", "2,1", unknown},
		{"[1, 2]", false, "[ 2, 3 ]", "2,3", differs},
		{"[1]", false, "undefined", "undefined", unknown},
		{"5", true, "undefined", "undefined", differs},
		{"5", true, "#<Cart>", "#<Cart>", unknown},
		{"#<Cart>", true, "#<Cart>", "a", holds},
		{"2024-03-04 09:30:00", false, "time.Date(x)", "2024-03-04 09:30:00 +0000 UTC", holds},
		{"2024-03-04 09:30:00", false, "time.Date(x)", "2024-03-05 09:30:00 +0000 UTC", differs},
		{"2024-03-04", false, "time.Date(x)", "Mon Mar  4 09:30:00", unknown},
		{"3..7", true, "3...7", "3...7", differs},
		{"alice", true, "nil", "", unknown},
	} {
		e := Example{Call: "c", Setup: "c", Want: c.want, Signed: c.signed}
		if got := e.judged(result{State: differs, Shown: c.shown, Text: c.text}).State; got != c.state {
			t.Errorf("%s and %s: %s instead of %s", c.want, c.shown, got, c.state)
		}
	}
}

func TestPreparedTellsLine(t *testing.T) {
	got := prepared("Add it.\n\n```js\nconst c = new Counter(2)\nc.value // => 5\n```\n")
	if len(got) != 1 || got[0].Line != 5 {
		t.Errorf("%+v", got)
	}
}

func FuzzPrepared(f *testing.F) {
	f.Add("```js\nconst c = new Counter(2)\nc.value // => 5\n```")
	f.Add("```\n>>> c = C(\n... 1)\n>>> c\n1\n```")
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range prepared(text) {
			if e.Call == "" || (e.Want == "") == (e.Raises == "") || e.Line < 1 || strings.TrimSpace(e.Setup) == "" {
				t.Errorf("%q: %+v", text, e)
			}
			_ = e.leads()[0].root()
		}
	})
}
