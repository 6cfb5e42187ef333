package mutants

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/cover"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/mutants/mutant"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/phrase"
)

// outcome is the result of the tests for a mutant.
type outcome int

const (
	invalid   outcome = iota // it does not build
	killed                   // a test failed, did not end in time, or could not load it
	survived                 // all related tests pass
	uncovered                // no test runs the line
)

func (o outcome) String() string { return [...]string{"invalid", "killed", "survived", "uncovered"}[o] }

const (
	mostTests = 6                // maximum of test files or packages for a mutant
	slack     = 10 * time.Second // extra time of a test compared to a run without a mutant
)

// runner runs tests in a scratch tree.
type runner struct {
	look  *gates.Look // of the gate
	in    *gates.Look // of the scratch tree
	dir   string
	texts map[string]string // of mutated files
	until time.Time

	found                // with the tests of the change
	before found         // with the tests of the base
	takes  time.Duration // of the suite with tracing
	tests  []string      // test files of the tree, listed when they are first needed
	list   map[string][]goPackage
	why    string // reasons why files could not be tried
	weaker bool   // a changed test detects less than before
}

// found holds the tests that pass without a mutant.
type found struct {
	files  map[string]*target         // by path
	traced map[string]*target         // by path, if pytest reported which tests run which lines
	alone  map[string]bool            // tests of pytest by id, and whether they pass alone
	suites map[gates.Language]*target // whole suites, for languages whose runners do not tell which lines a test runs
}

func newFound() found {
	return found{map[string]*target{}, map[string]*target{}, map[string]bool{}, map[gates.Language]*target{}}
}

// target is a file with its related tests.
type target struct {
	tests  []test
	lines  map[int]bool     // lines that a test runs; nil if unknown
	covers bool             // lines is known
	near   map[int][]string // the tests of pytest that run a line; the whole suite still decides which mutants survive
}

// test is one call of a test runner.
type test struct {
	args  []string // in dir; nil runs file
	dir   string
	file  string
	suite gates.Gate // the whole suite
	takes time.Duration
}

func (r *runner) because() string {
	if r.why == "" {
		return ""
	}
	return ": " + r.why
}

// try runs the tests on one mutant, and puts the file back.
func (r *runner) try(ctx context.Context, m mutant.Mutant) (what outcome, err error) {
	t, err := r.target(ctx, m.Path)
	if err != nil || t == nil {
		return invalid, err
	}
	if m.Kind != mutant.TakenBack && t.covers && !t.lines[m.Line] {
		return uncovered, nil
	}
	if t.covers && t.near == nil && len(t.tests) == 0 {
		return invalid, nil
	}
	if err := r.write(m.Path, m.Apply(r.texts[m.Path])); err != nil {
		return invalid, err
	}
	defer func() { err = errors.Join(err, r.write(m.Path, r.texts[m.Path])) }()
	if t.near != nil {
		if what, err := r.nearest(ctx, m, t); err != nil || what == killed {
			return what, err
		}
		return r.others(ctx, m, t)
	}
	for _, one := range t.tests {
		what, err := r.run(ctx, one)
		if err != nil || what != survived {
			return what, err
		}
	}
	if t.covers {
		return survived, nil
	}
	return r.others(ctx, m, t)
}

// others runs the whole suite on the mutant that is in the tree: a test need not name the file whose code it tests.
func (r *runner) others(ctx context.Context, m mutant.Mutant, related *target) (outcome, error) {
	all, ok := r.suites[gates.LanguageOf(m.Path)]
	if !ok {
		if err := r.write(m.Path, r.texts[m.Path]); err != nil {
			return invalid, err
		}
		var err error
		if all, err = r.suite(ctx, gates.LanguageOf(m.Path)); err != nil {
			return invalid, err
		}
		if err := r.write(m.Path, m.Apply(r.texts[m.Path])); err != nil {
			return invalid, err
		}
	}
	for _, one := range all.tests {
		what, err := r.run(ctx, one)
		if err != nil || what != survived {
			return what, err
		}
	}
	switch {
	case len(related.tests)+len(all.tests) > 0:
		return survived, nil
	case m.Kind == mutant.TakenBack || r.why != "":
		return invalid, nil
	}
	return uncovered, nil
}

// suite finds the test gates of a language, and checks that they pass without a mutant.
func (r *runner) suite(ctx context.Context, lang gates.Language) (*target, error) {
	t := &target{}
	for _, g := range gates.Suites(r.dir, gates.Settings{Detect: true}) {
		if !isSuiteOf(g.Info().Name, lang) {
			continue
		}
		one := test{suite: g}
		began := time.Now()
		what, err := r.run(ctx, one)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil || what != survived {
			r.why = g.Info().Name + " does not pass without a mutant within the budget"
			if err != nil {
				r.why = phrase.Line(err.Error())
			}
			r.look.Note("only test files that name the code were run: %s", r.why)
			continue
		}
		one.takes = time.Since(began)
		t.tests = append(t.tests, one)
	}
	r.suites[lang] = t
	return t, nil
}

// run runs one test on the mutant that is in the tree.
func (r *runner) run(ctx context.Context, t test) (outcome, error) {
	limit := 3*t.takes + slack
	if t.suite != nil {
		return r.runSuite(ctx, t, limit)
	}
	if t.args == nil {
		ctx, stop := context.WithTimeoutCause(ctx, limit, errSlow)
		defer stop()
		what := survived
		err := r.in.Single(ctx, gates.Single{Path: t.file}, 1, func(one gates.SingleRun) bool {
			if one.Outcome != gates.RunPassed && one.Outcome != gates.RunSkipped { // a skipped test detects nothing
				what = killed
			}
			return false
		})
		if err != nil && context.Cause(ctx) == errSlow {
			return killed, nil
		}
		return what, err
	}
	args := append(slices.Clone(t.args), "-failfast", "-timeout", limit.Round(time.Second).String())
	out, err := r.in.Run(ctx, gates.Program{Args: args, Dir: t.dir})
	switch {
	case err != nil:
		return invalid, err
	case out.OK():
		return survived, nil
	case strings.Contains(out.Text, "[build failed]") || strings.Contains(out.Text, "[setup failed]"):
		return invalid, nil
	}
	return killed, nil
}

func (r *runner) runSuite(ctx context.Context, t test, limit time.Duration) (outcome, error) {
	if t.takes == 0 { // its first run
		limit = max(slack, time.Until(r.until))
	}
	ctx, stop := context.WithTimeoutCause(ctx, limit, errSlow)
	defer stop()
	s := r.in.Subject()
	s.Sealed, s.BaseTests, s.BaseSuites, s.Held = false, nil, nil, nil // it runs as it is, without planted tests
	rep, err := t.suite.Check(ctx, s)
	switch {
	case context.Cause(ctx) == errSlow:
		return killed, nil
	case err != nil:
		return invalid, err
	case rep.Status == gates.Pass || rep.Status == gates.Warn:
		return survived, nil
	case rep.Status == gates.Fail:
		return killed, nil
	}
	return invalid, nil // it was skipped, which says nothing about the mutant
}

var errSlow = errors.New("the tests take much longer than without the mutant")

// target finds the tests that cover a file, and checks that they pass without a mutant. It returns nil if none do.
func (r *runner) target(ctx context.Context, file string) (*target, error) {
	if t, ok := r.files[file]; ok {
		return t, nil
	}
	find := r.script
	switch gates.LanguageOf(file) {
	case gates.LangGo:
		find = r.golang
	case gates.LangPython:
		find = r.python
	}
	t, err := find(ctx, file)
	if err != nil {
		return nil, err
	}
	r.files[file] = t
	return t, nil
}

// goPackage is a package in the output of go list.
type goPackage struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles          []string
}

func (p goPackage) tested() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

func (p goPackage) imports(other string) bool {
	return slices.Contains(p.Imports, other) || slices.Contains(p.TestImports, other) ||
		slices.Contains(p.XTestImports, other)
}

// golang uses the tests of the file's package, then those of the packages that import it.
func (r *runner) golang(ctx context.Context, file string) (*target, error) {
	root := path.Dir(file)
	for root != "." && !exists(r.dir, path.Join(root, "go.mod")) {
		root = path.Dir(root)
	}
	list, err := r.packages(ctx, root)
	if err != nil || list == nil {
		return nil, err
	}
	folder := "./" + strings.TrimPrefix(strings.TrimPrefix(path.Dir(file), root), "/")
	if root == "." {
		folder = "./" + path.Dir(file)
	}
	own := slices.IndexFunc(list, func(p goPackage) bool {
		return sameDir(p.Dir, filepath.Join(r.dir, filepath.FromSlash(path.Dir(file))))
	})
	if own < 0 {
		return nil, nil // of another system
	}
	var run []string
	if list[own].tested() {
		run = append(run, folder)
	}
	for _, p := range list {
		if p.tested() && p.imports(list[own].ImportPath) && p.ImportPath != list[own].ImportPath {
			run = append(run, p.ImportPath)
		}
	}
	t := &target{lines: map[int]bool{}, covers: true}
	for _, pkg := range run[:min(len(run), mostTests)] {
		lines, takes, ok, err := r.covered(ctx, root, pkg, list[own].ImportPath, path.Base(file))
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		maps.Copy(t.lines, lines)
		if len(lines) > 0 {
			t.tests = append(t.tests, test{args: []string{"go", "test", "-count=1", "-vet=off", pkg}, dir: root, takes: takes})
		}
	}
	return t, nil
}

func (r *runner) packages(ctx context.Context, root string) ([]goPackage, error) {
	if list, ok := r.list[root]; ok {
		return list, nil
	}
	out, err := r.in.Run(ctx,
		gates.Program{Args: []string{"go", "list", "-e",
			"-json=ImportPath,Dir,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./..."}, Dir: root, Stdout: true})
	if err != nil {
		return nil, err
	}
	var list []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out.Stdout))); dec.More(); {
		var p goPackage
		if err := dec.Decode(&p); err != nil {
			return nil, fmt.Errorf("read the output of go list: %w", err)
		}
		list = append(list, p)
	}
	r.list[root] = list
	if !out.OK() {
		r.why = "go list ended with " + out.How
	}
	return list, nil
}

// covered runs a package's tests without a mutant and returns the covered lines of a file of package of. ok is false
// if the tests fail, because then they say nothing about mutants.
func (r *runner) covered(ctx context.Context, root, pkg, of, base string) (lines map[int]bool, takes time.Duration,
	ok bool, err error) {
	profile, err := os.CreateTemp("", "runplan-cover-*")
	if err != nil {
		return nil, 0, false, fmt.Errorf("make a file for the coverage: %w", err)
	}
	profile.Close()
	defer os.Remove(profile.Name())
	began := time.Now()
	out, err := r.in.Run(ctx,
		gates.Program{Args: []string{"go", "test", "-count=1", "-vet=off", "-coverpkg", of, "-coverprofile", profile.Name(),
			pkg}, Dir: root})
	if err != nil {
		return nil, 0, false, err
	}
	if !out.OK() {
		r.why = fmt.Sprintf("the tests of %s fail without a mutant", pkg)
		return nil, 0, false, nil
	}
	takes = time.Since(began)
	profiles, err := cover.ParseProfiles(profile.Name())
	if err != nil {
		return nil, 0, false, fmt.Errorf("read the coverage: %w", err)
	}
	lines = map[int]bool{}
	for _, p := range profiles {
		if p.FileName != of+"/"+base {
			continue
		}
		for _, block := range p.Blocks {
			for i := block.StartLine; i <= block.EndLine && block.Count > 0; i++ {
				lines[i] = true
			}
		}
	}
	return lines, takes, true, nil
}

// script selects the test files that name the file's module. A match in the name of a test file ranks highest.
func (r *runner) script(ctx context.Context, file string) (*target, error) {
	if r.tests == nil {
		if err := r.listTests(); err != nil {
			return nil, err
		}
	}
	name := stem(file)
	type ranked struct {
		file string
		n    int
	}
	var found []ranked
	for _, t := range r.tests {
		if gates.LanguageOf(t) != gates.LanguageOf(file) {
			continue
		}
		n := 0
		if strings.Contains(stem(t), name) {
			n += 2
		}
		data, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(t)))
		if err == nil && strings.Contains(string(data), name) {
			n++
		}
		if n > 0 {
			found = append(found, ranked{t, n})
		}
	}
	slices.SortStableFunc(found, func(a, b ranked) int { return cmp.Compare(b.n, a.n) })
	out := &target{}
	for _, f := range found[:min(len(found), mostTests)] {
		began, well := time.Now(), false
		err := r.in.Single(ctx, gates.Single{Path: f.file}, 1, func(one gates.SingleRun) bool {
			well = one.Outcome == gates.RunPassed || one.Outcome == gates.RunSkipped
			return false
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			r.why = phrase.Line(err.Error())
			continue
		}
		if well {
			out.tests = append(out.tests, test{file: f.file, takes: time.Since(began)})
		} else {
			r.why = f.file + " fails without a mutant"
		}
	}
	return out, nil
}

func (r *runner) listTests() error {
	r.tests = []string{}
	return walk(r.dir, func(rel string) {
		if language.IsTest(rel) {
			r.tests = append(r.tests, rel)
		}
	})
}

// walk calls f with the regular files of a tree, outside of folders with third-party code.
func walk(dir string, f func(rel string)) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != dir && gates.Ignored(d.Name()) {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(dir, p)
		if err == nil && d.Type().IsRegular() {
			f(filepath.ToSlash(rel))
		}
		return err
	})
}

func exists(dir, file string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file)))
	return err == nil
}

// sameDir compares folders that may be spelled with links.
func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// numbers formats line numbers: "3, 5 to 8".
func numbers(at []int) string {
	var parts []string
	for i := 0; i < len(at); {
		j := i
		for j+1 < len(at) && at[j+1] == at[j]+1 {
			j++
		}
		if part := strconv.Itoa(at[i]); i == j {
			parts = append(parts, part)
		} else {
			parts = append(parts, part+" to "+strconv.Itoa(at[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// stem returns the name by which other files import a module: its own name or that of its folder.
func stem(file string) string {
	name := strings.TrimSuffix(path.Base(file), path.Ext(file))
	if name == "__init__" || name == "index" {
		return path.Base(path.Dir(file))
	}
	return name
}
