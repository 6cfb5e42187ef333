package gates

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates/names"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/planparse"
)

// suiteOf returns a suite gate that ran these tests.
func suiteOf(name string, c Calibration, cases ...testout.Case) fixed {
	g := gate(name, Costly, Pass)
	g.rep.Cases = cases
	g.rep.Tests = &TestCount{}
	for _, one := range cases {
		if one.Status == testout.Passed {
			g.rep.Tests.Passed++
		}
	}
	g.rep.Proof = &Proof{Calibration: c}
	return g
}

// advice returns a gate that fails with a finding from reading a test file.
func advice(path string) fixed {
	g := gate("tamper", Instant, Fail)
	g.rep.Findings = []Finding{{Rule: "tamper/test-removed", Path: path, Severity: Error, Message: "the test was removed",
		Advice: true}}
	return g
}

func passed(names ...string) []testout.Case {
	out := []testout.Case{}
	for _, n := range names {
		out = append(out, testout.Case{Name: n, Group: "m", Status: testout.Passed})
	}
	return out
}

// asked returns a subject whose base ran those tests and whose tests did not change.
func asked(base ...string) Subject {
	return Subject{
		Batch:     planparse.Batch{Key: "1"},
		BaseTests: func(context.Context, string) ([]testout.Case, error) { return passed(base...), nil },
		Held:      func(context.Context, string) (HeldRun, error) { return HeldRun{Nothing: true}, nil },
	}
}

func TestCalibratedRunOverridesStaticFindings(t *testing.T) {
	for name, c := range map[string]struct {
		suites []Gate
		s      Subject
		status Status
		note   string
	}{
		"a calibrated suite that ran all of the base's tests": {
			suites: []Gate{suiteOf("tests:go", Calibrated, passed("TestA", "TestB")...)}, s: asked("TestA", "TestB"),
			status: Warn, note: "only warn",
		},
		"an uncalibrated one": {
			suites: []Gate{suiteOf("tests:go", Uncalibrated, passed("TestA")...)}, s: asked("TestA"), status: Fail,
			note: "tests:go is uncalibrated",
		},
		"a suite of another language": {
			suites: []Gate{suiteOf("tests:python", Calibrated, passed("test_a")...)}, s: asked("test_a"), status: Fail,
			note: "no suite ran them",
		},
		"a suite of another folder": {
			suites: []Gate{suiteOf("tests:go:web", Calibrated, passed("TestA")...)}, s: asked("TestA"), status: Fail,
			note: "no suite ran them",
		},
		"no suite": {s: asked(), status: Fail, note: "no suite ran them"},
		"the tests of the base are unknown": {
			suites: []Gate{suiteOf("tests:go", Calibrated, passed("TestA")...)}, status: Fail, note: "are unknown",
		},
		"the base's tests could not be run": {
			suites: []Gate{suiteOf("tests:go", Calibrated, passed("TestA")...)}, status: Fail, note: "were not run by tests:go",
			s: Subject{BaseTests: asked("TestA").BaseTests,
				Held: func(context.Context, string) (HeldRun, error) { return HeldRun{}, errors.New("no room") }},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Run(t.Context(), append([]Gate{advice("a_test.go")}, c.suites...), c.s, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r := v.Reports[0]; r.Status != c.status || !strings.Contains(r.Note, c.note) {
				t.Errorf("%s with %q, want %s with %q", r.Status, r.Note, c.status, c.note)
			}
		})
	}
}

// A failure that is only advice does not stop the suites; a failure that is a fact does.
func TestAdviceDoesNotStopSuites(t *testing.T) {
	ran := suiteOf("tests:go", Calibrated, passed("TestA")...)
	v, err := Run(t.Context(), []Gate{advice("a_test.go"), gate("lint", Cheap, Pass), ran}, asked("TestA"), nil)
	if err != nil || v.Reports[2].Status == Skipped {
		t.Errorf("%v %+v", err, v.Reports)
	}
	v, err = Run(t.Context(), []Gate{gate("protected", Instant, Fail), advice("a_test.go"), ran}, asked("TestA"), nil)
	if err != nil || v.Reports[2].Status != Skipped {
		t.Errorf("%v %+v", err, v.Reports)
	}
}

func TestMissingTestsAreNamed(t *testing.T) {
	two := suiteOf("tests:go", Calibrated, passed("TestA", "TestPad", "TestMore")...)
	v, err := Run(t.Context(), []Gate{two}, asked("TestA", "TestB"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := v.Reports[0]
	if r.Status != Fail || !hasFinding(r, RuleMissingTest, "", 0, "TestB passed on the base but does not run now") ||
		r.Proof.String() != "missing: TestB" || r.Findings[0].Test != "TestB" {
		t.Errorf("%+v %+v", r, r.Proof)
	}
	if text := Digest(v, 0); !strings.Contains(text, "TestB passed on the base") {
		t.Error(text)
	}
	// The names of the tests are known, so a smaller number of tests is not a finding.
	s := asked("TestA")
	s.Before = &TestCount{Passed: 9}
	if v, err = Run(t.Context(), []Gate{suiteOf("tests:go", Calibrated, passed("TestA")...)}, s, nil); err != nil ||
		v.Status != Pass {
		t.Errorf("%v %+v", err, v)
	}
}

// A proof names each test that passes now and did not run on the base. Names beyond its limits are only counted.
func TestNewTestsAreNamed(t *testing.T) {
	v, err := Run(t.Context(), []Gate{suiteOf("tests:go", Calibrated, passed("TestA", "TestNew")...)}, asked("TestA"), nil)
	if err != nil || v.Reports[0].Proof == nil || !slices.Equal(v.Reports[0].Proof.New, []string{"TestNew"}) ||
		v.Reports[0].Proof.MoreNew != 0 {
		t.Errorf("%v %+v", err, v.Reports[0].Proof)
	}
	var many []string
	for i := range maxNew + 7 {
		many = append(many, fmt.Sprint("Test", i))
	}
	if names, more := fresh(nil, passed(many...)); len(names) != maxNew || more != 7 {
		t.Errorf("%d names and %d more", len(names), more)
	}
	long := strings.Repeat("x", maxNewText/2)
	if names, more := fresh(nil, passed(long+"1", long+"2", "TestShort")); len(names) != 1 || more != 2 {
		t.Errorf("%d long names and %d more", len(names), more)
	}
	if names, more := fresh(nil, []testout.Case{{Name: "TestRed", Status: testout.Failed}}); names != nil || more != 0 {
		t.Errorf("a test that fails is new: %v", names)
	}
}

// The user wrote a literal plan, so its missing tests are only a warning.
func TestMissingTestsOfLiteralPlanWarn(t *testing.T) {
	s := asked("TestA", "TestB")
	s.Literal = true
	v, err := Run(t.Context(), []Gate{suiteOf("tests:go", Calibrated, passed("TestA")...)}, s, nil)
	if err != nil || v.Status != Warn {
		t.Errorf("%v %+v", err, v)
	}
}

func TestRemovedSuiteFails(t *testing.T) {
	s := asked("test_a")
	s.Changed = []string{"test_a.py"}
	s.BaseSuites = func(context.Context) ([]string, error) { return []string{"tests:python"}, nil }
	v, err := Run(t.Context(), []Gate{gate("lint", Cheap, Pass)}, s, nil)
	if err != nil || v.Status != Fail || len(v.Reports) != 2 || v.Reports[1].Gate != "tests:python" {
		t.Errorf("%v %+v", err, v)
	}
	s.Batch = planparse.Batch{Key: "1", Text: "Remove test_a, which is obsolete."}
	if v, err = Run(t.Context(), []Gate{gate("lint", Cheap, Pass)}, s, nil); err != nil || v.Status != Pass {
		t.Errorf("%v %+v", err, v)
	}
}

func TestChangedExpectations(t *testing.T) {
	for set, want := range map[ChangedTests]struct {
		status Status
		asks   string
	}{"": {Warn, ""}, ChangedWarn: {Warn, ""}, ChangedApprove: {Warn, "changed expectation: TestA"},
		ChangedFail: {Fail, ""}} {
		s := asked("TestA", "TestB")
		s.ChangedTests = set
		s.Held = func(context.Context, string) (HeldRun, error) {
			return HeldRun{Cases: []testout.Case{{Name: "TestA", Group: "m", Status: testout.Failed},
				{Name: "TestB", Group: "m", Status: testout.Passed}}}, nil
		}
		v, err := Run(t.Context(), []Gate{suiteOf("tests:go", Calibrated, passed("TestA", "TestB")...)}, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := v.Reports[0]
		if r.Status != want.status || r.Proof.Asks != want.asks ||
			r.Proof.String() != "1 of 2 tests of the base pass; changed expectation: TestA" {
			t.Errorf("%q: %s %+v", set, r.Status, r.Proof)
		}
	}
}

// Said returns each warning once, as text.
func TestSaid(t *testing.T) {
	r := Report{Status: Warn,
		Findings: []Finding{{Severity: Warning, Message: "the command passed, but no test ran"},
			{Severity: Note, Message: "x"}, {Severity: Warning, Message: "the command passed, but no test ran"}}}
	if got := strings.Join(r.Said(), "|"); got != "the command passed, but no test ran" {
		t.Error(got)
	}
	r = Report{Status: Pass, Proof: &Proof{Calibration: Uncalibrated}}
	if got := strings.Join(r.Said(), "|"); got != "uncalibrated" {
		t.Error(got)
	}
}

// A changed test is unlisted if the batch lists files, but neither the test nor its code, and both changed.
func TestUnlistedTests(t *testing.T) {
	code := names.File{Path: "cart.go", Before: "a", After: "b"}
	for name, c := range map[string]struct {
		list    []string
		changes []names.File
		want    bool
	}{
		"another file is listed":  {[]string{"a.go"}, []names.File{code}, true},
		"the batch lists none":    {nil, []names.File{code}, false},
		"the test is listed":      {[]string{"cart_test.go"}, []names.File{code}, false},
		"its code is listed":      {[]string{"cart.go"}, []names.File{code}, false},
		"its code did not change": {[]string{"a.go"}, []names.File{{Path: "b.go", Before: "a", After: "b"}}, false},
		"its code is new":         {[]string{"a.go"}, []names.File{{Path: "cart.go", After: "b"}}, false},
	} {
		p := &prover{s: Subject{Batch: planparse.Batch{Files: planparse.Files{Modify: c.list}}}, changes: c.changes}
		if got := p.unlisted("cart_test.go"); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// If the batch wants all tests to pass, a new expectation of a changed function that it does not name is not agreed.
func TestExpectationsBesidesTheBatch(t *testing.T) {
	const (
		old   = "def split(n):\n    return n\n\n\ndef shown(n):\n    return str(n)\n"
		tests = "def test_shown():\n    assert shown(1) == '1'\n"
	)
	now, both := strings.Replace(old, "return n", "return [n]", 1),
		strings.Replace(old, "return str(n)", "return f'{n}.'", 1)
	for name, c := range map[string]struct {
		text, code string
		want       bool
	}{
		"another function changed":         {"Correct split so that all tests pass.", both, true},
		"the batch names it":               {"Correct split so that all tests pass. Shown ends with a point.", both, false},
		"only the named function changed":  {"Correct split so that all tests pass.", now, false},
		"the batch does not rely on tests": {"Correct split.", both, false},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "test_a.py"), []byte(tests), 0o644); err != nil {
			t.Fatal(err)
		}
		p := &prover{s: Subject{Dir: dir, Batch: planparse.Batch{Text: c.text}}, changes: []names.File{
			{Path: "a.py", Before: old, After: c.code}, {Path: "test_a.py", Before: "x", After: tests}}}
		if got := p.besides("test_a.py", "test_shown"); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
