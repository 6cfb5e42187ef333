// Package differential checks whether a regression test proves a fix: it must fail on the base and pass on the
// candidate.
//
// The base side is a separate scratch tree. From the candidate it contains only the test and the files that the test
// reads. Each side runs several times to detect flaky results. Only a test that ran and failed counts as failing. A
// test that was skipped, found nothing to run or did not build proves nothing. A missing runner, or lack of time, is an
// error and says nothing about the code.
package differential

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
)

// Name is the name of the gate.
const Name = "differential"

// The rules of the gate.
const (
	RuleNoTest     = "no-test"           // the file is not in the candidate
	RuleEmptyFix   = "empty-fix"         // nothing but the test changed
	RulePassesBoth = "passes-on-both"    // it passes without the fix
	RuleFailsBoth  = "fails-on-both"     // the fix does not fix it
	RuleInverted   = "passes-on-base"    // it passes on the base and fails on the candidate
	RuleFlaky      = "flaky"             // it passes and fails on the same tree
	RuleSkipped    = "skipped"           // a skip is neither a pass nor a failure
	RuleIdle       = "no-tests-ran"      // no test in it runs
	RuleHidden     = "hides-failures"    // its runner ends with 0 although a test failed
	RuleBlind      = "cannot-run"        // it does not build or load
	RuleOnlyNames  = "fails-by-its-name" // on the base it does not build, because names that the fix adds are missing
)

// DefaultRuns is the number of runs of each side.
const DefaultRuns = 3

// Options configures the comparison.
type Options struct {
	Files []string   // the regression test, as PATH or PATH::NAME, and then the files that it reads
	Shell string     // its runner, if the project's files do not show it
	Runs  int        // of each side; 0 is [DefaultRuns]
	Base  gates.Room // makes the tree of the base; the gate writes the test into it
}

// New makes the gate. Its result is never cached.
func New(o Options) gates.Gate {
	if o.Runs <= 0 {
		o.Runs = DefaultRuns
	}
	info := gates.Info{Name: Name, Kind: gates.Static, Cost: gates.Costly, Blocking: true, Compares: true,
		Command: strings.Join(o.Files, " ")}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error { return o.look(ctx, l) })
}

// Split splits PATH::NAME into its parts.
func Split(file string) (p, only string) {
	p, only, _ = strings.Cut(file, "::")
	return path.Clean(p), only
}

// compared is one comparison in progress.
type compared struct {
	Options
	*gates.Look
	test  gates.Single
	files []string // without names of tests
}

func (o Options) look(ctx context.Context, l *gates.Look) error {
	c := compared{Options: o, Look: l}
	for _, f := range o.Files {
		p, only := Split(f)
		if len(c.files) == 0 {
			c.test = gates.Single{Path: p, Only: only, Shell: o.Shell}
		}
		c.files = append(c.files, p)
	}
	if len(c.files) == 0 {
		return errors.New("no regression test is given: name its file")
	}
	s := l.Subject()
	if s.Base == "" || s.Diff == nil {
		return errors.New("the commit that the change starts from is not known, so there is no base to run the test on")
	}
	laid, err := read(s.Dir, c.files)
	if gone, ok := errors.AsType[*goneError](err); ok {
		c.refuse(RuleNoTest, "the regression test "+gone.Error(), "write the test that shows what was wrong, at that path")
		return nil
	}
	if err != nil {
		return err
	}
	fix, err := c.fix(ctx, s.Diff)
	if err != nil {
		return err
	}
	if len(fix) == 0 {
		c.refuse(RuleEmptyFix, "nothing changed but the regression test: there is no fix to test",
			"change the wrong code")
		return nil
	}
	base, now, err := c.sides(ctx, laid)
	if err != nil {
		return err
	}
	c.judge(base, now, fix)
	return nil
}

// fix returns the changed files other than the test.
func (c *compared) fix(ctx context.Context, d gates.Diff) ([]gates.File, error) {
	files, large, err := gates.Files(ctx, d, func(ch gates.Change) bool { return !slices.Contains(c.files, ch.Path) })
	if err != nil {
		return nil, fmt.Errorf("find out what the fix changes: %w", err)
	}
	for _, p := range large { // unread, but it is a change
		files = append(files, gates.File{Change: gates.Change{Path: p, Status: gates.Modified}})
	}
	return files, nil
}

// sides runs the test on both trees.
func (c *compared) sides(ctx context.Context, laid []file) (base, now side, err error) {
	s := c.Subject()
	before := s
	before.Tree = ""
	dir, _, done, err := c.Base(ctx, before)
	if done != nil {
		defer done()
	}
	if err != nil {
		return base, now, fmt.Errorf("make a tree of the base: %w", err)
	}
	if err := lay(dir, laid); err != nil {
		return base, now, fmt.Errorf("copy the regression test to the base: %w", err)
	}
	before.Dir, before.Changed, before.Diff, before.Before, before.Fresh = dir, nil, nil, nil, nil
	if base, err = c.side(ctx, "base", before); err != nil {
		return base, now, fmt.Errorf("on the base: %w", err)
	}
	if now, err = c.side(ctx, "candidate", s); err != nil {
		return base, now, fmt.Errorf("on the candidate: %w", err)
	}
	return base, now, nil
}

func (c *compared) refuse(rule, message, fix string) {
	c.Find(gates.Finding{Rule: rule, Path: c.test.Path, Severity: gates.Error, Message: message, Fix: fix,
		Test: c.test.Only})
}
