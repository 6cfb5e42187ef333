// Package giventests makes a gate of the tests that a plan gives as code: they pass on the new code. An agent may leave them
// out, or write a weaker test under the same name.
//
// The gate runs only tests of which the tree has no equal or stronger version. It adds the plan's code to the test file
// that the batch names, in the tree of the gate, and runs this file. What does not load there is not decided, because
// plans are often imprecise about imports and helpers.
package giventests

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
)

// Name of the gate.
const Name = "plan:given-tests"

// Rule is the rule of a test of the plan that fails on the new code.
const Rule = "plan/given-test-fails"

// limit is the time limit of one run of a test file.
const limit = 5 * time.Minute

// Options sets how tests are checked.
type Options struct {
	Severity gates.Severity  // of a test that fails; "" is error
	Files    func() []string // returns the paths of the tree's files, with slashes
}

// block is a block of code with tests in the text of a batch.
type block struct {
	file  string // test file that the batch names
	text  string
	line  int // of its first line, in the batch's text, from 1
	tests []testcode.Unit
}

var (
	// elided matches code that leaves something out.
	elided = lazyre.New(`(?mi)^\s*(?:#|//|/\*)?\s*(?:\.\.\.|…)|^\s*(?:#|//|/\*).*\b(?:existing|rest of|same as|as before|as above|unchanged|similar\w*|etc)\b`)
	// mocked matches tests that replace parts of the code: plans often guess these parts.
	mocked = lazyre.New(`(?i)mock|\bpatch\b|\bspy|\bstub`)
	// unloaded matches the output of tests that use a name which is not there, or use it otherwise than it works.
	unloaded = lazyre.New(`NameError|TypeError|AttributeError|ImportError|ModuleNotFoundError|fixture '[^']*' not found|ReferenceError|is not defined|` +
		`Cannot find (?:module|package)|does not provide an export|undefined (?:local variable or )?method|uninitialized constant|LoadError|SyntaxError`)
	// place matches the place of a failure: its line is not one of the tree.
	place = lazyre.New(`^\S+:\d+:\s+`)
)

// Gate returns the gate of a batch; ok is false if the batch gives no tests.
func Gate(b *planparse.Batch, o Options) (g gates.Gate, ok bool) {
	o.Severity = cmp.Or(o.Severity, gates.Error)
	all := find(b)
	if len(all) == 0 {
		return nil, false
	}
	n := 0
	for _, k := range all {
		n += len(k.tests)
	}
	i := gates.Info{Name: Name, Kind: gates.Static, Cost: gates.Costly, Blocking: true, Compares: true,
		Command: phrase.Count(n, "test", "tests") + " of the plan"}
	return gates.New(i, func(ctx context.Context, l *gates.Look) error { return o.look(ctx, l, all) }), true
}

// find returns the blocks with tests whose file the batch names.
func find(b *planparse.Batch) (out []block) {
	text := strings.ReplaceAll(b.Text, "\r\n", "\n")
	for _, c := range language.Blocks(text) {
		k := block{text: c.Text, line: 1 + strings.Count(text[:c.Start], "\n")}
		if k.file = fileOf(b, text[:c.End], language.OfWord(c.Word)); k.file == "" || elided.MatchString(k.text) || mocked.MatchString(k.text) {
			continue
		}
		k.tests = lists.Filter(testcode.Read(k.file, whole(k.file, k.text)).Units,
			func(u testcode.Unit) bool { return u.Asserts > 0 && u.Skips == 0 && !u.Opaque })
		if len(k.tests) > 0 {
			out = append(out, k)
		}
	}
	return out
}

// fileOf returns the test file of the batch that a block belongs to: the one that the text up to the end of the block
// names last, or the only one.
func fileOf(b *planparse.Batch, text, lang string) (file string) {
	last, count := -1, 0
	for _, n := range b.Named {
		if lang == "" || n.Verb == "delete" || !language.IsTest(n.Path) || language.OfSource(n.Path) != lang || n.Path == file {
			continue
		}
		count++
		if at := strings.LastIndex(text, n.Path); at >= last {
			file, last = n.Path, at
		}
	}
	if last < 0 && count > 1 {
		return ""
	}
	return file
}

func (o Options) look(ctx context.Context, l *gates.Look, all []block) error {
	have := o.tests(l.Subject())
	total, passed, ran := 0, 0, false
	files := slices.Sorted(slices.Values(lists.Map(all, func(k block) string { return k.file })))
	for _, file := range slices.Compact(files) {
		ours := lists.Filter(all, func(k block) bool { return k.file == file })
		var missing []testcode.Unit
		for _, k := range ours {
			total += len(k.tests)
			for _, u := range k.tests {
				if slices.ContainsFunc(have, func(h testcode.Unit) bool { return atLeast(h, u) }) {
					passed++ // the gate of the tests runs it
					continue
				}
				missing = append(missing, u)
			}
		}
		if len(missing) == 0 {
			continue
		}
		failed, why, unknown, err := run(ctx, l, ours, missing)
		if err != nil {
			return err
		}
		if unknown != "" {
			l.Note("not decided: %s of %s: %s", phrase.Count(len(missing), "test", "tests"), file, shorten(unknown))
			continue
		}
		ran = true
		passed += len(missing) - len(failed)
		for _, u := range failed {
			l.Find(gates.Finding{Rule: Rule, Path: file, Severity: o.Severity,
				Message: fmt.Sprintf("the plan's test %s fails on the new code: %s", u.Name, shorten(why)),
				Fix:     "correct the code, and use the test of the plan unchanged"})
		}
	}
	tell := l.Note
	if passed == 0 && !ran {
		tell = l.Skip // nothing was checked
	}
	tell("%d of %s that the plan gives as code", passed, phrase.Count(total, "test", "tests"))
	return nil
}

func shorten(text string) string { return phrase.Fit(strings.ReplaceAll(text, "\n", " "), 200) }

// tests reads the tests of the tree's changed files.
func (o Options) tests(s gates.Subject) (out []testcode.Unit) {
	for _, p := range o.Files() {
		if !language.IsTest(p) || s.Changed != nil && !slices.Contains(s.Changed, p) {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(s.Dir, filepath.FromSlash(p))); err == nil {
			out = append(out, testcode.Read(p, string(text)).Units...)
		}
	}
	return out
}

// escapes matches a line that keeps a test from reaching its assertions, or from failing.
var escapes = lazyre.New(`^(?:try|begin|if|unless|return|except|rescue|raise|throw)\b|\bcatch\b|\brescue\b|suppress|[sS]kip|xfail`)

// atLeast reports whether a test has the name of a given one and all of its lines, with their values, and no line that
// escapes them.
func atLeast(have, given testcode.Unit) bool {
	lines := func(u testcode.Unit) []string {
		all := lists.Map(strings.Split(u.Text, "\n"), strings.TrimSpace)
		return lists.Filter(all, func(l string) bool { return l != "" && !commented.MatchString(l) })
	}
	ours, theirs := lines(have), lines(given)
	return have.Bare() == given.Bare() && have.Skips == 0 && len(theirs) > 0 &&
		!slices.ContainsFunc(theirs, func(l string) bool { return !slices.Contains(ours, l) }) &&
		!slices.ContainsFunc(ours, func(l string) bool { return escapes.MatchString(l) && !slices.Contains(theirs, l) })
}

var commented = lazyre.New(`^(?:#|//)`)

// run runs a test file with the blocks of the plan. It returns the tests that fail, or why nothing is known of them.
func run(ctx context.Context, l *gates.Look, blocks []block, tests []testcode.Unit) (failed []testcode.Unit,
	why, unknown string, err error) {
	file := blocks[0].file
	name := filepath.Join(l.Subject().Dir, filepath.FromSlash(file))
	was, err := os.ReadFile(name)
	if err != nil {
		return nil, "", "the file does not exist", nil
	}
	text := string(was)
	for _, k := range blocks {
		text = joined(file, text, k.text)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		return nil, "", "", fmt.Errorf("write the tests of the plan: %w", err)
	}
	defer func() { _ = os.WriteFile(name, was, 0o644) }()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for range 2 { // a test that fails once may be flaky
		var one gates.SingleRun
		err := l.Single(limited, gates.Single{Path: file}, 1, func(r gates.SingleRun) bool { one = r; return false })
		switch {
		case ctx.Err() != nil:
			return nil, "", "", ctx.Err()
		case err != nil:
			return nil, "", err.Error(), nil
		case one.Outcome == gates.RunPassed || one.Outcome == gates.RunSkipped:
			return nil, "", "", nil
		case one.Outcome != gates.RunFailed || unloaded.MatchString(one.Text+one.Why):
			return nil, "", string(one.Outcome) + ": " + cmp.Or(one.Why, "it uses names that do not exist"), nil
		}
		failed, why = lists.Filter(tests, func(u testcode.Unit) bool {
			return slices.ContainsFunc(one.Failed, func(f string) bool { return strings.Contains(f, u.Bare()) })
		}), place.ReplaceAllString(one.Why, "")
		if len(failed) == 0 {
			return nil, "", "other tests of the file fail", nil
		}
	}
	return failed, why, "", nil
}
