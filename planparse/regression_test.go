package planparse

import (
	"slices"
	"testing"
)

// The header of a batch names the test that the batch must turn from failing to passing.
func TestRegressionHeader(t *testing.T) {
	for text, want := range map[string][]string{
		"regression: calc/add_test.go":                            {"calc/add_test.go"},
		"regression: `calc/add_test.go::TestAdd`":                 {"calc/add_test.go::TestAdd"},
		"**Regression:** tests/test_add.py, tests/in.txt":         {"tests/test_add.py", "tests/in.txt"},
		"regression:\n- tests/test_add.py::Add.test_one\n- x.txt": {"tests/test_add.py::Add.test_one", "x.txt"},
		"**Regression:** none that we know of":                    nil,
		"**Regression:** none":                                    nil,
	} {
		p, _ := Parse("plan.md", []byte("# P\n\n## Batch 1: one\n"+text+"\n\nDo it.\n"))
		if len(p.Errors()) > 0 {
			t.Errorf("%s: %v", text, p.Errors())
		}
		if got := p.Batches[0].Regression; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"regression: ../a_test.go", "regression: /etc/a_test.go",
		"regression: a_test.go, ../b.txt", "regression: ``"} {
		p, _ := Parse("plan.md", []byte("# P\n\n## Batch 1: one\n"+text+"\n\nDo it.\n"))
		if errs := p.Errors(); len(errs) != 1 || errs[0].Code != "malformed-header" || errs[0].Line != 4 {
			t.Errorf("%s: %v", text, errs)
		}
	}
}
