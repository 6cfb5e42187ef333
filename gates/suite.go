package gates

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
)

// The rules of test gates.
const (
	ruleTest        = "test"                // a test failed
	RuleBuild       = "build"               // code did not compile or load, so there is no result
	ruleExit        = "exit"                // the runner failed without naming a test
	ruleHidden      = "exit-hides-failures" // the runner reports failures and exits with 0
	ruleNoRun       = "no-tests-ran"        // the runner passed without running a test
	ruleUncollected = "not-collected"       // the suite does not run a test file of the plan

	ruleRequired = "tests-required" // the suite that the configuration requires is missing (GATE-04)
)

// suite is a test gate under construction.
type suite struct {
	project Project
	command string // for people
	tools   []Tool // that the command needs
	// plan returns the runs. An error says why the tests cannot run here.
	plan func(ctx context.Context, w *Look) ([]testRun, error)
}

// testRun is one call of a runner.
type testRun struct {
	program
	read   func(r ran) testout.Result // nil reads the text
	empty  int                        // exit status that says "no tests", if not 0
	about  string                     // the script or the file of the command, whose exit status is a test of its own
	member string                     // the folder of the workspace that it tests, below that of the suite
	show   func() string              // replaces the output in reports
	done   func()
	cause  func(r ran) error                               // finds causes of a failure outside of the code
	again  func(failed []testout.Failure) (testRun, error) // selects tests; nil runs all again

	plant recipe // plants tests; nil if runplan cannot plant any, with the reason in why
	why   string // why the call cannot be calibrated
	rest  bool   // the call follows those of known runners, and may run no tests
	exact bool   // read gives an exact result whenever the runner ran to its end
}

// suites makes a test gate for each runner found (GATE-02, GATE-03).
func suites(dir string, projects []Project) []builtin {
	var found []suite
	for _, p := range projects {
		switch p.Language {
		case LangGo:
			found = append(found, goSuite(dir, p, projects)...)
		case LangPython:
			found = append(found, pythonSuite(dir, p, projects)...)
		case LangNode:
			found = append(found, nodeSuite(dir, p)...)
		case LangRust:
			found = append(found, cargoSuite(dir, p))
		case LangJava:
			found = append(found, javaSuite(dir, p)...)
		case LangRuby:
			found = append(found, rubySuite(dir, p)...)
		case LangSwift:
			found = append(found, swiftSuite(dir, p)...)
		case LangDotnet:
			found = append(found, dotnetSuite(dir, p)...)
		case LangShell:
			found = append(found, shellSuite(dir, p)...)
		}
	}
	for _, p := range projects {
		if p.Language == LangMake {
			found = makeSuite(dir, p, found)
		}
	}
	var out []builtin
	for _, s := range found {
		info := Info{Name: gateName(testsName, s.project), Root: s.project.Root, Kind: Static, Cost: Costly, Blocking: true,
			Pure:    true,
			Command: s.command, Tools: s.tools}
		info.WithLinters = slices.Contains([]Language{LangGo, LangPython, LangNode, LangRuby}, s.project.Language)
		info.Parallel = s.project.Language == LangGo
		out = append(out, builtin{info: info, do: s.check})
	}
	return out
}

func (s suite) check(ctx context.Context, w *Look) error {
	runs, err := s.plan(ctx, w)
	if err != nil {
		return s.cannot(err)
	}
	var sum testout.Result
	var said strings.Builder
	shown := false
	for _, r := range runs {
		res, out, err := s.one(ctx, w, r)
		if err != nil {
			return s.cannot(err)
		}
		if r.member != "" { // two workspaces may have tests of the same name
			for i, c := range res.Cases {
				res.Cases[i].Path, res.Cases[i].Group = path.Join(r.member, c.Path), path.Join(r.member, c.Group)
			}
		}
		sum = sum.Add(res)
		said.WriteString(out.shown)
		shown = shown || out.shown != out.text
	}
	if shown {
		w.said = said.String()
	}
	conclude(w, sum)
	return s.asUser(ctx, w)
}

// one runs r and notes the failures.
func (s suite) one(ctx context.Context, w *Look, r testRun) (testout.Result, ran, error) {
	if r.done != nil {
		defer r.done()
	}
	res, out, err := w.try(ctx, r)
	if err != nil {
		if r.show != nil {
			w.said = r.show()
		}
		return testout.Result{}, out, err
	}
	if r.cause != nil && !out.ok() {
		if err := r.cause(out); err != nil {
			return testout.Result{}, out, err
		}
	}
	if r.empty != 0 && out.exit == r.empty {
		res.Known = true
		out.exit = 0
	}
	if !slices.ContainsFunc(w.rep.Findings, func(f Finding) bool { return f.Severity == Error }) {
		if err := w.hindered(out, res.Failures); err != nil {
			return testout.Result{}, out, err
		}
	}
	if !out.ok() {
		if res, out, err = w.rerun(ctx, r, res, out); err != nil {
			return testout.Result{}, out, err
		}
	}
	if r.about != "" { // each script names its own tests, and its exit status decides
		whole := testout.Case{Name: r.about, Status: testout.Passed}
		if !out.ok() {
			whole.Status = testout.Failed
		}
		res.Cases = append(res.Cases, whole)
		for i := range res.Cases {
			res.Cases[i].Path = cmp.Or(res.Cases[i].Path, r.about)
			res.Cases[i].Group = cmp.Or(res.Cases[i].Group, r.about)
		}
	}
	note(w, r.dir, r.about, out, res)
	return res, out, nil
}

// result reads the runner's output.
func (r testRun) result(out ran) testout.Result {
	if r.read == nil {
		return testout.Text(out.text)
	}
	return r.read(out)
}

func (s suite) cannot(err error) error {
	if errors.Is(err, proc.ErrNotFound) {
		return fmt.Errorf("the tests of %s cannot run: %w", s.project.Marker, err)
	}
	return err
}

// note turns a runner's result into findings.
func note(w *Look, dir, about string, out ran, res testout.Result) {
	if out.ok() {
		if res.Failed > 0 {
			// A program's own report is believed; text made for people may quote the output of another suite.
			sev := Warning
			if res.Exact {
				sev = Error
			}
			w.Find(Finding{
				Rule: ruleHidden, Severity: sev,
				Message: phrase.Count(res.Failed, "test") + " failed, but the command exited with status 0",
				Fix:     "make the command fail when a test fails",
			})
		}
		if !res.Exact {
			return
		}
	}
	for _, f := range res.Failures {
		rule, msg := ruleTest, f.Message
		switch {
		case f.Build:
			rule = RuleBuild
		case f.Name == "":
			rule = ruleExit
		}
		if f.Name != "" && f.Name != "build" && !strings.HasPrefix(msg, f.Name) {
			msg = f.Name + ": " + msg
		}
		at := Finding{Rule: rule, Severity: Error, Message: msg, Path: w.Rel(dir, f.Path), Line: f.Line, Col: f.Col}
		if at.Path == "" {
			at.Line, at.Col = 0, 0
		}
		if at.Path == "" && f.Name != "" {
			at.Path, at.Line = w.named(about, f.Name)
		}
		if rule == ruleTest {
			at.Test = cmp.Or(f.ID, f.Name)
		}
		w.Find(at)
	}
	if !out.ok() && len(res.Failures) == 0 {
		msg := out.how()
		if res.Failed > 0 {
			msg += ", " + phrase.Count(res.Failed, "test") + " failed"
		} else if IsSuite(w.rep.Gate) {
			msg += ", without naming a failed test"
		}
		if last := lastTelling(out.text); last != "" {
			msg += ": " + last
		}
		w.Find(Finding{Rule: ruleExit, Severity: Error, Path: about, Message: msg})
	}
}

// BaseCases returns the cases of a report for comparison with a later one. If a command passed, it ignores failures in
// the command's output, because such output quotes another suite.
func (r Report) BaseCases() []testout.Case {
	if !r.hides() {
		return r.Cases
	}
	out := slices.Clone(r.Cases)
	for i := range out {
		if out[i].Status == testout.Failed {
			out[i].Status = testout.Passed
		}
	}
	return out
}

// hides reports whether the command passed, although its output has failures.
func (r Report) hides() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule == ruleHidden })
}

// conclude compares the counts with those that a suite should report.
func conclude(w *Look, sum testout.Result) {
	w.rep.Cases = sum.Cases
	failed := slices.ContainsFunc(w.rep.Findings, func(f Finding) bool { return f.Severity == Error })
	if sum.Known {
		w.rep.Tests = &TestCount{Passed: sum.Passed, Failed: sum.Failed, Skipped: sum.Skipped}
	}
	switch {
	case failed:
	case sum.Known && sum.Passed+sum.Failed == 0:
		msg := "the command passed, but no test ran"
		if sum.Skipped > 0 {
			msg += fmt.Sprintf(": all %d were skipped", sum.Skipped)
		}
		sev := Warning
		if w.requireTests {
			sev = Error
		}
		w.Find(Finding{Rule: ruleNoRun, Severity: sev, Message: msg})
	case !sum.Known && w.subject.Before != nil:
		w.Find(Finding{
			Rule: RuleUnknownCount, Severity: Warning,
			Message: fmt.Sprintf("the number of tests cannot be read from the output; %d passed before",
				w.subject.Before.Passed),
		})
	case !sum.Known:
		w.Note("the number of tests cannot be read from the output")
	}
}

// lastTelling returns the last line that describes a failure, else the last line. Lines in which a build tool only
// repeats an exit status count last, as do those of a stack of calls.
func lastTelling(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	own := slices.DeleteFunc(slices.Clone(lines), repeatsStatus.MatchString)
	for i := len(own) - 1; i >= 0; i-- {
		if loud.MatchString(own[i]) && !harmless.MatchString(own[i]) {
			if i > 0 && headline.MatchString(own[i-1]) && !headline.MatchString(own[i]) {
				i-- // the other line only explains it
			}
			return phrase.Fit(strings.TrimSpace(own[i]), 300)
		}
	}
	return phrase.Fit(strings.TrimSpace(lines[len(lines)-1]), 300)
}

// repeatsStatus matches a line of a build tool that says no more than that a command failed, or a call in a stack.
var repeatsStatus = lazyre.New(`^\s*(?:g?make(?:\[\d+\])?: \*\*\* .*\bError \d+|npm (?:ERR!|error)(?: (?:code|errno) .*| Test failed\..*)?|` +
	`error Command failed with exit code \d+\.?|.*\bELIFECYCLE\b.*|at .+:\d+\)?|` +
	`As a reminder, you're using offline mode.*|✖ \d+ problems?.*)$`)

// anyFile reports whether a file of p passes want. It stops at the first one.
func anyFile(dir string, p Project, all []Project, want func(rel, name string) bool) bool {
	for rel, name := range filesOf(dir, p, all) {
		if want(rel, name) {
			return true
		}
	}
	return false
}

// filesOf yields the files of p, each as a folder relative to its root and a name. Roots of other projects of the
// language are not entered.
func filesOf(dir string, p Project, all []Project) iter.Seq2[string, string] {
	const deep = 12
	inner := slices.DeleteFunc(slices.Clone(all), func(q Project) bool {
		return q.Language != p.Language || q.Root == p.Root || !within(q.Root, p.Root)
	})
	return func(yield func(rel, name string) bool) {
		for rel, files := range walk(path.Join(dir, p.Root), deep) {
			at := path.Join(p.Root, rel)
			if slices.ContainsFunc(inner, func(q Project) bool { return at == q.Root || within(at, q.Root) }) {
				continue
			}
			for _, f := range files {
				if !yield(rel, f) {
					return
				}
			}
		}
	}
}

// named finds the single line that names a test, in a script or in the scripts next to it. Shell suites seldom print
// the place.
func (w *Look) named(script, test string) (file string, line int) {
	if script == "" || strings.TrimSpace(test) == "" {
		return "", 0
	}
	test = strings.TrimSpace(test)
	if head, _, ok := strings.Cut(test, ": "); ok { // the rest describes the failure
		test = head
	}
	for _, names := range walk(path.Join(w.subject.Dir, path.Dir(script)), 0) {
		for _, n := range names {
			if ext := path.Ext(n); ext != ".sh" && ext != ".bats" && ext != ".bash" {
				continue
			}
			at := 0
			for l := range strings.Lines(readText(w.subject.Dir, path.Dir(script), n)) {
				if at++; !strings.Contains(l, test) {
					continue
				}
				if file != "" {
					file, line = "", -1 // more than one
				}
				if line >= 0 {
					file, line = path.Join(path.Dir(script), n), at
				}
			}
		}
	}
	return file, max(0, line)
}
