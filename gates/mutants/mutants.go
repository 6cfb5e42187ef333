// Package mutants measures how much a passing test suite proves. It makes wrong versions of the lines that a change
// added, called mutants, and runs the tests on each. If all tests pass on a mutant, no test checks the result of that
// line.
//
// Mutants run in a scratch tree of the candidate, never in the tree under review. The time budget includes all that the
// gate does. When it is spent, the running test is stopped; untried mutants are counted as such.
package mutants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/mutants/mutant"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/patterns"
)

// Name is the name of the gate.
const Name = "mutants"

// The rules of the gate.
const (
	RuleSurvived = "mutant-survived" // the tests pass on a wrong version
	RuleUntested = "line-untested"   // no test runs the line
	RuleTooFew   = "mutants-killed"  // the share of killed mutants is below the limit
	RuleBack     = "part-untested"   // the tests pass although a part of the change is reverted
)

// Options selects which mutants are tried.
type Options struct {
	Tree   gates.Room    // copies the candidate; the gate writes mutants into it
	Budget time.Duration // for the whole gate; 0 means one minute
	// Share is the budget in percent of the time that the test gates before this one took, instead of Budget. Then nothing
	// is tried if the budget is too short to find anything, see [Least]. With a Bar the budget is at least one minute.
	Share int
	Bar   int // required percent of killed mutants; 0 only advises
	// Program finds ast-grep, for languages other than Go; nil leaves them out.
	Program func(ctx context.Context) (patterns.Program, error)
	// Tried, if set, receives each mutant that was tried, and its result: "killed", "survived", "uncovered" (no test
	// runs the line) or "invalid" (it does not build).
	Tried func(m mutant.Mutant, result string)
}

// Score summarizes the mutants of a change.
type Score struct {
	Tried    int // mutants that the tests ran on
	Killed   int // of these, how many the tests noticed
	Untested int // changed lines of code that no test runs
	Left     int // mutants that were not tried within the budget
	Back     int // reverted parts of the change; they are not in Tried
	Noticed  int // of these, how many the tests noticed
}

// New makes the gate. Its answer is never cached, because it depends on the available time.
func New(o Options) gates.Gate {
	info := gates.Info{Name: Name, Kind: gates.Static, Cost: gates.Dear, Blocking: true, Compares: true,
		Quiet: o.Share > 0 && o.Bar == 0}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error { return o.look(ctx, l) })
}

// look tries mutants within the budget.
func (o Options) look(ctx context.Context, l *gates.Look) error {
	began := time.Now()
	o, why := o.within(l.Subject().Earlier)
	if why != "" {
		l.Skip("%s", why)
		return nil
	}
	limited, stop := context.WithDeadlineCause(ctx, began.Add(o.Budget), errSpent)
	defer stop()
	err := o.tryAll(limited, l)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case spent(limited):
		return o.leave(l, fmt.Sprintf("no mutant was tried: the budget of %s was spent before", o.shown()))
	case o.Share > 0: // mere advice must not stop a run
		l.Skip("no mutant was tried: %v", err)
		return nil
	}
	return err
}

func (o Options) tryAll(ctx context.Context, l *gates.Look) error {
	s := l.Subject()
	all, ok, err := l.Changed(ctx,
		func(c gates.Change) bool { return c.Status != gates.Deleted && !c.Link && mutable(c.Path) })
	if err != nil || !ok {
		return err
	}
	var files, tests []gates.File
	short := ""
	for _, f := range all {
		if why := o.short(s.Earlier, gates.LanguageOf(f.Path)); why != "" {
			short = why
			continue
		}
		switch {
		case !language.IsTest(f.Path):
			files = append(files, f)
		case f.Status == gates.Modified:
			tests = append(tests, f)
		}
	}
	list, texts, err := o.mutants(ctx, l, files)
	if err != nil {
		return err
	}
	var back []mutant.Mutant
	for _, f := range files {
		if f.Status == gates.Modified {
			back = append(back, mutant.TakeBack(f.Path, f.Before, f.After)...)
		}
	}
	about, err := subjects(s.Dir, tests)
	if err != nil {
		return err
	}
	weak, err := o.weakened(ctx, s.Dir, slices.Sorted(maps.Keys(about)), texts)
	if err != nil {
		return err
	}
	if len(list)+len(back)+len(weak) == 0 {
		l.Skip("%s", cmp.Or(short, "no changed line of code can be mutated"))
		return nil
	}
	dir, env, done, err := o.Tree(ctx, s)
	if done != nil {
		defer done()
	}
	if spent(ctx) {
		return o.leave(l, o.untried(len(list)+len(back)+len(weak)))
	}
	if err != nil {
		return fmt.Errorf("make a scratch tree for mutants: %w", err)
	}
	s.Dir, s.Tree, s.Changed, s.Diff, s.Before, s.Fresh = dir, "", nil, nil, nil, nil
	if env != nil {
		s.Env = env
	}
	// Python treats a cached file as current if size and second of the source match, so it must not write any.
	s.Env = append(slices.Clone(s.Env), "PYTHONDONTWRITEBYTECODE=1")
	if s.LogDir != "" {
		s.LogDir = filepath.Join(s.LogDir, Name)
	}
	g := gates.New(gates.Info{Name: Name}, func(ctx context.Context, in *gates.Look) error {
		end, _ := ctx.Deadline()
		r := &runner{look: l, in: in, dir: dir, texts: texts, until: end, list: map[string][]goPackage{}, found: newFound(),
			before: newFound()}
		if len(list)+len(back) == 0 {
			return r.compare(ctx, weak, about)
		}
		// Changed tests get half of the time, if there is anything else to try.
		r.until = end.Add(-time.Until(end) / 2)
		half, stop := context.WithDeadlineCause(ctx, r.until, errSpent)
		defer stop()
		if err := r.compare(half, weak, about); err != nil {
			return err
		}
		r.until = end
		return r.judge(ctx, o, slices.Concat(mutant.Spread(back), mutant.Spread(list)))
	})
	_, err = g.Check(ctx, s)
	return err
}

// mutants makes the mutants of the added lines of files.
func (o Options) mutants(ctx context.Context, l *gates.Look, files []gates.File) ([]mutant.Mutant, map[string]string,
	error) {
	texts := map[string]string{}
	var list []mutant.Mutant
	missing := false
	for _, f := range files {
		texts[f.Path] = f.After
		more, err := o.of(ctx, l.Subject().Dir, f.Path, f.After, f.FreshLines())
		if errors.Is(err, patterns.ErrMissing) {
			missing = true
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		list = append(list, more...)
	}
	if missing {
		l.Note("only Go files are checked, because ast-grep is not installed")
	}
	return list, texts, nil
}

// of makes the mutants of lines of one file.
func (o Options) of(ctx context.Context, dir, file, text string, lines map[int]bool) ([]mutant.Mutant, error) {
	if gates.LanguageOf(file) == gates.LangGo {
		return mutant.Of(file, text, lines), nil
	}
	return o.script(ctx, dir, []patterns.Text{{Path: file, Text: []byte(text)}}, map[string]map[int]bool{file: lines})
}

func (o Options) script(ctx context.Context, dir string, texts []patterns.Text,
	lines map[string]map[int]bool) ([]mutant.Mutant, error) {
	if o.Program == nil {
		return nil, patterns.ErrMissing
	}
	program, err := o.Program(ctx)
	if err != nil {
		return nil, err
	}
	return mutant.Script(ctx, program, dir, texts, lines)
}

// judge runs the tests on the mutants and reports.
func (r *runner) judge(ctx context.Context, o Options, list []mutant.Mutant) error {
	var score Score
	var left []mutant.Mutant
	untested := map[mutant.Place]bool{}
	for i, m := range list {
		what, err := r.try(ctx, m)
		if spent(ctx) {
			score.Left = len(list) - i
			break
		}
		if err != nil {
			return err
		}
		if o.Tried != nil {
			o.Tried(m, what.String())
		}
		tried, noticed := &score.Tried, &score.Killed
		if m.Kind == mutant.TakenBack {
			tried, noticed = &score.Back, &score.Noticed
		}
		switch what {
		case killed:
			*tried++
			*noticed++
		case survived:
			*tried++
			left = append(left, m)
		case uncovered:
			untested[m.Place()] = true
		}
	}
	score.Untested = len(untested)
	return r.report(o, list, score, left, untested)
}

// coverage returns how many of the mutated lines tests run, if the test runner reports it.
func (r *runner) coverage(list []mutant.Mutant) (run, of int) {
	seen := map[mutant.Place]bool{}
	for _, m := range list {
		t := r.files[m.Path]
		if t == nil || !t.covers || m.Kind == mutant.TakenBack || seen[m.Place()] {
			continue
		}
		seen[m.Place()] = true
		if of++; t.lines[m.Line] {
			run++
		}
	}
	return run, of
}

func (r *runner) report(o Options, all []mutant.Mutant, score Score, left []mutant.Mutant,
	untested map[mutant.Place]bool) error {
	for _, m := range left {
		if m.Kind == mutant.TakenBack {
			r.look.Find(gates.Finding{
				Rule: RuleBack, Path: m.Path, Line: m.Line, Severity: gates.Warning,
				Message: r.tested(m) + " fails if " + m.DescribeBack(),
				Fix:     "test the purpose of this part of the change, or remove it",
			})
			continue
		}
		r.look.Find(gates.Finding{
			Rule: RuleSurvived, Path: m.Path, Line: m.Line, Severity: gates.Warning,
			Message: fmt.Sprintf("%s fails if %s (%s)", r.tested(m), m.Describe(), m.Kind),
			Fix:     "assert the result of this line",
		})
	}
	lines := map[string][]int{}
	for p := range untested {
		lines[p.Path] = append(lines[p.Path], p.Line)
	}
	for _, file := range slices.Sorted(maps.Keys(lines)) {
		at := lines[file]
		slices.Sort(at)
		r.look.Find(gates.Finding{
			Rule: RuleUntested, Path: file, Line: at[0], Severity: gates.Warning,
			Message: fmt.Sprintf("no test runs %s: %s", phrase.Count(len(at), "changed line"), numbers(at)),
			Fix:     "write a test that runs them",
		})
	}
	switch {
	case score.Tried == 0 && score.Untested == 0 && score.Back == 0:
		switch {
		case score.Left > 0 && (o.Bar > 0 || !r.weaker):
			return o.leave(r.look, o.untried(score.Left))
		case score.Left > 0:
			r.look.Note("%s", o.untried(score.Left))
		case r.weaker:
			r.look.Note("no mutant could be tried%s", r.because())
		default:
			r.look.Skip("no mutant could be tried%s", r.because())
		}
		return nil
	case score.Tried > 0:
		r.look.Note("%d of %s killed", score.Killed, phrase.Count(score.Tried, "mutant"))
	}
	if run, of := r.coverage(all); of > 0 {
		r.look.Note("tests run %d of %s", run, phrase.Count(of, "changed line", "changed lines"))
	} else {
		r.look.Note("coverage unknown")
	}
	if score.Back > 0 {
		r.look.Note("%d of %s noticed when reverted", score.Noticed,
			phrase.Count(score.Back, "part of the change is", "parts of the change are"))
	}
	if score.Left > 0 {
		r.look.Note("%s", o.untried(score.Left))
	}
	if n := score.Tried + score.Untested; o.Bar > 0 && score.Killed*100 < o.Bar*n {
		r.look.Find(gates.Finding{
			Rule: RuleTooFew, Severity: gates.Error,
			Message: fmt.Sprintf(
				"the tests detect %d of %d wrong versions of the changed lines (%d %%; required: %d %%)",
				score.Killed, n, score.Killed*100/n, o.Bar),
			Fix: "add the assertions that the findings ask for",
		})
	}
	return nil
}

// tested returns which tests a survivor passed: without the whole suite, other tests may still detect it.
func (r *runner) tested(m mutant.Mutant) string {
	if all := r.suites[gates.LanguageOf(m.Path)]; all != nil && len(all.tests) == 0 {
		return "no test in the files that name the code"
	}
	return "no test"
}

// write replaces a file of the scratch tree.
func (r *runner) write(file, text string) error {
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return fmt.Errorf("write a mutant: %w", err)
	}
	defer root.Close()
	info, err := root.Lstat(filepath.FromSlash(file))
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", file)
	}
	if err == nil {
		err = root.WriteFile(filepath.FromSlash(file), []byte(text), info.Mode().Perm())
	}
	if err != nil {
		return fmt.Errorf("write a mutant: %w", err)
	}
	return nil
}

// mutable reports whether files of this name are mutated.
func mutable(file string) bool {
	return slices.Contains([]gates.Language{gates.LangGo, gates.LangPython, gates.LangNode}, gates.LanguageOf(file))
}
