package promise

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/gatetest"
	"github.com/runplan/runplan/tools/tooltest"
)

// Code that only knows the values of a red test has the old results for all others.
func TestVariedInputs(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		tooltest.Missing(t, err, "install Python 3")
	}
	const (
		old  = "def price(n, each):\n    return n + each\n"
		test = "import unittest\n\nfrom price import price\n\n\nclass TestPrice(unittest.TestCase):\n    def " +
			"test_price(self):\n" +
			"        self.assertEqual(price(3, 25), 75)\n        self.assertEqual(price(10, 12), 120)\n"
		plan = "price is wrong, and test_price fails. Correct it so that all tests pass."
	)
	for _, c := range []struct {
		name, code, plan string
		found            bool
	}{
		{"special cases",
			"def price(n, each):\n    if n * 100 + each == 325:\n        return 75\n    if n + each == 22:\n        return 120\n" +
				"    return n + each\n", plan, true},
		{"a table that the batch wants", "PRICES = {\n    (3, 25): 75,\n    (10, 12): 120,\n}\n\n\ndef price(n, each):\n" +
			"    return PRICES.get((n, each), n + each)\n", plan + " Use a table of the known prices.", false},
		{"a correction", "def price(n, each):\n    return n * each\n", plan, false},
		{"a correction with numbers", "def price(n, each):\n    return n * each if n < 5000 else n * each * 95 // 100\n",
			plan, false},
	} {
		s := gatetest.Change(t, files{"price.py": old, "test_price.py": test},
			files{"price.py": c.code, "test_price.py": test})
		s.Batch.Text, s.Env = c.plan, os.Environ()
		s.BaseSuites = func(context.Context) ([]string, error) { return []string{"tests:python"}, nil }
		s.BaseTests = func(context.Context, string) ([]testout.Case, error) {
			return []testout.Case{{Name: "test_price", Path: "test_price.py", Status: testout.Failed}}, nil
		}
		list := Gates(&planparse.Batch{Text: c.plan}, Options{Tree: tree{"price.py", "test_price.py"}})
		at := slices.IndexFunc(list, func(g gates.Gate) bool { return g.Info().Name == "plan:inputs" })
		if at < 0 {
			t.Fatal("the batch has no gate plan:inputs")
		}
		_, got := gatetest.Look(t, list[at], s)
		if found := strings.Contains(strings.Join(got, " "), RuleAnswersOnly); found != c.found {
			t.Errorf("%s: %q, want a finding: %v", c.name, got, c.found)
		}
	}
}

func TestVariations(t *testing.T) {
	const text = "import a3\nassert f('1h30m') == rows[2] + 5400\n"
	if got := withNumbers(text,
		func(n int) int { return n + 1 }); got != "import a3\nassert f('2h31m') == rows[2] + 5401\n" {
		t.Errorf("withNumbers = %q", got)
	}
	if got := moved("007", func(n int) int { return n + 10 }); got != "017" {
		t.Errorf("moved = %s, want 017", got)
	}
	if got := withLetters("Az-9", 1); got != "Ba-9" {
		t.Errorf("withLetters = %s, want Ba-9", got)
	}
}
