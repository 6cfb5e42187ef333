package promise

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/gatetest"
	"github.com/runplan/runplan/tools/tooltest"
)

// What a task says about an old function, and what a batch keeps, is compared with the code.
func TestToldAndKept(t *testing.T) {
	const (
		mail  = "def email(v):\n    return v\n\n\ndef host(v):\n    return v\n"
		tasks = "### Task 1: email checks lengths\n\nRefuse long ones in `email`.\n\n### Task 2: host refuses empty " +
			"labels\n\nRefuse `a..b`."
		by    = "A long text is refused by `email` and by `host`."
		keep  = "Add `more(v)`. Keep the guards against bad keys."
		other = "Add `more(v)`. Don't change the behaviour of the other functions."
		pause = "Add `pause(job)`. A paused job is not run by `work`."
		units = "Add `millis(text)` for values like `500ms`, `5s`, `2m` or `1h`."
		guard = "def guard(key):\n    return key == 'proto' or key == ''\n"
		more  = "\n\ndef more(v):\n    return v\n"
		work  = "def work(jobs):\n    for j in jobs:\n        j.run()\n"
		job   = "\n\nclass Job:\n    def __init__(self):\n        self.paused = False\n\n\ndef pause(job):\n    job.paused " +
			"= True\n"
		check = "def test_pause():\n    j = Job()\n    pause(j)\n    assert j.paused\n"
		newer = "Add `latest(list)`. The list must not be reordered."
	)
	long := "def a(v):\n" + strings.Repeat("    v = v + 1\n    v = v * 2\n", 30) + "    return v\n"
	short := strings.Replace(mail, "    return v\n", "    if len(v) > 9:\n        raise ValueError(v)\n    return v\n", 1)
	millis := func(units string) string {
		return "UNITS = {" + units + "}\n\n\ndef millis(text):\n    return int(text[:-1]) * UNITS[text[-1:]]\n"
	}
	for _, c := range []worded{
		{"the heading of a task", tasks, files{"a.py": mail}, files{"a.py": short}, "not-corrected"},
		{"both tasks", tasks, files{"a.py": mail},
			files{"a.py": strings.ReplaceAll(mail, "return v", "return v or 1/0")}, ""},
		{"one of two functions", by, files{"a.py": mail}, files{"a.py": short}, "not-corrected"},
		{"one calls the other", by,
			files{"a.py": strings.Replace(mail, "host(v):\n    return v", "host(v):\n    return email(v)", 1)},
			files{"a.py": strings.Replace(short, "host(v):\n    return v", "host(v):\n    return email(v)", 1)}, ""},
		{"a thinner guard", keep, files{"a.py": guard}, files{"a.py": "def guard(key):\n    return key == ''\n" + more},
			"check-gone"},
		{"the same guard", keep, files{"a.py": guard}, files{"a.py": strings.Replace(guard, "'proto'", `"proto"`, 1) + more},
			""},
		{"a dropped error", other, files{"a.py": work},
			files{"a.py": "def work(jobs):\n    for j in jobs:\n        try:\n            j.run()\n        except " +
				"Exception:\n            pass\n" + more},
			"check-gone"},
		{"no dropped error", other, files{"a.py": work}, files{"a.py": strings.ReplaceAll(work, "j.", "j.now().") + more},
			""},
		{"a field without effect", pause, files{"a.py": work}, files{"a.py": work + job, "test_a.py": check},
			"option-unused"},
		{"a field with an effect", pause, files{"a.py": work},
			files{"a.py": strings.Replace(work, "        j.run", "        j.paused or j.run", 1) + job, "test_a.py": check}, ""},
		{"a missing unit", units, nil, files{"a.py": millis("'ms': 1, 's': 1000, 'm': 60000")}, "case-missing"},
		{"all units", units, nil, files{"a.py": millis("'ms': 1, 's': 1000, 'm': 60000, 'h': 3600000")}, ""},
		{"a sorted input", newer, nil, files{"a.py": "def latest(list):\n    list.sort()\n    return list[-1]\n"},
			"demand-unmet"},
		{"a sorted copy", newer, nil,
			files{"a.py": "def latest(list):\n    list = list[:]\n    list.sort()\n    return list[-1]\n"}, ""},
		{"seconds", "Add `left(t)`, the number of milliseconds until t.", nil,
			files{"a.py": "def left(t):\n    return int(t - time.time())\n"}, "demand-unmet"},
		{"milliseconds", "Add `left(t)`, the number of milliseconds until t.", nil,
			files{"a.py": "def left(t):\n    return int(1000 * (t - time.time()))\n"}, ""},
		{"an error that must get through", "Add load(s). Errors of the parser must reach the caller. It has defaults.", nil,
			files{"a.py": "def load(s):\n    try:\n        return parse(s)\n    except BadText:\n        pass\n"}, "no-error"},
		{"a copy of a file", "Add the option `more` to a.", files{"a.py": long},
			files{"b.py": long + "\n\ndef b(v, more):\n    return a(v) if more else v\n"}, "old-code-kept"},
		{"a copy that the batch wants", "Add a copy of a with the option `more`.", files{"a.py": long},
			files{"b.py": long + "\n\ndef b(v, more):\n    return a(v) if more else v\n"}, ""},
	} {
		c.check(t)
	}
}

// A batch that asks for tests without naming their file gets them checked like those of a Test: line.
func TestUnnamedTests(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		tooltest.Missing(t, err, "install Python 3")
	}
	const (
		plan = "Add the class Price to price.py, with a method `of(n)`. Write tests for it."
		old  = "class Other:\n    def of(self, n):\n        return n * 2\n"
		code = old + "\n\nclass Price:\n    def of(self, n):\n        return n * 3\n"
		head = "import unittest\n\n"
		body = "\n\nclass TestPrice(unittest.TestCase):\n    def test_of(self):\n        self.assertEqual(Price().of(2), 6)\n"
	)
	for _, c := range []struct {
		name, test string
		found      bool
	}{
		{"a copy of the code in the test", head + "\nclass Price:\n    def of(self, n):\n        return n * 3\n" + body +
			"\n    def test_price(self):\n        import price\n", true},
		{"the code", head + "from price import Price\n" + body, false},
	} {
		s := gatetest.Change(t, files{"price.py": old}, files{"price.py": code, "test_price.py": c.test})
		s.Batch.Text, s.Env = plan, os.Environ()
		o := Options{Tree: tree{"price.py", "test_price.py"}}
		list := Gates(&planparse.Batch{Text: plan}, o)
		at := slices.IndexFunc(list, func(g gates.Gate) bool { return g.Info().Name == "plan:tests" })
		if at < 0 {
			t.Fatal("the batch has no gate plan:tests")
		}
		o.Room = func(_ context.Context, s gates.Subject) (string, []string, error) { return s.Dir, s.Env, nil }
		list = Gates(&planparse.Batch{Text: plan}, o)
		_, got := gatetest.Look(t, list[at], s)
		if found := strings.Contains(strings.Join(got, " "), RuleNotices); found != c.found {
			t.Errorf("%s: %q, want a finding: %v", c.name, got, c.found)
		}
	}
}

// New tests are tried only if the batch asks for tests. That those of today must pass is no such wish.
func TestOnlyBatchThatAsksForTestsHasThemTried(t *testing.T) {
	for text, want := range map[string]bool{
		"Correct the sum, and add tests.":                              true,
		"Add tests, and see that all tests pass.":                      true,
		"Add returns a wrong sum. Correct Add so that all tests pass.": false,
		"Change the sum. The tests must still pass.":                   false,
		"Write the sum.": false,
	} {
		got := slices.ContainsFunc(Gates(&planparse.Batch{Text: text}, Options{Tree: tree{"a.py"}}),
			func(g gates.Gate) bool { return g.Info().Name == "plan:tests" })
		if got != want {
			t.Errorf("%q has the gate: %v, want %v", text, got, want)
		}
	}
}
