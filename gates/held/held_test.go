package held_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/held"
	"github.com/runplan/runplan/gates/tamper"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/tools/gatetest"
	"github.com/runplan/runplan/tools/tooltest"
)

const (
	mod   = "module example.com/calc\n\ngo 1.21\n"
	right = "package calc\n\nfunc Add(a, b int) int { return a + b }\n\nfunc Mul(a, b int) int { return a * b }\n"
	wrong = "package calc\n\nfunc Add(a, b int) int { return a - b }\n\nfunc Mul(a, b int) int { return a * b }\n"
	both  = head + add + mul
	head  = "package calc\n\nimport \"testing\"\n\n"
	add   = "func TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != 3 {\n\t\tt.Fatalf(\"Add(1, 2) = %d\", " +
		"got)\n\t}\n}\n\n"
	mul    = "func TestMul(t *testing.T) {\n\tif got := Mul(2, 3); got != 6 {\n\t\tt.Fatal(got)\n\t}\n}\n\n"
	helper = "package check\n\nimport \"testing\"\n\nfunc Equal(t *testing.T, got, want int) {\n\tt.Helper()\n\tif got " +
		"!= want {\n\t\tt.Error(got, want)\n\t}\n}\n"
	helped = "package calc\n\nimport (\n\t\"testing\"\n\n\t\"example.com/calc/check\"\n)\n\nfunc TestAdd(t *testing.T) " +
		"{ check.Equal(t, Add(1, 2), 3) }\n"
	loose = "func TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != -1 {\n\t\tt.Fatalf(\"Add(1, 2) = %d\", " +
		"got)\n\t}\n}\n\n"
)

// prove runs the gates on a change as the driver does: it compares the names of the base's tests and runs these tests
// on the candidate's code. The suite counts as calibrated.
func prove(t *testing.T, before, after map[string]string, edit func(*gates.Subject)) gates.Verdict {
	t.Helper()
	s := gatetest.Change(t, before, after)
	if edit != nil {
		edit(&s)
	}
	repo, err := git.Open(t.Context(), s.Dir, s.Env)
	if err != nil {
		t.Fatal(err)
	}
	list := func(dir string) []gates.Gate {
		return gates.Builtin(dir, gates.Settings{Detect: true, Disable: []string{"lint"}}, tamper.New())
	}
	out := func(ctx context.Context, s gates.Subject) (string, []string, func(), error) {
		commit, err := repo.CommitTree(ctx, s.Tree, "", "x")
		if err != nil {
			return "", nil, nil, err
		}
		dir := filepath.Join(t.TempDir(), "tree")
		_, err = repo.AddDetached(ctx, dir, commit)
		return dir, nil, func() {}, err
	}
	dir, _, _, err := out(t.Context(), gates.Subject{Tree: s.Base + "^{tree}"})
	if err != nil {
		t.Fatal(err)
	}
	s.BaseSuites = func(context.Context) ([]string, error) {
		var names []string
		for _, g := range list(dir) {
			if strings.HasPrefix(g.Info().Name, "tests:") {
				names = append(names, g.Info().Name)
			}
		}
		return names, nil
	}
	s.BaseTests = func(ctx context.Context, gate string) ([]testout.Case, error) {
		at := slices.IndexFunc(list(dir), func(g gates.Gate) bool { return g.Info().Name == gate })
		if at < 0 {
			return nil, nil
		}
		rep, err := list(dir)[at].Check(ctx, gates.Subject{Dir: dir, Env: s.Env})
		return rep.Cases, err
	}
	runner := held.New(held.Options{Repo: repo, Room: out, Gates: list}, s)
	t.Cleanup(runner.Close)
	s.Held = runner.Run
	run := list(s.Dir)
	for i, g := range run {
		run[i] = calibrated{g}
	}
	v, err := gates.Run(t.Context(), run, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// calibrated is a gate whose suite counts as calibrated.
type calibrated struct{ gates.Gate }

func (c calibrated) Check(ctx context.Context, s gates.Subject) (gates.Report, error) {
	rep, err := c.Gate.Check(ctx, s)
	if rep.Cases != nil || rep.Tests != nil {
		rep.Proof = &gates.Proof{Calibration: gates.Calibrated}
	}
	return rep, err
}

func TestHeldTestsDecideVerdict(t *testing.T) {
	tooltest.Slow(t)
	base := map[string]string{"go.mod": mod, "calc.go": wrong, "calc_test.go": both}
	fine := map[string]string{"go.mod": mod, "calc.go": right, "calc_test.go": both}
	for name, c := range map[string]struct {
		before, after map[string]string
		plan          string
		status        gates.Status
		rule, told    string
	}{
		"the code is fixed": {base, map[string]string{"calc.go": right}, "", gates.Pass, "", ""},
		"code in a file that is named like a helper of tests is fixed": {
			map[string]string{"go.mod": mod, "report.go": wrong,
				"calc_test.go": head + strings.Replace(add, "\"Add(1, 2) = ", "\"report: ", 1) + mul},
			map[string]string{"report.go": right}, "", gates.Pass, "", "",
		},
		"a name is not UTF-8": {
			map[string]string{"go.mod": mod, "calc.go": wrong, "calc_test.go": both, "\xe9 check.sh": "echo a\n"},
			map[string]string{"calc.go": right, "\xe9 check.sh": "echo b\n"}, "", gates.Pass, "", "",
		},
		"the expectation of a red test is changed": {
			base, map[string]string{"calc_test.go": head + loose + mul}, "", gates.Fail, gates.RuleEditedRed,
			"TestAdd failed on the base, and its base version still fails",
		},
		"the plan asks for another expectation": {
			base, map[string]string{"calc_test.go": head + loose + mul}, "Update TestAdd to what subtraction gives.", gates.Pass,
			"", "1 of 2 tests of the base pass; changed expectation: TestAdd",
		},
		"the plan only wants the test to pass": {
			base, map[string]string{"calc_test.go": head + loose + mul}, "Change Add, so that TestAdd passes.", gates.Fail,
			gates.RuleEditedRed, "",
		},
		"the red test is named for another system": {
			map[string]string{"go.mod": mod, "calc.go": wrong, "calc_test.go": head + add, "mul_test.go": head + mul},
			map[string]string{"calc_test.go": "-", "calc_windows_test.go": head + add}, "", gates.Fail, gates.RuleMissingTest,
			"TestAdd failed on the base",
		},
		"all tests are named for another system": {
			base, map[string]string{"calc_test.go": "-", "calc_windows_test.go": both}, "", gates.Fail, gates.RuleMissingTest,
			"no test ran, but 2 ran on the base",
		},
		"all test files are deleted": {
			base, map[string]string{"calc_test.go": "-", "calc_test.txt": both}, "", gates.Fail, gates.RuleMissingTest,
			"the suite of the base is no longer found",
		},
		"the program ends before its tests": {
			base, map[string]string{"calc.go": strings.Replace(wrong, "func Add", "func init() { os.Exit(0) }\n\nfunc Add", 1),
				"os.go": "package calc\n\nimport \"os\"\n\nvar _ = os.Exit\n", "calc2.go": "-"}, "", gates.Fail, "", "",
		},
		"a new test file changes what the others see": {
			map[string]string{"go.mod": mod,
				"calc.go": "package calc\n\nvar add = func(a, b int) int { return a - b }\n\nfunc Add(a, b int) int { return " +
					"add(a, b) }\n\nfunc Mul(a, b int) int { return a * b }\n", "calc_test.go": both},
			map[string]string{"zz_test.go": "package calc\n\nfunc init() { add = func(a, b int) int { return a + b } }\n"}, "",
			gates.Fail, gates.RuleEditedRed, "",
		},
		"a green expectation is changed": {
			fine, map[string]string{"calc.go": wrong, "calc_test.go": head + loose + mul}, "", gates.Warn, gates.RuleExpectation,
			"1 of 2 tests of the base pass; changed expectation: TestAdd",
		},
		"tests become a table": {
			fine, map[string]string{"calc_test.go": head +
				"func TestCalc(t *testing.T) {\n\tfor _, tt := range []struct {\n\t\tf          func(a, b int) int\n\t\ta, b, " +
				"want int\n\t}{{Add, 1, 2, 3}, {Mul, 2, 3, 6}} {\n\t\tif got := tt.f(tt.a, tt.b); got != tt.want " +
				"{\n\t\t\tt.Error(got)\n\t\t}\n\t}\n}\n"},
			"", gates.Pass, "", "",
		},
		"a test goes with its subject": {
			fine, map[string]string{"calc.go": "package calc\n\nfunc Add(a, b int) int { return a + b }\n",
				"calc_test.go": head + add}, "", gates.Warn, "", "Mul, which it tested, is gone",
		},
		"the helper that asserts is hollowed out": {
			map[string]string{"go.mod": mod, "calc.go": wrong, "check/check.go": helper, "calc_test.go": helped},
			map[string]string{"check/check.go": strings.Replace(helper, "got != want", "got != want && t.Failed()", 1)}, "",
			gates.Fail, gates.RuleEditedRed, "TestAdd failed on the base",
		},
		"the helper that asserts says more": {
			map[string]string{"go.mod": mod, "calc.go": right, "check/check.go": helper, "calc_test.go": helped},
			map[string]string{"check/check.go": strings.Replace(helper, "got, want)", "\"got\", got, \"want\", want)", 1)}, "",
			gates.Pass, "", "",
		},
		"a test is renamed": {
			fine, map[string]string{"calc_test.go": strings.Replace(both, "TestAdd", "TestSum", 1)}, "", gates.Pass, "",
			"renamed to TestSum",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := prove(t, c.before, c.after, func(s *gates.Subject) { s.Batch.Text = c.plan })
			var told []string
			rules := map[string]bool{}
			for _, r := range v.Reports {
				told = append(told, r.Gate+" "+string(r.Status)+": "+r.Note+" "+r.Proof.String())
				for _, f := range r.Findings {
					rules[f.Rule] = true
					told = append(told, string(f.Severity)+" "+f.Rule+" "+f.Path+" "+f.Message)
				}
			}
			all := strings.Join(told, "\n")
			if v.Status != c.status || c.rule != "" && !rules[c.rule] || !strings.Contains(all, c.told) {
				t.Errorf("%s, want %s with %s %q:\n%s", v.Status, c.status, c.rule, c.told, all)
			}
		})
	}
}
