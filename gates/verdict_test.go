package gates

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates/testout"
)

// A finding that another gate reported for the same line is dropped, and with the last warning the warning.
func TestSameFindingOfAnotherGate(t *testing.T) {
	others := []Report{{}, {Findings: []Finding{{Rule: "tamper/skip", Path: "a", Line: 3}}}}
	f := func(path string, line int, same string, s Severity) Finding {
		return Finding{Rule: "x", Path: path, Line: line, Same: same, Severity: s}
	}
	for name, c := range map[string]struct {
		rep    Report
		left   int
		status Status
	}{
		"the same":        {Report{Status: Warn, Findings: []Finding{f("a", 3, "tamper/skip", Warning)}}, 0, Pass},
		"a failure stays": {Report{Status: Fail, Findings: []Finding{f("a", 3, "tamper/skip", Error)}}, 0, Fail},
		"a note is left": {Report{Status: Warn, Findings: []Finding{f("a", 3, "tamper/skip", Warning), f("a", 4, "",
			Note)}}, 1, Pass},
		"a warning is left": {Report{Status: Warn, Findings: []Finding{f("a", 3, "tamper/skip", Warning), f("a", 4, "",
			Warning)}}, 1, Warn},
		"another line":       {Report{Status: Warn, Findings: []Finding{f("a", 4, "tamper/skip", Warning)}}, 1, Warn},
		"another file":       {Report{Status: Warn, Findings: []Finding{f("b", 3, "tamper/skip", Warning)}}, 1, Warn},
		"another rule":       {Report{Status: Warn, Findings: []Finding{f("a", 3, "tamper/other", Warning)}}, 1, Warn},
		"no equivalent rule": {Report{Status: Warn, Findings: []Finding{f("a", 3, "", Warning)}}, 1, Warn},
	} {
		if got := Join(c.rep, others); len(got.Findings) != c.left || got.Status != c.status {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestVerdictSums(t *testing.T) {
	v := Verdict{Reports: []Report{
		{Status: Fail, Findings: []Finding{{Rule: "a", Severity: Error}, {Rule: "b", Severity: Warning}},
			Tests: &TestCount{1, 2, 3}},
		{Status: Warn, Findings: []Finding{{Rule: "c", Severity: Error}}}, {Tests: &TestCount{10, 20, 30}}}}
	if got := v.Tests(); got == nil || *got != (TestCount{11, 22, 33}) || got.Total() != 33 {
		t.Errorf("%+v", got)
	}
	if got := v.Blocking(); len(got) != 1 || got[0].Rule != "a" {
		t.Errorf("%+v", got)
	}
	if got := (Verdict{Reports: []Report{{}}}).Tests(); got != nil {
		t.Errorf("no gate counted: %+v", got)
	}
	if s := []Severity{Error, Warning, Note, "odd"}; s[0].Rank() >= s[1].Rank() || s[1].Rank() >= s[2].Rank() ||
		s[3].Rank() != s[0].Rank() {
		t.Error("severities are not in order")
	}
}

// If all gates are to run, one that cannot run, and a failure of one that only reads files, stop no other.
func TestRunAllGoesOn(t *testing.T) {
	blind := gate("blind", Cheap, Pass)
	blind.err = errors.New("no SECRET")
	blind.rep.Command = "x"
	var seen []string
	s := Subject{Redact: func(s string) string { return strings.ReplaceAll(s, "SECRET", "***") }}
	v, errs, err := RunAll(t.Context(), []Gate{gate("reads", Instant, Fail), blind, gate("last", Costly, Pass)}, s,
		func(r Report) { seen = append(seen, r.Gate+" "+string(r.Status)+" "+r.Note) })
	want := []string{"reads fail ", "blind error could not run: no ***", "last pass "}
	if d := cmp.Diff(want, seen); d != "" || err != nil || len(errs) != 1 || errs[0].Gate != "blind" ||
		v.Status != Errored {
		t.Error(d, err, errs, v.Status)
	}
	if r := v.Reports[1]; r.Status != Errored || r.Command != "x" || r.Note != "could not run: no ***" || r.Duration <= 0 {
		t.Errorf("%+v", r)
	}
	v, _, err = RunAll(t.Context(), []Gate{gate("lint", Cheap, Fail), gate("last", Costly, Pass)}, Subject{}, nil)
	if err != nil || v.Reports[1].Status != Skipped || v.Status != Fail {
		t.Errorf("a failure of a program stops dearer gates: %+v, %v", v, err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	stops := Wrap(gate("stops", Cheap, Pass), func(context.Context, Subject) (Report, error) {
		cancel(cause)
		return Report{Status: Pass}, nil
	})
	if _, errs, err := RunAll(ctx, []Gate{stops, gate("last", Costly, Pass)}, Subject{}, nil); !errors.Is(err,
		cause) || len(errs) > 0 {
		t.Errorf("%v, %v", errs, err)
	}
	d := oneChange{"a", "", ""}
	if _, err := Seeing(Wrap(gate("g", Cheap, Pass), func(_ context.Context, s Subject) (Report, error) {
		if s.Diff != Diff(d) {
			t.Error("another change")
		}
		return Report{}, nil
	}), d).Check(t.Context(), Subject{}); err != nil {
		t.Error(err)
	}
}

// A report tells its warnings and the reasons for less trust, each once and cut.
func TestSaidIsShort(t *testing.T) {
	warn := func(path, msg string) Finding { return Finding{Severity: Warning, Path: path, Message: msg} }
	r := Report{Status: Warn, Proof: &Proof{Calibration: Uncalibrated, Why: "no\nreason"}, Findings: []Finding{
		warn("a.go", "is long"), warn("a.go", "see a.go"), {Severity: Warning, Rule: RuleExpectation,
			Message: "told in the proof"},
		warn("", "third"), warn("", "fourth"), warn("", "fifth")}}
	want := []string{"uncalibrated, no reason", "a.go: is long", "see a.go", "third", "2 more warnings"}
	if d := cmp.Diff(want, r.Said()); d != "" {
		t.Error(d)
	}
	r.Findings = r.Findings[:4]
	if d := cmp.Diff(want[:4], r.Said()); d != "" {
		t.Error(d)
	}
	long := Report{Status: Warn, Findings: []Finding{warn("", strings.Repeat("x", 500))}}
	if got := len([]rune(long.Said()[0])); got != maxWarning {
		t.Errorf("%d characters", got)
	}
	for want, p := range map[string]*Proof{"": nil, "uncalibrated": {Calibration: Uncalibrated},
		"missing: a, b":               {Missing: []string{"a", "b"}},
		"base tests not run: no room": {Held: &Held{Why: "no room"}}, "1 of 2 tests of the base pass; " +
			"uncalibrated": {Calibration: Uncalibrated, Held: &Held{Ran: 2, Passed: 1}}} {
		if got := p.String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	if got := (&Proof{Held: &Held{}}).String(); got != "" {
		t.Error(got)
	}
}

// A failure outside of the code is an error, unless a test failed by name or a file of the tree does not compile.
func TestHindrances(t *testing.T) {
	for _, h := range hindrances() {
		h.Sign.Re() // it compiles
		if h.What == "" || h.Fix == "" {
			t.Errorf("the hindrance %s does not say what is wrong and how to fix it", h.Sign)
		}
	}
	dir := tree(t, map[string]string{"a.go": ""})
	w := &Look{subject: Subject{Dir: dir}}
	const offline = `Get "https://example.org/x": dial tcp: no route`
	for name, c := range map[string]struct {
		out  ran
		f    []testout.Failure
		want string
	}{
		"a pass": {ran{text: "sh: 1: xo: not found"}, nil, ""},
		"a program": {ran{exit: 1, text: "sh: 1: xo: not found"}, nil,
			"the program xo is not installed (exit 1); install xo, or put its folder into PATH"},
		"a program that a Makefile asks for": {ran{exit: 2, text: "You need 'jshint' installed in order to run lint."}, nil,
			"the program jshint is not installed"},
		"a program, by its name alone": {ran{exit: 1, text: "please install bats first"}, nil, "install bats, or"},
		"a sentence about a program":   {ran{exit: 1, text: "You need to run bats as root"}, nil, ""},
		"rake": {ran{exit: 1, text: "cannot load such file -- rake (LoadError)"}, nil,
			"library rake is"},
		"a part that rake does not have": {ran{exit: 1, text: "cannot load such file -- rake/rdoctask"}, nil, ""},
		"a part of minitest": {ran{exit: 1, text: "cannot load such file -- minitest/autorun (LoadError)"}, nil,
			"the Ruby library minitest is missing"},
		"a long name": {ran{exit: 1, text: "sh: 1: " + strings.Repeat("x", 201) + ": not found"}, nil,
			"install " + strings.Repeat("x", 199) + "…"},
		"shown text": {ran{exit: 1, shown: "No space left on device"}, nil,
			"the disk is full (exit 1); free some space: runplan gc"},
		"a failed test": {ran{exit: 1, text: "sh: 1: xo: not found"}, []testout.Failure{{Name: "TestA"}}, ""},
		"a failed script": {ran{exit: 1, text: "sh: 1: xo: not found"}, []testout.Failure{{Name: "a/test.sh"}},
			"the program xo is not installed"},
		"a broken file": {ran{exit: 1, text: "sh: 1: xo: not found"}, []testout.Failure{{Build: true,
			Path: "a.go"}}, ""},
		"a broken file elsewhere": {ran{exit: 1, text: "sh: 1: xo: not found"}, []testout.Failure{{Build: true,
			Path: "/usr/lib/x.go"}}, ""},
		"a file that is not there": {ran{exit: 1, text: "sh: 1: xo: not found"}, []testout.Failure{{Build: true,
			Path: "b.go"}}, "the program xo is not installed"},
		"no file": {ran{exit: 1, text: "sh: 1: xo: not found"}, []testout.Failure{{Build: true}},
			"the program xo is not installed"},
		"no network": {ran{exit: 1, text: offline}, []testout.Failure{{Build: true, Path: "a.go",
			Message: offline}}, "go could not get a module"},
		"no crate": {ran{exit: 101, text: "error: failed to select a version for the requirement `a = \"=1\"`\ncandidate " +
			"versions found which didn't match: 2\nAs a reminder, you're using offline mode"}, nil,
			"cargo could not get a package: failed to select a version for the requirement `a = \"=1\"` (exit 101); run cargo"},
		"no module": {ran{exit: 2, text: "pattern ./...: directory prefix . does not contain main module or its selected " +
			"dependencies\nFAIL\t./... [setup failed]"}, nil, "the folder has no go.mod (exit 2); make one: go mod init"},
		"no start":         {ran{exit: 126, text: "odd"}, nil, "exit 126: a program could not be started: odd"},
		"no start, either": {ran{exit: 127, text: "odd"}, nil, "exit 127: a program could not be started: odd"},
		"another exit":     {ran{exit: 125, text: "odd"}, nil, ""},
	} {
		err := w.hindered(c.out, c.f)
		if (err != nil) != (c.want != "") || err != nil && (!errors.Is(err, ErrHindered) || !strings.Contains(err.Error(),
			c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
