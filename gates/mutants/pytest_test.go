package mutants

import (
	"fmt"
	"slices"
	"testing"

	"github.com/runplan/runplan/gates"
)

func TestNearTestsAreThoseOfTheLines(t *testing.T) {
	of := map[int][]string{
		1: {""}, // runs at import
		2: {"test_a.py::test_one"},
		3: {"test_a.py::test_one", "test_b.py"},
	}
	for i := range mostNear + 1 {
		of[4] = append(of[4], fmt.Sprintf("./test_c.py::test[%d]", i))
	}
	for _, c := range []struct {
		from, to int
		want     []string
	}{
		{2, 2, []string{"test_a.py::test_one"}},
		{2, 3, []string{"test_a.py::test_one", "test_b.py"}},
		{1, 1, []string{"test_a.py", "test_b.py", "test_c.py"}}, // all tests of the file, too many for single ones
		{4, 4, []string{"test_c.py"}},
		{5, 6, nil},
	} {
		if got := near(of, c.from, c.to); !slices.Equal(got, c.want) {
			t.Errorf("lines %d to %d: %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

func TestFailedTestIsNamedAsPytestSelectsIt(t *testing.T) {
	known := map[int][]string{1: {"tests/test_a.py", "tests/test_a.py::T::test_1", "tests/test_a.py::T::test_1[x - y]"}}
	for text, want := range map[string]string{
		"1 failed\nFAILED tests/test_a.py::T::test_1[x - y] - AssertionError\n": "tests/test_a.py::T::test_1[x - y]",
		"FAILED tests/test_a.py::T::test_1 - Attribu...\n":                      "tests/test_a.py::T::test_1",
		"FAILED tests/test_b.py::test_2\n":                                      "tests/__init__.py::test_1",
		"":                                                                      "tests/__init__.py::test_1",
	} {
		if got := failedTest(gates.SingleRun{Text: text, Failed: []string{"tests/__init__.py::test_1"}}, known); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
