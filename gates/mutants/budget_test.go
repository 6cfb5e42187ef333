package mutants

import (
	"context"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/tools/gatetest"
)

func suiteRan(gate string, status gates.Status, seconds int) gates.Report {
	return gates.Report{Gate: gate, Status: status, Duration: time.Duration(seconds) * time.Second}
}

func TestBudgetIsShareOfTestSuites(t *testing.T) {
	slow := []gates.Report{
		suiteRan("lint:go", gates.Pass, 500), suiteRan("tests:go", gates.Warn, 40), suiteRan("tests:python:api", gates.Pass, 20),
		suiteRan("tests:node", gates.Skipped, 900),
	}
	for name, c := range map[string]struct {
		o       Options
		earlier []gates.Report
		want    time.Duration
		why     string
	}{
		"a share of all suites that passed": {o: Options{Share: 25}, earlier: slow, want: 15 * time.Second},
		"a share below the minimum": {o: Options{Share: 25}, earlier: []gates.Report{suiteRan("tests:go", gates.Pass, 8)},
			why: "25 % of the time of the test suites (8s) is less than 10s"},
		"a cached result has no duration": {o: Options{Share: 100},
			earlier: []gates.Report{{Gate: "tests:go", Status: gates.Pass, Duration: 1}}, why: "(0s) is less than 10s"},
		"no suite ran":                        {o: Options{Share: 25}, why: "is less than 10s"},
		"a threshold needs a judgement":       {o: Options{Share: 25, Bar: 80}, want: time.Minute},
		"a threshold with a slow suite":       {o: Options{Share: 200, Bar: 80}, earlier: slow, want: 2 * time.Minute},
		"a duration does not ask the suites":  {o: Options{Budget: time.Second}, earlier: slow, want: time.Second},
		"neither a duration nor a percentage": {o: Options{}, earlier: slow, want: time.Minute},
	} {
		got, why := c.o.within(c.earlier)
		if c.why != "" || why != "" {
			if c.why == "" || !strings.Contains(why, c.why) {
				t.Errorf("%s: nothing is tried because %q, want %q", name, why, c.why)
			}
			continue
		}
		if got.Budget != c.want {
			t.Errorf("%s: %s, want %s", name, got.Budget, c.want)
		}
	}
}

// Only the whole suite can say that a mutant of Python survives. A share that is too short for it is not spent.
func TestShareMustHoldWholeSuites(t *testing.T) {
	earlier := []gates.Report{suiteRan("tests:go", gates.Pass, 100), suiteRan("tests:python", gates.Pass, 10)}
	for _, c := range []struct {
		o    Options
		lang gates.Language
		want string
	}{
		{Options{Share: 25, Budget: 27 * time.Second}, gates.LangPython, "less than 3 runs of the test suite for python (10s)"},
		{Options{Share: 25, Budget: 30 * time.Second}, gates.LangPython, ""},
		{Options{Share: 25, Budget: 30 * time.Second}, gates.LangNode, "no test suite for node ran"},
		{Options{Share: 25, Budget: 6 * time.Second}, gates.LangGo, ""},
		{Options{Budget: time.Second}, gates.LangPython, ""}, // the user set it
	} {
		if got := c.o.short(earlier, c.lang); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s with %s: %q, want %q", c.lang, c.o.Budget, got, c.want)
		}
	}
}

// slowTests changes a line of a Go file whose only test takes a minute.
func slowTests(t *testing.T) gates.Subject {
	t.Helper()
	before := map[string]string{
		"go.mod":  "module example.com/calc\n\ngo 1.24\n",
		"calc.go": "package calc\n\nfunc Over(a int) bool { return a > 9 }\n",
		"calc_test.go": "package calc\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\n" +
			"func TestOver(t *testing.T) { time.Sleep(time.Minute) }\n",
	}
	after := maps.Clone(before)
	after["calc.go"] = strings.Replace(before["calc.go"], "9", "10", 1)
	s := gatetest.Change(t, before, after)
	s.Env = os.Environ()
	return s
}

// The budget limits the whole gate: the tests without a mutant, which show the lines that they run, count too.
func TestGateEndsWithItsBudget(t *testing.T) {
	tree := func(_ context.Context, s gates.Subject) (string, []string, func(), error) {
		return s.Dir, nil, func() {}, nil
	}
	rep, err := New(Options{Tree: tree, Budget: 2 * time.Second}).Check(t.Context(), slowTests(t))
	if err != nil {
		t.Fatal(err)
	}
	if rep.Status != gates.Skipped || !strings.Contains(rep.Note, "not tried: the budget of 2s is spent") {
		t.Errorf("%s: %s", rep.Status, rep.Note)
	}
}

// So does the preparation of the scratch tree.
func TestScratchTreeIsPartOfBudget(t *testing.T) {
	tree := func(ctx context.Context, _ gates.Subject) (string, []string, func(), error) {
		<-ctx.Done()
		return "", nil, nil, context.Cause(ctx)
	}
	rep, err := New(Options{Tree: tree, Budget: time.Second}).Check(t.Context(), slowTests(t))
	if err != nil || rep.Status != gates.Skipped || !strings.Contains(rep.Note, "not tried: the budget of 1s is spent") {
		t.Errorf("%s: %s, %v", rep.Status, rep.Note, err)
	}
}

// Advice that cannot be given must not stop a run; a judgement must not be left out.
func TestErrorStopsOnlyJudgement(t *testing.T) {
	tree := func(context.Context, gates.Subject) (string, []string, func(), error) {
		return "", nil, nil, errors.New("the disk is full")
	}
	for name, c := range map[string]struct {
		o     Options
		stops bool
	}{
		"a share":                  {Options{Share: 50}, false},
		"a share with a threshold": {Options{Share: 50, Bar: 80}, true},
		"a duration":               {Options{Budget: time.Minute}, true},
	} {
		c.o.Tree = tree
		s := slowTests(t)
		s.Earlier = []gates.Report{suiteRan("tests:go", gates.Pass, 40)}
		rep, err := New(c.o).Check(t.Context(), s)
		if (err != nil) != c.stops {
			t.Errorf("%s: %v", name, err)
		}
		if !c.stops && (rep.Status != gates.Skipped || !strings.Contains(rep.Note, "the disk is full")) {
			t.Errorf("%s: %s: %s", name, rep.Status, rep.Note)
		}
	}
}

// A threshold that nothing was tried for is not met.
func TestSpentBudgetDoesNotPassThreshold(t *testing.T) {
	tree := func(_ context.Context, s gates.Subject) (string, []string, func(), error) {
		return s.Dir, nil, func() {}, nil
	}
	_, err := New(Options{Tree: tree, Budget: time.Second, Bar: 80}).Check(t.Context(), slowTests(t))
	if err == nil || !strings.Contains(err.Error(), "set a longer [gates.mutants] budget") {
		t.Errorf("%v", err)
	}
}
