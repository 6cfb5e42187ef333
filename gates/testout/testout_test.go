package testout

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Each sample in testdata has the format that its runner prints, and is read correctly. Its name begins with the name
// of the reader.
func TestNodeIDOfInheritedTest(t *testing.T) {
	for want, c := range map[string]Case{
		"tests/test_a.py::ATest::test_x": {Path: "tests/__init__.py", Group: "tests.test_a.ATest", Name: "test_x"},
		"tests/test_b.py::B::C::test_x":  {Path: "tests/test_b.py", Group: "tests.test_b.B.C", Name: "test_x"},
		"tests/test_c.py::test_x":        {Path: "tests/test_c.py", Group: "tests.test_c", Name: "test_x"},
		"":                               {Path: "a_test.go", Group: "a", Name: "TestX"},
	} {
		if got := c.NodeID(); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}

func TestSamples(t *testing.T) {
	type failure struct {
		Name, Path string
		Line       int
		Message    string // a part of it
		Build      bool
	}
	cases := map[string]struct {
		passed, failed, skipped int
		unknown                 bool
		failures                []failure
	}{
		"gojson.txt": {passed: 1, failed: 3, skipped: 1, failures: []failure{
			{"build", "b/b.go", 2, "undefined: undefinedThing", true},
			{"TestBad/sub", "a/a_test.go", 5, "inner", false},
			{"TestBad", "a/a_test.go", 4, "want 2", false},
			{"TestC", "/tmp/g1/c/c_test.go", 3, "panic: runtime error", false},
		}},
		"gojson-timeout.txt": {passed: 1, failed: 1, failures: []failure{{"TestHang", "", 0, "did not finish", false}}},
		"gojson-crash.txt":   {failed: 1, failures: []failure{{"x/m", "", 0, "log: cannot open the socket", false}}},
		"gojson-setup.txt":   {failures: []failure{{"build", "e/e.go", 3, "is not in std", true}}},
		"gojson-broken.txt":  {unknown: true},
		"go-verbose.txt": {passed: 1, failed: 1, skipped: 1,
			failures: []failure{{"TestBad", "a_test.go", 9, "want 2", false}}},
		"go-quiet.txt": {unknown: true, failures: []failure{{"TestBad", "a_test.go", 9, "want 2", false}}},
		"pytest.txt": {passed: 3, failed: 2, skipped: 3, failures: []failure{
			{"test_sum", "tests/test_a.py", 5, "assert 1 == 2", false}, {"tests/test_b.py", "tests/test_b.py", 0, "error", true},
		}},
		"pytest-none.txt": {},
		"unittest.txt": {passed: 1, failed: 3, skipped: 2, failures: []failure{
			{"test_a.A.test_err", "/tmp/p1/tests/test_a.py", 5, "ValueError: x", false},
			{"test_a.A.test_bad", "/tmp/p1/tests/test_a.py", 4, "1 != 2 : numbers", false},
			{"test_a.A.test_sub (i=1)", "/tmp/p1/tests/test_a.py", 12, "1 != 0", false},
			{"test_a.A.test_sub (i=2)", "/tmp/p1/tests/test_a.py", 12, "2 != 0", false},
		}},
		"unittest-import.txt": {failed: 1,
			failures: []failure{{"test_b", "/tmp/p1/tests/test_b.py", 1, "No module named 'nope'", true}}},
		"unittest-none.txt": {},
		"tap.txt": {passed: 2, failed: 3, skipped: 3, failures: []failure{
			{"three", "t/a.js", 7, "not equal", false}, {"plan", "", 0, "8 tests were planned, but 7 ran", false},
			{"seven", "", 0, "not ok", false},
		}},
		"tap-bail.txt": {passed: 1, failed: 2,
			failures: []failure{{"Bail out!", "", 0, "no database", false}, {"plan", "", 0, "2 tests", false}}},
		"tap-skipall.txt": {},
		"tap-16.3.10.txt": {passed: 2, failed: 1, skipped: 1,
			failures: []failure{{"subs", "tt/a.js", 3, "two is one", false}}},
		"uvu-0.5.6.txt": {passed: 4, failed: 2, skipped: 1, failures: []failure{
			{"subs", "/work/calc/test/a.js", 5, "Expected values to be strictly equal", false},
			{"throws", "/work/calc/test/a.js", 9, "boom", false},
		}},
		"bats.txt": {passed: 1, failed: 1, skipped: 1,
			failures: []failure{{"adds numbers", "tests/a.bats", 9, "failed", false}}},
		"bats-pretty.txt": {passed: 1, failed: 1, skipped: 1,
			failures: []failure{{"adds numbers", "tests/a.bats", 9, "failed", false}}},
		"node-tap.txt": {passed: 1, failed: 3, skipped: 2, failures: []failure{
			{"bad", "/tmp/n1/a.test.mjs", 2, "1 == 2", false}, {"inner", "/tmp/n1/a.test.mjs", 4, "inner boom", false},
		}},
		"node-spec.txt": {passed: 1, failed: 3, skipped: 2, failures: []failure{
			{"bad", "a.test.mjs", 2, "1 == 2", false}, {"inner", "a.test.mjs", 4, "inner boom", false},
		}},
		"turbo-2.11.11.txt": {passed: 1, failed: 1,
			failures: []failure{{"f", "/work/shop/packages/b/index.test.js", 2, "2 == 3", false}}},
		"pnpm-9.15.9.txt": {passed: 1, failed: 1,
			failures: []failure{{"f", "/work/shop/packages/b/index.test.js", 2, "2 == 3", false}}},
		"jest.txt": {passed: 10, failed: 1, skipped: 2, failures: []failure{
			{"sum › adds", "src/sum.test.js", 5, "toBe", false},
			{"Test suite failed to run", "src/b.test.js", 0, "Cannot find module", true},
		}},
		"vitest.txt": {passed: 2, failed: 1, skipped: 1, failures: []failure{
			{"src/b.test.ts", "src/b.test.ts", 0, "Failed to resolve", true},
			{"sum > adds", "src/sum.test.ts", 5, "expected 1 to be 2", false},
		}},
		"minitest-reporters-1.0.19.txt": {passed: 1, failed: 2, skipped: 1, failures: []failure{
			{"Minitest::Result#test_bad", "test/test_sum.rb", 6, "Expected: 3", false},
			{"Minitest::Result#test_: The sum should be whole. ", "", 0, "undefined local variable", false},
		}},
		"minitest-test-unit-3.5.3.txt": {passed: 2, failed: 5, skipped: 1, failures: []failure{
			{"SumTest#test_bad", "test/test_sum.rb", 8, "sum <3> expected but was <2>", false},
			{"SumTest#test_data[two words]", "test/test_sum.rb", 5, "<1> expected but was <2>", false},
			{"SumTest#test_deep", "test/test_sum.rb", 17, "<5> expected but was <4>", false},
			{"SumTest#test_raise", "test/test_sum.rb", 11, "RuntimeError: boom", false},
			{"SumTest::with a case#test: is a sentence (really)", "test/test_sum.rb", 22, "<true> expected", false},
		}},
		"ava-6.4.1.txt": {passed: 4, failed: 4, skipped: 2, failures: []failure{
			{"a › throws 3 times", "/home/ada/x/test/a.js", 7, "Error thrown in test", false},
			{"a › rounds half up", "test/a.js", 3, "half up", false},
			{"b › promise", "/home/ada/x/test/b.js", 3, "Rejected promise", false},
			{"test/c.js", "test/c.js", 0, "Cannot find module", true},
		}},
		"vitest-none.txt": {},
		"mocha.txt": {passed: 5, failed: 1, skipped: 2,
			failures: []failure{{"sum carries", "test/sum.js", 10, "expected", false}}},
		"bats-1.13.0.txt": {passed: 1, failed: 4, skipped: 2, failures: []failure{
			{"a command that is not there", "tests/a.bats", 25, "`nothing_of_that_name' failed with status 127", false},
			{"adds numbers", "tests/a.bats", 11, "`[ \"$output\" = 3 ]' failed", false},
			{"fails in a helper", "tests/lib.bash", 2, "`helper 1 2' failed", false},
			{"prints, and fails", "tests/a.bats", 31, "`false' failed", false},
		}},
		"jest-30.5.2.txt": {passed: 2, failed: 6, skipped: 2, failures: []failure{
			{"Test suite failed to run", "src/empty.test.js", 0, "must contain at least one test", true},
			{"Test suite failed to run", "src/load.test.js", 1, "Cannot find module './nowhere.js'", true},
			{"Test suite failed to run", "/home/me/p/src/syntax.test.js", 2, "unexpected token", true},
			{"sum › adds", "src/sum.test.js", 9, "Expected: 3\nReceived: 2", false},
			{"sum › deep › compares objects", "src/sum.test.js", 16, "toEqual", false},
			{"sum › deep › throws in the source", "src/sum.js", 2, "TypeError: negative: -1", false},
			{"sum › each 2", "src/sum.test.js", 29, "Expected: 1\nReceived: 2", false},
			{"sum › is slow", "src/sum.test.js", 24, "Exceeded timeout of 50 ms", false},
			{"sum › rejects", "src/sum.test.js", 22, "no luck", false},
		}},
		"mocha-12.0.3.txt": {passed: 1, failed: 5, skipped: 2, failures: []failure{
			{"sum adds", "test/sum.js", 9, "strictly equal", false},
			{"sum deep compares objects", "test/sum.js", 16, "deep-equal", false},
			{"sum deep throws in the source", "src/sum.js", 2, "TypeError: negative: -1", false},
			{"sum is slow", "/home/me/p/test/sum.js", 0, "Timeout of 50ms exceeded", false},
			{"sum rejects", "test/sum.js", 21, "Error: no luck", false},
		}},
		"vitest-3.2.7.txt": {passed: 2, failed: 6, skipped: 2, failures: []failure{
			{"src/empty.test.js", "src/empty.test.js", 0, "No test suite found", true},
			{"src/load.test.js", "src/load.test.js", 1, "Cannot find module './nowhere.js'", true},
			{"src/syntax.test.js", "/home/me/p/src/syntax.test.js", 1, "invalid JS syntax", true},
			{"sum > adds", "src/sum.test.js", 10, "expected 2 to be 3", false},
			{"sum > deep > compares objects", "src/sum.test.js", 17, "to deeply equal", false},
			{"sum > deep > throws in the source", "src/sum.test.js", 14, "TypeError: negative: -1", false},
			{"sum > each 2", "src/sum.test.js", 29, "expected 2 to be 1", false},
			{"sum > is slow", "src/sum.test.js", 25, "Test timed out in 50ms", false},
			{"sum > rejects", "src/sum.test.js", 23, "Error: no luck", false},
		}},
		"cargo.txt": {passed: 6, failed: 1, skipped: 2, failures: []failure{
			{"tests::bad", "src/lib.rs", 10, "left: 1", false},
		}},
		"cargo-build.txt": {unknown: true, failures: []failure{{"build", "src/lib.rs", 3, "cannot find value", true}}},
		"maven.txt": {passed: 3, failed: 1, skipped: 1,
			failures: []failure{{"AppTest.testSum", "", 12, "expected: <1>", false}}},
		"ant-1.10.13.txt": {passed: 1, failed: 1, skipped: 1,
			failures: []failure{{"neg", "", 0, "expected:<-4> but was:<-3>", false}}},
		"listed-alcotest-1.6.0.txt": {passed: 1, failed: 1, failures: []failure{{"neg", "", 0, "FAIL", false}}},
		"phpunit.txt": {passed: 1, failed: 2, skipped: 1, failures: []failure{
			{`Shop\Tests\AddTest::testThrows`, "/work/shop/tests/AddTest.php", 21, "undefined function", false},
			{`Shop\Tests\AddTest::testTwo with data set #0 (1, 2)`, "/work/shop/tests/AddTest.php", 14, "expected 4", false},
		}},
		"phpunit-ok.txt": {passed: 3},
		"exunit.txt": {passed: 2, failed: 1, skipped: 1,
			failures: []failure{{"Shop.CartTest adds", "test/shop/cart_test.exs", 7, "Assertion with == failed", false}}},
		"dart.txt": {passed: 2, failed: 1, skipped: 1,
			failures: []failure{{"rounds", "test/cart_test.dart", 0, "Expected: <4>", false}}},
		"shell-suites.txt": {passed: 224, failures: nil},
		"shell-sum.txt":    {passed: 5, failed: 1},
		"shell-labels.txt": {passed: 12, failed: 1, skipped: 2},
		"shell-ratio.txt":  {passed: 11, failed: 1},
		"shell-marks.txt":  {passed: 2, failed: 1, skipped: 1, failures: []failure{{"b is 2", "", 0, "b is 2", false}}},
		"shell-quiet.txt":  {unknown: true},
		"mixed.txt":        {passed: 12, failed: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			got := read(name, string(data))
			if got.Known == c.unknown ||
				(got.Known && (got.Passed != c.passed || got.Failed != c.failed || got.Skipped != c.skipped)) {
				t.Errorf("known %v: %d passed, %d failed, %d skipped", got.Known, got.Passed, got.Failed, got.Skipped)
			}
			var short []failure
			for _, f := range got.Failures {
				for _, want := range c.failures {
					if want.Name == f.Name && want.Path == f.Path && strings.Contains(f.Message, want.Message) {
						f.Message = want.Message
					}
				}
				short = append(short, failure{f.Name, f.Path, f.Line, f.Message, f.Build})
			}
			if d := cmp.Diff(c.failures, short, cmpopts.EquateEmpty(),
				cmpopts.SortSlices(func(a, b failure) bool { return a.Name+a.Path < b.Name+b.Path })); d != "" &&
				c.failures != nil {
				t.Error(d)
			}
		})
	}
}

func read(name, text string) Result {
	if strings.HasPrefix(name, "gojson") {
		g := NewGo("x")
		for _, l := range strings.Split(text, "\n") {
			g.Line(l)
		}
		return g.Result()
	}
	return Text(text)
}

func TestJUnit(t *testing.T) {
	text, err := os.ReadFile("testdata/pytest.xml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := JUnit(strings.NewReader(string(text)))
	want := Result{Passed: 1, Failed: 2, Skipped: 1, Known: true, Exact: true, Cases: []Case{
		{"test_ok", "tests.test_a", "tests/test_a.py", Passed}, {"test_bad", "tests.test_a", "tests/test_a.py", Failed},
		{"test_skip", "tests.test_a", "tests/test_a.py", Skipped},
	}, Failures: []Failure{
		{Name: "tests.test_a.test_bad", ID: "tests/test_a.py::test_bad", Path: "tests/test_a.py", Line: 5,
			Message: "assert 1 == 2"},
		{Name: "tests.test_b", Path: "tests/test_b.py", Line: 1,
			Message: "collection failure\nE   ModuleNotFoundError: No module named 'nope'", Build: true},
	}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	for _, bad := range []string{"", "<html></html>", "<testsuite><testcase name='a'>", "<testsuite", "no xml"} {
		if _, err := JUnit(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read as a report", bad)
		}
	}
}

// In a JUnit report of pytest, the place of a failure is the last line of the traceback in the project's own code.
func TestJUnitOfPytest(t *testing.T) {
	for name, want := range map[string]struct {
		passed, failed, skipped int
		failures                []string
	}{
		"pytest-7.2.1.xml": {4, 8, 2, []string{
			"tests/test_a.py:14 tests/test_a.py::test_bad", "tests/test_a.py:6 tests/test_a.py::test_helper",
			"pkg/calc.py:2 tests/test_a.py::test_raises_elsewhere", "tests/test_a.py:27 tests/test_a.py::TestBox::test_in_class",
			"tests/test_a.py:31 tests/test_a.py::TestBox::test_param[3]", "tests/test_a.py:36 tests/test_a.py::test_fixture",
			"tests/test_a.py:42 tests/test_a.py::test_teardown", "tests/test_a.py:63 tests/test_a.py::test_xpass_strict",
		}},
		"pytest-7.2.1-broken.xml": {0, 2, 0,
			[]string{"tests/sub/test_import.py:1 build", "/home/me/p/tests/sub/test_syntax.py:1 build"}},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		r, err := JUnit(strings.NewReader(string(text)))
		if err != nil || r.Passed != want.passed || r.Failed != want.failed || r.Skipped != want.skipped {
			t.Errorf("%s: %d passed, %d failed, %d skipped (%v)", name, r.Passed, r.Failed, r.Skipped, err)
		}
		var got []string
		for _, f := range r.Failures {
			what := f.ID
			if f.Build {
				what = "build"
			}
			got = append(got, fmt.Sprintf("%s:%d %s", f.Path, f.Line, what))
		}
		if d := cmp.Diff(want.failures, got); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
	// A line in a third-party package is never the place of a failure.
	for text, want := range map[string]string{
		"tests/a.py:3: in x\n.venv/lib/python3.11/site-packages/numpy/testing.py:80: AssertionError": "tests/a.py:3",
		".venv/lib/python3.11/site-packages/numpy/testing.py:80: AssertionError":                     ":0",
		"a.py:3: in x\n/usr/lib/python3.11/json/decoder.py:355: JSONDecodeError":                     "a.py:3",
	} {
		if p, line := pythonPlace(text); fmt.Sprintf("%s:%d", p, line) != want {
			t.Errorf("%q: %s:%d, want %s", text, p, line, want)
		}
	}
}

func check(t *testing.T, r Result) {
	t.Helper()
	if r.Passed < 0 || r.Failed < 0 || r.Skipped < 0 {
		t.Errorf("counts %d %d %d", r.Passed, r.Failed, r.Skipped)
	}
	if len(r.Failures) > MaxFailures {
		t.Errorf("%d failures", len(r.Failures))
	}
	for _, f := range r.Failures {
		if f.Line < 0 || f.Col < 0 || len(f.Message) > maxMessage+len("…") {
			t.Errorf("%+v", f)
		}
	}
}

func seeds(f *testing.F, pattern string) {
	names, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(names) == 0 {
		f.Fatalf("no seeds %s: %v", pattern, err)
	}
	for _, n := range names {
		data, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
}

func fuzzLines(f *testing.F, pattern string, read func([]string) Result) {
	seeds(f, pattern)
	f.Fuzz(func(t *testing.T, s string) { check(t, read(strings.Split(s, "\n"))) })
}

func FuzzAnt(f *testing.F)        { fuzzLines(f, "ant*.txt", Ant) }
func FuzzTAP(f *testing.F)        { fuzzLines(f, "tap*.txt", TAP) }
func FuzzBatsPretty(f *testing.F) { fuzzLines(f, "bats*.txt", BatsPretty) }
func FuzzNode(f *testing.F)       { fuzzLines(f, "node*.txt", Node) }
func FuzzJest(f *testing.F)       { fuzzLines(f, "jest*.txt", Jest) }
func FuzzVitest(f *testing.F)     { fuzzLines(f, "vitest*.txt", Vitest) }
func FuzzAva(f *testing.F)        { fuzzLines(f, "ava*.txt", Ava) }
func FuzzMocha(f *testing.F)      { fuzzLines(f, "mocha*.txt", Mocha) }
func FuzzPytest(f *testing.F)     { fuzzLines(f, "pytest*.txt", Pytest) }
func FuzzUnittest(f *testing.F)   { fuzzLines(f, "unittest*.txt", Unittest) }
func FuzzCargo(f *testing.F)      { fuzzLines(f, "cargo*.txt", Cargo) }
func FuzzMaven(f *testing.F)      { fuzzLines(f, "maven*.txt", Maven) }
func FuzzGoText(f *testing.F)     { fuzzLines(f, "go-*.txt", GoText) }
func FuzzShell(f *testing.F)      { fuzzLines(f, "shell*.txt", Shell) }

func FuzzText(f *testing.F) {
	seeds(f, "*.txt")
	f.Fuzz(func(t *testing.T, s string) { check(t, Text(s)) })
}

func FuzzGoJSON(f *testing.F) {
	seeds(f, "gojson*.txt")
	f.Fuzz(func(t *testing.T, s string) { check(t, read("gojson", s)) })
}

func FuzzJUnit(f *testing.F) {
	seeds(f, "*.xml")
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := JUnit(strings.NewReader(s)); err == nil {
			check(t, r)
		}
	})
}

func TestGoListsEachTestOnce(t *testing.T) {
	events := NewGo("example.com/m")
	for _, l := range []string{
		`{"Action":"run","Package":"example.com/m/calc","Test":"TestAdd"}`,
		`{"Action":"run","Package":"example.com/m/calc","Test":"TestAdd/two"}`,
		`{"Action":"pass","Package":"example.com/m/calc","Test":"TestAdd/two"}`,
		`{"Action":"pass","Package":"example.com/m/calc","Test":"TestAdd"}`,
		`{"Action":"run","Package":"example.com/m/calc","Test":"TestAdd"}`,
		`{"Action":"fail","Package":"example.com/m/calc","Test":"TestAdd"}`,
		`{"Action":"skip","Package":"example.com/m/calc","Test":"TestLater"}`,
		`{"Action":"run","Package":"example.com/m/calc","Test":"TestHangs"}`,
		`{"Action":"fail","Package":"example.com/m/calc"}`,
	} {
		events.Line(l)
	}
	want := []Case{
		{Name: "TestAdd/two", Group: "example.com/m/calc", Status: Passed},
		{Name: "TestAdd", Group: "example.com/m/calc", Status: Failed},
		{Name: "TestLater", Group: "example.com/m/calc", Status: Skipped},
		{Name: "TestHangs", Group: "example.com/m/calc", Status: Failed},
	}
	if got := events.Result().Cases; !slices.Equal(got, want) {
		t.Errorf("cases = %v, want %v", got, want)
	}
}

// A failed test of Go begins its message with its place. A reader sees the place already.
func TestGoFailureHasItsPlaceOnce(t *testing.T) {
	g := NewGo("m")
	for _, l := range []string{
		`{"Action":"run","Package":"m/calc","Test":"TestAdd"}`,
		`{"Action":"output","Package":"m/calc","Test":"TestAdd","Output":"    add_test.go:7: got 5, want 3\n"}`,
		`{"Action":"fail","Package":"m/calc","Test":"TestAdd"}`,
	} {
		g.Line(l)
	}
	f := g.Result().Failures[0]
	got := fmt.Sprintf("%s:%d %s", f.Path, f.Line, f.Message)
	if want := "calc/add_test.go:7 got 5, want 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// tap prints the time of each test behind its name.
func TestTAPNamesHaveNoTime(t *testing.T) {
	r := TAP([]string{"TAP version 14", "ok 1 - adds # time=22.23ms", "not ok 2 - neg # time=8s", "1..2"})
	if len(r.Cases) != 2 || r.Cases[0].Name != "adds" || len(r.Failures) != 1 || r.Failures[0].Name != "neg" {
		t.Errorf("%+v", r)
	}
}
