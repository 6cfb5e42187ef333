package testout

import (
	"os"
	"path/filepath"
	"testing"
)

// The output of suites of other ecosystems is read. The samples of RSpec, Minitest, ShellSpec, bash_unit and shUnit2
// are original output; those of .NET and Swift imitate it.
func TestSuites(t *testing.T) {
	for name, want := range map[string]struct {
		passed, failed, skipped int
		test, path              string
		line                    int
	}{
		"examples-rspec.txt":     {1, 1, 1, "calc adds", "spec/a_spec.rb", 2},
		"examples-shellspec.txt": {1, 1, 1, "a fails", "spec/a_spec.sh", 6},
		"minitest.txt":           {1, 1, 1, "CalcTest#test_adds", "t/a_test.rb", 4},
		"shunit-bash_unit.txt":   {1, 1, 0, "test_bad", "bu.sh", 2},
		"shunit-2.txt":           {2, 1, 0, "testB", "", 0},
		"dotnet.txt":             {2, 1, 1, "M.Tests.CalcTests.Adds", "/w/src/M.Tests/CalcTests.cs", 12},
		// Expected failures of meson passed, and skipped tests of ctest did not.
		"listed-ctest-3.25.1.txt":    {2, 1, 2, "bad", "", 0},
		"listed-meson-1.0.1.txt":     {3, 1, 1, "bad", "", 0},
		"listed-automake-1.16.5.txt": {1, 1, 1, "b.sh", "", 0},
		"listed-ert-28.2.txt":        {1, 1, 1, "breaks", "", 0},
		"prove-5.36.0.txt":           {4, 1, 0, "t/b.t", "t/b.t", 1},
		"prove-todo-5.36.0.txt":      {passed: 2},
		"exunit-1.14.0.txt":          {0, 3, 1, "CartTest Cart.total/1 (1)", "test/cart_test.exs", 3},
		"phpunit-9.6.7.txt":          {8, 2, 2, "MoreTest::testErr", "/w/tests/MoreTest.php", 11},
		"swift.txt":                  {1, 1, 0, "CalcTests.testAdds", "/w/Tests/CalcTests/CalcTests.swift", 9},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		r := Text(string(text))
		if !r.Known || r.Passed != want.passed || r.Failed != want.failed || r.Skipped != want.skipped ||
			len(r.Failures) == 0 && want.failed > 0 {
			t.Errorf("%s: %d passed, %d failed, %d skipped, known %v, %+v", name, r.Passed, r.Failed, r.Skipped, r.Known,
				r.Failures)
			continue
		}
		if f := append(r.Failures, Failure{})[0]; f.Name != want.test || f.Path != want.path || f.Line != want.line {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func FuzzExamples(f *testing.F) { fuzzLines(f, "examples*.txt", Examples) }
func FuzzMinitest(f *testing.F) { fuzzLines(f, "minitest*.txt", Minitest) }
func FuzzShUnit(f *testing.F)   { fuzzLines(f, "shunit*.txt", ShUnit) }
func FuzzListed(f *testing.F)   { fuzzLines(f, "listed*.txt", Listed) }
func FuzzProve(f *testing.F)    { fuzzLines(f, "prove*.txt", Prove) }
func FuzzSwift(f *testing.F)    { fuzzLines(f, "swift*.txt", Swift) }
func FuzzDotnet(f *testing.F)   { fuzzLines(f, "dotnet*.txt", Dotnet) }
func FuzzGradle(f *testing.F)   { fuzzLines(f, "dotnet*.txt", Gradle) }

// A Ruby library that is missing is the failure, and not the rake task that ended because of it.
func TestMinitestNamesMissingLibrary(t *testing.T) {
	absent := "<internal:/usr/lib/ruby/kernel_require.rb>:85:in `require': cannot load such file -- concurrent/map (LoadError)"
	r := Minitest([]string{absent, "\tfrom test/a_test.rb:1:in `<main>'", "rake aborted!", "Command failed with status (1)"})
	if len(r.Failures) != 1 || r.Failures[0].Message != "cannot load such file -- concurrent/map (LoadError)" {
		t.Errorf("failures: %+v", r.Failures)
	}
	if r := Minitest([]string{absent, "2 runs, 3 assertions, 0 failures, 0 errors, 0 skips", absent}); len(r.Failures) != 0 {
		t.Errorf("the output of a test counts as a failure: %+v", r.Failures)
	}
}
