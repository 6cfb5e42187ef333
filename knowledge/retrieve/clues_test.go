package retrieve

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Paths, names and errors in a task are found in each common notation.
func TestFindClues(t *testing.T) {
	type found struct{ Paths, Names, Errors []string }
	for name, tc := range map[string]struct {
		task string
		want found
	}{
		"paths, with and without a line": {
			"Look at src/app.py:12, ./web/a.ts and (docs/x.md). README.md too; not e.g. this, and not 3.5 or " +
				"https://example.org/a.py.",
			found{Paths: []string{"src/app.py:12", "./web/a.ts", "docs/x.md", "README.md"}},
		},
		"names in backticks, calls, camel and snake": {
			"`run` calls load_config() and HTTPServer.serve; fooBar stays. Plain words and JSON do not count.",
			found{Names: []string{"run!", "load_config!", "HTTPServer.serve", "fooBar"}},
		},
		"a call with arguments": {"`parse(text, 3)` fails", found{Names: []string{"parse!"}}},
		"names of C++ and Ruby style": {
			"`Cart::total` and `Cart#add`", found{Names: []string{"Cart.total!", "Cart.add!"}},
		},
		"a trace of Python": {
			"It dies:\n\nTraceback (most recent call last):\n  File \"/srv/app/shop/cart.py\", line 20, in total\n    return " +
				"self.sum_up()\n" +
				"  File \"shop/x.py\", line 3, in <module>\nshop.errors.CartError: no items\n",
			found{
				Paths: []string{"/srv/app/shop/cart.py:20", "shop/x.py:3"}, Names: []string{"total!", "self.sum_up!"},
				Errors: []string{"python /srv/app/shop/cart.py:20 total", "python shop/x.py:3 <module>",
					"python shop.errors.CartError: no items"},
			},
		},
		"a panic of Go": {
			"panic: runtime error: index out of range [3]\n\ngoroutine 1 [running]:\nexample.org/shop/cart.(*Cart).Total(0x1, " +
				"0x2)\n\t/home/x/cart/cart.go:14 +0x1d\nmain.main()\n\t/home/x/main.go:8 +0x20\n",
			found{
				Paths: []string{"/home/x/cart/cart.go:14", "/home/x/main.go:8"}, Names: []string{"Cart.Total!", "main!"},
				Errors: []string{"go runtime error: index out of range [3]", "go /home/x/cart/cart.go:14 Cart.Total",
					"go /home/x/main.go:8 main"},
			},
		},
		"a stack of JavaScript": {
			"TypeError: x is undefined\n    at Cart.total (/app/src/cart.js:10:5)\n    at file:///app/src/main.mjs:3:1\n    " +
				"at async Promise.all (index 0)\n",
			found{
				Paths: []string{"/app/src/cart.js:10", "/app/src/main.mjs:3"}, Names: []string{"Cart.total!", "Promise.all"},
				Errors: []string{"javascript TypeError: x is undefined", "javascript /app/src/cart.js:10 Cart.total",
					"javascript /app/src/main.mjs:3"},
			},
		},
		"compilers and test runners": {
			"cart/cart.go:3:2: undefined: price\nsrc/a.ts(4,7): error TS2304: Cannot find name 'b'.\nFAILED " +
				"tests/test_a.py::TestA::test_b[1-2] - assert 1 == 2\n--- FAIL: TestTotal (0.00s)\n",
			found{
				Paths: []string{"cart/cart.go:3", "src/a.ts:4", "tests/test_a.py"}, Names: []string{"TestA.test_b!", "TestTotal!"},
				Errors: []string{
					"compiler undefined: price cart/cart.go:3", "compiler error TS2304: Cannot find name 'b'. src/a.ts:4",
					"pytest assert 1 == 2 tests/test_a.py TestA.test_b", "go --- FAIL: TestTotal (0.00s) TestTotal",
				},
			},
		},
		"prose with colons is not an error": {"Note: see section 3: it is here.", found{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := findClues(tc.task)
			var got found
			for _, p := range c.Paths {
				got.Paths = append(got.Paths, strings.TrimSuffix(fmt.Sprintf("%s:%d", p.Path, p.Line), ":0"))
			}
			for _, n := range c.Names {
				sure := ""
				if n.Sure {
					sure = "!"
				}
				got.Names = append(got.Names, n.Name+sure)
			}
			for _, e := range c.Errors {
				place := strings.TrimSuffix(fmt.Sprintf("%s:%d", e.File, e.Line), ":0")
				got.Errors = append(got.Errors,
					strings.Join(strings.Fields(strings.Join([]string{e.Kind, e.Message, place, e.Symbol}, " ")), " "))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The first keyword decides the kind of work; a quoted error makes it a bug fix.
func TestKindOf(t *testing.T) {
	for task, want := range map[string]TaskKind{
		"Fix the total, and add a test":          BugFix,
		"Add a flag --json":                      Feature,
		"Rename Cart to Basket":                  Refactor,
		"Write tests for the cart":               Testing,
		"Document the settings":                  Docs,
		"Loading is slow":                        Speed,
		"The cart":                               Other,
		"Support this:\nValueError: bad literal": BugFix,
		"feat(cart)!: read broken lines":         Feature,
		"Chore: fix the cart":                    Other,
	} {
		if got := findClues(task).Kind; got != want {
			t.Errorf("%q is %s, want %s", task, got, want)
		}
	}
}

// Keywords are unique and in lower case; camel-case names are split into words, and words without meaning are left
// out.
func TestKeywords(t *testing.T) {
	got := keywords("Please make loadHTTPConfig and the retry_limit work: the Retry should wait 30 seconds")
	want := []string{"load", "http", "config", "retry", "limit", "wait", "seconds"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzFindClues(f *testing.F) {
	for _, s := range []string{
		shopTask, "`a.b::c#d`", "x:1:2: y", "\xff\xfe`\x00`", "C:\\a\\b.py:3", "a/b:999999999999", strings.Repeat("at (", 50),
		"`(`", "FAILED a.py::b[", "::", "/:1", ":/.a:1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := findClues(text)
		if !slices.Equal(c.Keywords, findClues(text).Keywords) {
			t.Error("another answer the second time")
		}
		if len(c.Paths) > maxClues || len(c.Names) > maxClues || len(c.Errors) > maxClues || len(c.Keywords) > maxKeywords {
			t.Error("more than the limit")
		}
		for _, p := range c.Paths {
			if p.Path == "" || p.Line < 0 || !utf8.ValidString(p.Path) || strings.ContainsAny(p.Path, "\n\x00") {
				t.Errorf("path %q:%d", p.Path, p.Line)
			}
		}
		for _, n := range c.Names {
			if !nameRE.MatchString(n.Name) {
				t.Errorf("name %q", n.Name)
			}
		}
	})
}
