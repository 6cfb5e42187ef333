package gates

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/names"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// counts compares the number of passed tests with that of the last passed batch, or of the base, if the names are
// unknown.
func (p *prover) counts(ctx context.Context) error {
	last, had, now := -1, 0, TestCount{}
	if p.s.Before != nil {
		had = p.s.Before.Passed
	}
	for i, r := range p.Reports {
		named := slices.IndexFunc(p.suites, func(one proven) bool { return one.at == i && !one.whole() })
		if p.s.Before == nil && named < 0 && r.Tests != nil && IsSuite(r.Gate) && p.s.BaseCount != nil {
			if n := p.s.BaseCount(ctx, r.Gate); n != nil {
				had += n.Passed
			}
		}
		switch {
		case named >= 0 && p.s.Before == nil:
		case named >= 0:
			had -= lists.Count(p.suites[named].base, func(c testout.Case) bool { return c.Status == testout.Passed })
		case r.Tests != nil:
			last = i
			now.Passed += r.Tests.Passed
			now.Failed += r.Tests.Failed
			now.Skipped += r.Tests.Skipped
		case r.Gate == testsName && r.Status == Skipped && last < 0 && len(p.suites) == 0:
			last = i
		}
	}
	if last < 0 || now.Passed >= had {
		return nil
	}
	rep := &p.Reports[last]
	for _, r := range p.Reports {
		if r.Status == Skipped && strings.HasPrefix(r.Gate, testsName+":") {
			rep.AddNote("the number of tests is not compared, because " + r.Gate + " was skipped")
			return nil
		}
	}
	asked, dropped, err := p.dropped(ctx)
	if err != nil {
		return &GateError{Gate: rep.Gate, Err: err}
	}
	if asked != "" || dropped > 0 && had-now.Passed <= dropped && now.Failed == 0 {
		rep.AddNote(fmt.Sprintf("%d tests pass, %d passed before; the plan asks to remove some%s", now.Passed, had, asked))
		return nil
	}
	f := Finding{
		Rule: RuleFewerTests, Severity: Error,
		Message: fmt.Sprintf("%d tests pass, %d passed before (now %d failed, %d skipped)", now.Passed, had, now.Failed,
			now.Skipped),
		Fix: "restore the missing tests, or enable the skipped ones",
	}
	if rep.Status == Skipped {
		if strings.HasPrefix(rep.Note, "turned off") {
			return nil
		}
		f.Message, f.Fix = fmt.Sprintf("0 tests pass, %d passed before: %s", had, rep.Note), "restore the tests"
		rep.Note = ""
	}
	p.find(rep, f)
	rep.Status = statusOf(rep.Findings)
	return nil
}

// dropped returns a changed test file that the plan deletes, alone or with its subject, or writes, and the number of
// removed tests whose names the plan asks to remove. It reads only tests in languages without a parser, whose runners
// do not name them.
func (p *prover) dropped(ctx context.Context) (asked string, n int, err error) {
	if p.s.Diff == nil {
		return "", 0, nil
	}
	if len(p.changes) == 0 {
		if err := p.read(ctx); err != nil {
			return "", 0, err
		}
	}
	for _, f := range p.changes {
		switch {
		case language.OfTest(f.Path) != language.Other || !language.DefinesTests(f.Before):
		case p.s.NamesForDeletion(f.Path) || f.After == "" && slices.ContainsFunc(p.changes, func(of names.File) bool {
			return of.After == "" && p.s.NamesForDeletion(of.Path) && language.Subject(of.Path) == language.Subject(f.Path)
		}):
			return ": " + f.Path, 0, nil
		default:
			for l := range strings.Lines(f.Before) {
				if language.DefinesTests(l) && !strings.Contains(f.After, l) &&
					slices.ContainsFunc(nameInLine.FindAllString(strings.ReplaceAll(l, "'", `"`), -1),
						func(name string) bool { return p.plan.Removal(strings.Trim(name, `"`)) }) {
					n++
				}
			}
		}
	}
	return "", n, nil
}

var nameInLine = lazyre.New(`\btest\w+|"[^"]+"`)

// once drops findings from reading tests if the run has the same finding for a test by name. Within a plan both are
// kept.
func (p *prover) once() {
	if p.s.Batch.Key != "" {
		return
	}
	var missing []Finding
	for _, one := range p.suites {
		missing = append(missing,
			lists.Filter(p.Reports[one.at].Findings, func(f Finding) bool { return f.Rule == RuleMissingTest })...)
	}
	for i := range p.Reports {
		rep := &p.Reports[i]
		had := len(rep.Findings)
		rep.Findings = slices.DeleteFunc(rep.Findings, func(f Finding) bool {
			return f.Advice && f.Severity != Error && slices.ContainsFunc(missing, func(m Finding) bool {
				return m.Path != "" && m.Path == f.Path && (f.Line == 0 || strings.Contains(f.Message, names.Trunk(m.Test)))
			})
		})
		if len(rep.Findings) < had {
			rep.Status = statusOf(rep.Findings)
		}
	}
}

// advice turns findings from reading tests into warnings, if the test run proves the same or more.
func (p *prover) advice() {
	for i := range p.Reports {
		rep := &p.Reports[i]
		if rep.Status != Fail {
			continue
		}
		lowered, why := 0, ""
		for k := range rep.Findings {
			f := &rep.Findings[k]
			if !f.Advice || f.Severity != Error {
				continue
			}
			if untold := p.untold(f.Path); untold != "" {
				why = untold
			} else {
				f.Severity = Warning
				lowered++
			}
		}
		if lowered > 0 {
			rep.AddNote(phrase.Count(lowered, "finding") +
				" about tests only warn: the tests of the base ran and passed")
			rep.Status = statusOf(rep.Findings)
		}
		if why != "" {
			rep.AddNote("findings from reading the tests count: " + why)
		}
	}
}

// uncollected warns about test files of the plan whose tests pass alone, but that are not among those of a suite that
// names its files: settings such as testpaths of pytest and testMatch of jest leave them out.
func (p *prover) uncollected() {
	for _, file := range p.s.Batch.Files.Test {
		file, _, _ = strings.Cut(file, "::")
		found, last := false, -1
		for i, r := range p.Reports {
			root, ok := strings.CutPrefix(r.Gate, testsName+":"+suiteLanguage(file))
			root = strings.TrimPrefix(root, ":")
			if !ok || r.Status == Skipped || r.decided() || root != "" && !within(file, root) || len(r.Cases) == 0 ||
				slices.ContainsFunc(r.Cases, namesNoFile) {
				continue
			}
			found = found || slices.ContainsFunc(r.Cases, func(c testout.Case) bool { return path.Join(root, c.Path) == file })
			last = i
		}
		if last < 0 || found || !exists(p.s.Dir, ".", file) {
			continue
		}
		rep := &p.Reports[last]
		p.find(rep, Finding{Rule: ruleUncollected, Severity: Warning, Path: file,
			Message: "the suite does not run this test file of the plan; its settings may leave it out",
			Fix:     "move the file to a folder that the settings of the tests include, or change these settings"})
		rep.Status = statusOf(rep.Findings)
	}
}

// namesNoFile reports whether a case has no file, or stands for a script that runs tests, such as the one of package.json.
func namesNoFile(c testout.Case) bool {
	return c.Path == "" || c.Name == c.Path && language.OfTest(c.Path) == ""
}

// explain turns the warning about a removed test into a note, if the test run explains where the test went.
func (p *prover) explain() {
	for i := range p.Reports {
		rep := &p.Reports[i]
		for k := range rep.Findings {
			f := &rep.Findings[k]
			if !f.Advice || f.Severity != Warning || f.Line != 0 {
				continue
			}
			at := slices.IndexFunc(p.explained, func(a names.Answered) bool {
				return a.Lives() && a.Path == f.Path && strings.Contains(f.Message, " "+names.Trunk(a.Case.Name)+" ")
			})
			if at >= 0 && p.untold(f.Path) == "" {
				f.Severity, f.Message = Note, f.Message+": "+p.explained[at].How
				rep.Status = statusOf(rep.Findings)
			}
		}
	}
}

// untold explains why the test run does not cover the tests in a file; "" if it does.
func (p *prover) untold(file string) string {
	lang, found := suiteLanguage(file), false
	for i, r := range p.Reports {
		if !IsSuite(r.Gate) {
			continue
		}
		parts := strings.SplitN(r.Gate, ":", 3)
		if len(parts) > 1 && parts[1] != lang || len(parts) > 2 && !strings.HasPrefix(file, parts[2]+"/") {
			continue
		}
		at := slices.IndexFunc(p.suites, func(one proven) bool { return one.at == i })
		switch {
		case r.Status == Skipped:
			continue
		case at < 0:
			return "the names of the tests that ran in " + r.Gate + " are unknown"
		case r.Proof == nil || r.Proof.Calibration != Calibrated:
			return r.Gate + " is uncalibrated"
		case !p.suites[at].ran:
			return "the base's tests were not run by " + r.Gate
		case names.Unheld(p.changes, p.suites[at].held.Left) != "":
			return "the base's " + names.Unheld(p.changes, p.suites[at].held.Left) + " does not build with this code"
		case slices.Contains(p.suites[at].broken, file):
			return "tests of the base fail on this code"
		}
		found = true
	}
	if !found {
		return "no suite ran them"
	}
	return ""
}

// suiteLanguage returns the language of the suite that runs the tests of a file.
func suiteLanguage(file string) string {
	switch lang := language.OfTest(file); lang {
	case language.Bats, language.Shell:
		return string(LangShell)
	case language.Script:
		return string(LangGo)
	default:
		return lang
	}
}
