package gates

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/proc"
)

// Single is one test file, to be run by itself with the runner that its project has for all of them.
type Single struct {
	Path  string // of the file, relative to the tree, slashes
	Only  string // the one test in it that is meant, as its runner calls it; "" means all
	Shell string // what runs it, where the project's files do not tell; bash -eu -o pipefail
}

// Went says how one run of a [Single] went.
type Went string

// How a run goes. Only the first two say something of the code: a test that did not build never ran, and one that was
// skipped did not pass.
const (
	WentWell  Went = "passed"
	WentBad   Went = "failed"       // a test ran, and failed
	WentBlind Went = "did not run"  // it did not build, load or set itself up
	WentIdle  Went = "ran no test"  // the runner found none
	WentPast  Went = "was skipped"  // by itself, at least in part
	WentDeaf  Went = "hid failures" // the runner tells of failures and ends with 0
)

// SingleRun is what came of one run.
type SingleRun struct {
	Went    Went
	Failed  []string // the tests that failed, as their runner calls them, sorted
	Why     string   // the first thing that went wrong
	Text    string   // what did not build or load, or all of the output
	Command string   // what ran, for people
	Known   bool     // the runner told how many tests there were
}

// Single runs one test file in the tree that l looks at, up to so many times: next is told of each run and says whether
// there is to be another. An error says why nothing can be learnt: no runner, no time.
func (l *Look) Single(ctx context.Context, s Single, times int, next func(SingleRun) bool) error {
	prepared, err := s.plan(ctx, l.w)
	if err != nil {
		return missingRunner(s, err)
	}
	for range times {
		one, err := l.single(ctx, s, prepared)
		if err != nil {
			return err
		}
		if !next(one) {
			break
		}
	}
	return nil
}

func (l *Look) single(ctx context.Context, s Single, prepared func() (testRun, error)) (SingleRun, error) {
	r, err := prepared()
	if err != nil {
		return SingleRun{}, err
	}
	if r.done != nil {
		defer r.done()
	}
	out, err := l.w.run(ctx, r.program)
	if r.show != nil {
		l.w.said = r.show()
	}
	if err != nil {
		return SingleRun{}, missingRunner(s, err)
	}
	if r.cause != nil && !out.ok() {
		if err := r.cause(out); err != nil {
			return SingleRun{}, err
		}
	}
	res := r.result(out)
	if r.empty != 0 && out.exit == r.empty {
		res.Known = true
	}
	text := out.text
	if r.show != nil {
		text = r.show()
	}
	one := SingleRun{Went: s.went(out, res), Text: text, Command: commandLine(r.dir, r.args), Known: res.Known}
	if one.Went == WentWell {
		return one, nil
	}
	for _, f := range res.Failures {
		if one.Why == "" || f.Build {
			one.Why = orElse(f.Message, f.Name)
		}
		if name := orElse(f.ID, f.Name); name != "" && !f.Build {
			one.Failed = append(one.Failed, name)
		}
	}
	if one.Why == "" && one.Went != WentPast && one.Went != WentIdle {
		one.Why = strings.TrimSuffix(out.how()+": "+lastTelling(out.text), ": ")
	}
	slices.Sort(one.Failed)
	one.Failed = slices.Compact(one.Failed)
	return one, nil
}

func missingRunner(s Single, err error) error {
	if errors.Is(err, proc.ErrNotFound) {
		return fmt.Errorf("%s cannot run: %w: %w", s.Path, ErrNoProgram, err)
	}
	return err
}

// went reads one run. What cannot be told from the counts is told by the exit status alone.
func (s Single) went(out ran, res testout.Result) Went {
	switch {
	case s.broke(out, res):
		return WentBlind
	case out.ok() && res.Failed > 0:
		return WentDeaf
	case res.Skipped > 0:
		return WentPast
	case res.Known && res.Passed+res.Failed == 0:
		return WentIdle
	case out.ok():
		return WentWell
	}
	return WentBad
}

var (
	setsUp   = regexp.MustCompile(`^(?:setUpClass|setUpModule)\b|^failed on setup with`)
	nodeLoad = regexp.MustCompile(`SyntaxError|ERR_MODULE_NOT_FOUND|Cannot find (?:module|package)|does not provide an export|Test suite failed to run`)
	shParse  = regexp.MustCompile(`syntax error|unexpected end of file`)
)

// broke tells a run in which the test itself never got so far as to look at the code.
func (s Single) broke(out ran, res testout.Result) bool {
	if slices.ContainsFunc(res.Failures, func(f testout.Failure) bool {
		return f.Build || setsUp.MatchString(f.Name) || setsUp.MatchString(f.Message)
	}) {
		return true
	}
	if out.ok() || s.Shell != "" {
		return false
	}
	switch languageOf(s.Path) {
	case LangGo: // a package that fails without a test went down before one began
		return !slices.ContainsFunc(res.Failures, func(f testout.Failure) bool { return f.ID != "" })
	case LangPython:
		return out.exit == 3 || out.exit == 4 // pytest: an error of its own, a file that it does not find
	case LangNode:
		return nodeLoad.MatchString(out.text) && res.Passed == 0
	case LangShell:
		return out.exit == 126 || out.exit == 127 || out.exit == 2 && shParse.MatchString(out.text)
	}
	return false
}

// languageOf goes by the file's name.
func languageOf(file string) Language {
	switch path.Ext(file) {
	case ".go":
		return LangGo
	case ".py":
		return LangPython
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx":
		return LangNode
	case ".sh", ".bash", ".bats":
		return LangShell
	}
	return ""
}

// plan finds out what runs the file, once for all of its runs.
func (s Single) plan(ctx context.Context, w *work) (prepared func() (testRun, error), err error) {
	always := func(r testRun, err error) (func() (testRun, error), error) {
		return func() (testRun, error) { return r, nil }, err
	}
	if s.Shell != "" {
		return always(s.shell(), nil)
	}
	lang := languageOf(s.Path)
	root := "."
	for _, p := range Detect(w.subject.Dir) {
		if p.Language == lang && within(s.Path, p.Root) && len(p.Root) >= len(root) {
			root = p.Root
		}
	}
	switch lang {
	case LangGo:
		return func() (testRun, error) { return s.goRun(w) }, nil // each run reads events of its own
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
	return nil, fmt.Errorf("what runs %s is not known by its name; give the command that does", s.Path)
}

func (s Single) wholeOnly() error {
	return fmt.Errorf("one test of %s cannot be run by itself with its runner; name the file alone, or give a command", s.Path)
}

// below is the file as seen from root.
func (s Single) below(root string) string {
	if root == "." {
		return s.Path
	}
	return strings.TrimPrefix(s.Path, root+"/")
}

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

// goRun runs the file's own tests by name, and never from the cache. Those of its neighbours build with it and do not
// run.
func (s Single) goRun(w *work) (testRun, error) {
	at, ok := upwards(w.subject.Dir, path.Dir(s.Path), "go.mod")
	if !ok {
		return testRun{}, fmt.Errorf("there is no go.mod above %s", s.Path)
	}
	root, module := path.Dir(at), ""
	if m := goModule.FindStringSubmatch(readText(w.subject.Dir, root, "go.mod")); m != nil {
		module = m[1]
	}
	pattern := "^$" // nothing, which is told as such
	if s.Only != "" {
		var parts []string
		for part := range strings.SplitSeq(s.Only, "/") {
			parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
		}
		pattern = strings.Join(parts, "/")
	} else if names := goTests(readText(w.subject.Dir, path.Dir(s.Path), path.Base(s.Path))); len(names) > 0 {
		pattern = "^(" + strings.Join(names, "|") + ")$"
	}
	events := testout.NewGo(module)
	return testRun{
		program: program{
			args: []string{"go", "test", "-json", "-count=1", "-run", pattern, "./" + path.Dir(s.below(root))}, dir: root, line: events.Line,
		},
		read: func(ran) testout.Result { return events.Result() },
		show: events.Output,
	}, nil
}

// goTests names the tests, examples and seeded fuzz tests of a file. One that does not parse has none that could run.
func goTests(text string) []string {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return []string{"Test"} // the compiler says what is wrong
	}
	var out []string
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name == "TestMain" {
			continue
		}
		if name := f.Name.Name; strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Example") {
			out = append(out, regexp.QuoteMeta(name))
		}
	}
	return out
}

func (s Single) pythonRun(ctx context.Context, w *work, root string) (func() (testRun, error), error) {
	python, err := interpreter(ctx, w, root)
	if err != nil {
		return nil, err
	}
	probe, err := w.run(ctx, program{args: []string{python, "-c", "import pytest"}, dir: root, quiet: true})
	if err != nil {
		return nil, err
	}
	if probe.ok() {
		id := strings.TrimSuffix(s.below(root)+"::"+strings.ReplaceAll(s.Only, ".", "::"), "::")
		return func() (testRun, error) { return pytest(root, python, []string{id}) }, nil // each run has a report of its own
	}
	text := readText(w.subject.Dir, path.Dir(s.Path), path.Base(s.Path))
	if !strings.Contains(text, "unittest") || strings.Contains(text, "import pytest") || strings.Contains(text, "from pytest") {
		return nil, fmt.Errorf("%s asks for pytest, which %s does not have: install it, or set up the project's .venv", s.Path, python)
	}
	return func() (testRun, error) { return s.unittest(w, root, python), nil }, nil
}

// unittest finds the file as the project's own discovery would, on each side as that side has its packages.
func (s Single) unittest(w *work, root, python string) testRun {
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
	return testRun{program: program{args: args, dir: root}, empty: noTests}
}

func (s Single) nodeRun(w *work, root string) (testRun, error) {
	if s.Only != "" { // its runners count all others as skipped
		return testRun{}, s.wholeOnly()
	}
	pkg := readPackage(w.subject.Dir, root)
	for _, own := range []struct {
		tool string
		args []string
	}{{"vitest", []string{"run"}}, {"jest", []string{"--ci"}}, {"mocha", nil}} {
		if !pkg.depends(own.tool) {
			continue
		}
		bin, ok := upwards(w.subject.Dir, root, "node_modules/.bin/"+own.tool)
		if !ok {
			return testRun{}, fmt.Errorf("the package of %s depends on %s, which is not installed: run npm ci, or let the workspace's set-up do it", s.Path, own.tool)
		}
		abs, err := filepath.Abs(filepath.Join(w.subject.Dir, filepath.FromSlash(bin)))
		if err != nil {
			return testRun{}, fmt.Errorf("find %s: %w", own.tool, err)
		}
		return testRun{program: program{args: append(append([]string{abs}, own.args...), s.below(root)), dir: root}}, nil
	}
	return testRun{program: program{args: []string{"node", "--test", s.below(root)}, dir: root}}, nil
}
