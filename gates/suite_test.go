package gates

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates/testout"
)

// The result of a runner becomes findings: failures with their places, and a status that contradicts them.
func TestFindingsOfRunner(t *testing.T) {
	dir := tree(t, map[string]string{"sub/test-a.sh": "check sum\n", "sub/b.bats": "x\ncheck product\ncheck both\n",
		"sub/c.sh": "check both\n", "sub/d.txt": "check sum\n"})
	for name, c := range map[string]struct {
		gate  string
		about string
		out   ran
		res   testout.Result
		want  []string
		test  string
	}{
		"a failure with a place": {"tests:x", "", ran{exit: 1}, testout.Result{Failures: []testout.Failure{{Name: "TestA",
			ID: "m.TestA", Path: "a.go", Line: 3, Col: 4, Message: "no"}}},
			[]string{"sub/a.go:3:4 error test TestA: no"}, "m.TestA"},
		"a message that names the test": {"tests:x", "", ran{exit: 1},
			testout.Result{Failures: []testout.Failure{{Name: "TestA", Message: "TestA: no"}}},
			[]string{":0:0 error test TestA: no"}, "TestA"},
		"a place outside of the tree": {"tests:x", "", ran{exit: 1},
			testout.Result{Failures: []testout.Failure{{Name: "TestA", Path: "/usr/x.go", Line: 3, Col: 4, Message: "no"}}},
			[]string{":0:0 error test TestA: no"}, "TestA"},
		"a file that does not build": {"tests:x", "", ran{exit: 1},
			testout.Result{Failures: []testout.Failure{{Name: "build", Path: "a.go", Line: 3, Message: "undefined",
				Build: true}}},
			[]string{"sub/a.go:3:0 error build undefined"}, ""},
		"a failure without a name": {"tests:x", "", ran{exit: 1},
			testout.Result{Failures: []testout.Failure{{Message: "oops"}}},
			[]string{":0:0 error exit oops"}, ""},
		"a line of a script": {"tests:x", "sub/test-a.sh", ran{exit: 1},
			testout.Result{Failures: []testout.Failure{{Name: "check product: is 3", Message: "no"}}},
			[]string{"sub/b.bats:2:0 error test check product: is 3: no"}, "check product: is 3"},
		"a line of two scripts": {"tests:x", "sub/test-a.sh", ran{exit: 1},
			testout.Result{Failures: []testout.Failure{{Name: "check both", Message: "no"}}},
			[]string{":0:0 error test check both: no"}, "check both"},
		"no name": {"tests:x", "sub/test-a.sh", ran{exit: 3, text: "error: it broke\n"}, testout.Result{},
			[]string{"sub/test-a.sh:0:0 error exit exit 3, without naming a failed test: error: it broke"}, ""},
		"no name, no suite": {"own", "", ran{exit: 3}, testout.Result{}, []string{":0:0 error exit exit 3"}, ""},
		"a count": {"tests:x", "", ran{exit: 3, signal: "SIGSEGV"}, testout.Result{Failed: 2},
			[]string{":0:0 error exit it was killed by SIGSEGV, 2 tests failed"}, ""},
		"a hidden failure": {"tests:x", "", ran{}, testout.Result{Failed: 1,
			Failures: []testout.Failure{{Name: "TestA"}}}, []string{":0:0 warning exit-hides-failures 1 test failed, but the " +
			"command exited with status 0; make the command fail when a test fails"}, ""},
		"an exact report": {"tests:x", "", ran{}, testout.Result{Failed: 1, Exact: true,
			Failures: []testout.Failure{{Name: "TestA"}}}, []string{":0:0 error exit-hides-failures 1 test failed, but the " +
			"command exited with status 0; make the command fail when a test fails", ":0:0 error test TestA: "}, "TestA"},
		"a pass":           {"tests:x", "", ran{}, testout.Result{Passed: 1}, nil, ""},
		"a quoted failure": {"tests:x", "", ran{}, testout.Result{Failures: []testout.Failure{{Name: "TestA"}}}, nil, ""},
	} {
		w := &Look{subject: Subject{Dir: dir}, rep: Report{Gate: c.gate}}
		note(w, "sub", c.about, c.out, c.res)
		if d := cmp.Diff(c.want, said(w.rep.Findings)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if n := len(w.rep.Findings); n > 0 && w.rep.Findings[n-1].Test != c.test {
			t.Errorf("%s: test %q", name, w.rep.Findings[n-1].Test)
		}
	}
}

// A suite that ran no test, or that does not count its tests, is no clean pass.
func TestCountsOfSuite(t *testing.T) {
	for name, c := range map[string]struct {
		sum     testout.Result
		before  *TestCount
		require bool
		failed  bool
		want    string
		note    string
		counted bool
	}{
		"tests ran":     {sum: testout.Result{Known: true, Passed: 1}, counted: true},
		"a test failed": {sum: testout.Result{Known: true, Failed: 1}, counted: true},
		"none": {sum: testout.Result{Known: true}, want: ":0:0 warning no-tests-ran the command passed, " +
			"but no test ran", counted: true},
		"all skipped": {sum: testout.Result{Known: true, Skipped: 2},
			want: ":0:0 warning no-tests-ran the command passed, but no test ran: all 2 were skipped", counted: true},
		"none, but required": {sum: testout.Result{Known: true}, require: true,
			want: ":0:0 error no-tests-ran the command passed, but no test ran", counted: true},
		"none after a failure": {sum: testout.Result{Known: true}, failed: true, want: ":0:0 error x ", counted: true},
		"unknown":              {note: "the number of tests cannot be read from the output"},
		"unknown, known before": {before: &TestCount{Passed: 7}, want: ":0:0 warning test-count-unknown the number of " +
			"tests cannot be read from the output; 7 passed before"},
	} {
		w := &Look{subject: Subject{Before: c.before}, requireTests: c.require}
		if c.failed {
			w.Find(Finding{Rule: "x", Severity: Error})
		}
		conclude(w, c.sum)
		if got := strings.Join(said(w.rep.Findings), "\n"); got != c.want || w.rep.Note != c.note ||
			(w.rep.Tests != nil) != c.counted {
			t.Errorf("%s: %q %q %+v", name, got, w.rep.Note, w.rep.Tests)
		}
	}
}

// Failures in the output of a command that passed are quoted from another suite: they do not count as the base's.
func TestQuotedFailuresDoNotCountOnBase(t *testing.T) {
	r := Report{Cases: cases(testout.Failed, "TestA")}
	if got := r.BaseCases(); got[0].Status != testout.Failed {
		t.Errorf("%+v", got)
	}
	r.Findings = []Finding{{Rule: ruleHidden}}
	if got := r.BaseCases(); got[0].Status != testout.Passed || r.Cases[0].Status != testout.Failed {
		t.Errorf("%+v", got)
	}
}

// The tests of one Go package run again by the names of their functions.
func TestGoOnlyFailedTests(t *testing.T) {
	args, packages := goOnly([]testout.Failure{{Name: "TestB/x", Group: "m/b"}, {Name: "TestA", Group: "m"},
		{Name: "TestB/y", Group: "m/b"}})
	if got := strings.Join(args, " "); got != "go test -json -count=1 -vet=off -run ^(TestA|TestB)$ m m/b" ||
		strings.Join(packages, " ") != "m m/b" {
		t.Errorf("%s, %v", got, packages)
	}
}

// A failed test suite blocks the batch, and the same tree gives the same result.
func TestSuitesBlock(t *testing.T) {
	dir := tree(t, goProject)
	suites := 0
	for _, g := range Builtin(dir, Settings{Detect: true}) {
		if info := g.Info(); IsSuite(info.Name) {
			suites++
			if !info.Blocking || !info.Pure {
				t.Errorf("%+v", info)
			}
		}
	}
	if suites == 0 {
		t.Error("there is no suite")
	}
}
