package history

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/training"
)

// An intent is what a message says has to be done, without numbers of issues and types.
func TestIntentOf(t *testing.T) {
	for message, want := range map[string]string{
		"fix(parser): read empty lines as text (#12)":                    "read empty lines as text",
		"Fix: comma-spacing has false positives (fixes #1457)":           "Fix: comma-spacing has false positives",
		"Fix: don't validate schemas for disabled rules (fixes #7) (#8)": "don't validate schemas for disabled rules",
		"Fix #3702: abstract styling of figure legends":                  "Fix: abstract styling of figure legends",
		"Close #1776: source_suffix causes an error":                     "Fix: source_suffix causes an error",
		"Fixed a bug of the parser that caused PATH and\nNAME to be empty.": "Fixed a bug of the parser that caused PATH " +
			"and NAME to be empty.",
		"[i18n][man] add missing deunicode().":                      "add missing deunicode().",
		"caddytls: Reorder provisioning steps (fix #6877)":          "caddytls: Reorder provisioning steps",
		"Read the settings at the start, see GH-4":                  "Read the settings at the start",
		"Fix it all (#12)":                                          "Fix it all (#12)", // too short without its number
		"Sort the lines of a report\n\nThey were in any order (#3)": "Sort the lines of a report",
	} {
		if got := intentOf(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

// An analysis is made only of tasks whose first line says their kind.
func TestClearKind(t *testing.T) {
	for task, want := range map[string]bool{
		"Fix the sum of carts":                      true,
		"Only move the window if it is open":        false,
		"Raise the version of Go":                   false,
		"server: rename Start to Serve":             true,
		"Load themes by iteration":                  false,
		"Load themes by iteration (fixes #12)":      false, // the number says nothing of the kind
		"chore: load themes by iteration":           false, // it may be of any kind
		"refactor: load themes by iteration":        true,
		"Add themes that were missing\n\nFixes #12": false,
		"Fix a typo in the docs of themes":          false,
		"Make the loop of themes faster":            false,
		"Add a comment about themes":                false,
		"feat: load themes by iteration":            true,
		"Load themes by iteration\n\nFix the loop":  false,
	} {
		if got := clearKind(query{text: task, intent: intentOf(task), kind: retrieve.KindOf(task)}); got != want {
			t.Errorf("%q: %v", task, got)
		}
	}
}

// asking is a commit that changes one file, with the keywords of its task.
func asking(task, path, now string) *work {
	w := changing(path, task, "old()\n", now+"\n")
	w.keywords = keywords(task)
	return w
}

// Concepts are rows of words of the task, of which the changed code has one, or all if they are not in the first line.
func TestConcepts(t *testing.T) {
	for _, tt := range []struct {
		task, path, now string
		want            []string
	}{
		{"Remove the infinite recursion check", "map.go", "check(recursion)", []string{"infinite recursion check"}},
		{"comma-spacing has false positives when parenthesis are used", "rules/comma-spacing.js", "x(positive)",
			[]string{"comma-spacing", "false positives"}},
		{"Add `unnecessary` option to `quote-props`", "a.js", "props(option)", []string{"quote-props"}},
		{"Read labels\n\nThe reader being confused, the old labels and other small labels stay.", "a.go", "labels(old)",
			[]string{"read labels"}},
		{"Read labels\n\nThe old labels have colors of the theme.\nNo other colors of the theme are read.", "a.go",
			"labels(colors, theme)", []string{"read labels", "colors", "theme"}},
		{"Fix spurious whitespace: the parser contains error code handling", "a.go", "labels(code)",
			[]string{"spurious whitespace", "error code handling"}},
		{"Fix `handlerErr.Err` of loadConfig in http/2.0", "a.go", "handlerErr.Err(loadConfig)", []string{"load config"}},
		{"Show the status\n\n    status code in a block\n\nSee https://example.org/status", "a.go", "status()",
			[]string{"status"}},
	} {
		if d := cmp.Diff(tt.want, asking(tt.task, tt.path, tt.now).concepts()); d != "" {
			t.Errorf("%q:\n%s", tt.task, d)
		}
	}
}

// A task lets its readers expect names that share half of their words with it, or the class of a name that does not.
func TestExpectedNames(t *testing.T) {
	w := asking("Read literalinclude options, and the status code of the web server with a str", "a.go", "x")
	for name, want := range map[string]string{"LiteralInclude.run": "LiteralInclude", "WebServer": "WebServer",
		"Reply.statusOf": "Reply.statusOf", "parseCaddyfile": "", "Server.Run": "Server", "ServerRun": "",
		"Server.__str__": "Server", "Error.__str__": "",
		"readEverySingleLine": "",
		"exports":             ""} {
		if got := w.expected(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The symbols of an analysis are names that the task mentions and the changed file has. Hosts, paths, words such as None
// and the first word of a name with hyphens are none.
func TestSuggestedNames(t *testing.T) {
	w := asking("Let `load_theme` of Book.open return `None`, see github.com and a/readPage.js, for `no-empty` and `Chapter`",
		"a.go", "load_theme(Book.open, None, readPage, no, github)")
	w.words = map[string]bool{"no": true}
	if d := cmp.Diff([]string{"load_theme", "Book.open"}, w.suggested(query{})); d != "" {
		t.Error(d)
	}
}

// Tests of the changed code show what is expected, so they are relevant; in Go, these are in its folder.
func TestTestedBy(t *testing.T) {
	for test, path := range map[string]string{"tests/test_parser.py": "src/parser.py", "a/parser_test.go": "a/parser.go",
		"tests/lib/rules/semi.js": "lib/rules/semi.js"} {
		if got := asking("x", path, "b").testedBy(test); got != path {
			t.Errorf("%s tests %q, not %s", test, got, path)
		}
	}
	for test, path := range map[string]string{"b/parser_test.go": "a/parser.go", "tests/roots/a/conf.py": "docs/conf.py",
		"tests/test_lexer.py": "src/parser.py",
		"src/parser.py":       "lib/parser.py", "tests/__init__.py": "src/__init__.py"} {
		if got := asking("x", path, "b").testedBy(test); got != "" {
			t.Errorf("%s tests %s", test, got)
		}
	}
}

// Scope also offers files that the changed file imports but whose names the changed lines do not use: otherwise each
// imported file would be relevant.
func TestScopeOffersUnusedImports(t *testing.T) {
	r := newRepo(t)
	const rest = "-- shop/price.py --\ndef discount(cents):\n    return cents\n-- shop/mail.py --\ndef send(text):\n    " +
		"return text\n"
	const cart = "-- shop/cart.py --\nfrom shop.mail import send\nfrom shop.price import discount\n\n\ndef order():\n" +
		"    send('ordered')\n\n\ndef total(cart):\n    return sum(cart)\n"
	r.commit("Begin the shop with carts and prices", cart+rest)
	r.commit("Fix the total of the cart: return the discount of the sum",
		strings.Replace(cart, "return sum(cart)", "return discount(sum(cart))", 1))
	o := r.options(t.TempDir())
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	e := examples(t, o.Dir, training.Scope)[0]
	for file, want := range map[string]string{
		"f01": `shop/cart.py  (it has words of the task: cart)`, "f02": `shop/mail.py  (imported by shop/cart.py)`,
		"f03": "shop/price.py  (the task does not name `discount`, but may need it)"} {
		if !strings.Contains(e.Prompt[0].Content, file+"  "+want) {
			t.Errorf("%s is not %s:\n%s", file, want, e.Prompt[0].Content)
		}
	}
	if want := `{"f01":{"relevant":true,"reason":"it must be changed"},"f02":{"relevant":false,` +
		`"reason":"no part of it changes"},"f03":{"relevant":true,"reason":"the change uses discount of it"}}`; e.Completion != want {
		t.Errorf("the answer is\n%s\nnot\n%s", e.Completion, want)
	}
}

// Scope does not ask about a changed test to which the task does not point.
func TestScopeOmitsUnexpectedTests(t *testing.T) {
	r := newRepo(t)
	const cart = "def total(cart):\n    return sum(cart)\n"
	const tests = "def test_order():\n    assert 1\n"
	others := ""
	for _, name := range []string{"names", "labels", "colors", "sizes"} {
		others += "-- shop/cart_" + name + ".py --\ndef show_" + name + "(x):\n    return x\n"
	}
	r.commit("Begin the shop with carts and prices", "-- shop/cart.py --\n"+cart+"-- shop/test_cart.py --\n"+tests+others)
	r.commit("Fix the total of the cart: return the sum rounded", "-- shop/cart.py --\n"+
		strings.Replace(cart, "sum(cart)", "round(sum(cart))", 1)+"-- shop/test_cart.py --\n"+
		strings.Replace(tests, "1", "True", 1))
	o := r.options(t.TempDir())
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	e := examples(t, o.Dir, training.Scope)[0]
	if text := e.Prompt[0].Content; strings.Contains(text, "test_cart.py") || !strings.Contains(text, "shop/cart.py") {
		t.Errorf("%s", text)
	}
}
