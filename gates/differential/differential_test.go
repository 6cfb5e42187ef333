package differential_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/tools/gatetest"
	"github.com/runplan/runplan/tools/tooltest"
)

// files is a tree as a map from path to text.
type files map[string]string

func (f files) with(more files) files {
	out := files{}
	for _, m := range []files{f, more} {
		for p, text := range m {
			if out[p] = text; text == "" {
				delete(out, p)
			}
		}
	}
	return out
}

func (f files) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for p, text := range f {
		at := filepath.Join(dir, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// between is the change from one tree to another.
type between struct{ before, after files }

func (d between) Changes(context.Context) ([]gates.Change, error) {
	var out []gates.Change
	for p := range d.before.with(d.after) {
		old, had := d.before[p]
		now, has := d.after[p]
		switch {
		case !had:
			out = append(out, gates.Change{Path: p, Status: gates.Added})
		case !has:
			out = append(out, gates.Change{Path: p, Status: gates.Deleted})
		case old != now:
			out = append(out, gates.Change{Path: p, Status: gates.Modified})
		}
	}
	slices.SortFunc(out, func(a, b gates.Change) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

func (d between) Before(_ context.Context, p string) ([]byte, error) { return []byte(d.before[p]), nil }
func (d between) After(_ context.Context, p string) ([]byte, error)  { return []byte(d.after[p]), nil }

var goBase = files{
	"go.mod":    "module example.com/calc\n\ngo 1.21\n",
	"calc.go":   "package calc\n\n// Add adds.\nfunc Add(a, b int) int { return a - b }\n",
	"a_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestFine(t *testing.T) {}\n",
}

const (
	goFixed = "package calc\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n"
	goTest  = "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != 3 " +
		"{\n\t\tt.Fatalf(\"Add(1, 2) = %d, want 3\", got)\n\t}\n}\n"
	goHead = "package calc\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n"
)

// flip fails and passes alternately when it runs in the same tree.
const flip = goHead +
	"func TestAdd(t *testing.T) {\n\tif _, err := os.Stat(\"mark\"); err != nil {\n\t\tos.WriteFile(\"mark\", nil, " +
	"0o644)\n\t\tt.Fatal(\"first\")\n\t}\n\tos.Remove(\"mark\")\n}\n"

var pyBase = files{
	"calc.py": "def add(a, b):\n    return a - b\n",
	"tests/test_fine.py": "import unittest\n\n\nclass Fine(unittest.TestCase):\n    def test_fine(self):\n        " +
		"self.assertTrue(True)\n",
}

const (
	pyFixed = "def add(a, b):\n    return a + b\n"
	pyTest  = "import unittest\n\nimport calc\n\n\nclass Add(unittest.TestCase):\n    def test_add(self):\n        " +
		"self.assertEqual(calc.add(1, 2), 3)\n"
)

const (
	goFile = "add_test.go"
	pyFile = "tests/test_add.py"
)

// A regression test has to fail on the base and pass on the candidate. Everything else is refused, each case with its
// own message (FIX-18, FIX-19).
func TestDifferential(t *testing.T) {
	tooltest.Slow(t)
	fixed := func(test string) files { return files{"calc.go": goFixed, goFile: test} }
	for name, c := range map[string]struct {
		base   files
		change files
		file   string
		status gates.Status
		rule   string
		says   string
	}{
		"go: a real fix with a real test": {goBase, fixed(goTest), goFile, gates.Pass, "", ""},
		"go: one test of a file": {goBase, fixed(goTest + "\nfunc TestLater(t *testing.T) { t.Skip(\"later\") }\n"),
			goFile + "::TestAdd", gates.Pass, "", ""},
		"go: in an existing file": {
			goBase.with(files{goFile: strings.Replace(goTest, "1, 2); got != 3", "0, 0); got != 0", 1)}), fixed(goTest), goFile,
			gates.Pass, "", "",
		},
		"go: passes on both": {goBase, fixed(strings.ReplaceAll(goTest, "!= 3", "> 99")), goFile, gates.Fail,
			differential.RulePassesBoth, "passes on the base"},
		"go: fails at first on the candidate": {
			goBase,
			fixed(goHead +
				"func TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(\"not 3\")\n\t}\n\tif _, err := " +
				"os.Stat(\"mark\"); err != nil {\n\t\tos.WriteFile(\"mark\", nil, 0o644)\n\t\tt.Fatal(\"first\")\n\t}\n}\n"),
			goFile, gates.Fail, differential.RuleFlaky, "it passed in 2 and failed in 1",
		},
		"go: cannot fail": {goBase, fixed(goHead + "func TestAdd(t *testing.T) { _ = os.Args; _ = Add(1, 2) }\n"),
			goFile, gates.Fail, differential.RulePassesBoth, "does not show what was wrong"},
		"go: fails on both": {goBase, fixed(strings.ReplaceAll(goTest, "!= 3", "!= 4")), goFile, gates.Fail,
			differential.RuleFailsBoth, "Add(1, 2) = 3"},
		"go: a fix that does not fix": {goBase, files{"calc.go": goBase["calc.go"] + "\n// More.\n", goFile: goTest}, goFile,
			gates.Fail, differential.RuleFailsBoth, "the fix does not fix"},
		"go: broken by the change": {goBase.with(files{"calc.go": goFixed}),
			files{"calc.go": goBase["calc.go"], goFile: goTest}, goFile, gates.Fail, differential.RuleInverted,
			"breaks what it tests"},
		"go: flaky": {goBase, fixed(flip), goFile, gates.Fail, differential.RuleFlaky,
			"flaky on the base: of 3 runs it passed in 1 and failed in 2"},
		"go: skipped": {
			goBase, fixed(goHead + "func TestAdd(t *testing.T) { _ = os.Args; t.Skip(\"not here\") }\n"), goFile, gates.Fail,
			differential.RuleSkipped, "a skip is neither a pass nor a failure",
		},
		"go: skipped on the base alone": {
			goBase,
			fixed(goHead +
				"func TestAdd(t *testing.T) {\n\tif _ = os.Args; Add(1, 2) != 3 {\n\t\tt.Skip(\"not yet\")\n\t}\n}\n"), goFile,
			gates.Fail, differential.RuleSkipped, "skipped on the base",
		},
		"go: no test in it": {goBase,
			fixed("package calc\n\nfunc helper() int { return Add(1, 2) }\n\nvar _ = helper\n"), goFile, gates.Fail,
			differential.RuleIdle, "no test of add_test.go ran"},
		"go: a tag leaves it out": {goBase, fixed("//go:build never\n\n" + goTest), goFile, gates.Fail,
			differential.RuleIdle, "no test of add_test.go ran"},
		"go: an empty fix": {goBase, files{goFile: goTest}, goFile, gates.Fail, differential.RuleEmptyFix,
			"there is no fix"},
		"go: no test at the path": {goBase, files{"calc.go": goFixed}, goFile, gates.Fail, differential.RuleNoTest,
			"add_test.go does not exist"},
		"go: a path that leads out": {goBase, fixed(goTest), "../add_test.go", gates.Fail, differential.RuleNoTest,
			"is not a path in the project"},
		"go: does not build": {goBase, fixed(strings.Replace(goTest, "got != 3", "got != three", 1)), goFile,
			gates.Fail, differential.RuleBlind, "not a failing test"},
		"go: builds with the fix, for another reason than a name": {
			goBase, files{"calc.go": strings.ReplaceAll(goFixed, "int", "int64"),
				goFile: strings.Replace(goTest, "got != 3", "got != int64(3)", 1)}, goFile,
			gates.Fail, differential.RuleBlind, "did not run on the base",
		},
		"go: a name that the fix adds": {
			goBase, files{"calc.go": goFixed +
				"\n// Sum sums.\nfunc Sum(n ...int) int { s := 0; for _, v := range n { s = Add(s, v) }; return s }\n",
				goFile: strings.ReplaceAll(goTest, "Add(1, 2)", "Sum(1, 2)")}, goFile,
			gates.Warn, differential.RuleOnlyNames, "names that the fix adds are missing (Sum)",
		},
		"go: a name that another test brings": {
			goBase, fixed(strings.Replace(goTest, "got != 3", "got != three", 1)).with(
				files{"calc.go": goFixed + "\n// one, two, three\nfunc two() int { return 2 }\n",
					"b_test.go": "package calc\n\nvar three = 3\n"}), goFile,
			gates.Fail, differential.RuleBlind, "undefined: three",
		},
		"go: a crash before the test": {
			goBase, fixed(goTest + "\nfunc init() {\n\tif Add(1, 2) != 3 {\n\t\tpanic(\"wrong\")\n\t}\n}\n"), goFile, gates.Fail,
			differential.RuleBlind, "did not run on the base",
		},
		"go: a panic in the test": {
			goBase,
			fixed(goHead + "func TestAdd(t *testing.T) {\n\tif _ = os.Args; Add(1, 2) != 3 {\n\t\tpanic(\"wrong\")\n\t}\n}\n"),
			goFile, gates.Pass, "", "",
		},
		"python: a real fix with a real test": {pyBase, files{"calc.py": pyFixed, pyFile: pyTest}, pyFile, gates.Pass, "",
			""},
		"python: in a package": {
			pyBase.with(files{"tests/__init__.py": "\n"}), files{"calc.py": pyFixed, pyFile: pyTest}, pyFile + "::Add::test_add",
			gates.Pass, "", "",
		},
		"python: the package is new": {pyBase, files{"calc.py": pyFixed, pyFile: pyTest, "tests/__init__.py": "\n"}, pyFile,
			gates.Pass, "", ""},
		"python: passes on both": {pyBase,
			files{"calc.py": pyFixed, pyFile: strings.Replace(pyTest, "calc.add(1, 2), 3", "calc.add(0, 0), 0", 1)}, pyFile,
			gates.Fail, differential.RulePassesBoth, "passes on the base"},
		"python: fails on both": {pyBase, files{"calc.py": pyFixed, pyFile: strings.Replace(pyTest, ", 3)", ", 4)", 1)},
			pyFile, gates.Fail, differential.RuleFailsBoth, "3 != 4"},
		"python: skipped": {pyBase,
			files{"calc.py": pyFixed, pyFile: strings.Replace(pyTest, "    def", "    @unittest.skip('no')\n    def", 1)},
			pyFile, gates.Fail, differential.RuleSkipped, "skipped on the"},
		"python: expected to fail": {pyBase,
			files{"calc.py": pyFixed, pyFile: strings.Replace(pyTest, "    def", "    @unittest.expectedFailure\n    def", 1)},
			pyFile, gates.Fail, "", ""},
		"python: does not load": {pyBase,
			files{"calc.py": pyFixed, pyFile: strings.Replace(pyTest, "import calc", "import calk as calc", 1)}, pyFile,
			gates.Fail, differential.RuleBlind, "calk"},
		"python: no test in it": {pyBase,
			files{"calc.py": pyFixed, pyFile: "import unittest\n\nimport calc\n\nassert calc.add(0, 0) == 0\n"}, pyFile,
			gates.Fail, differential.RuleIdle, "no test of tests/test_add.py ran"},
		"python: a module that the fix adds": {
			pyBase, files{"calc.py": pyFixed, "more.py": pyFixed,
				pyFile: strings.Replace(pyTest, "import calc", "import more as calc", 1)}, pyFile, gates.Warn,
			differential.RuleOnlyNames, "(more)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := c.base.with(c.change)
			runs := 1 // most verdicts do not turn on how often
			if c.rule == differential.RuleFlaky || strings.HasSuffix(name, "a real fix with a real test") {
				runs = 0 // as many as there are without being asked
			}
			rep, err := check(t, differential.Options{Files: []string{c.file}, Runs: runs}, c.base, after).run()
			if errors.Is(err, gates.ErrNoProgram) {
				tooltest.Missing(t, err, "install python3")
			}
			if err != nil {
				t.Fatal(err)
			}
			if rep.Status != c.status {
				t.Errorf("%s, want %s: %+v\n%s\n%s", rep.Status, c.status, rep.Findings, rep.Note, rep.Output)
			}
			if c.rule != "" && !slices.ContainsFunc(rep.Findings,
				func(f gates.Finding) bool { return f.Rule == c.rule && strings.Contains(f.Message, c.says) }) {
				t.Errorf("no finding %s with %q: %+v", c.rule, c.says, rep.Findings)
			}
			if rep.Tests != nil {
				t.Error("tests of this gate are counted as tests of the project")
			}
		})
	}
}

// checking is one check that is ready to run.
type checking struct {
	gate    gates.Gate
	subject gates.Subject
}

func (c checking) run() (gates.Report, error) { return c.gate.Check(context.Background(), c.subject) }

func check(t *testing.T, o differential.Options, base, after files) checking {
	t.Helper()
	if o.Base == nil {
		o.Base = func(context.Context, gates.Subject) (string, []string, func(), error) {
			return base.write(t), nil, nil, nil
		}
	}
	return checking{differential.New(o),
		gates.Subject{Dir: after.write(t), Base: "base", Diff: between{base, after}, Env: os.Environ()}}
}

// Only the named files of the candidate are copied to the base: the test and the files that it reads.
func TestOnlyNamedFilesReachBase(t *testing.T) {
	base := goBase.with(files{"data/other.txt": "old\n"})
	after := base.with(files{
		"calc.go": goFixed, "data/in.txt": "3", "data/other.txt": "new\n", "new.go": "package calc\n",
		goFile: strings.Replace(goTest, "got != 3", "got != read(t)", 1) +
			"\nfunc read(t *testing.T) int {\n\tb, err := os.ReadFile(\"data/in.txt\")\n\tif err != nil " +
			"{\n\t\tt.Skip(err)\n\t}\n\treturn int(b[0] - '0')\n}\n",
	})
	after[goFile] = strings.Replace(after[goFile], "import \"testing\"", "import (\n\t\"os\"\n\t\"testing\"\n)", 1)
	var dir string
	o := differential.Options{Files: []string{goFile, "data/in.txt"}, Runs: 1,
		Base: func(context.Context, gates.Subject) (string, []string, func(), error) {
			dir = base.write(t)
			return dir, nil, nil, nil
		}}
	rep, err := check(t, o, base, after).run()
	if err != nil || rep.Status != gates.Pass {
		t.Fatalf("%v: %+v", err, rep)
	}
	for p, want := range base.with(files{goFile: after[goFile], "data/in.txt": "3"}) {
		if got, err := os.ReadFile(filepath.Join(dir, p)); err != nil || string(got) != want {
			t.Errorf("%s on the base: %q %v", p, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "new.go")); err == nil {
		t.Error("a file of the fix is on the base")
	}
}

// A link in place of the test is refused, and a link on the base is replaced, not followed.
func TestLinksAreNotFollowed(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "precious.txt")
	if err := os.WriteFile(outside, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	after := goBase.with(files{"calc.go": goFixed, goFile: goTest})
	c := check(t, differential.Options{Files: []string{goFile}, Runs: 1,
		Base: func(context.Context, gates.Subject) (string, []string, func(), error) {
			dir := goBase.write(t)
			return dir, nil, nil, os.Symlink(outside, filepath.Join(dir, goFile))
		}}, goBase, after)
	if rep, err := c.run(); err != nil || rep.Status != gates.Pass {
		t.Errorf("%v: %+v", err, rep)
	}
	if text, _ := os.ReadFile(outside); string(text) != "mine" {
		t.Error("a file outside was written through a link of the base")
	}
	at := filepath.Join(c.subject.Dir, goFile)
	if err := errors.Join(os.Remove(at), os.Symlink(outside, at)); err != nil {
		t.Fatal(err)
	}
	if rep, err := c.run(); err != nil || rep.Status != gates.Fail || rep.Findings[0].Rule != differential.RuleNoTest {
		t.Errorf("a link was taken for the test: %v %+v", err, rep)
	}
}

// If the gate cannot run, the result is an error, neither a pass nor a failure of the code.
func TestCannotRunReturnsError(t *testing.T) {
	after := goBase.with(files{"calc.go": goFixed, goFile: goTest})
	for name, c := range map[string]struct {
		alter func(*checking, *differential.Options)
		want  string
	}{
		"no runner": {func(c *checking,
			_ *differential.Options) {
			c.subject.Env = []string{"PATH=" + t.TempDir()}
		}, "not installed"},
		"no time": {func(c *checking, _ *differential.Options) { c.subject.Timeout = 1 }, "time limit"},
		"no base": {func(c *checking, _ *differential.Options) { c.subject.Base = "" },
			"no base to run the test on"},
		"no change": {func(c *checking, _ *differential.Options) { c.subject.Diff = nil },
			"no base to run the test on"},
		"nothing to run": {func(_ *checking, o *differential.Options) { o.Files = nil }, "name its file"},
		"an unknown runner": {func(_ *checking, o *differential.Options) { o.Files = []string{"go.mod"} },
			"give the command"},
		"a missing command": {func(_ *checking, o *differential.Options) { o.Shell = "no-such-program-here" },
			"could not start a program"},
		"no tree of the base": {func(_ *checking, o *differential.Options) {
			o.Base = func(context.Context, gates.Subject) (string, []string, func(), error) {
				return "", nil, nil, errors.New("the disk is full")
			}
		}, "make a tree of the base: the disk is full"},
	} {
		o := differential.Options{Files: []string{goFile}}
		k := checking{}
		c.alter(&k, &o)
		made := check(t, o, goBase, after)
		c.alter(&made, &o)
		if rep, err := made.run(); err == nil || !strings.Contains(err.Error(), c.want) || len(rep.Findings) > 0 {
			t.Errorf("%s: %v, want %q: %+v", name, err, c.want, rep.Findings)
		}
	}
}

// If go itself ends a test at its time limit, the result is an error, not a failing test on the base.
func TestGoTimeoutIsError(t *testing.T) {
	hangs := "package calc\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestAdd(t *testing.T) {\n\tfor Add(1, 2) " +
		"!= 3 {\n\t\ttime.Sleep(time.Minute)\n\t}\n}\n"
	k := check(t, differential.Options{Files: []string{goFile}}, goBase,
		goBase.with(files{"calc.go": goFixed, goFile: hangs}))
	k.subject.Env = append(os.Environ(), "GOFLAGS=-timeout=300ms")
	if rep, err := k.run(); err == nil || !strings.Contains(err.Error(), "its own limit of 300ms") ||
		len(rep.Findings) > 0 {
		t.Errorf("%v: %+v", err, rep.Findings)
	}
}

// A command of the caller replaces the runner of the project.
func TestCommandReplacesProjectRunner(t *testing.T) {
	base := files{"greet.sh": "echo hullo\n", "check.txt": ""}
	after := base.with(files{"greet.sh": "echo hello\n", "want.txt": "hello\n"})
	for shell, want := range map[string]gates.Status{
		"sh greet.sh | diff - want.txt": gates.Pass,
		"test -s want.txt":              gates.Fail,
		"false":                         gates.Fail,
	} {
		if rep, err := check(t, differential.Options{Files: []string{"want.txt"}, Shell: shell}, base,
			after).run(); err != nil || rep.Status != want {
			t.Errorf("%s: %v %s, want %s: %+v", shell, err, rep.Status, want, rep.Findings)
		}
	}
}

func TestShellAndNode(t *testing.T) {
	for name, c := range map[string]struct {
		base, change files
		file         string
		want         gates.Status
		rule         string
	}{
		"shell": {files{"greet.sh": "echo hullo\n"},
			files{"greet.sh": "echo hello\n", "test-greet.sh": "test \"$(sh greet.sh)\" = hello\n"}, "test-greet.sh", gates.Pass,
			""},
		"shell: passes on both": {files{"greet.sh": "echo hullo\n"},
			files{"greet.sh": "echo hello\n", "test-greet.sh": "sh greet.sh\n"}, "test-greet.sh", gates.Fail,
			differential.RulePassesBoth},
		"shell: no such program": {files{"greet.sh": "echo hullo\n"},
			files{"greet.sh": "echo hello\n", "test-greet.sh": "nothing-like-it\n"}, "test-greet.sh", gates.Fail,
			differential.RuleBlind},
		"node": {
			files{"package.json": "{\"name\":\"x\",\"type\":\"module\"}", "add.js": "export const add = (a, b) => a - b;\n"},
			files{"add.js": "export const add = (a, b) => a + b;\n",
				"add.test.js": "import test from 'node:test';\nimport assert from 'node:assert';\nimport { add } from " +
					"'./add.js';\ntest('adds', () => assert.equal(add(1, 2), 3));\n"},
			"add.test.js", gates.Pass, "",
		},
		"node: a missing name that the fix does not add": {
			files{"package.json": "{\"name\":\"x\",\"type\":\"module\"}", "add.js": "export const add = (a, b) => a - b;\n"},
			files{"add.js": "export const add = (a, b) => a + b;\n",
				"add.test.js": "import test from 'node:test';\nimport { sub } from './add.js';\ntest('adds', () => sub(1, 2));\n"},
			"add.test.js", gates.Fail, differential.RuleBlind,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rep, err := check(t, differential.Options{Files: []string{c.file}, Runs: 1}, c.base, c.base.with(c.change)).run()
			if errors.Is(err, gates.ErrNoProgram) {
				tooltest.Missing(t, err, "install node")
			}
			if err != nil || rep.Status != c.want || c.rule != "" && rep.Findings[0].Rule != c.rule {
				t.Errorf("%v: %s, want %s %s: %+v\n%s", err, rep.Status, c.want, c.rule, rep.Findings, rep.Output)
			}
		})
	}
}

// The gate keeps the contract of all gates, whether it passes or fails.
func TestConformance(t *testing.T) {
	for name, change := range map[string]files{
		"passes": {"greet.sh": "echo hello\n", "test-greet.sh": "test \"$(sh greet.sh)\" = hello\n"},
		"fails":  {"greet.sh": "echo hello\n", "test-greet.sh": "printf '\\033[31mno'; exit 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) {
				base := files{"greet.sh": "echo hullo\n"}
				c := check(t, differential.Options{Files: []string{"test-greet.sh"}, Runs: 1}, base, base.with(change))
				return c.gate, c.subject
			})
		})
	}
}
