package baseline

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
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
	}{
		"a test is known by its name, whatever its message and line": {
			gates.Report{Findings: []gates.Finding{red("x.TestA", "got 3")}},
			gates.Report{Findings: []gates.Finding{{Rule: "test", Test: "x.TestA", Path: "b_test.go", Line: 9,
				Severity: gates.Error, Message: "got 7"}}},
			gates.Warn, []bool{true},
		},
		"another test is not, although the suite was red": {
			gates.Report{Findings: []gates.Finding{red("x.TestA", "m"), red("x.TestB", "m")}},
			gates.Report{Findings: []gates.Finding{red("x.TestA", "m")}},
			gates.Fail, []bool{true, false},
		},
		"a finding that moved is known": {
			gates.Report{Findings: []gates.Finding{lint(9)}}, gates.Report{Findings: []gates.Finding{lint(3)}}, gates.Warn,
			[]bool{true},
		},
		"of equal failures, only as many as before are known": {
			gates.Report{Findings: []gates.Finding{lint(3), lint(9)}}, gates.Report{Findings: []gates.Finding{lint(3)}},
			gates.Fail, []bool{true, false},
		},
		"a base that was green makes nothing known": {
			gates.Report{Findings: []gates.Finding{red("x.TestA", "m")}}, gates.Report{}, gates.Fail, []bool{false},
		},
		"what does not compile is never known": {
			gates.Report{Findings: []gates.Finding{{Rule: "build", Path: "a.go", Line: 3, Severity: gates.Error,
				Message: "undefined: x"}}},
			gates.Report{Findings: []gates.Finding{{Rule: "build", Path: "a.go", Line: 3, Severity: gates.Error,
				Message: "undefined: x"}}},
			gates.Fail, []bool{false},
		},
		"a program that names nothing may have failed for any reason": {
			gates.Report{Findings: []gates.Finding{exit}, Output: "x"},
			gates.Report{Findings: []gates.Finding{exit}, Output: "x"},
			gates.Fail, []bool{false},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.now.Status = gates.Fail
			got := compare("tests:go", tt.now, tt.before, "abc", func(gates.Finding) bool { return false })
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
