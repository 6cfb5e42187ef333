package gates

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
)

// Single is one test file that runs alone, with the runner that its project uses for all test files.
type Single struct {
	Path  string // of the file, relative to the tree, slashes
	Only  string // one test in it, by its runner's name; "" means all
	Shell string // command that runs it, if the project's files do not show it; bash -eu -o pipefail

	// Tests runs these ids and files of pytest instead, up to the first failure. Path only selects the project.
	Tests []string
}

// RunOutcome is the result of one run of a [Single].
type RunOutcome string

// The outcomes. Only the first two say something about the code: a test that did not build never ran, and a skipped
// test did not pass.
const (
	RunPassed      RunOutcome = "passed"
	RunFailed      RunOutcome = "failed"       // a test ran, and failed
	RunBroken      RunOutcome = "did not run"  // it did not build, load or set itself up
	RunEmpty       RunOutcome = "ran no test"  // the runner found none
	RunSkipped     RunOutcome = "was skipped"  // it, or a part of it, and nothing failed
	RunHidFailures RunOutcome = "hid failures" // the runner reports failures but exits with 0
)

// SingleRun is the result of one run.
type SingleRun struct {
	Outcome RunOutcome
	Passed  int      // number of tests that passed, if the runner counts them
	OK      bool     // the runner exited with 0
	Failed  []string // the failed tests by their runner's names, sorted
	Why     string   // the first failure
	Text    string   // build or load errors, or all output
	Command string   // the command, for people

	Cases []testout.Case // the tests that ran, if the runner names them
	Dir   string         // the folder that it ran in, relative to the tree
	Args  []string       // the program and its arguments
}

// Single runs one test file in the tree of l, at most times times. After each run it calls next, which reports whether
// to run again. An error means that there is no result, for example because the runner is missing.
func (w *Look) Single(ctx context.Context, s Single, times int, next func(SingleRun) bool) error {
	prepared, err := s.plan(ctx, w)
	if err != nil {
		return missingRunner(s, err)
	}
	for range times {
		one, err := w.single(ctx, s, prepared)
		if err != nil {
			return err
		}
		if !next(one) {
			break
		}
	}
	return nil
}

func (w *Look) single(ctx context.Context, s Single, prepared func() (testRun, error)) (SingleRun, error) {
	r, err := prepared()
	if err != nil {
		return SingleRun{}, err
	}
	res, out, err := w.once(ctx, r)
	if r.show != nil {
		w.said = out.shown
	}
	if err != nil {
		return SingleRun{}, missingRunner(s, err)
	}
	if r.cause != nil && !out.ok() {
		if err := r.cause(out); err != nil {
			return SingleRun{}, err
		}
	}
	if r.empty != 0 && out.exit == r.empty {
		res.Known = true
	}
	one := SingleRun{Outcome: s.outcome(out, res), Text: out.shown, Command: commandLine(r.dir, r.args),
		Cases: res.Cases, Dir: cmp.Or(r.dir, "."), Args: r.args, Passed: res.Passed, OK: out.ok()}
	if one.Outcome == RunPassed {
		return one, nil
	}
	if one.Outcome == RunBroken && LanguageOf(s.Path) == LangGo { // a module that cannot be fetched is no fault of the test
		if err := w.hindered(out, res.Failures); err != nil {
			return SingleRun{}, err
		}
	}
	for _, f := range res.Failures {
		if one.Why == "" || f.Build {
			one.Why = cmp.Or(f.Message, f.Name)
		}
		if name := cmp.Or(f.ID, f.Name); name != "" && !f.Build {
			one.Failed = append(one.Failed, name)
		}
	}
	if one.Why == "test failed" && one.Outcome == RunBroken { // node says no more of a file that does not load
		one.Why = strings.TrimSpace(cmp.Or(nodeLoad.FindString(out.text), one.Why))
	}
	if one.Why == "" && one.Outcome != RunSkipped && one.Outcome != RunEmpty {
		one.Why = strings.TrimSuffix(out.how()+": "+lastTelling(out.text), ": ")
	}
	one.Failed = lists.Unique(one.Failed)
	return one, nil
}

func missingRunner(s Single, err error) error {
	if errors.Is(err, proc.ErrNotFound) {
		return fmt.Errorf("%s cannot run: %w: %w", s.Path, ErrNoProgram, err)
	}
	return err
}

// outcome classifies one run. If the counts do not decide, the exit status does.
func (s Single) outcome(out ran, res testout.Result) RunOutcome {
	switch {
	case s.broke(out, res):
		return RunBroken
	case out.ok() && res.Failed > 0:
		return RunHidFailures
	case res.Skipped > 0 && res.Failed == 0:
		return RunSkipped
	case res.Known && res.Passed+res.Failed == 0:
		return RunEmpty
	case out.ok():
		return RunPassed
	}
	return RunFailed
}

var (
	setsUp   = lazyre.New(`(?:^|\.)(?:setUpClass|setUpModule)\b|^failed on setup with`)
	nodeLoad = lazyre.New(`.*(?:SyntaxError|ERR_MODULE_NOT_FOUND|Cannot find (?:module|package)|does not provide an export|Test suite failed to run).*`)
	shParse  = lazyre.New(`syntax error|unexpected end of file`)
)

// broke reports whether the run ended before the test checked the code: a build, load or set-up error.
func (s Single) broke(out ran, res testout.Result) bool {
	if slices.ContainsFunc(res.Failures, func(f testout.Failure) bool {
		return f.Build || setsUp.MatchString(f.Name) || setsUp.MatchString(f.Message)
	}) {
		return true
	}
	if out.ok() || s.Shell != "" {
		return false
	}
	switch LanguageOf(s.Path) {
	case LangGo: // a package that fails without a test crashed before its tests began
		return !slices.ContainsFunc(res.Failures, func(f testout.Failure) bool { return f.ID != "" })
	case LangPython:
		return out.exit == 3 || out.exit == 4 // pytest: an internal error, or a missing file
	case LangNode:
		return nodeLoad.MatchString(out.text) && res.Passed == 0
	case LangShell:
		return out.exit == 126 || out.exit == 127 || out.exit == 2 && shParse.MatchString(out.text)
	}
	return false
}

// LanguageOf returns the language of a file by its name; "" if no runner of single files supports it.
func LanguageOf(file string) Language {
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
