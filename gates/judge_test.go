package gates

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates/testout"
)

// A planted pair shows whether the runner reports the results of its tests. Each of its answers has one meaning.
func TestJudgesPlantedPairs(t *testing.T) {
	result := func(passed, failed, skipped int, cases ...testout.Case) testout.Result {
		return testout.Result{Known: true, Exact: true, Passed: passed, Failed: failed, Skipped: skipped, Cases: cases}
	}
	of := func(name string, s testout.Status) testout.Case {
		return testout.Case{Name: name, Group: "m", Status: s}
	}
	const red, green = "qw0a", "qw0b"
	good := []testout.Case{of("TestA", testout.Passed), of(red, testout.Failed), of(green, testout.Passed)}
	own := of("TestA", testout.Passed)
	failing := result(0, 1, 0, of("TestA", testout.Failed))
	failing.Failures = []testout.Failure{{Name: "TestA"}}
	for name, c := range map[string]struct {
		raw         testout.Result
		exit        int
		exact       bool
		change      func(b *bed)
		s           Subject
		calibration Calibration
		why         string // of an uncalibrated result; a lie is a finding too
		lies        bool
		exitLeft    int
		count       TestCount
	}{
		"one fails, one passes": {result(2, 1, 0, good...), 1, true, nil, Subject{}, Calibrated, "", false, 0,
			TestCount{Passed: 1}},
		"the exit status is another": {result(2, 1, 0, good...), 2, true, nil, Subject{}, Calibrated, "", false, 2,
			TestCount{Passed: 1}},
		"no report": {testout.Result{Known: true, Passed: 1}, 0, true, nil, Subject{}, Uncalibrated,
			"exited with status 0 without a report", true, 0, TestCount{Passed: 1}},
		"no report, and a failure": {testout.Result{Known: true}, 1, true, nil, Subject{}, Uncalibrated,
			"the planted tests did not run", false, 1, TestCount{}},
		"a failure exits with 0": {result(2, 1, 0, good...), 0, true, nil, Subject{}, Uncalibrated,
			"exited with status 0", true, 0, TestCount{Passed: 1}},
		"the runner ignores failures": {result(2, 1, 0, good...), 0, true, func(b *bed) { b.ignores = true }, Subject{},
			Calibrated, "", false, 0, TestCount{Passed: 1}},
		"it ignores its own failures": {result(1, 2, 0, append([]testout.Case{of("TestB", testout.Failed)},
			good[1:]...)...), 0, true, func(b *bed) { b.ignores = true }, Subject{}, Calibrated, "", false, 1,
			TestCount{Failed: 1}},
		"both pass": {result(3, 0, 0, own, of(red, testout.Passed), of(green, testout.Passed)), 0,
			true, nil, Subject{}, Uncalibrated, "m: a planted test that must fail was reported as passed", true, 0,
			TestCount{Passed: 1}},
		"both fail": {result(1, 2, 0, own, of(red, testout.Failed), of(green, testout.Failed)), 1,
			true, nil, Subject{}, Uncalibrated, "m: a planted test that must pass failed", false, 0, TestCount{Passed: 1}},
		"the place passed anyway": {result(2, 1, 0, good...), 1, true,
			func(b *bed) { b.plants[0].fine = func() bool { return true } }, Subject{}, Uncalibrated,
			"the runner reported that all passed", true, 0, TestCount{Passed: 1}},
		"neither ran": {result(1, 0, 0, own), 0, true, nil, Subject{}, Uncalibrated,
			"the planted tests next to them did not run", true, 0, TestCount{Passed: 1}},
		"neither ran, by settings": {result(1, 0, 0, own), 0, true, func(b *bed) {
			b.plants[0].unsure = "it " +
				"selects"
		}, Subject{}, Uncalibrated, "m: it selects", false, 0, TestCount{Passed: 1}},
		"neither ran, after an end": {failing, 1, true, nil, Subject{}, Uncalibrated,
			"m: the run ended before the planted tests", false, 1, TestCount{Failed: 1}},
		"no test ran there": {result(0, 0, 1, of("TestA", testout.Skipped)), 0, true, nil, Subject{},
			Uncalibrated, "the planted tests did not run", false, 0, TestCount{Skipped: 1}},
		"a place passed without tests": {result(0, 0, 0), 0, true,
			func(b *bed) { b.plants[0].fine = func() bool { return true } }, Subject{}, Uncalibrated,
			"ran neither its own tests nor the planted ones", true, 0, TestCount{}},
		"as on the base": {result(0, 0, 0), 0, true, func(b *bed) { b.plants[0].fine = func() bool { return true } },
			Subject{BaseTests: func(context.Context, string) ([]testout.Case, error) {
				return []testout.Case{of("TestA", testout.Skipped), {Name: "x", Group: "n"}}, nil
			}},
			Uncalibrated, "the planted tests did not run", false, 0, TestCount{}},
		"unlike on the base": {result(0, 0, 0), 0, true, func(b *bed) { b.plants[0].fine = func() bool { return true } },
			Subject{BaseTests: func(context.Context, string) ([]testout.Case, error) { return []testout.Case{own}, nil }},
			Uncalibrated, "ran neither its own tests", true, 0, TestCount{}},
		"the base is unknown": {result(0, 0, 0), 0, true, func(b *bed) { b.plants[0].fine = func() bool { return true } },
			Subject{BaseTests: func(context.Context, string) ([]testout.Case, error) { return nil, errors.New("x") }},
			Uncalibrated, "ran neither its own tests", true, 0, TestCount{}},
		"repeated by a fixture": {result(4, 2, 0, own, of(red+"[1]", testout.Failed), of(red+"[2]", testout.Failed),
			of(green+"[1]", testout.Passed), of(green+"[2]", testout.Passed)),
			1, true, nil, Subject{}, Calibrated, "", false, 0, TestCount{Passed: 2}},
	} {
		b := &bed{word: "qw", plants: []plant{{place: "m", fail: red, pass: green,
			like: func(c testout.Case) bool { return c.Group == "m" }}}}
		if c.change != nil {
			c.change(b)
		}
		w := &Look{subject: c.s, rep: Report{Gate: "tests:x"}}
		res, out := b.judge(t.Context(), w, c.raw, ran{exit: c.exit}, c.exact)
		proof := w.rep.Proof
		if proof == nil {
			proof = &Proof{}
		}
		if proof.Calibration != c.calibration || !strings.Contains(proof.Why, c.why) || (len(w.rep.Findings) > 0) != c.lies ||
			out.exit != c.exitLeft || (TestCount{res.Passed, res.Failed, res.Skipped}) != c.count {
			t.Errorf("%s: %+v, %+v, exit %d, %+v", name, *proof, w.rep.Findings, out.exit, res)
		}
		for _, one := range res.Cases {
			if strings.Contains(one.Name, "qw") {
				t.Errorf("%s: %s is left", name, one.Name)
			}
		}
	}
}

// The same lie about several places is told for each of them, but at most ten times. It outweighs good pairs.
func TestLiesAreToldOncePerPlace(t *testing.T) {
	b := &bed{word: "qw"}
	raw := testout.Result{Known: true, Exact: true}
	for i := range 15 {
		place := string(rune('a' + i/2*2)) // two plants at each place
		name := "qw" + string(rune('a'+i))
		b.plants = append(b.plants, plant{place: place, fail: name + "0", pass: name + "1",
			like: func(testout.Case) bool { return true }})
		raw.Cases = append(raw.Cases, testout.Case{Name: name + "0", Status: testout.Passed})
		raw.Passed++
	}
	w := &Look{}
	b.judge(t.Context(), w, raw, ran{}, true)
	if len(w.rep.Findings) != 8 || w.rep.Proof.Calibration != Uncalibrated {
		t.Errorf("%d findings for 8 places", len(w.rep.Findings))
	}
	for i := range b.plants {
		b.plants[i].place = b.plants[i].fail
	}
	w = &Look{}
	b.judge(t.Context(), w, raw, ran{}, true)
	if len(w.rep.Findings) != 10 {
		t.Errorf("%d findings for 15 places", len(w.rep.Findings))
	}
}

// The output about planted tests is removed with the frames and totals around it; all else stays.
func TestOutputAboutPlantedTestsIsRemoved(t *testing.T) {
	b := &bed{word: "qw"}
	for text, want := range map[string]string{
		"ok\nno\n": "ok\nno\n",
		"a\n========\nFAIL: qw0a\n--------\n\nb\n========\nFAIL: own\n--------": "a\nb\n========\nFAIL: own\n--------",
		"a\nTraceback (most recent call last):\nqw\nb":                          "a\nb",
		"qw": "", "qw\n\nend\n": "end\n",
		"own\nqw\nRan 3 tests in 0.1s\nFAILED (failures=1)\nend": "own\nend",
	} {
		if got := b.clean(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := totals(testout.Result{Passed: 1, Failed: 2}); got != "1 test passed, 2 tests failed, 0 tests skipped\n" {
		t.Error(got)
	}
}
