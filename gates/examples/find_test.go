package examples

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Example
	}{
		{"`slugify(\"a b\")` returns `\"a-b\"`.", []Example{{Call: `slugify("a b")`, Want: `"a-b"`}}},
		{"`slugify(\"a b\")` → `a-b`", []Example{{Call: `slugify("a b")`, Want: `a-b`}}},
		{"slugify(\"a b\") should\nreturn \"a-b\", since", []Example{{Call: `slugify("a b")`, Want: `"a-b"`}}},
		{"`add(1, 2)` gives 3.", []Example{{Call: `add(1, 2)`, Want: `3`}}},
		{"`add(1, 2)` gives 3 items.", nil},
		{"`count([1, 2])` is `2`, `count([])` is `0`.", []Example{{Call: `count([1, 2])`, Want: `2`}, {Call: `count([])`, Want: `0`}}},
		{"| `slug.Make(\"a b\")` | `a-b` |", []Example{{Call: `slug.Make("a b")`, Want: `a-b`}}},
		{"`parse(\"\")` raises `ValueError`", []Example{{Call: `parse("")`, Raises: `ValueError`}}},
		{"`Parse(\"x\")` returns an error", []Example{{Call: `Parse("x")`, Raises: AnyError}}},
		{"```python\nslugify(\"a b\")  # => \"a-b\"\nslugify(\"é\")  # 'e'\nslugify(\"x\")  # drops marks\n```",
			[]Example{{Call: `slugify("a b")`, Want: `"a-b"`}, {Call: `slugify("é")`, Want: `'e'`}}},
		{"```js\nassert.deepEqual(parse('a=1'), { a: '1' })\nexpect(parse('b')).toEqual([])\n```",
			[]Example{{Call: `parse('a=1')`, Want: `{ a: '1' }`}, {Call: `parse('b')`, Want: `[]`}}},
		{"```python\nassert slugify(\"a b\") == \"a-b\"\nassert slugify(\"a\") == \"a\" + x\n```",
			[]Example{{Call: `slugify("a b")`, Want: `"a-b"`}}},
		{"```\n>>> slugify(\"a b\")\n'a-b'\n```", []Example{{Call: `slugify("a b")`, Want: `'a-b'`}}},
		{"`Schema(Regex(r\"[a-z]+\", full=True)).is_valid(\"a1\")` is `False`",
			[]Example{{Call: `Schema(Regex(r"[a-z]+", full=True)).is_valid("a1")`, Want: `False`}}},
		{"`MultipleOf(5)(15)` returns `15`, and `MultipleOf(5)(12)` raises with the message `no`; `MultipleOf(0.1)(2)` raises.",
			[]Example{{Call: `MultipleOf(5)(15)`, Want: `15`}, {Call: `MultipleOf(5)(12)`, Raises: AnyError}, {Call: `MultipleOf(0.1)(2)`, Raises: AnyError}}},
		{"`Size(1)(None)` raises `SizeInvalid`, `size(1)` raises the limit", []Example{{Call: `Size(1)(None)`, Raises: `SizeInvalid`}}},
		{"`Cart(\"a\").total(2)` is `4`", []Example{{Call: `Cart("a").total(2)`, Want: `4`}}},
		{"`pad(\"a\", width=3)` is `\"  a\"`", []Example{{Call: `pad("a", width=3)`, Want: `"  a"`}}},
		{"```go\nfunc TestMake(t *testing.T) {\n\tif got := Make(\"a b\"); got != \"a-b\" {\n\t\tt.Error(got)\n\t}\n\tassert.Equal(t, \"c\", Make(\"c\"))\n}\n```",
			[]Example{{Call: `Make("a b")`, Want: `"a-b"`}, {Call: `Make("c")`, Want: `"c"`}}},
		{"```ruby\nit \"joins\" do\n  expect(slugify(\"a b\")).to eq(\"a-b\")\nend\n```", []Example{{Call: `slugify("a b")`, Want: `"a-b"`}}},
		{"```python\ndef test_a():\n    assert f(1) == 2\n\ndef test_b():\n    db.add(3)\n    assert f(3) == 4\n\ndef test_c(db):\n    assert f(5) == 6\n```",
			[]Example{{Call: `f(1)`, Want: `2`}}},
		{"```python\n@with_server(\"a.b\")\ndef test_a():\n    assert f(1) == 2\n```", nil},
		{"```js\njest.mock('./api')\ntest('a', () => {\n  expect(f(1)).toBe(2)\n})\n```", nil},
		{"```js\nvar size = require('size')\nsize(1024);\n// output: '1KB'\n\nsize(2048);\n// '2KB'\nconsole.log(size(1)); // => 'B'\nsize(3) // three-b\n```",
			[]Example{{Call: `size(1024)`, Want: `'1KB'`}, {Call: `size(2048)`, Want: `'2KB'`}, {Call: `size(1)`, Want: `'B'`}, {Call: `size(3)`, Want: `three-b`}}},
		{"```js\nsize(1) // is-one\nsize.extend({})\nsize(2) // is-two\n```", []Example{{Call: `size(1)`, Want: `is-one`}}},
		{"    >>> words(42)\n    forty-two\n", []Example{{Call: `words(42)`, Want: `forty-two`}}},
		// tables of inputs and results
		{"`titleCase` has capitals at the edges:\n\n| Input | Result |\n|---|---|\n| `the-fox` | `The Fox` |\n| `a` | `A` |\n| `a\\|b` | `A\\|B` |\n",
			[]Example{{Call: `titleCase("the-fox")`, Want: `The Fox`}, {Call: `titleCase("a")`, Want: `A`}, {Call: `titleCase("a|b")`, Want: `A|B`}}},
		{"`ordinal(n)` writes:\n\n| n | returns |\n|--:|---|\n| 1 | `\"1st\"` |\n| 2 | `\"2nd\"` |\n",
			[]Example{{Call: `ordinal(1)`, Want: `"1st"`, Other: `ordinal("1")`}, {Call: `ordinal(2)`, Want: `"2nd"`, Other: `ordinal("2")`}}},
		{"`pad(text, width)` is wanted.\n\n| width | text | note | expected |\n|---|---|---|---|\n| 3 | `\"a\"` | right | `\"  a\"` |\n",
			[]Example{{Call: `pad("a", 3)`, Want: `"  a"`, Other: `pad("\"a\"", "3")`}}},
		{"Change `parse`:\n\n| Text | Today | Result |\n|---|---|---|\n| `1h` | 1 | 3600 |\n| `x` | 0 | `ValueError` |\n",
			[]Example{{Call: `parse("1h")`, Want: `3600`}, {Call: `parse("x")`, Raises: `ValueError`}}},
		{"Add `accepts`, called as `accepts(kind, header)`, which returns `True` or `False`.\n\n| kind | header | result |\n|---|---|---|\n| `a/b` | `` | `True` |\n",
			[]Example{{Call: `accepts("a/b", "")`, Want: `True`}}},
		{"A function `valid(cookie: Cookie): boolean` needs `secure`.\n\n| Cookie | Result |\n|---|---|\n| `{ name: \"a\" }` | `true` |\n",
			[]Example{{Call: `valid({ name: "a" })`, Want: `true`}}},
		{"`Parse` must return an error.\n\n| Text | Error |\n|---|---|\n| `P` | `ErrShort` |\n", []Example{{Call: `Parse("P")`, Raises: `ErrShort`, Firm: true}}},
		{"`parse` reads:\n\n| Input | Result | Error |\n|---|---|---|\n| `a` | 1 | nil |\n", nil},
		{"`load()` has defaults.\n\n| Setting | Result |\n|---|---|\n| `retries` | 3 |\n", nil},
		{"`parse` and `format`:\n\n| Input | Result |\n|---|---|\n| `a` | `b` |\n", nil},
		{"`parse` currently gives:\n\n| Input | Result |\n|---|---|\n| `a` | `b` |\n", nil},
		{"`parse` reads:\n\n| Input | Meaning |\n|---|---|\n| `a` | `b` |\n", nil},
		{"`parse` reads:\n\n| a | b | Result |\n|---|---|---|\n| `a` | `b` | 3 |\n", nil},
		{"`parse` reads:\n\n| Input | Result |\n|---|---|\n| `\"a\"` | 1 |\n| all others | 2 |\n", nil},
		// values that are no values, and calls with variables
		{"`slugify(text)` returns `\"a\"`", nil},
		{"`slugify(text) -> str`", nil},
		{"`is_open(\"a\") -> bool`", nil},
		{"`get(\"a\")` returns `string`", nil},
		{"`get(\"a\")` returns `[]string`", nil},
		{"`now()` returns `3`", nil},
		{"`f(\"a…\")` returns `\"b\"`", nil},
		// sentences about the code as it is, and conditions
		{"Currently `slugify(\"a b\")` returns `\"a b\"`.", nil},
		{"`slugify(\"a b\")` must not return `\"a b\"`.", nil},
		{"`slugify(\"a b\")` returns `\"a\"` if the limit is 1.", nil},
		{"`slugify(\"a b\")` should return `\"a-b\"`, not `\"a b\"` as it does today.",
			[]Example{{Call: `slugify("a b")`, Want: `"a-b"`}}},
		{"```python\n# Today, wrongly:\nslugify(\"a b\")  # => \"a b\"\n```", nil},
		// calls that act on the world
		{"`os.remove(\"a\")` returns `None`", nil},
		{"`delete_user(\"a\")` returns `true`", nil},
		{"`remove_accents(\"é\")` returns `\"e\"`", []Example{{Call: `remove_accents("é")`, Want: `"e"`}}},
	} {
		if diff := cmp.Diff(c.want, Find(c.text), cmpopts.IgnoreFields(Example{}, "Line", "Firm", "Printed")); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
}

func TestFirm(t *testing.T) {
	for text, want := range map[string]bool{
		"`f(1)` returns `2`.":                            false,
		"`f(1)` should return `2`.":                      true,
		"`f(1)` should not be slow. `f(1)` returns `2`.": false,
		"```python\nassert f(1) == 2\n```":               true,
		"```js\nexpect(f(1)).toBe(2)\n```":               true,
		"```js\nf(1) // => 2\n```":                       false,
	} {
		if got := Find(text); len(got) != 1 || got[0].Firm != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestPrinted(t *testing.T) {
	for text, want := range map[string]bool{
		"```go\nfmt.Printf(\"%s\", f(1)) // 2\n```": true,
		"```js\nconsole.log(f(1)) // 2\n```":        true,
		"```js\nf(1) // 2\n```":                     false,
	} {
		if got := Find(text); len(got) != 1 || got[0].Printed != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestFindTellsLine(t *testing.T) {
	got := Find("Add it.\n\n- `f(1)` is `2`\n- `f(2)` is `3`\n")
	want := []Example{{Call: "f(1)", Want: "2", Line: 3}, {Call: "f(2)", Want: "3", Line: 4}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("`slugify(\"a b\")` returns `\"a-b\"`")
	f.Add("assert.equal(f([1, {a: 'x'}]), \"y\")")
	f.Add("| `f(\"(\")` | `x-y` |\n>>> g(1)\n2\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range Find(text) {
			if e.Call == "" || (e.Want == "") == (e.Raises == "") || e.Line < 1 {
				t.Errorf("%q: %+v", text, e)
			}
			_, _ = e.root(), e.last()
		}
	})
}
