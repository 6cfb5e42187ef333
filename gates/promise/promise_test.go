package promise

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/gatetest"
)

type tree []string

func (t tree) Files() []string { return t }

func (t tree) Ignored(context.Context, []string) (map[string]bool, error) { return nil, nil }

func TestHollowFiles(t *testing.T) {
	for _, c := range []struct {
		file, text, plan string
		want             bool
	}{
		{"docs/usage.md", "\n", "", true},
		{"docs/usage.md", "# Usage\n\nTODO: write it.\n", "", true},
		{"docs/usage.md", "# Usage\n\nRun calc 2 3.\n", "", false},
		{"docs/usage.md", "", "Create an empty file.", false},
		{"cli.py", "\"\"\"Prints sums.\"\"\"\n# TODO: print\npass\n", "", true},
		{"cli.py", "def main():\n    \"\"\"Print.\"\"\"\n    raise NotImplementedError\n", "", true},
		{"base.py", "class Base:\n    def run(self):\n        raise NotImplementedError\n", "", false},
		{"base.py", "class Base:\n    def run(self):\n        raise NotImplementedError\n\n\ndef main():\n    return Base().run()\n", "", true},
		{"base.py", "class Base(object):\n    def run(self):\n        raise NotImplementedError\n\n\nclass One(Base):\n    def run(self):\n" +
			"        return Base(), 1\n", "", false},
		{"more/__init__.py", "", "", false},
		{"calc.go", "package calc\n", "", true},
		{"calc.go", "package calc\n", "```go\npackage calc\n```", false},
		{"calc.h", "#define SIZE 3\n", "", false},
		{"cli.go", "package calc\n\nfunc Run() { panic(\"not implemented\") }\n", "", true},
		{"cli.go", "package calc\n\nfunc Run() { panic(\"not implemented\") }\n", "A skeleton follows.", false},
		{"cli.py", "def main(args):\n    \"\"\"Print.\"\"\"\n    # TODO: add\n    print(\"done\")\n", "", true},
		{"hello.py", "def main():\n    print(\"hello\")\n", "", false},
		{"errors.py", "class BadSum(Exception):\n    pass\n", "", false},
		{"port.py", "from typing import Protocol\n\n\nclass Port(Protocol):\n    def send(self): ...\n", "", false},
		{"div.js", "function div(a, b) {\n  // TODO: divide\n  return null;\n}\n\nmodule.exports = { div };\n", "", true},
		{"div.sh", "#!/bin/sh\n# Prints a quotient.\nexit 0\n", "", true},
		{"miles.py", "def to_miles(km):\n    return km\n", "", true},
		{"miles.py", "UNIT = 1.6\n\n\ndef to_miles(km):\n    return km\n", "", false},
		{"miles.py", "def to_miles(km):\n    return km / 1.6\n", "", false},
		{"miles.py", "def to_miles(km):\n    raise ValueError(f\"bad distance: {km}\")\n", "", true},
		{"sum.go", "package a\n\nfunc Sum(a, b int) int { return a + b }\n", "", false},
		{"sum.go", "package a\n\nfunc Sum(a, b int) int { return 0 }\n", "", true},
		{"sum.py", "def total(a, b): return a + b\n", "", false},
		{"miles.js", "function toMiles(km) {\n  throw new RangeError('bad');\n}\n\nmodule.exports = { toMiles };\n", "",
			true},
		{"fail.py", "def fail(why):\n    raise ValueError(why)\n", "", false},
		{"__main__.py", "from cli import run\n\n\ndef main():\n    raise SystemExit(run())\n", "", false},
	} {
		s := gatetest.Change(t, nil, map[string]string{c.file: c.text})
		s.Dir, s.Batch = t.TempDir(), planparse.Batch{Text: c.plan}
		file := filepath.Join(s.Dir, c.file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := (Options{Tree: tree{c.file}}).hollow(s, c.file); got != c.want {
			t.Errorf("%s %q: %v", c.file, c.text, got)
		}
	}
}

func TestBlankChanges(t *testing.T) {
	for _, c := range []struct {
		file, before, after, plan string
		want                      bool
	}{
		{"usage.md", "a b\n", "a b\n\n", "Describe add.", true},
		{"usage.md", "a b\n", "a b\n\n", "Format the guide.", false},
		{"usage.md", "a b\n", "a b c\n", "Describe add.", false},
		{"usage.md", "a b\n", "a b  \r\n", "Describe add.", true},
		{"usage.md", "if a:\n    b\n    c\n", "if a:\n    b\nc\n", "Describe add.", false},
		{"usage.md", "", "\n", "Describe add.", false},
		{"calc.js", "f(1);\n", "f(1);\n// Built.\n", "Correct f, and build it.", true},
		{"calc.js", "f(1);\n", "f(2);\n// Built.\n", "Correct f, and build it.", false},
		{"calc.py", "f(1)\n", "# Calls f.\nf(1)\n", "Explain the call of f.", false},
		{"calc.py", "f(1)\n", "# Calls f.\nf(1)\n", "f returns the wrong type for long texts.", true},
		{"calc.py", "f(1)\n", "# type: ignore\nf(1)\n", "Silence the type checker.", false},
		{"usage.md", "f\n", "# Usage\n\nf\n", "Add a title.", false},
	} {
		s := gatetest.Change(t, map[string]string{c.file: c.before}, map[string]string{c.file: c.after})
		s.Batch.Text = c.plan
		got, err := Options{}.blank(t.Context(), s, func(p string) bool { return p == c.file })
		if err != nil || got != c.want {
			t.Errorf("%q, %q: %v, %v", c.before, c.after, got, err)
		}
	}
}

// A test file of Node that could not run alone before is started by the project in another way, so nothing is known.
func TestFilesThatNeverRanAlone(t *testing.T) {
	const file, lost = "test/a.js", "import 'lost'\n"
	node := "#!/bin/sh\nif grep -q lost \"$2\"; then\n  echo \"Error: Cannot find module 'lost'\"\n  echo '# pass 0'\n" +
		"  echo '# fail 1'\n  exit 1\nfi\necho '# pass 1'\n"
	for _, c := range []struct{ before, after, want string }{
		{lost, lost + "a()\n", "warning plan/not-run " + file},
		{"a()\n", lost + "a()\n", "error plan/no-tests-ran " + file},
		{"", lost, "error plan/no-tests-ran " + file},
	} {
		old := map[string]string{file: c.before}
		if c.before == "" {
			old = nil
		}
		s := gatetest.Change(t, old, map[string]string{file: c.after})
		s.Dir = t.TempDir()
		for name, text := range map[string]string{file: c.after, "package.json": "{}", "bin/node": node} {
			p := filepath.Join(s.Dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o755)); err != nil {
				t.Fatal(err)
			}
		}
		s.Env = append(os.Environ(), "PATH="+filepath.Join(s.Dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
		b := planparse.Batch{Named: []planparse.Named{{Verb: "test", Path: file}}}
		room := func(_ context.Context, s gates.Subject) (string, []string, error) { return s.Dir, s.Env, nil }
		_, got := gatetest.Look(t, Gates(&b, Options{Tree: tree{file}, Room: room})[0], s)
		if diff := cmp.Diff([]string{c.want}, got); diff != "" {
			t.Error(diff)
		}
		if now, err := os.ReadFile(filepath.Join(s.Dir, file)); err != nil || string(now) != c.after {
			t.Errorf("the test is now %q, %v", now, err)
		}
	}
}

// A file that exists under the name in the plan is meant, and not the one that is built of it.
func TestModifiedFiles(t *testing.T) {
	for _, c := range []struct {
		name, changed string
		kept          bool
	}{
		{"calc.js", "calc.js", true},
		{"calc.js", "dist/calc.js", false},
		{"calc.js", "packages/a/calc.js", true},
		{"lib/calc.js", "packages/a/lib/calc.js", false},
		{"a/lib/calc.js", "packages/a/lib/calc.js", true},
	} {
		s := gatetest.Change(t, map[string]string{c.changed: "f(1);\n"}, map[string]string{c.changed: "f(2);\n"})
		b := planparse.Batch{Named: []planparse.Named{{Verb: "modify", Path: c.name}}}
		all := tree{"calc.js", "lib/calc.js", "dist/calc.js", "packages/a/calc.js", "packages/a/lib/calc.js"}
		if _, got := gatetest.Look(t, Gates(&b, Options{Tree: all})[0], s); (len(got) == 0) != c.kept {
			t.Errorf("%s, %s changed: %v", c.name, c.changed, got)
		}
	}
}

// A change of comments alone is none, unless the batch asks for comments or another layout.
func TestChangesOfComments(t *testing.T) {
	for _, c := range []struct {
		text, after string
		kept        bool
	}{
		{"It must work.", "# new\nf(1)\n", false},
		{"An empty string as the date format must work.", "# new\nf(1)\n", false},
		{"It keeps the spaces.", "f(1)\n# new\n", false},
		{"Add spaces.", "f(1)\n\n", true},
		{"Format the file.", "# new\nf(1)\n", true},
		{"Explain it.", "# new\nf(1)\n", true},
		{"It keeps the spaces.", "f(2)\n", true},
	} {
		s := gatetest.Change(t, map[string]string{"a.py": "f(1)\n"}, map[string]string{"a.py": c.after})
		s.Batch.Text = c.text
		b := planparse.Batch{Text: c.text, Named: []planparse.Named{{Verb: "modify", Path: "a.py"}}}
		if _, got := gatetest.Look(t, Gates(&b, Options{Tree: tree{"a.py"}})[0], s); (len(got) == 0) != c.kept {
			t.Errorf("%s %q: %v", c.text, c.after, got)
		}
	}
}

// A function that the batch adds by name is in the code, and not only in a comment.
func TestPromisedFunctions(t *testing.T) {
	const code = "\"\"\"Converts; to_km follows.\"\"\"\nANY = \"*/*\"\n\n\ndef to_miles(km):\n    \"\"\"Not */* at all.\"\"\"\n    return km / 1.6\n"
	for plan, want := range map[string]bool{
		"Create convert.py with a function to_miles(km) that converts\nand a function to_km(miles).": true,
		"Create convert.py with a function to_miles(km).":                                            false,
		"- Add the method `Unit.to_km`":                                                              true,
		"- [ ] Implement `to_km(miles)` in convert.py":                                               true,
		"- [x] Implement `to_km(miles)` in convert.py":                                               false,
		"**Step 3: Implement `Unit.to_km()`**":                                                       true,
		"Add a function that converts to km.":                                                        false,
		// in another style
		"Add a function ToMiles(km).":                                   false,
		"Add a function like to_km(miles).":                             false,
		"The function to_km(miles) is left for later.":                  false,
		"Add a function such as `to_km`, or extend to_miles(km).":       false,
		"1. **Add** tests. Implement the function `to_miles(km, unit)`": false,
	} {
		s := gatetest.Change(t, map[string]string{"README.md": "a\n"}, map[string]string{"convert.py": code})
		s.Dir, s.Batch.Text = t.TempDir(), plan
		if err := os.WriteFile(filepath.Join(s.Dir, "convert.py"), []byte(code), 0o644); err != nil {
			t.Fatal(err)
		}
		b := planparse.Batch{Text: plan, Named: []planparse.Named{{Verb: "create", Path: "convert.py"}}}
		_, got := gatetest.Look(t, Gates(&b, Options{Tree: tree{"convert.py"}})[0], s)
		if has := len(got) == 1; has != want {
			t.Errorf("%s: %v", plan, got)
		}
	}
}

// Lines of a new function are wrong, and leave a mark before they run; the others stay.
func TestWrongLines(t *testing.T) {
	for _, c := range []struct{ file, before, after, want string }{
		{"a.py", "def f(a):\n    return a - 1\n", "def f(a):\n    return a - 1\n\n\ndef g(a):\n    return a - 1\n",
			"def f(a):\n    return a - 1\n\n\ndef g(a):\n    open(\"M\", \"a\").close()\n    return a + 1\n"},
		{"a.go", "package a\n", "package a\n\nfunc f(a int) (int, error) {\n\treturn double(a), nil\n}\n",
			"package a\n\nfunc f(a int) (int, error) {\n\trunplanRan()\n\treturn runplanZero(double(a)), nil\n}\n"},
		{"a.go", "package a\n\nfunc (a *A) N() int { return a.n }\n",
			"package a\n\nfunc (a *A) N() int { return a.n }\n\nfunc (b *B) N() int {\n\treturn b.n + 1\n}\n",
			"package a\n\nfunc (a *A) N() int { return a.n }\n\nfunc (b *B) N() int {\n\trunplanRan()\n\treturn b.n - 1\n}\n"},
		{"a.js", "", "function f(a) {\n  return a - 1 || /^[a-f] [*] /.test(a);\n}\n",
			"function f(a) {\n  process.getBuiltinModule(\"fs\").writeFileSync(\"M\", \"\");\n  return a + 1 || /^[a-f] [*] /.test(a);\n}\n"},
		{"a.rs", "", "fn f(a: i64) -> i64 {\n    a - 1\n}\n",
			"fn f(a: i64) -> i64 {\n    std::fs::write(\"M\", \"\").ok();\n    a + 1\n}\n"},
		{"a.sh", "", "case $1 in\nsub) echo $(($2 - $3)) ;;\nesac\n",
			"case $1 in\nsub) : >\"M\"; echo $(($2 + $3)) ;;\nesac\n"},
		{"a.js", "", "function f(a) {\n  log('a - b'); // a - b\n  return 1;\n}\n",
			"function f(a) {\n  log('a - b'); // a - b\n  return 1;\n}\n"},
		{"a.md", "", "a - b\n", "a - b\n"},
		{"a.py", "def f(a):\n    return 1\n", "def f(a):\n    if a > 0:\n        return a - 1\n    return 1\n",
			"def f(a):\n    if a > 0:\n        return a - 1\n    return 1\n"}, // a shortcut in an old function
		{"a.py", "", "def f(a):\n    return  # a - 1\n", "def f(a):\n    return  # a - 1\n"},
		{"a.ts", "class A {\n}\n", "class A {\n  sub(a: number): number {\n    return a - 1;\n  }\n}\n", "class A {\n" +
			"  sub(a: number): number {\n    process.getBuiltinModule(\"fs\").writeFileSync(\"M\", \"\");\n    return a + " +
			"1;\n  }\n}\n"},
	} {
		f := gates.File{Change: gates.Change{Path: c.file}, Before: c.before, After: c.after}
		if c.before == "" {
			f.Status = gates.Added
		}
		if got := withWrong(f, worst(f), "M"); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.file, got, c.want)
		}
	}
}

// A function of which a plan and its tests speak returns at once.
func TestEmptied(t *testing.T) {
	for _, c := range []struct{ file, after, want string }{
		{"a.py", "def f(a):\n    return a\n", "def f(a):\n    return None\n    return a\n"},
		{"a.py", "def f(a,\n      b):\n    return a\n", ""},
		{"a.go", "func f(a int) {\n\tg(a)\n}\n", "func f(a int) {\n\treturn\n\tg(a)\n}\n"},
		{"a.go", "func f(a int) int {\n\treturn a\n}\n", ""},
		{"a.ts", "function f(a: number) {\n  return a;\n}\n",
			"function f(a: number) {\n  return undefined;\n  return a;\n}\n"},
		{"a.rb", "def f(a)\n  a\nend\n", "def f(a)\n  return nil\n  a\nend\n"},
		{"a.rs", "fn f() {\n  g()\n}\n", ""},
	} {
		header, _, _ := strings.Cut(c.after, "\n")
		f := gates.File{Change: gates.Change{Path: c.file}, After: c.after}
		if got := emptied(f, gates.Line{Number: 1, Text: header}); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.file, got, c.want)
		}
	}
}

// A test that replaces a function, or has its own, need not notice what it does.
func TestCallsOfTests(t *testing.T) {
	for text, want := range map[string]bool{
		"def test_a():\n    assert fetch(1) == 2\n":                               true,
		"def test_a():\n    assert app.fetch(1) == 2\n":                           true,
		"def test_a(monkeypatch):\n    monkeypatch.setattr(app, 'fetch', fake)\n": false,
		"def fetch(a):\n    return 2\n\n\ndef test_a():\n    show(fetch(1))\n":    false,
		"def test_a():\n    prefetch(1)\n":                                        false,
	} {
		if got := calls(gates.File{Change: gates.Change{Path: "test_a.py"}, After: text}, "fetch"); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// The functions that wrong lines of Go call build in a module without generics.
func TestGoHelper(t *testing.T) {
	const code = "//go:build linux\n\npackage a\n\nfunc f() int { return runplanZero(1) }\n"
	for module, tag := range map[string]string{"": "//go:build go1.18 && (linux)\n",
		"go1.13": "//go:build go1.18 && (linux)\n",
		"go1.18": "//go:build linux\n"} {
		wrong, calls := goHelper(code, "", "M", module)
		if !strings.HasPrefix(wrong, tag) || !strings.Contains(calls, "func runplanZero[") ||
			strings.HasPrefix(calls, "//go:build go1.18\n") != (module != "go1.18") {
			t.Errorf("%q:\n%s\n%s", module, wrong, calls)
		}
	}
	const plain = "package a\n\nfunc f() { runplanRan() }\n"
	if wrong, calls := goHelper(plain, "", "M", ""); wrong != plain || strings.Contains(calls, "runplanZero") ||
		strings.Contains(calls, "0o") {
		t.Errorf("it needs no newer Go:\n%s\n%s", wrong, calls)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module a\n\ngo 1.20\n", "b/go.mod": "module b\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := goVersion(dir, "c/d/x.go") + "," + goVersion(dir, "b/x.go"); got != "go1.20," {
		t.Error(got)
	}
}

// Tests must fail on the code before the change if the batch says what is wrong, and a test can show it.
func TestShowsFault(t *testing.T) {
	for text, want := range map[string]bool{
		"`total` is wrong today: it is 5. Add a test.":                       true,
		"- [ ] Fix `parse` so that \"1.5\" is read.\n- [ ] Add tests of it.": true,
		"`parse` panics if its input is empty. Cover the case with a test.":  true,
		"### Task 1: Fix `total`\n\n- [ ] Add tests of it.":                  true,
		"Add `total` and tests of it.":                                       false,
		"`total` is wrong today. Correct it.":                                false,
		"Fix the data race of `total`. Add a test.":                          false,
		"A missing part counts as empty. Correct `total`, and add a test.":   true,
		"`total` is slow today. Extend the tests.":                           false,
		"Add tests.\n\nRun: `grep -c wrong a.txt`":                           false,
	} {
		if got := showsFault(text); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// Tests of a batch that only changes old functions must fail on the code before the change.
func TestChangesOld(t *testing.T) {
	const asks = "An empty text must be allowed. Add tests."
	const old, more = "def f(t):\n    return t\n", "def f(t):\n    return t\n\n\ndef g(t):\n    return f(t)\n"
	for _, c := range []struct {
		text, after string
		want        bool
	}{
		{asks, old, true},
		{asks, more, false},
		{"An empty text must be allowed.", old, false},
		{asks + " Extract the default.", old, false},
		{asks + " All else stays.", old, false},
		{asks + " It is slow.", old, false},
	} {
		s := gatetest.Change(t, map[string]string{"a.py": "def f(t):\n    return t or 1\n"}, map[string]string{"a.py": c.after})
		files, _, err := gates.Files(t.Context(), s.Diff, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := changesOld(planparse.Batch{Text: c.text}, files); got != c.want {
			t.Errorf("%q, %q: got %v", c.text, c.after, got)
		}
	}
}

// The batch may not change a check that only its commands mention.
func TestMentionedChecks(t *testing.T) {
	b := planparse.Batch{Text: "Correct add.\n\nRun: `sh verify.sh`\n"}
	b.Commands = []planparse.Command{{Run: "sh verify.sh"}}
	if mentioned(b, "verify.sh") {
		t.Error("a command is no mention")
	}
	if b.Text += "Extend verify.sh.\n"; !mentioned(b, "verify.sh") {
		t.Error("the text mentions it")
	}
}
