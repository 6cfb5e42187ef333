package gates

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/planparse"
)

func TestBatchAnswersOnlyForNamedTests(t *testing.T) {
	gate := Info{Name: "tests:go", Command: "go test ./..."}
	red := Finding{Rule: "test", Severity: Error, Path: "shop/cart_test.go", Test: "TestCart/with_tax"}
	for name, tt := range map[string]struct {
		batch planparse.Batch
		want  bool
	}{
		"fix is a word": {planparse.Batch{Title: "Fix the docs, which are broken"}, false},
		"the words until all tests pass are not the purpose": {planparse.Batch{Title: "Tidy",
			Text: "until all tests pass and the build is green\n"},
			false},
		"its test":             {planparse.Batch{Title: "Make TestCart pass"}, true},
		"its subtest":          {planparse.Batch{Text: "- [ ] `TestCart/with_tax` passes\n"}, true},
		"another test":         {planparse.Batch{Title: "Make TestCartoon pass"}, false},
		"its file":             {planparse.Batch{Text: "- [ ] update `shop/cart_test.go`\n"}, true},
		"the name of its file": {planparse.Batch{Text: "- [ ] Update tests in cart_test.go.\n"}, true},
		"a longer name":        {planparse.Batch{Text: "shopping-cart_test.go\n"}, false},
		"its file, in the list": {planparse.Batch{Files: planparse.Files{Test: []string{"shop/cart_test.go"}}},
			false},
		"its file, as an entry":  {planparse.Batch{Text: "**Files:**\n- Modify: `shop/cart_test.go`\n"}, false},
		"the command as its aim": {planparse.Batch{Title: "Get `go test ./...` green"}, true},
		"the command as a check": {planparse.Batch{Title: "Fix the docs", Text: "\n- [ ] run `go test ./...`\n"},
			false},
		"the command before a check":          {planparse.Batch{Text: "`go test ./...` is red.\n\n- [ ] look why\n"}, true},
		"the title names the tested function": {planparse.Batch{Title: "make cart right"}, true},
		"a word of its name":                  {planparse.Batch{Title: "Tidy the carts"}, false},
		"the text names the tested function as a plain word": {planparse.Batch{Title: "Docs",
			Text: "put the cart before the horse\n"}, false},
		"the text names the tested function as code": {planparse.Batch{Title: "Docs", Text: "correct `Cart`\n"},
			true},
		"its file, in a ChangeLog": {planparse.Batch{Text: "* shop/cart_test.go (TestSum): Import tests.\n"}, false},
		"its file among others, in a ChangeLog": {planparse.Batch{Text: "* shop/cart.go, shop/cart_test.go: Use sums.\n"},
			false},
		"its failure, in a ChangeLog": {planparse.Batch{Text: "* shop/cart_test.go: Make it pass.\n"}, true},
		"a test that has to be shown": {planparse.Batch{Regression: []string{"shop/cart_test.go::TestCart"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Subject{Batch: tt.batch}).Answers(gate, red); got != tt.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// The last part of a test's name is enough, in the notation of each runner.
func TestBatchAnswersForLastPartOfName(t *testing.T) {
	for test, want := range map[string]bool{
		"tests/test_calc.py::TestCalc::test_carry_over":  true,
		"tests.test_calc.TestCalc.test_carry_over":       true,
		"CalcTest#test_carry_over":                       true,
		"calc > test_carry_over":                         true,
		"calc" + testcode.GroupMark + "test_carry_over":  true,
		"tests/test_calc.py::TestCalc::test_other_thing": false,
	} {
		red := Finding{Rule: "test", Severity: Error, Path: "a", Test: test}
		s := Subject{Batch: planparse.Batch{Title: "Docs", Text: "Until test_carry_over passes.\n"}}
		if got := s.Answers(Info{Name: "tests:x"}, red); got != want {
			t.Errorf("%s: %v", test, got)
		}
	}
}

// An old finding of a linter in a file that the batch changes is no task of the batch, unless the batch says so.
func TestBatchAnswersForFindings(t *testing.T) {
	old := Finding{Rule: "vet", Severity: Error, Path: "cart.go", Line: 3}
	files := planparse.Files{Modify: []string{"cart.go"}}
	entry := "**Files:**\n- Modify: `cart.go`\n"
	for name, tt := range map[string]struct {
		batch planparse.Batch
		want  bool
	}{
		"the list":                 {planparse.Batch{Title: "Add a total", Text: entry, Files: files}, false},
		"the list of a batch":      {planparse.Batch{Title: "Fix the lint errors", Text: entry, Files: files}, true},
		"the text before the list": {planparse.Batch{Title: "Tidy", Text: "go vet fails.\n\n" + entry, Files: files}, true},
		"a step": {planparse.Batch{Title: "Tidy", Text: entry + "\n- [ ] run go vet\n", Files: files},
			false},
		"a starred step":       {planparse.Batch{Title: "Tidy", Text: "* run go vet\n", Files: files}, false},
		"a step behind a plus": {planparse.Batch{Title: "Tidy", Text: "+ run go vet\n", Files: files}, false},
		"a numbered step":      {planparse.Batch{Title: "Tidy", Text: "1. run go vet\n", Files: files}, false},
		"a section":            {planparse.Batch{Title: "Tidy", Text: "### Checks\ngo vet\n", Files: files}, false},
		"a number in the text": {planparse.Batch{Title: "Tidy", Text: "3 errors of go vet\n", Files: files}, true},
		"the file in the text": {planparse.Batch{Title: "Correct cart.go", Text: entry, Files: files}, true},
	} {
		if got := (Subject{Batch: tt.batch}).Answers(Info{Name: "lint:go", Command: "go vet ./..."}, old); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTestedFunctionName(t *testing.T) {
	for test, want := range map[string]string{
		"TestAdd": "Add", "TestAdd/zero": "Add", "tests/test_calc.py::TestCalc::test_add": "add",
		"tests.test_calc.TestCalc.test_add": "add",
		"Calc > adds":                       "", "old_total": "",
	} {
		if got := tested(test); got != want {
			t.Errorf("tested(%q) = %q, want %q", test, got, want)
		}
	}
}

// A failing test in a group is matched with its batch by the functions that it calls, in the notation of each runner.
func TestBatchAnswersForGroupedTests(t *testing.T) {
	dir := t.TempDir()
	const text = "describe('calc', () => {\n  test('gives sums', () => {\n    expect(add(2, 3)).toBe(5);\n  });\n});\n"
	if err := os.WriteFile(filepath.Join(dir, "calc.test.js"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []string{"calc › gives sums", "calc > gives sums", "calc gives sums", "gives sums"} {
		red := Finding{Rule: "test", Severity: Error, Path: "calc.test.js", Test: test}
		for title, want := range map[string]bool{"Make add right": true, "Tidy the readme": false} {
			if got := (Subject{Dir: dir, Batch: planparse.Batch{Title: title}}).Answers(Info{Name: "tests:node"},
				red); got != want {
				t.Errorf("%s, a batch %q: %v", test, title, got)
			}
		}
	}
}
