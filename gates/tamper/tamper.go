// Package tamper detects changes that weaken tests, linters or their configuration instead of making the code correct.
//
// It has two gates. [New] compares tests and files before and after the change. [Protected] checks changes of files
// that control the checks: the batch must ask for them. Both read the two trees from git and run nothing.
//
// A batch asks for a change if the file is in its Files section or in a literal block. The column "named" of the table
// gives the severity in that case. If the whole plan was carried out literally, an error becomes a warning.
//
//	rule                       found in                                              not named  named
//	tamper/test-file-deleted   a test file is gone, and its tests are nowhere else   error      info, if under Delete
//	tamper/test-file-emptied   it is there and has no tests left                     error      error
//	tamper/test-removed        a test is gone, by name, and not merely renamed       error      warning
//	tamper/test-renamed        another test has its body                             info       info
//	tamper/test-emptied        a test is there and checks nothing                    error      error
//	tamper/fewer-assertions    a test has fewer assertions (a loop instead: warning) error      warning
//	tamper/test-skipped        a test that ran is skipped, or expected to fail       error      error
//	tamper/new-test-skipped    a new test is skipped                                 warning    warning
//	tamper/new-test-empty      a new test calls nothing that could fail it           error      error
//	                           … or raises the expected error itself, asserts only   error      error
//	                           in handlers of errors, or calls the fake that it asks
//	                           … as the plan itself has it in a block                warning    warning
//	tamper/new-test-asserts-nothing   a new test calls something, and asserts nothing  info     info
//	tamper/only-added          .only and its like, which turns off all other tests   error      error
//	tamper/always-true         an assertion that cannot fail took the place of one   error      error
//	tamper/new-always-true     a new assertion that cannot fail                      warning    warning
//	tamper/test-disabled       build tags, module-wide skips, hooks into the runner  error      error
//	tamper/result-set          a hook into the runner sets the result of a test      error      error
//	tamper/snapshot            lines of a recorded answer were rewritten             error      info
//	tamper/type-ignore         more comments against the type checker (GATE-11)      error      error
//	tamper/silenced            more comments against linters                         error      error
//	                           … each of which names a rule and a reason             warning    warning
//	tamper/knows-tests         code of the product asks whether it is tested, or     error      warning
//	                           changes a test library
//	tamper/hidden              invisible characters in code, and attributes of git   error      error
//	                           that keep code out of diffs                           error      warning
//	tamper/config              a section of a shared file that decides what is       error      warning
//	                           checked, or how strictly (new sections: warning)
//	tamper/too-large           such a file grew too large to check            error      error
//	protected/ci               what runs in CI                                       error      info; warning, if the batch names its service
//	protected/runplan          .runplan/: configuration, lessons, patterns, prompts  error      info
//	protected/gates            the configuration of linters and test runners         error      info
//	                           … that is new, where the tool had none                warning    info
//	protected/migration        a numbered migration that was there before            error      info
//	protected/listed           what the configuration lists under gates.protected    error      info
//	protected/test             a test that was there before                          warning    info
//
// A removed test, or a test with fewer assertions, may have moved into another test, a table, subtests or a helper. The
// code that it tests may be removed too, or the change may be a revert. Without a batch, other code or new tests in the
// same file also explain it. Such a finding states the explanation and has a lower severity: an error becomes a
// warning, or, without a batch, a remark.
//
// Without a batch, the author wanted the change. Then the rules about unrequested changes are remarks, and a test that
// checks less is a warning.
//
// These are not found: tests that become weaker without losing an assertion (a looser bound, another input), hard-coded
// answers, and anything that happens only while the tests run. Test runs show them. If a calibrated suite ran the tests
// of the base on the candidate's code, the rules about existing tests only warn.
package tamper

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// New makes the gate that compares tests, silencing comments and shared configuration with the base.
func New() gates.Gate {
	info := gates.Info{Name: "tamper", Kind: gates.Static, Cost: gates.Instant, Blocking: true, Compares: true}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		files, ok, err := l.Changed(ctx, nil)
		if err != nil || !ok {
			return err
		}
		j := judge{l, l.Subject(), &tale{}}
		j.tooLarge(ctx, files)
		j.tale = read(ctx, j.s, files)
		j.tests(files)
		for _, f := range files {
			if f.Link && f.Status != gates.Deleted {
				continue
			}
			j.snapshot(f)
			j.config(f)
			if f.Status != gates.Deleted {
				j.silenced(f)
				j.aware(f)
				j.hidden(f)
			}
		}
		return nil
	})
}

// judge turns observations into findings.
type judge struct {
	l    *gates.Look
	s    gates.Subject
	tale *tale
}

// find adds a finding. If the user's own text asks for the change, it is only a warning.
func (j judge) find(rule string, sev gates.Severity, path string, line int, fix, format string, args ...any) {
	if j.s.Literal && sev == gates.Error {
		sev = gates.Warning
	}
	if j.s.Batch.Key == "" {
		sev = unasked(rule, sev)
	}
	j.l.Find(gates.Finding{Rule: rule, Severity: sev, Path: path, Line: line, Message: fmt.Sprintf(format, args...),
		Fix: fix, Advice: advises(rule)})
}

// unasked returns the severity of a finding if there is no batch. Rules that only matter for unasked changes become
// remarks, because the author wanted the change. A test that checks less is a warning. A test that checks nothing at
// all keeps its severity.
func unasked(rule string, sev gates.Severity) gates.Severity {
	switch rule {
	case "tamper/test-emptied", "tamper/only-added", "tamper/always-true", "tamper/new-test-empty":
		return sev
	case "tamper/test-removed", "tamper/test-file-deleted", "tamper/test-file-emptied", "tamper/fewer-assertions",
		"tamper/test-skipped", "tamper/test-disabled":
		return less(sev, gates.Warning)
	}
	return gates.Note
}

// less returns the milder of two severities.
func less(a, b gates.Severity) gates.Severity {
	order := []gates.Severity{gates.Error, gates.Warning, gates.Note}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// advises reports whether a rule only reads existing tests, so that an actual test run has priority. It is false for
// new tests that check nothing: they always pass, so no run shows the problem.
func advises(rule string) bool {
	return slices.Contains([]string{"tamper/test-file-deleted", "tamper/test-file-emptied", "tamper/test-removed",
		"tamper/test-emptied", "tamper/fewer-assertions", "tamper/test-skipped", "tamper/only-added",
		"tamper/always-true", "tamper/test-disabled", "tamper/snapshot"}, rule)
}

// unless returns then if the batch named the file, otherwise error.
func (j judge) unless(named bool, then gates.Severity) gates.Severity {
	if named {
		return then
	}
	return gates.Error
}

// tooLarge finds relevant files that are too large to read. A new file has nothing to compare with, but unreadable
// tests or settings may hide anything.
func (j judge) tooLarge(ctx context.Context, read []gates.File) {
	changes, err := j.s.Diff.Changes(ctx)
	if err != nil {
		return // Changed has already reported it
	}
	have := lists.SetBy(read, func(f gates.File) string { return f.Path })
	for _, c := range changes {
		switch {
		case have[c.Path] || !language.IsTest(c.Path) && kindOf(c.Path) == "" && !mixed(c.Path):
		case c.Status == gates.Added:
			j.find("tamper/too-large", gates.Error, c.Path, 0, "split the file, or make it smaller",
				"the new file is too large to check, so its effect on the tests is unknown")
		default:
			j.find("tamper/too-large", gates.Error, c.Path, 0, "keep the file small enough to be checked",
				"the file is too large to be compared with its old version")
		}
	}
}

// place is a test in a file.
type place struct {
	file string
	unit testcode.Unit
}

// tests compares the tests of all files together, because a moved test is not a removed test.
func (j judge) tests(files []gates.File) {
	arrived := map[string][]place{} // tests that were not in that file before, by language and name
	type pair struct {
		file     gates.File
		old, now testcode.Sheet
	}
	gone := map[string]bool{} // tests that are no longer in their file
	var pairs []pair
	for _, f := range files {
		if !language.IsTest(f.Path) {
			continue
		}
		p := pair{f, testcode.Read(f.Path, f.Before), testcode.Read(f.Path, f.After)}
		if f.Link {
			p.now = testcode.Sheet{} // a link to a test is not run from here, and its future target is unknown
		}
		for _, u := range p.now.Units {
			if _, ok := p.old.Find(u.Name); !ok {
				key := language.OfTest(f.Path) + " " + u.Bare()
				arrived[key] = append(arrived[key], place{f.Path, u})
			}
		}
		for _, u := range p.old.Units {
			if _, ok := p.now.Find(u.Name); !ok {
				gone[language.OfTest(f.Path)+" "+u.Bare()] = true
			}
		}
		pairs = append(pairs, p)
	}
	for _, p := range pairs {
		path := p.file.Path
		moved := func(u testcode.Unit) (place, bool) {
			for _, a := range arrived[language.OfTest(path)+" "+u.Bare()] {
				if a.file != path {
					return a, true
				}
			}
			return place{}, false
		}
		came := func(u testcode.Unit) bool { return gone[language.OfTest(path)+" "+u.Bare()] }
		j.disabled(p.file, p.old, p.now)
		left := 0
		for _, u := range p.old.Units {
			if _, ok := moved(u); !ok {
				left++
			}
		}
		switch {
		case p.file.Status == gates.Deleted && left == 0 && len(p.old.Units) > 0:
			j.comparison(p.file, p.old, p.now, moved, came)
			continue
		// the tests have no names, but the file exists
		case p.file.Status == gates.Deleted && p.old.Opaque && j.tale.moved[path]:
			continue
		case p.file.Status == gates.Deleted && len(p.old.Units) == 0:
			if !j.s.NamesForDeletion(path) { // no readable tests: helpers, fixtures, unknown languages
				sev := gates.Note // a helper, or a fixture: the tests that need it fail without it
				if p.old.Opaque && language.DefinesTests(p.file.Before) {
					sev = j.excused(gates.Error, path, p.old.Units...)
				}
				j.find("tamper/test-file-deleted", sev, path, 0, "restore the file", "a test support file was deleted%s",
					j.because(path, p.old.Units...))
			}
			continue
		case p.file.Status == gates.Deleted:
			sev := gates.Error
			if j.s.NamesForDeletion(path) {
				sev = gates.Note
			}
			var its []testcode.Unit
			for _, u := range p.old.Units {
				if _, ok := moved(u); !ok {
					its = append(its, u)
				}
			}
			j.find("tamper/test-file-deleted", j.excused(sev, path, its...), path, 0,
				"restore the file, and make its tests pass",
				"the test file was deleted, with %s%s", count(left, "test"), j.because(path, its...))
			continue
		case p.file.Status != gates.Added && len(p.old.Units) > 0 && len(p.now.Units) == 0 && left > 0:
			j.find("tamper/test-file-emptied", j.excused(gates.Error, path, p.old.Units...), path, 1, "restore the tests",
				"the test file has no tests left; it had %d%s", len(p.old.Units), j.because(path, p.old.Units...))
			continue
		}
		j.comparison(p.file, p.old, p.now, moved, came)
	}
}

// comparison compares the tests of one file.
func (j judge) comparison(f gates.File, old, now testcode.Sheet, moved func(testcode.Unit) (place, bool),
	came func(testcode.Unit) bool) {
	named := j.s.Names(f.Path)
	taken := map[string]bool{}
	for _, u := range old.Units {
		if n, ok := now.Find(u.Name); ok {
			taken[n.Name] = true
			j.weaker(f.Path, u, n, named)
			continue
		}
		if at, ok := moved(u); ok {
			j.weaker(at.file, u, at.unit, named)
			continue
		}
	}
	for _, u := range old.Units {
		if _, ok := now.Find(u.Name); ok {
			continue
		}
		if _, ok := moved(u); ok {
			continue
		}
		if i := slices.IndexFunc(now.Units, func(n testcode.Unit) bool {
			_, was := old.Find(n.Name)
			return !was && !taken[n.Name] && similar(u, n)
		}); i >= 0 {
			n := now.Units[i]
			taken[n.Name] = true
			j.find("tamper/test-renamed", gates.Note, f.Path, n.Line, "", "%s is now called %s", u.Name, n.Name)
			j.weaker(f.Path, u, n, named)
			continue
		}
		sev := j.excused(j.unless(named, gates.Warning), f.Path, u)
		if language.OfTest(f.Path) == language.Go && strings.HasPrefix(u.Name, "Benchmark") {
			sev = gates.Note // a benchmark checks nothing
		}
		j.find("tamper/test-removed", sev, f.Path, 0,
			"restore it, and make it pass",
			"the test %s was removed%s", u.Name, j.because(f.Path, u))
	}
	var added []testcode.Unit
	for _, n := range now.Units {
		if _, was := old.Find(n.Name); was || taken[n.Name] {
			continue
		}
		if !came(n) {
			added = append(added, n)
		}
		if n.Only > 0 {
			j.find("tamper/only-added", gates.Error, f.Path, n.Line, "remove .only", "%s turns off all other tests", n.Name)
		}
		if n.Skips > 0 {
			j.find("tamper/new-test-skipped", gates.Note, f.Path, n.Line, "", "the new test %s is skipped", n.Name)
		}
		if n.Trivial > 0 && n.Asserts == 0 {
			j.find("tamper/new-always-true", gates.Warning, f.Path, n.Line, "assert something that can fail",
				"the new test %s has only assertions that cannot fail", n.Name)
		}
	}
	j.hollow(f, added)
}

// weaker compares a test with its old version.
func (j judge) weaker(path string, u, n testcode.Unit, named bool) {
	find := func(rule string, sev gates.Severity, fix, format string, args ...any) {
		j.find(rule, sev, path, n.Line, fix, format, args...)
	}
	if n.Only > u.Only {
		find("tamper/only-added", gates.Error, "remove .only", "%s turns off all other tests", n.Name)
	}
	if n.Skips > u.Skips {
		sev := gates.Error
		if j.s.Batch.Key == "" && len(platform.FindAllString(n.Text, -1)) > len(platform.FindAllString(u.Text, -1)) {
			sev = gates.Note // people skip tests that cannot run on some systems; in a run, the executed tests decide
		}
		find("tamper/test-skipped", sev, "remove the skip, and make it pass", "the existing test %s is now skipped",
			n.Name)
	}
	switch {
	case n.Opaque || u.Opaque:
	case n.Empty && !u.Empty && len(u.Lines) > 0:
		find("tamper/test-emptied", gates.Error, "restore its body", "the existing test %s now checks nothing",
			n.Name)
	case n.Trivial > u.Trivial && n.Asserts < u.Asserts:
		find("tamper/always-true", gates.Error, "restore its assertions",
			"the test %s now has assertions that cannot fail (%d real assertions, %d before)", n.Name, n.Asserts, u.Asserts)
	case n.Asserts < u.Asserts:
		sev := j.unless(named, gates.Warning)
		if n.Asserts > 0 && n.Loops > u.Loops {
			sev = gates.Warning // a table replaced repetition
		}
		if n.Asserts == 0 && sev == gates.Warning && n.Loops <= u.Loops {
			sev = gates.Error
		}
		why := cmp.Or(j.tale.fewer(u, n), j.removal())
		if why != "" || j.s.Batch.Key == "" && n.Asserts*2 >= u.Asserts {
			sev = j.milder(sev) // one assertion fewer may check the same
		}
		find("tamper/fewer-assertions", sev, "restore the assertions", "the test %s has %s, it had %d before%s",
			n.Name, count(n.Asserts, "assertion"), u.Asserts, why)
	case n.Trivial > u.Trivial:
		find("tamper/new-always-true", gates.Warning, "assert something that can fail",
			"the test %s has a new assertion that cannot fail", n.Name)
	}
}

// platform matches a check for the operating system, or for short test runs.
var platform = lazyre.New(`\bruntime\.GO(?:OS|ARCH)\b|\btesting\.Short\(|\bsys\.platform\b|\bos\.name\b|\bplatform\.(?:system|machine)\b|\bprocess\.(?:platform|versions?)\b|\bRUBY_PLATFORM\b`)

// disabled finds code that turns off whole files, or the runner.
func (j judge) disabled(f gates.File, old, now testcode.Sheet) {
	for _, k := range slices.Sorted(maps.Keys(now.Disabled)) {
		if _, was := old.Disabled[k]; !was && f.Status != gates.Deleted {
			if strings.HasSuffix(k, testcode.Forgives) {
				j.find("tamper/result-set", gates.Error, f.Path, now.Disabled[k], "let the runner set the result", "%s", k)
				continue
			}
			sev := gates.Error
			if f.Status == gates.Added && !strings.Contains(k, "runner") {
				sev = gates.Warning // a new file weakens nothing, unless it changes the runner
				if j.s.Batch.Key == "" {
					sev = gates.Note
				}
			}
			j.find("tamper/test-disabled", sev, f.Path, now.Disabled[k], "remove it", "%s", k)
		}
	}
}

// similar reports whether n looks like u under another name.
func similar(u, n testcode.Unit) bool {
	if u.Opaque || n.Opaque || len(u.Lines) == 0 || len(n.Lines) == 0 {
		return false
	}
	have := lists.Counts(u.Lines, func(l string) string { return l })
	same := 0
	for _, l := range n.Lines {
		if have[l] > 0 {
			have[l]--
			same++
		}
	}
	return same*2 > len(u.Lines)
}

func count(n int, what string) string {
	if n == 0 {
		return "no " + what + "s"
	}
	return phrase.Count(n, what)
}
