package gates

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/names"
	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// compare finds the tests of one suite that are missing, and those whose expectation changed.
func (p *prover) compare(one *proven) {
	rep := &p.Reports[one.at]
	proof := proofOf(rep)
	proof.Named = true
	proof.New, proof.MoreNew = fresh(one.base, one.now)
	passed := func(c testout.Case) bool { return c.Status == testout.Passed && c.Name != c.Group } // no command as a whole
	if rep.Tests != nil && rep.Tests.Passed == lists.Count(one.now, passed) {
		proof.Base = new(lists.Count(one.base, passed))
	}
	runs := names.Runs{Base: one.base}
	for _, other := range p.suites { // a test may have moved to another suite
		if other.at != one.at {
			runs.Now = append(runs.Now, other.now...)
		}
	}
	runs.Now = append(runs.Now, one.now...)
	if one.ran && !one.held.Nothing {
		runs.Held = append([]testout.Case{}, names.Kept(one.held.Cases, p.changes, one.held.Left)...)
	}
	change := names.Change{Files: p.changes, Plan: p.plan, Removal: func(test, file string) bool {
		return one.held.Reverted || p.plan.Removal(test) || file != "" && p.s.NamesForDeletion(file)
	}}
	lost, answered := names.Compare(runs, change)
	p.missing(rep, lost, one)
	p.explained = append(p.explained, answered...)
	if len(answered) > 0 {
		rep.AddNote(phrase.Count(len(answered), "test") + " of the base no longer run under their names: " +
			phrase.Join(answered[:min(len(answered), 5)], ", ",
				func(a names.Answered) string { return a.Case.Name + " (" + a.How + ")" }))
	}
	p.hidden(one)
	p.expectations(one, runs, lost, answered)
	unheld := one.held.Nothing || len(one.held.Left) > 0 || !one.ran
	loose := runs
	if !unheld {
		loose.Held = nil
	}
	for _, w := range names.Weakened(loose, change) {
		// Tests inside of code files, such as unit tests of Rust, are never run in their base version.
		if one.held.Reverted || p.plan.Change(w.Case.Name) || !unheld && language.OfTest(w.Path) != "" {
			continue
		}
		p.find(rep, Finding{
			Rule: RuleEditedRed, Severity: Error, Path: w.Path, Line: w.Line, Test: w.Case.Name,
			Message: w.Case.Name + " failed on the base and passes only because its values were changed",
			Fix:     "restore the test, and make the code pass it",
		})
	}
	for _, w := range names.ChangedInCode(runs, change) {
		if one.held.Reverted || p.plan.Change(w.Case.Name) {
			continue
		}
		f := Finding{
			Rule: RuleExpectation, Severity: Warning, Path: w.Path, Line: w.Line, Test: w.Case.Name,
			Message: w.Case.Name + " is a test in a code file, and its values changed: its base version did not run",
		}
		if p.plan.Keeps() {
			f.Severity, f.Message = Error, f.Message+", but the batch says that behaviour does not change"
			f.Fix = "make the code pass the old test, or name the test in the plan"
		}
		p.find(rep, f)
	}
	rep.Status = statusOf(rep.Findings)
}

// fresh names the tests that pass now and did not run on the base, and counts those beyond the limit of a proof.
func fresh(base, now []testout.Case) (names []string, more int) {
	known, size := byKey(base), 0
	for _, c := range now {
		if _, was := known[c.Key()]; was || c.Status != testout.Passed {
			continue
		}
		if size += len(c.Name); more > 0 || len(names) == maxNew || size > maxNewText {
			more++
			continue
		}
		names = append(names, c.Name)
	}
	return names, more
}

// hidden reports the tests that made the command fail on the base and still fail although the command passes now.
func (p *prover) hidden(one *proven) {
	rep := &p.Reports[one.at]
	if !rep.hides() {
		return
	}
	base := byKey(one.base)
	for _, n := range one.now {
		if b, known := base[n.Key()]; known && n.Status == testout.Failed && b.Status == testout.Failed {
			p.find(rep, Finding{
				Rule: ruleHidden, Severity: Error, Path: n.Path, Test: n.Name,
				Message: n.Name + " fails as on the base, but the command that failed there passes now",
				Fix:     "make the test pass, and make the command fail when a test fails",
			})
			return
		}
	}
}

// find adds a finding. It only warns if the user's own text asks for the change, or if a person removed a test
// without a plan.
func (p *prover) find(rep *Report, f Finding) {
	if f.Severity == Error && (p.s.Literal || p.s.Batch.Key == "" && f.Rule == RuleMissingTest) {
		f.Severity = Warning
	}
	rep.Findings = append(rep.Findings, f)
}

// missing reports the tests that ran on the base and do not run now.
func (p *prover) missing(rep *Report, lost []names.Lost, one *proven) {
	if len(lost) == 0 {
		return
	}
	proof := proofOf(rep)
	for i, l := range lost {
		if i < maxMissing {
			proof.Missing = append(proof.Missing, l.Case.Name)
		}
		if i > maxMissingSay {
			continue
		}
		f := Finding{
			Rule: RuleMissingTest, Severity: Error, Path: cmp.Or(l.Path, l.Case.Path), Line: l.Line, Test: l.Case.Name,
			Message: l.Case.Name + " " + ended(l.Case.Status) + " on the base but does not run now",
			Fix:     "restore the test and make it run, or name it in the plan",
		}
		if l.Skipped {
			f.Message = l.Case.Name + " " + ended(l.Case.Status) + " on the base but is skipped now"
		}
		if l.Rows > 0 {
			f.Message += fmt.Sprintf(", with %s of it", phrase.Count(l.Rows, "more case"))
		}
		if i == maxMissingSay {
			f = Finding{Rule: RuleMissingTest, Severity: Error,
				Message: fmt.Sprintf("%d more tests ran on the base but do not run now", len(lost)-i)}
		}
		p.find(rep, f)
	}
	if len(one.now) == 0 {
		p.find(rep, Finding{Rule: ruleNoRun, Severity: Error,
			Message: fmt.Sprintf("no test ran, but %d ran on the base", len(one.base))})
	}
}

func ended(s testout.Status) string {
	if s == testout.Failed {
		return "failed"
	}
	return "passed"
}

// expectations reports the tests of the base that fail on the candidate's code although the candidate's versions
// pass.
func (p *prover) expectations(one *proven, runs names.Runs, lost []names.Lost, answered []names.Answered) {
	rep := &p.Reports[one.at]
	if runs.Held == nil {
		return
	}
	missing := lists.SetBy(lost, func(l names.Lost) string { return l.Case.Key() })
	for _, a := range answered {
		if !a.Lives() { // its removal is explained
			missing[a.Case.Key()] = true
		}
	}
	base, now := byKey(one.base), byKey(runs.Now)
	held := proofOf(rep).Held
	told := map[string]bool{}
	var unagreed []string
	at := func(c testout.Case) string { file, _ := names.Place(c, p.changes); return file }
	for _, h := range runs.Held {
		if h.Status == testout.Skipped {
			continue
		}
		held.Ran++
		if h.Status == testout.Passed {
			held.Passed++
			continue
		}
		name := names.Trunk(h.Name)
		n, runs := now[h.Key()]
		was, known := base[h.Key()]
		if !runs && (known && was.Status == testout.Failed || p.plan.Removal(name) || at(h) != "" &&
			p.s.NamesForDeletion(at(h))) {
			continue // its removal is explained
		}
		if runs && n.Status == testout.Failed || missing[h.Key()] || told[h.Group+"\x00"+name] {
			continue // it fails anyway, or is already reported
		}
		told[h.Group+"\x00"+name] = true
		held.Changed = append(held.Changed, name)
		file, line := names.Place(h, p.changes)
		f := Finding{Rule: RuleExpectation, Severity: Warning, Path: file, Line: line, Test: name}
		agreed := one.held.Reverted || p.plan.Change(name)
		switch {
		case (!known || was.Status == testout.Failed) && !agreed:
			f.Rule, f.Severity = RuleEditedRed, Error
			f.Message = name + " failed on the base, and its base version still fails; it was changed so that it passes"
			f.Fix = "restore the test, and make the code pass it"
			if one.held.Chance {
				f.Message = name + " does not pass in each run: the change uses random numbers"
				f.Fix = "make the result independent of chance, or give the test a seed that the code takes"
			}
		case agreed || (p.plan.Names(name) || file != "" && p.s.Names(file)) && !p.plan.Keeps() &&
			!names.Weaker(h, p.changes) && !p.besides(file, name):
			f.Severity, f.Message = Note, name+" has another expectation than on the base, as agreed"
		default:
			one.broken = append(one.broken, file)
			f.Message = name + " passes in its new version and fails in its base version: its expectation changed"
			f.Fix = "make the code pass the old test, or name the test in the plan"
			switch {
			case p.plan.Keeps():
				f.Severity = Error
				f.Message += ", but the batch says that behaviour does not change"
			case names.Weaker(h, p.changes):
				f.Severity = Error
				f.Message = name + " fails on this code in its base version, and checks less now"
			case p.besides(file, name):
				f.Severity = Error
				f.Message += ", but the batch wants all tests to pass and does not name the changed function that it tests"
			case p.unlisted(file):
				f.Severity = Error
				f.Message += ", but the batch does not list this file"
			case p.s.ChangedTests == ChangedApprove:
				unagreed = append(unagreed, name)
			case p.s.ChangedTests == ChangedFail:
				f.Severity = Error
			default:
				f.Fix = ""
			}
		}
		p.find(rep, f)
	}
	if len(unagreed) > 0 {
		proofOf(rep).Asks = "changed expectation: " + list(unagreed)
	}
}

func byKey(list []testout.Case) map[string]testout.Case {
	return lists.By(list, testout.Case.Key)
}

// unlisted reports whether the batch lists its files, and neither a test nor the code that it tests is among them,
// although both changed.
func (p *prover) unlisted(test string) bool {
	subject := language.Subject(test)
	its := func(path string) bool { return language.Subject(path) == subject }
	return test != "" && len(p.s.Batch.Files.All()) > 0 && !p.s.Names(test) &&
		!slices.ContainsFunc(p.s.Batch.Files.All(), its) &&
		slices.ContainsFunc(p.changes, func(f names.File) bool {
			return f.Before != "" && f.After != "" && !language.IsTest(f.Path) && its(f.Path) && !p.s.Names(f.Path)
		})
}

// allPass matches a batch for which the tests that exist say what is right.
var allPass = lazyre.New(`(?i)\b(?:all|existing|other)\s+(?:(?:the|other|existing)\s+)?(?:tests?|examples?|specs?)\s+(?:still\s+)?pass`)

// besides reports whether a test calls a function whose own lines changed, in a batch that wants all tests to pass and
// that does not have the name of this function.
func (p *prover) besides(file, test string) bool {
	text := strings.ToLower(p.s.Batch.Title + "\n" + p.s.Batch.Text)
	if !allPass.MatchString(text) {
		return false
	}
	var called []string
	for _, f := range p.changes {
		if !language.IsTest(f.Path) || file != "" && file != f.Path {
			continue
		}
		called = append(called,
			calledIn(filepath.Join(p.s.Dir, filepath.FromSlash(f.Path)), Finding{Path: f.Path, Test: test})...)
		if len(testcode.Read(f.Path, f.After).Units) == 0 { // of Ruby, the lines are known and not the tests
			for _, a := range (File{Before: f.Before, After: f.After}).AddedLines() {
				for _, m := range call.FindAllStringSubmatch(a.Text, -1) {
					called = append(called, m[1])
				}
			}
		}
	}
	found := false
	for _, f := range p.changes {
		if language.IsTest(f.Path) || f.Before == "" {
			continue
		}
		now := language.Functions(f.After)
		for name, was := range language.Functions(f.Before) {
			if slices.Contains(called, name) && now[name] != was {
				if strings.Contains(text, strings.ToLower(name)) {
					return false
				}
				found = true
			}
		}
	}
	return found
}
