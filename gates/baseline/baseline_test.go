package baseline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/planparse"
)

func red(test, message string) gates.Finding {
	return gates.Finding{Rule: "test", Test: test, Path: "a_test.go", Line: 5, Severity: gates.Error, Message: message}
}

func TestCompare(t *testing.T) {
	lint := func(line int) gates.Finding {
		return gates.Finding{Rule: "vet", Path: "a.go", Line: line, Severity: gates.Error, Message: "unreachable code"}
	}
	exit := gates.Finding{Rule: "exit", Severity: gates.Error, Message: "exit 1, 2 tests failed"}
	tests := map[string]struct {
		now, before gates.Report
		status      gates.Status
		known       []bool
		from        map[string]string
	}{
		"a test is known by its name, whatever its message and line": {
			gates.Report{Findings: []gates.Finding{red("x.TestA", "got 3")}},
			gates.Report{Findings: []gates.Finding{{Rule: "test", Test: "x.TestA", Path: "b_test.go", Line: 9,
				Severity: gates.Error, Message: "got 7"}}},
			gates.Warn, []bool{true}, nil,
		},
		"another test is not, although the suite was red": {
			gates.Report{Findings: []gates.Finding{red("x.TestA", "m"), red("x.TestB", "m")}},
			gates.Report{Findings: []gates.Finding{red("x.TestA", "m")}},
			gates.Fail, []bool{true, false}, nil,
		},
		"a finding that moved is known": {
			gates.Report{Findings: []gates.Finding{lint(9)}}, gates.Report{Findings: []gates.Finding{lint(3)}}, gates.Warn,
			[]bool{true}, nil,
		},
		"of equal failures, only as many as before are known": {
			gates.Report{Findings: []gates.Finding{lint(3), lint(9)}}, gates.Report{Findings: []gates.Finding{lint(3)}},
			gates.Fail, []bool{true, false}, nil,
		},
		"a base that was green makes nothing known": {
			gates.Report{Findings: []gates.Finding{red("x.TestA", "m")}}, gates.Report{}, gates.Fail, []bool{false}, nil,
		},
		"what does not compile is never known": {
			gates.Report{Findings: []gates.Finding{{Rule: "build", Path: "a.go", Line: 3, Severity: gates.Error,
				Message: "undefined: x"}}},
			gates.Report{Findings: []gates.Finding{{Rule: "build", Path: "a.go", Line: 3, Severity: gates.Error,
				Message: "undefined: x"}}},
			gates.Fail, []bool{false}, nil,
		},
		"a program that names nothing may have failed for any reason": {
			gates.Report{Findings: []gates.Finding{exit}, Output: "x"},
			gates.Report{Findings: []gates.Finding{exit}, Output: "x"},
			gates.Fail, []bool{false}, nil,
		},
		"a finding in a moved file is known": {
			gates.Report{Findings: []gates.Finding{lint(9)}},
			gates.Report{Findings: []gates.Finding{{Rule: "vet", Path: "old/a.go", Line: 3, Severity: gates.Error,
				Message: "unreachable code"}}},
			gates.Warn, []bool{true}, map[string]string{"a.go": "old/a.go"},
		},
		"a finding that only another file had is not": {
			gates.Report{Findings: []gates.Finding{lint(9)}},
			gates.Report{Findings: []gates.Finding{{Rule: "vet", Path: "old/b.go", Line: 3, Severity: gates.Error,
				Message: "unreachable code"}}},
			gates.Fail, []bool{false}, map[string]string{"a.go": "old/a.go"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.now.Status = gates.Fail
			got := compare("tests:go", tt.now, tt.before, "abc", tt.from, Tells)
			var known []bool
			for _, f := range got.Findings {
				known = append(known, f.Known)
				if f.Known == (f.Severity == gates.Error) {
					t.Errorf("a finding must be either known or an error: %+v", f)
				}
			}
			if d := cmp.Diff(tt.known, known); d != "" || got.Status != tt.status {
				t.Errorf("%s: %s", got.Status, d)
			}
			if anyOf(known) != strings.Contains(got.Note, "already there, at abc") {
				t.Errorf("note %q", got.Note)
			}
		})
	}
}

func anyOf(list []bool) bool {
	for _, b := range list {
		if b {
			return true
		}
	}
	return false
}

// The base is checked only if a gate fails. If it cannot be checked, the failure is not excused.
func TestAround(t *testing.T) {
	asked := 0
	look := func(r gates.Report, err error) Look {
		return func(context.Context, string) (gates.Report, error) { asked++; return r, err }
	}
	gate := func(r gates.Report) gates.Gate {
		return gates.New(gates.Info{Name: "g", Blocking: true}, func(_ context.Context, l *gates.Look) error {
			for _, f := range r.Findings {
				l.Find(f)
			}
			return nil
		})
	}
	s := gates.Subject{Dir: t.TempDir()}
	if rep, err := Around(gate(gates.Report{}), "abc", look(gates.Report{}, nil)).Check(t.Context(), s); err != nil ||
		rep.Status != gates.Pass || asked != 0 {
		t.Errorf("%+v %v, asked %d times", rep, err, asked)
	}
	bad := gate(gates.Report{Findings: []gates.Finding{red("x", "m")}})
	rep, err := Around(bad, "abc", look(gates.Report{}, errors.New("no room"))).Check(t.Context(), s)
	if err != nil || rep.Status != gates.Fail ||
		!strings.Contains(rep.Note, "it is unknown whether it failed before, at abc: no room") {
		t.Errorf("%+v %v", rep, err)
	}
	rep, err = Around(bad, "abc", look(gates.Report{}, ErrNoGate)).Check(t.Context(), s)
	if err != nil || rep.Status != gates.Fail || rep.Note != "" {
		t.Errorf("%+v %v", rep, err)
	}
}

// A project that did not build before cannot be repaired by a batch that has nothing to do with it.
func TestBuildFailureOfUntouchedProjectIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		rule, root string
		changed    []string
		passed     int
		want       gates.Status
	}{
		"a nested module that crashes":        {"crash", "web", []string{"a.go"}, 0, gates.Warn},
		"a nested module":                     {"build", "web", []string{"a.go", "webs/b.go"}, 0, gates.Warn},
		"a nested module without a result":    {"exit", "web", []string{"a.go"}, 0, gates.Warn},
		"the change touches the module":       {"build", "web", []string{"a.go", "web/b.go"}, 0, gates.Fail},
		"the module at the root":              {"build", ".", []string{"web/b.go"}, 0, gates.Fail},
		"an unknown change":                   {"build", "web", nil, 0, gates.Fail},
		"a suite that failed after its tests": {"exit", "web", []string{"a.go"}, 3, gates.Fail},
	} {
		g := gates.New(gates.Info{Name: "tests:go:web", Root: c.root, Blocking: true},
			func(_ context.Context, l *gates.Look) error {
				f := gates.Finding{Rule: c.rule, Path: "web/go.mod", Severity: gates.Error, Message: "updates to go.mod needed"}
				if c.rule == "crash" {
					f = gates.Finding{Rule: "exit", Severity: gates.Error, Message: "exit 2: a.h:1: error: redefined [-Werror]"}
				}
				l.Find(f)
				l.Count(gates.TestCount{Passed: c.passed})
				return nil
			})
		s := gates.Subject{Dir: t.TempDir(), Changed: c.changed}
		s.Batch.Key = "1"
		rep, err := Around(g, "abc", func(ctx context.Context, _ string) (gates.Report, error) {
			return g.Check(ctx, s)
		}).Check(t.Context(), s)
		if err != nil || rep.Status != c.want {
			t.Errorf("%s: %s %v %q, want %s", name, rep.Status, err, rep.Note, c.want)
		}
	}
}

// A file of Python's tests that could not be imported before hides only its own tests.
func TestUnimportedTestsAreKnownBesideOthers(t *testing.T) {
	for name, c := range map[string]struct {
		changed []string
		batch   string
		passed  int
		want    gates.Status
	}{
		"other tests pass":      {[]string{"shop.py"}, "Correct the total.", 3, gates.Warn},
		"no test passes":        {[]string{"shop.py"}, "Correct the total.", 0, gates.Fail},
		"the file changes":      {[]string{"shop.py", "test_old.py"}, "Correct the total.", 3, gates.Fail},
		"the batch is about it": {[]string{"shop.py"}, "Correct test_old.py.", 3, gates.Fail},
	} {
		g := gates.New(gates.Info{Name: "tests:python", Blocking: true}, func(_ context.Context, l *gates.Look) error {
			l.Find(gates.Finding{Rule: gates.RuleBuild, Path: "test_old.py", Line: 1, Severity: gates.Error,
				Message: "test_old: collection failure"})
			l.Count(gates.TestCount{Passed: c.passed})
			return nil
		})
		s := gates.Subject{Dir: t.TempDir(), Changed: c.changed, Batch: planparse.Batch{Key: "1", Text: c.batch}}
		rep, err := Around(g, "abc", func(ctx context.Context, _ string) (gates.Report, error) {
			return g.Check(ctx, s)
		}).Check(t.Context(), s)
		if err != nil || rep.Status != c.want {
			t.Errorf("%s: %s %v %q, want %s", name, rep.Status, err, rep.Note, c.want)
		}
	}
}

// A file of Go's tests that did not compile before hides only the tests of its package.
func TestUncompiledTestsAreKnownOutsideOfTheirPackage(t *testing.T) {
	for name, c := range map[string]struct {
		path, changed string
		want          gates.Status
	}{
		"another package":  {"shop/old_test.go", "cart/cart.go", gates.Warn},
		"the same package": {"shop/old_test.go", "shop/shop.go", gates.Fail},
		"its test data":    {"shop/old_test.go", "shop/data.json", gates.Warn},
		"no test":          {"shop/old.go", "cart/cart.go", gates.Fail},
	} {
		g := gates.New(gates.Info{Name: "lint:go", Blocking: true}, func(_ context.Context, l *gates.Look) error {
			l.Find(gates.Finding{Rule: gates.RuleBuild, Path: c.path, Line: 1, Severity: gates.Error, Message: "undefined: x"})
			return nil
		})
		s := gates.Subject{Dir: t.TempDir(), Changed: []string{c.changed}, Batch: planparse.Batch{Key: "1", Text: "Do it."}}
		rep, err := Around(g, "abc", func(ctx context.Context, _ string) (gates.Report, error) {
			return g.Check(ctx, s)
		}).Check(t.Context(), s)
		if err != nil || rep.Status != c.want {
			t.Errorf("%s: %s %v %q, want %s", name, rep.Status, err, rep.Note, c.want)
		}
	}
}

// A linter whose packages are missing is skipped, as one that is not installed. If it ran on the base, or the user
// configured it, it is an error.
func TestLinterThatIsNotReadyIsSkipped(t *testing.T) {
	hindered := fmt.Errorf("%w: the gem coveralls is missing", gates.ErrHindered)
	tools := []gates.Tool{{Name: "rubocop"}}
	for name, c := range map[string]struct {
		info    gates.Info
		before  error
		skipped bool
	}{
		"neither here nor on the base": {gates.Info{Name: "lint:rubocop", Tools: tools}, hindered, true},
		"it ran on the base":           {gates.Info{Name: "lint:rubocop", Tools: tools}, nil, false},
		"a test suite":                 {gates.Info{Name: "tests:ruby", Tools: tools}, hindered, false},
		"a gate of the user":           {gates.Info{Name: "own"}, hindered, false},
	} {
		g := gates.New(c.info, func(context.Context, *gates.Look) error { return hindered })
		rep, err := Around(g, "abc", func(context.Context, string) (gates.Report, error) {
			return gates.Report{}, c.before
		}).Check(t.Context(), gates.Subject{Dir: t.TempDir()})
		if skipped := err == nil && rep.Status == gates.Skipped; skipped != c.skipped {
			t.Errorf("%s: %s %v", name, rep.Status, err)
		}
	}
}

// A finding in a file that the change moves is known.
func TestAroundFollowsMovedFiles(t *testing.T) {
	for from, want := range map[string]gates.Status{"src/a.sh": gates.Warn, "src/b.sh": gates.Fail} {
		g := gates.New(gates.Info{Name: "lint:shell", Blocking: true}, func(_ context.Context, l *gates.Look) error {
			l.Find(gates.Finding{Rule: "SC1", Path: "a.sh", Line: 3, Severity: gates.Error, Message: "quote this"})
			return nil
		})
		s := gates.Subject{Dir: t.TempDir(), Diff: move{"src/a.sh", "a.sh"}, Batch: planparse.Batch{Key: "1"}}
		rep, err := Around(g, "abc", func(context.Context, string) (gates.Report, error) {
			return gates.Report{Status: gates.Fail, Findings: []gates.Finding{{Rule: "SC1", Path: from, Line: 1,
				Severity: gates.Error, Message: "quote this"}}}, nil
		}).Check(t.Context(), s)
		if err != nil || rep.Status != want {
			t.Errorf("%s: %s %v, want %s", from, rep.Status, err, want)
		}
	}
}

// move is the diff of a file that moved.
type move struct{ from, to string }

func (m move) Changes(context.Context) ([]gates.Change, error) {
	return []gates.Change{{Path: m.to, Status: gates.Added}, {Path: m.from, Status: gates.Deleted}}, nil
}

func (m move) Before(_ context.Context, path string) ([]byte, error) {
	return m.text(path, m.from), nil
}
func (m move) After(_ context.Context, path string) ([]byte, error) { return m.text(path, m.to), nil }

func (m move) text(path, at string) []byte {
	if path != at {
		return nil
	}
	return []byte("echo $1\necho $2\n")
}
