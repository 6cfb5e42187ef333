package testout

import (
	"fmt"
	"strings"
	"testing"
)

// Each spelling reports 12 passed and 3 failed tests and, if it has a third figure, 2 skipped ones.
var spellings = []string{
	"%[1]d passed, %[2]d failed", "%[1]d passed, %[2]d failed, %[3]d skipped", "%[2]d failed, %[1]d passed",
	"%[1]d PASSED %[2]d FAILED",
	"Passed: %[1]d Failed: %[2]d", "Passed: %[1]d  Failed: %[2]d", "Passed: %[1]d, Failed: %[2]d, Skipped: %[3]d",
	"Failed: %[2]d Passed: %[1]d",
	"PASSED=%[1]d FAILED=%[2]d", "passed=%[1]d failed=%[2]d skipped=%[3]d", "PASS=%[1]d FAIL=%[2]d",
	"PASS: %[1]d FAIL: %[2]d SKIP: %[3]d",
	"Passed: %[1]d\nFailed: %[2]d", "  Passed : %[1]d\n  Failed : %[2]d\n  Skipped: %[3]d",
	"Tests passed: %[1]d\nTests failed: %[2]d",
	"Passed tests: %[1]d | Failed tests: %[2]d", "# pass %[1]d\n# fail %[2]d",
	"# PASS:  %[1]d\n# SKIP:  %[3]d\n# FAIL:  %[2]d",
	"# TOTAL: %[4]d\n# PASS:  %[1]d\n# SKIP:  %[3]d\n# XFAIL: 0\n# FAIL:  %[2]d\n# XPASS: 0\n# ERROR: 0",
	"Total: %[4]d, Passed: %[1]d, Failed: %[2]d, Skipped: %[3]d",
	"Total: %[4]d\nPassed: %[1]d\nFailed: %[2]d\nSkipped: %[3]d",
	"Tests run: %[4]d, failures: %[2]d, skipped: %[3]d", "%[4]d tests, %[2]d failures, %[3]d skipped",
	"Ran %[4]d tests: %[1]d passed, %[2]d failed, %[3]d skipped",
	"TOTAL: %[1]d passed, %[2]d failed", "Results: %[1]d passed, %[2]d failed, %[3]d skipped (%[4]d total)",
	"== %[1]d tests passed, %[2]d tests failed ==",
	"%[1]d/%[5]d passed", "%[1]d/%[5]d tests passed", "%[1]d of %[5]d tests passed", "%[1]d out of %[5]d checks passed",
	"80%% tests passed, %[2]d tests failed out of %[5]d", "%[1]d successes, %[2]d failures",
	"Success: %[1]d, Failure: %[2]d", "%[1]d succeeded, %[2]d failed",
	"✓ %[1]d  ✗ %[2]d", "✓ %[1]d passed, ✗ %[2]d failed", "Passed %[1]d Failed %[2]d", "%[1]d passing\n%[2]d failing",
	"%[1]d pass\n%[2]d fail\n%[3]d skip",
	"Summary: passed=%[1]d; failed=%[2]d;", "[%[1]d passed] [%[2]d failed]",
	"Done. %[1]d assertions passed, %[2]d assertions failed.",
	"Test results: %[1]d passed; %[2]d failed; %[3]d skipped", "passed:%[1]d failed:%[2]d",
	"%[1]d test(s) passed, %[2]d test(s) failed",
	"OK: %[1]d passed / %[2]d failed", "Pass count: %[1]d\nFail count: %[2]d", "Tests: %[5]d\nFailed: %[2]d",
	"%[5]d tests run, %[2]d failed",
	"Failures: %[2]d\nPasses: %[1]d", "All suites: %[1]d passed, %[2]d failed",
	"all.tcl:\tTotal\t%[4]d\tPassed\t%[1]d\tSkipped\t%[3]d\tFailed\t%[2]d",
	"# of expected passes      %[1]d\n# of unexpected failures  %[2]d\n# of skipped tests        %[3]d",
	"number of tests passed: %[1]d, failed: %[2]d", "PASS: %[1]d, FAIL: %[2]d, ERROR: 0",
}

func TestShellReadsSpellings(t *testing.T) {
	for _, s := range spellings {
		for _, n := range [][3]int{{12, 3, 2}, {12, 0, 0}, {0, 3, 2}, {1, 1, 0}} {
			text := spelled(s, n)
			skipped := n[2]
			if !strings.Contains(s, "[3]") {
				skipped = 0
			}
			got := Shell(strings.Split(text, "\n"))
			if !got.Known || got.Passed != n[0] || got.Failed != n[1] || got.Skipped != skipped {
				t.Errorf("%q is read as %d passed, %d failed, %d skipped (known: %v)", text, got.Passed, got.Failed, got.Skipped,
					got.Known)
			}
		}
	}
}

func spelled(format string, n [3]int) string {
	total := n[0] + n[1]
	if strings.Contains(format, "[3]") {
		total += n[2]
	}
	text := fmt.Sprintf(format, n[0], n[1], n[2], total, n[0]+n[1])
	text, _, _ = strings.Cut(text, "%!(EXTRA")
	return text
}

// Numbers in names and messages of failed tests are not totals, and a total of files is not a total of tests.
func TestShellReadsNestedSuites(t *testing.T) {
	text := "== one.sh\nPASS: regression: 200 >= 150 passes\nPASS: score: gate failed = 0\nFAIL: three\n  expected to " +
		"contain: Tests: 7 passing\n\n" +
		"Results: 2/3 passed\nFAILURES: 1\n\n== two.sh\nPASS: 100 < 150 fails\nok - 12 failed files are read\n\nResults: " +
		"2/2 passed\nALL PASSED\n\n" +
		"====\n  TOTAL: 2 test files\n  PASSED: 1\n  FAILED: 1\n====\n"
	got := Shell(strings.Split(text, "\n"))
	if got.Passed != 4 || got.Failed != 1 || len(got.Failures) != 1 || got.Failures[0].Name != "three" {
		t.Errorf("it is read as %+v", got)
	}
}

// Text that only resembles a total is not read as a test result.
func TestShellIgnoresFalseTotals(t *testing.T) {
	for _, text := range []string{
		"0 errors, 3 warnings", "copied 3 files, 0 skipped", "Total: 12", "5 tests", "version 1.2.3", "build succeeded",
		"12 errors", "compiled 3 cases",
		"✖ 42 problems (42 errors, 0 warnings)", "  ✖  16:29  x is not defined.  no-undef",
		"3 skipped", "the build failed 3 times", "coverage: 80% passed", "Tests: see below", "warning: password=12",
	} {
		if got := Shell([]string{text}); got.Known {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func FuzzShellSpellings(f *testing.F) {
	for i := range spellings {
		f.Add(i, 12, 3, 2)
	}
	f.Fuzz(func(t *testing.T, i, passed, failed, skipped int) {
		if i < 0 || i >= len(spellings) || min(passed, failed, skipped) < 0 || max(passed, failed, skipped) > 1_000_000 ||
			passed+failed == 0 {
			t.Skip()
		}
		n := [3]int{passed, failed, skipped}
		got := Shell(strings.Split(spelled(spellings[i], n), "\n"))
		if !got.Known || got.Passed != passed || got.Failed != failed {
			t.Errorf("%q is read as %d passed, %d failed", spelled(spellings[i], n), got.Passed, got.Failed)
		}
	})
}
