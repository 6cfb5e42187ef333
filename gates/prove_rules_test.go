package gates

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates/names"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/planparse"
)

func cases(status testout.Status, names ...string) []testout.Case {
	out := passed(names...)
	for i := range out {
		out[i].Status = status
	}
	return out
}

func goTest(lines ...string) string {
	return "package m\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\t" + strings.Join(lines, "\n\t") + "\n}\n"
}

// The base's version of a test runs on the new code. If it fails there, the change of the test needs a reason.
func TestBaseVersionsOfTests(t *testing.T) {
	const strict, other, weak = "if Add(1) != 2 { t.Error() }", "if Add(1) != 3 { t.Error() }", "Add(1)"
	was := passed("TestA")
	for name, c := range map[string]struct {
		base, now []testout.Case
		held      HeldRun
		text      string
		title     string
		diff      map[string][2]string
		set       func(*Subject)
		want      []string
		proof     string
	}{
		"the test passes": {was, was, HeldRun{Cases: was}, "", "", nil, nil, nil, "1 of 1 tests of the base pass"},
		"its expectation changed": {was, was, HeldRun{Cases: cases(testout.Failed, "TestA")}, "", "",
			map[string][2]string{"m_test.go": {goTest(strict), goTest(other)}}, nil,
			[]string{"m_test.go:5:0 warning changed-expectation TestA passes in its new version and fails in its base " +
				"version: its expectation changed"},
			"0 of 1 tests of the base pass; changed expectation: TestA"},
		"it checks less": {was, was, HeldRun{Cases: cases(testout.Failed, "TestA")}, "", "",
			map[string][2]string{"m_test.go": {goTest(strict), goTest(weak)}}, nil,
			[]string{"m_test.go:5:0 error changed-expectation TestA fails on this code in its base version, and checks less " +
				"now; make the code pass the old test, or name the test in the plan"},
			"0 of 1 tests of the base pass; changed expectation: TestA"},
		"behaviour does not change": {was, was, HeldRun{Cases: cases(testout.Failed, "TestA")},
			"Behaviour must not change.", "Refactor the sum", map[string][2]string{"m_test.go": {goTest(strict),
				goTest(other)}}, nil,
			[]string{"m_test.go:5:0 error changed-expectation TestA passes in its new version and fails in its base version: " +
				"its expectation changed, but the batch says that behaviour does not change; make the code pass the old test, " +
				"or name the test in the plan"},
			"0 of 1 tests of the base pass; changed expectation: TestA"},
		"the batch changes the test": {was, was, HeldRun{Cases: cases(testout.Failed, "TestA")},
			"Change TestA to the new sum.", "", nil, nil,
			[]string{":0:0 info changed-expectation TestA has another expectation than on the base, as agreed"},
			"0 of 1 tests of the base pass; changed expectation: TestA"},
		"the batch names its file": {was, was, HeldRun{Cases: cases(testout.Failed, "TestA")}, "", "",
			map[string][2]string{"m_test.go": {goTest(strict), goTest(other)}},
			func(s *Subject) { s.Batch.Files.Modify = []string{"m_test.go"} },
			[]string{"m_test.go:5:0 info changed-expectation TestA has another expectation than on the base, as agreed"},
			"0 of 1 tests of the base pass; changed expectation: TestA"},
		"the batch names its file, but it checks less": {was, was, HeldRun{Cases: cases(testout.Failed, "TestA")}, "", "",
			map[string][2]string{"m_test.go": {goTest(strict), goTest(weak)}},
			func(s *Subject) { s.Batch.Files.Modify = []string{"m_test.go"} },
			[]string{"m_test.go:5:0 error changed-expectation TestA fails on this code in its base version, and checks less " +
				"now; make the code pass the old test, or name the test in the plan"},
			"0 of 1 tests of the base pass; changed expectation: TestA"},
		"an older commit is restored": {was, was, HeldRun{Reverted: true, Cases: cases(testout.Failed, "TestA")}, "", "",
			nil, nil,
			[]string{":0:0 info changed-expectation TestA has another expectation than on the base, as agreed"},
			"0 of 1 tests of the base pass; changed expectation: TestA"},
		"it failed on the base": {cases(testout.Failed, "TestA"), was, HeldRun{Cases: cases(testout.Failed, "TestA")}, "",
			"", nil, nil,
			[]string{":0:0 error edited-red-test TestA failed on the base, and its base version still fails; it was changed " +
				"so that it passes; restore the test, and make the code pass it"},
			"0 of 1 tests of the base pass; changed expectation: TestA"},
		"it failed on the base, and the batch changes it": {cases(testout.Failed, "TestA"), was,
			HeldRun{Cases: cases(testout.Failed, "TestA")}, "Change TestA to the new sum.", "", nil, nil,
			[]string{":0:0 info changed-expectation TestA has another expectation than on the base, as agreed"},
			"0 of 1 tests of the base pass; changed expectation: TestA"},
		"it failed on the base, and was mended": {cases(testout.Failed, "TestA"), was, HeldRun{Cases: was}, "", "", nil,
			nil, nil, "1 of 1 tests of the base pass"},
		"it was skipped": {was, was, HeldRun{Cases: cases(testout.Skipped, "TestA")}, "", "", nil,
			nil, nil, ""},
		"it fails in both versions": {was, cases(testout.Failed, "TestA"),
			HeldRun{Cases: cases(testout.Failed, "TestA")}, "", "", nil, nil, nil, "0 of 1 tests of the base pass"},
		"two rows of one test are one": {passed("TestA/x", "TestA/y"), passed("TestA/x", "TestA/y"),
			HeldRun{Cases: cases(testout.Failed, "TestA/x", "TestA/y")}, "", "", nil, nil,
			[]string{":0:0 warning changed-expectation TestA passes in its new version and fails in its base version: its " +
				"expectation changed"},
			"0 of 2 tests of the base pass; changed expectation: TestA"},
		"it did not build on the base": {nil, was, HeldRun{Cases: cases(testout.Failed, "TestA")}, "", "", nil, nil,
			[]string{":0:0 error edited-red-test TestA failed on the base, and its base version still fails; it was changed " +
				"so that it passes; restore the test, and make the code pass it"},
			"0 of 1 tests of the base pass; changed expectation: TestA"},
		"the batch removes it": {passed("TestA", "TestB"), was, HeldRun{Cases: append(passed("TestA"),
			cases(testout.Failed, "TestB")...)}, "Remove TestB.", "", nil, nil, nil,
			"1 of 2 tests of the base pass"},
		"it is missing, and named once": {passed("TestA", "TestB"), was, HeldRun{Cases: append(passed("TestA"),
			cases(testout.Failed, "TestB")...)}, "", "", nil, nil,
			[]string{":0:0 error missing-test TestB passed on the base but does not run now; restore the test and make it " +
				"run, or name it in the plan"},
			"missing: TestB; 1 of 2 tests of the base pass"},
		"it is skipped now": {passed("TestA", "TestB"), append(passed("TestA"), cases(testout.Skipped, "TestB")...),
			HeldRun{Nothing: true}, "", "", nil, nil,
			[]string{":0:0 error missing-test TestB passed on the base but is skipped now; restore the test and make it run, " +
				"or name it in the plan"}, "missing: TestB"},
		"it failed on the base, and is missing": {append(passed("TestA"), cases(testout.Failed, "TestB")...),
			passed("TestA"), HeldRun{Nothing: true}, "", "", nil, nil,
			[]string{":0:0 error missing-test TestB failed on the base but does not run now; restore the test and make it " +
				"run, or name it in the plan"}, "missing: TestB"},
		"no test runs": {was, []testout.Case{}, HeldRun{Nothing: true}, "", "", nil, nil,
			[]string{":0:0 error missing-test TestA passed on the base but does not run now; restore the test and make it " +
				"run, or name it in the plan", ":0:0 error no-tests-ran no test ran, but 1 ran on the base"}, "missing: TestA"},
		"a person removed a test": {passed("TestA", "TestB"), was, HeldRun{Nothing: true}, "", "", nil,
			func(s *Subject) { s.Batch.Key = "" },
			[]string{":0:0 warning missing-test TestB passed on the base but does not run now; restore the test and make it " +
				"run, or name it in the plan"}, "missing: TestB"},
		"its values were changed, and the base's could not run": {cases(testout.Failed, "TestA"), was,
			HeldRun{Why: "no room"}, "", "", map[string][2]string{"m_test.go": {goTest(strict), goTest(weak)}}, nil,
			[]string{"m_test.go:5:0 error edited-red-test TestA failed on the base and passes only because its values were " +
				"changed; restore the test, and make the code pass it"}, "base tests not run: no room"},
		"the same, and the batch changes it": {cases(testout.Failed, "TestA"), was, HeldRun{Why: "no room"},
			"Change TestA to the new sum.", "", map[string][2]string{"m_test.go": {goTest(strict), goTest(weak)}}, nil, nil,
			"base tests not run: no room"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Subject{Batch: planparse.Batch{Key: "1", Title: c.title, Text: c.text}, Dir: t.TempDir(),
				BaseTests: func(context.Context, string) ([]testout.Case, error) {
					return append([]testout.Case{}, c.base...),
						nil
				},
				Held: func(context.Context, string) (HeldRun, error) { return c.held, nil }}
			if c.diff != nil {
				s.Diff = changeOf(c.diff)
			}
			if c.set != nil {
				c.set(&s)
			}
			v, err := Run(t.Context(), []Gate{suiteOf("tests:go", Calibrated, c.now...)}, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			rep := v.Reports[0]
			if d := cmp.Diff(c.want, said(rep.Findings)); d != "" {
				t.Error(d)
			}
			if rep.Proof.String() != c.proof || !rep.Proof.Named || rep.Status != statusOf(rep.Findings) {
				t.Errorf("%s, %q", rep.Status, rep.Proof)
			}
		})
	}
}

// A test file of the plan that the suite leaves out is reported, if the suite names the files of its tests.
func TestUncollectedTestFile(t *testing.T) {
	in := func(file string) []testout.Case {
		return []testout.Case{{Name: "a", Group: "a", Path: file,
			Status: testout.Passed}}
	}
	nested := suiteOf("tests:python:api", Calibrated, in("tests/test_b.py")...)
	for name, c := range map[string]struct {
		suites []Gate
		file   string
		want   bool
	}{
		"another file ran": {[]Gate{suiteOf("tests:python", Calibrated, in("tests/test_b.py")...)}, "checks/test_a.py",
			true},
		"it ran": {[]Gate{suiteOf("tests:python", Calibrated, in("checks/test_a.py")...)}, "checks/test_a.py",
			false},
		"it ran in its project": {[]Gate{nested}, "api/tests/test_b.py", false},
		"not in its project":    {[]Gate{nested}, "api/test_b.py", true},
		"one of its tests": {[]Gate{suiteOf("tests:python", Calibrated, in("checks/test_a.py")...)},
			"checks/test_a.py::test_a", false},
		"no names of files": {[]Gate{suiteOf("tests:python", Calibrated, in("")...)}, "checks/test_a.py", false},
		"only a script of unknown tests": {[]Gate{suiteOf("tests:python", Calibrated, append(in("check.sh"),
			testout.Case{Name: "check.sh", Path: "check.sh", Status: testout.Passed})...)}, "checks/test_a.py", false},
		"of another language":    {[]Gate{suiteOf("tests:node", Calibrated, in("a.test.js")...)}, "checks/test_a.py", false},
		"outside of the project": {[]Gate{nested}, "checks/test_a.py", false},
		"it does not exist": {[]Gate{suiteOf("tests:python", Calibrated, in("tests/test_b.py")...)}, "gone/test_a.py",
			false},
	} {
		s := Subject{Batch: planparse.Batch{Key: "1", Files: planparse.Files{Test: []string{c.file}}},
			Dir: tree(t, map[string]string{"checks/test_a.py": "", "api/test_b.py": "", "api/tests/test_b.py": ""})}
		v, err := Run(t.Context(), c.suites, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := hasFinding(v.Reports[0], "not-collected", c.file, 0, "does not run"); got != c.want ||
			got && (v.Reports[0].Status != Warn || len(v.Reports[0].Findings) != 1) {
			t.Errorf("%s: %v, %+v", name, got, v.Reports[0])
		}
	}
}

// A new test that did not run is reported, if other tests of its file did.
func TestNewTestThatDidNotRun(t *testing.T) {
	const old = "def test_old():\n    assert f()\n"
	added := func(name string) string { return old + "\n\ndef " + name + "():\n    assert g()\n" }
	for name, c := range map[string]struct {
		after string
		ran   []testout.Case
		want  bool
	}{
		"it ran":                  {added("test_new"), passed("test_old", "test_new"), false},
		"its rows ran":            {added("test_new"), passed("test_old", "test_new[1]"), false},
		"it was left out":         {added("test_new"), passed("test_old"), true},
		"no test of its file ran": {added("test_new"), passed("test_other"), false},
		"it is a helper":          {added("new"), passed("test_old"), false},
		"an old one is missing":   {old + "\n\nx = 1\n", passed("test_b"), false},
	} {
		rep := Report{Gate: "tests:python", Status: Pass, Cases: c.ran}
		p := &prover{Verdict: &Verdict{Reports: []Report{rep}}, s: Subject{Batch: planparse.Batch{Key: "1"}},
			changes: []names.File{{Path: "test_a.py", Before: old, After: c.after}}}
		p.unrun()
		if got := hasFinding(p.Reports[0], "not-collected", "test_a.py", 5, "did not run"); got != c.want ||
			got != (p.Reports[0].Status == Fail) {
			t.Errorf("%s: %+v", name, p.Reports[0])
		}
	}
}

// The base's tests may be unknown, or the work may be stopped.
func TestUnknownTestsOfBase(t *testing.T) {
	cause := errors.New("enough")
	suite := func() fixed { return suiteOf("tests:go", Calibrated, passed("TestA")...) }
	blank := func() fixed {
		s := suite()
		s.rep.Cases = nil
		return s
	}
	for name, c := range map[string]struct {
		suite fixed
		base  func(cancel func()) ([]testout.Case, error)
		held  func(cancel func()) (HeldRun, error)
		note  string
		named bool
		err   bool
	}{
		"an error": {suite(), func(func()) ([]testout.Case, error) {
			return nil, errors.New("no disk")
		}, nil, "the tests that ran on the base are unknown: no disk", false, false},
		"no answer": {suite(), func(func()) ([]testout.Case, error) { return nil, nil }, nil, "",
			false, false},
		"stopped": {suite(), func(cancel func()) ([]testout.Case, error) {
			cancel()
			return nil, nil
		}, nil, "", false, true},
		"no names any more": {blank(), func(func()) ([]testout.Case, error) { return passed("TestA"), nil },
			nil, "the suite no longer names its tests", false, false},
		"more tests before, and no names": {blank(), func(func()) ([]testout.Case, error) {
			return passed("TestA", "TestB"),
				nil
		}, nil, "", true, false},
		"files that do not build": {suite(), func(func()) ([]testout.Case, error) { return passed("TestA"), nil },
			func(func()) (HeldRun, error) {
				return HeldRun{Cases: passed("TestA"), Left: []string{"b_test.go"}}, nil
			}, "", true, false},
		"stopped later": {suite(), func(func()) ([]testout.Case, error) { return passed("TestA"), nil },
			func(cancel func()) (HeldRun, error) { cancel(); return HeldRun{}, nil }, "", true, true},
		"the base's tests do not run": {suite(), func(func()) ([]testout.Case, error) { return passed("TestA"), nil },
			func(func()) (HeldRun, error) { return HeldRun{}, errors.New("no room") },
			"the base's tests could not be run on this code: no room", true, false},
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		cancel := func() { stop(cause) }
		s := Subject{BaseTests: func(context.Context, string) ([]testout.Case, error) { return c.base(cancel) }}
		if c.held != nil {
			s.Held = func(context.Context, string) (HeldRun, error) { return c.held(cancel) }
		}
		v, err := Run(ctx, []Gate{c.suite}, s, nil)
		if (err != nil) != c.err || c.err && !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
		if rep := v.Reports[0]; !c.err && (!strings.Contains(rep.Note, c.note) || rep.Proof.Named != c.named ||
			(rep.Note == "") != (c.note == "")) {
			t.Errorf("%s: %q %+v", name, rep.Note, rep.Proof)
		}
		if name == "files that do not build" && v.Reports[0].Proof.Held.Why != "omitted because they do not build with "+
			"this code: b_test.go" {
			t.Errorf("%+v", v.Reports[0].Proof.Held)
		}
		cancel()
	}
}

// A suite of the base that is gone is looked for only if the change may have removed it.
func TestVanishedSuites(t *testing.T) {
	for name, c := range map[string]struct {
		changed []string
		suites  error
		base    error
		want    int // reports
	}{
		"a test changed":    {[]string{"test_a.py"}, nil, nil, 2},
		"a marker changed":  {[]string{"api/setup.py"}, nil, nil, 2},
		"code changed":      {[]string{"a.py"}, nil, nil, 1},
		"suites unknown":    {[]string{"test_a.py"}, errDisk, nil, 1},
		"its tests unknown": {[]string{"test_a.py"}, nil, errDisk, 1},
	} {
		s := asked("test_a")
		s.Changed = c.changed
		s.BaseSuites = func(context.Context) ([]string, error) { return []string{"tests:python", "tests:go"}, c.suites }
		s.BaseTests = func(_ context.Context, gate string) ([]testout.Case, error) {
			if gate == "tests:go" {
				return passed("TestA"), nil
			}
			return passed("test_a"), c.base
		}
		v, err := Run(t.Context(), []Gate{suiteOf("tests:go", Calibrated, passed("TestA")...)}, s, nil)
		if err != nil || len(v.Reports) != c.want {
			t.Errorf("%s: %+v, %v", name, v.Reports, err)
		}
		if c.want == 2 && (v.Reports[1].Note != "the suite of the base is no longer found" || v.Reports[1].Status != Fail) {
			t.Errorf("%s: %+v", name, v.Reports[1])
		}
	}
}

// A command that failed because of a test must not pass while the test still fails.
func TestCommandThatHidesFailure(t *testing.T) {
	for was, want := range map[testout.Status]Status{testout.Failed: Fail, testout.Passed: Warn} {
		g := suiteOf("tests", Uncalibrated, cases(testout.Failed, "TestA")...)
		g.rep.Status, g.rep.Findings = Warn, []Finding{{Rule: ruleHidden, Severity: Warning, Message: "m"}}
		s := Subject{Batch: planparse.Batch{Key: "1"}, BaseTests: func(context.Context, string) ([]testout.Case,
			error) {
			return cases(was, "TestA"), nil
		}}
		v, err := Run(t.Context(), []Gate{g}, s, nil)
		if err != nil || v.Status != want || want == Fail && !hasFinding(v.Reports[0], ruleHidden, "", 0,
			"TestA fails as on the base") {
			t.Errorf("%s: %s %+v, %v", was, v.Status, v.Reports[0].Findings, err)
		}
	}
}

// A proof names only some of the missing tests, and a report has a finding for fewer.
func TestManyMissingTests(t *testing.T) {
	var names []string
	for i := range 60 {
		names = append(names, "Test"+strings.Repeat("x", i+1))
	}
	v, err := Run(t.Context(), []Gate{suiteOf("tests:go", Calibrated, passed("TestA")...)}, asked(append(names,
		"TestA")...), nil)
	if err != nil {
		t.Fatal(err)
	}
	rep := v.Reports[0]
	if len(rep.Proof.Missing) != maxMissing || len(rep.Findings) != maxMissingSay+1 ||
		rep.Findings[maxMissingSay].Message != "40 more tests ran on the base but do not run now" {
		t.Errorf("%d missing, %d findings: %+v", len(rep.Proof.Missing), len(rep.Findings), rep.Findings[len(rep.Findings)-1])
	}
}

// Without a plan, a finding from reading tests that the test run reports too is dropped.
func TestFindingIsReportedOnce(t *testing.T) {
	read := func(f Finding) fixed {
		g := gate("tamper", Instant, Warn)
		f.Severity, f.Advice = Warning, true
		g.rep.Findings = []Finding{f}
		return g
	}
	base := passed("TestA", "TestB")
	base[1].Path = "m_test.go"
	for name, c := range map[string]struct {
		f    Finding
		key  string
		left int
	}{
		"the same file":           {Finding{Path: "m_test.go", Message: "TestC was removed"}, "", 0},
		"the same test at a line": {Finding{Path: "m_test.go", Line: 3, Message: "TestB was removed"}, "", 0},
		"another test at a line":  {Finding{Path: "m_test.go", Line: 3, Message: "TestC was removed"}, "", 1},
		"another file":            {Finding{Path: "n_test.go", Message: "TestB was removed"}, "", 1},
		"within a plan":           {Finding{Path: "m_test.go", Message: "TestB was removed"}, "1", 1},
	} {
		s := asked()
		s.Batch.Key = c.key
		s.BaseTests = func(context.Context, string) ([]testout.Case, error) { return base, nil }
		v, err := Run(t.Context(), []Gate{read(c.f), suiteOf("tests:go", Calibrated, passed("TestA")...)}, s, nil)
		if err != nil || len(v.Reports[0].Findings) != c.left || (v.Reports[0].Status == Pass) != (c.left == 0) {
			t.Errorf("%s: %+v, %v", name, v.Reports[0], err)
		}
	}
}
