package gates

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
)

// plan finds the runner of the file, once for all runs.
func (s Single) plan(ctx context.Context, w *Look) (prepared func() (testRun, error), err error) {
	always := func(r testRun, err error) (func() (testRun, error), error) {
		return func() (testRun, error) { return r, nil }, err
	}
	if s.Shell != "" {
		return always(s.shell(), nil)
	}
	lang := LanguageOf(s.Path)
	root := projectOf(w.subject.Dir, lang, s.Path)
	switch lang {
	case LangGo:
		return func() (testRun, error) { return s.goRun(w) }, nil // each run reads its own events
	case LangPython:
		return s.pythonRun(ctx, w, root)
	case LangNode:
		return always(s.nodeRun(w, root))
	case LangShell:
		if s.Only != "" {
			return nil, s.wholeOnly()
		}
		return always(testRun{program: program{args: scriptArgs(w.subject.Dir, s.Path)}, about: s.Path}, nil)
	}
	if args, root := s.command(w.subject.Dir); args != nil {
		if s.Only != "" {
			return nil, s.wholeOnly()
		}
		return always(testRun{program: program{args: args, dir: root}}, nil)
	}
	return nil, fmt.Errorf("no runner is known for %s; give the command that runs it", s.Path)
}

// command returns the command for a file of Ruby, or of Rust below tests, and the folder of its gem or crate.
func (s Single) command(dir string) (args []string, root string) {
	switch path.Ext(s.Path) {
	case ".rs": // a crate may be a member of a workspace, which is one project
		folder := path.Dir(s.Path)
		if root = path.Dir(folder); path.Base(folder) == "tests" && exists(dir, root, "Cargo.toml") {
			return []string{"cargo", "test", "--offline", "--quiet", "--test", strings.TrimSuffix(path.Base(s.Path), ".rs")},
				root
		}
	case ".rb":
		root = projectOf(dir, LangRuby, s.Path)
		if strings.HasSuffix(s.Path, "_spec.rb") && usesRSpec(dir, root) {
			return []string{"rspec", s.below(root)}, root
		}
		return []string{"ruby", "-Ilib", "-Itest", s.below(root)}, root
	}
	return nil, ""
}

func (s Single) wholeOnly() error {
	return fmt.Errorf("one test of %s cannot be run by itself with its runner; name the file alone, or give a command",
		s.Path)
}

// below returns the file as seen from root.
func (s Single) below(root string) string { return strings.TrimPrefix(s.Path, root+"/") }

func (s Single) shell() testRun {
	return testRun{
		program: program{args: []string{"bash", "-eu", "-o", "pipefail", "-c", s.Shell}},
		cause: func(r ran) error {
			if r.exit == 126 || r.exit == 127 {
				return fmt.Errorf("exit %d: the shell could not start a program: %s", r.exit, lastTelling(r.text))
			}
			return nil
		},
	}
}

// goRun runs only the tests of the file by name, and never uses the cache. Other test files of the package are built
// but not run.
func (s Single) goRun(w *Look) (testRun, error) {
	at, ok := upwards(w.subject.Dir, path.Dir(s.Path), "go.mod")
	if !ok {
		return testRun{}, fmt.Errorf("there is no go.mod above %s", s.Path)
	}
	root := path.Dir(at)
	pattern := "^$" // no tests, which is reported
	if s.Only != "" {
		var parts []string
		for part := range strings.SplitSeq(s.Only, "/") {
			parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
		}
		pattern = strings.Join(parts, "/")
	} else if names := goTests(readText(w.subject.Dir, path.Dir(s.Path), path.Base(s.Path))); len(names) > 0 {
		pattern = "^(" + strings.Join(names, "|") + ")$"
	}
	events := testout.NewGo(moduleOf(w.subject.Dir, root))
	return testRun{
		program: program{ // without vet: it judges with the whole suite, and what it finds on the base is no failed test
			args: []string{"go", "test", "-json", "-count=1", "-vet=off", "-run", pattern, "./" + path.Dir(s.below(root))},
			dir:  root,
			line: events.Line,
		},
		read: func(ran) testout.Result { return events.Result() },
		show: events.Output,
		cause: func(ran) error { // go ends the whole test binary, so there is no result
			if m := goTimedOut.FindStringSubmatch(events.Output()); m != nil {
				return fmt.Errorf(
					"go test ended %s after its own limit of %s (-timeout), so its result is unknown; give code that may "+
						"hang its own limit in the test", s.Path, m[1])
			}
			return nil
		},
	}, nil
}

var goTimedOut = lazyre.New(`(?m)^\s*panic: test timed out after (\S+)`)

// goTests names the tests, examples and seeded fuzz tests of a file. A file that does not parse has none.
func goTests(text string) []string {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return []string{"Test"} // the compiler reports the error
	}
	var out []string
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name == "TestMain" {
			continue
		}
		if name := f.Name.Name; strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") ||
			strings.HasPrefix(name, "Example") {
			out = append(out, regexp.QuoteMeta(name))
		}
	}
	return out
}

func (s Single) pythonRun(ctx context.Context, w *Look, root string) (func() (testRun, error), error) {
	python, err := w.Interpreter(root)
	if err != nil {
		return nil, err
	}
	has, err := w.hasPytest(ctx, python, root)
	if err != nil {
		return nil, err
	}
	if has {
		more := []string{strings.TrimSuffix(s.below(root)+"::"+strings.ReplaceAll(s.Only, ".", "::"), "::")}
		if s.Tests != nil {
			more = slices.Concat([]string{"-x"}, withoutCoverage(w.subject.Dir, root), s.Tests)
		}
		return func() (testRun, error) { return w.pytest(ctx, root, python, more) }, nil // each run has its own report
	}
	text := readText(w.subject.Dir, path.Dir(s.Path), path.Base(s.Path))
	if !strings.Contains(text, "unittest") || strings.Contains(text, "import pytest") ||
		strings.Contains(text, "from pytest") {
		return nil, fmt.Errorf("%s asks for pytest, which %s does not have: install it, or set up the project's .venv",
			s.Path, python)
	}
	return func() (testRun, error) { return s.unittest(ctx, w, root, python), nil }, nil
}

// unittest finds the file as the project's own discovery would, with the packages of each side.
func (s Single) unittest(ctx context.Context, w *Look, root, python string) testRun {
	folder := path.Dir(s.below(root))
	top := folder
	for top != "." && exists(w.subject.Dir, path.Join(root, top), "__init__.py") {
		top = path.Dir(top)
	}
	name := strings.NewReplacer("[", "[[]", "?", "[?]", "*", "[*]").Replace(path.Base(s.Path))
	args := []string{python, "-m", "unittest", "discover", "-s", folder, "-t", top, "-p", name}
	if s.Only != "" {
		args = append(args, "-k", "*."+strings.ReplaceAll(s.Only, "::", "."))
	}
	const noTests = 5 // since Python 3.12
	return testRun{program: program{args: args, dir: root, env: w.sourcePath(ctx, root)}, empty: noTests}
}

// nodeSingle is a runner of Node and how it runs one file: without coverage, because the project may set limits that one
// file does not reach.
type nodeSingle struct {
	tool string
	args []string
}

var nodeSingles = []nodeSingle{{"vitest", []string{"run", "--coverage.enabled=false"}},
	{"jest", []string{"--ci", "--coverage=false"}}, {"mocha", nil}, {"ava", nil}, {"jasmine", nil}, {"qunit", nil},
	{"lab", nil}}

func (s Single) nodeRun(w *Look, root string) (testRun, error) {
	if s.Only != "" { // its runners report all other tests as skipped
		return testRun{}, s.wholeOnly()
	}
	// The package of the file may be a workspace of the project.
	if at := above(path.Dir(s.Path), func(at string) bool {
		pkg := readPackage(w.subject.Dir, at)
		return slices.ContainsFunc(nodeSingles, func(own nodeSingle) bool { return pkg.depends(own.tool) })
	}); within(at, root) {
		root = at
	}
	pkg := readPackage(w.subject.Dir, root)
	for _, own := range nodeSingles {
		if !pkg.depends(own.tool) {
			continue
		}
		bin, err := w.nodeBin(root, own.tool, "the package of "+s.Path)
		if err != nil {
			return testRun{}, err
		}
		return testRun{program: program{args: append(append([]string{bin}, own.args...), s.below(root)), dir: root}}, nil
	}
	args := append([]string{"node", "--test"}, moduleHooks(pkg.testScript())...)
	return testRun{program: program{args: append(args, s.below(root)), dir: root}}, nil
}

// moduleHook matches an option of node that decides how modules are found and compiled.
var moduleHook = lazyre.New(`(?:^|\s)(?:(-r|-C|--require|--import|--(?:experimental-)?loader|--conditions)[= ]([\w@./:-]+)|(--experimental-[\w-]+))`)

// moduleHooks returns the options of node that a test script needs to load its tests, also if another program, such as
// tape or tsx, takes them.
func moduleHooks(script string) (args []string) {
	for _, m := range moduleHook.FindAllStringSubmatch(script, -1) {
		args = append(args, cmp.Or(m[3], m[1]))
		if m[2] != "" {
			args = append(args, m[2])
		}
	}
	for _, word := range strings.Fields(script) {
		switch programName(word) {
		case "tsx":
			return append(args, "--import", "tsx")
		case "ts-node":
			return append(args, "--require", "ts-node/register")
		}
	}
	return args
}
