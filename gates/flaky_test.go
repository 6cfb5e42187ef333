package gates

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates/testout"
)

// inTurn is a shell suite that prints the next of several outputs, each with its exit status: "1 not ok 1 - sum". Its
// second line names the tests sum and product.
func inTurn(outputs ...string) map[string]string {
	files := map[string]string{"test-a.sh": "echo >>\"$STATE\"\n# it has product and sum\nn=$(wc -l <\"$STATE\")\n" +
		"cat $n.says; exit $(cat $n.exit)\n"}
	for i, out := range outputs {
		n := strconv.Itoa(i + 1)
		files[n+".exit"], files[n+".says"], _ = strings.Cut(out, " ")
		files[n+".says"] += "\n"
	}
	return files
}

// A test that fails and then passes is flaky: it warns. A test that fails each time fails.
func TestFailingTestsRunAgain(t *testing.T) {
	needs(t, "bash")
	const a, b = "not ok 1 - sum", "not ok 2 - product"
	many := func(n int) string {
		out := "1 "
		for i := range n {
			out += "not ok " + strconv.Itoa(i+1) + " - t" + strconv.Itoa(i) + "\n"
		}
		return out
	}
	known := func(names ...string) func(*Subject) {
		return func(s *Subject) { s.FailedBefore = func(context.Context) []string { return names } }
	}
	for name, c := range map[string]struct {
		runs   []string
		reruns int
		set    func(*Subject)
		ran    int
		status Status
		count  TestCount
		want   []string
		note   string
	}{
		"it passes": {[]string{"0 ok 1 - sum"}, 1, nil, 1, Pass, TestCount{Passed: 1}, nil, ""},
		"it is flaky": {[]string{"1 " + a, "0 ok 1 - sum"}, 1, nil, 2, Warn, TestCount{Passed: 1},
			[]string{"test-a.sh:2:0 warning flaky sum failed, and passed when it was run again: not ok"}, ""},
		"fails twice": {[]string{"1 " + a, "1 " + a}, 1, nil, 2, Fail, TestCount{Failed: 1},
			[]string{"test-a.sh:2:0 error test sum: not ok"}, ""},
		"not again, so the failures of the base do not matter": {[]string{"1 " + a}, 0,
			func(s *Subject) {
				s.FailedBefore = func(context.Context) []string { t.Error("asked the base"); return nil }
			},
			1, Fail, TestCount{Failed: 1}, []string{"test-a.sh:2:0 error test sum: not ok"}, ""},
		"not again": {[]string{"1 " + a}, 0, nil, 1, Fail, TestCount{Failed: 1},
			[]string{"test-a.sh:2:0 error test sum: not ok"}, ""},
		"third time": {[]string{"1 " + a, "1 " + a, "0 ok 1 - sum"}, 3, nil, 3, Warn,
			TestCount{Passed: 1}, []string{"test-a.sh:2:0 warning flaky sum failed, and passed when it was run again: not " +
				"ok"}, ""},
		"one of two": {[]string{"1 " + a + "\n" + b, "1 ok 1 - sum\n" + b}, 1, nil, 2, Fail,
			TestCount{Passed: 1, Failed: 1}, []string{"test-a.sh:2:0 warning flaky sum failed, and passed when it was run " +
				"again: not ok", "test-a.sh:2:0 error test product: not ok"}, ""},
		"another test": {[]string{"1 " + a + "\nok 2 - product", "1 ok 1 - sum\n" + b}, 1, nil, 2,
			Warn, TestCount{Passed: 2}, []string{"test-a.sh:2:0 warning flaky sum failed, and passed when it was run again: " +
				"not ok", "test-a.sh:2:0 warning flaky product passed, and failed when it was run again: not ok"}, ""},
		"no name": {[]string{"1 oops", "0 fine"}, 1, nil, 2, Warn, TestCount{},
			[]string{":0:0 warning flaky the suite failed, and passed when it was run again"}, "cannot be read"},
		"no name, again": {[]string{"1 oops", "1 oops"}, 1, nil, 2, Fail, TestCount{},
			[]string{"test-a.sh:0:0 error exit exit 1, without naming a failed test: oops"}, "*"},
		"a count without names": {[]string{"1 2 passed, 1 failed", "0 3 passed, 0 failed"}, 1, nil, 2, Warn,
			TestCount{Passed: 3}, []string{":0:0 warning flaky the suite failed, and passed when it was run again"}, ""},
		"no name the second time": {[]string{"1 " + a, "1 oops"}, 1, nil, 2, Fail, TestCount{Failed: 1},
			[]string{"test-a.sh:2:0 error test sum: not ok"}, ""},
		"ten":    {[]string{many(10), "0 fine"}, 1, nil, 2, Warn, TestCount{Passed: 10}, nil, ""},
		"eleven": {[]string{many(11)}, 1, nil, 1, Fail, TestCount{Failed: 11}, nil, ""},
		"eleven, one of which failed before": {[]string{many(11), "0 fine"}, 1, known("t3", "other"), 2, Warn,
			TestCount{Passed: 11}, nil, ""},
		"all of which failed before": {[]string{"1 " + a}, 1, known("sum"), 1, Fail, TestCount{Failed: 1}, nil, ""},
		"no leftovers": {[]string{"1 " + a, "0 ok 1 - sum"}, 1, func(s *Subject) {
			env := s.Env
			s.Fresh = func() ([]string, error) { return append(env, "FRESH=1"), nil }
		}, 2, Warn, TestCount{Passed: 1}, nil, ""},
		"leftovers that stay": {[]string{"1 " + a}, 1, func(s *Subject) {
			s.Fresh = func() ([]string, error) {
				return nil, errors.New("no disk")
			}
		},
			1, Fail, TestCount{Failed: 1}, nil, "the failing tests could not be run again: no disk"},
		"a second run that cannot start": {[]string{"1 " + a}, 1, func(s *Subject) {
			s.Fresh = func() ([]string, error) { return []string{"PATH=/nowhere"}, nil }
		}, 1, Fail, TestCount{Failed: 1}, nil, "the failing tests could not be run again: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := tree(t, inTurn(c.runs...)), filepath.Join(t.TempDir(), "state")
			s := Subject{Dir: dir, Env: append(os.Environ(), "STATE="+state)}
			if c.set != nil {
				c.set(&s)
			}
			rep, err := find(t, Builtin(dir, Settings{Detect: true, FlakyReruns: c.reruns}), "tests:shell").Check(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			ran, _ := os.ReadFile(state)
			if len(ran) != c.ran || rep.Status != c.status || rep.Tests == nil && c.count != (TestCount{}) ||
				rep.Tests != nil && *rep.Tests != c.count {
				t.Errorf("%d runs, %s, %+v, %s", len(ran), rep.Status, rep.Tests, rep.Note)
			}
			if d := cmp.Diff(c.want, said(rep.Findings)); c.want != nil && d != "" {
				t.Error(d)
			}
			if c.note != "*" && (!strings.Contains(rep.Note, c.note) || (c.note == "") != (rep.Note == "")) {
				t.Errorf("note %q", rep.Note)
			}
			for _, one := range rep.Cases {
				if failed := one.Status == testout.Failed; failed && rep.Status != Fail {
					t.Errorf("%s failed", one.Name)
				}
			}
		})
	}
}

// pytest runs only the failed tests again, and none if a file does not load or a failed test is unknown.
func TestPytestRunsFailedTestsAgain(t *testing.T) {
	needs(t, "bash")
	const bad = `<testcase classname="tests.test_a" name="test_bad" file="tests/test_a.py" line="3">` +
		`<failure message="no">no</failure></testcase>`
	for name, c := range map[string]struct {
		first  string // of the report
		says   string
		want   string // arguments of the second run
		status Status
	}{
		"a test": {bad, "", "tests/test_a.py::test_bad", Warn},
		"a file that does not load": {`<testcase classname="" name="tests.test_a">` +
			`<error message="collection failure">x</error></testcase>`,
			"", "", Fail},
		"an unknown test": {"", "tests/test_a.py: 1 failed in 0.1s", "", Fail},
	} {
		dir := tree(t, map[string]string{"pytest.ini": "[pytest]\n", "tests/test_a.py": "def test_bad(): pass\n",
			"sub/setup.py": "", ".venv/bin/python!": `#!/bin/bash
[ "$1" = -c ] && exit 0
for a; do case $a in --junitxml=*) out=${a#--junitxml=};; esac; done
if [ -e called ]; then
  echo "${@: -1}" >>called
  echo '<testsuites><testsuite><testcase classname="tests.test_a" name="test_bad" file="tests/test_a.py" line="3"/>
    </testsuite></testsuites>' >"$out"
  exit 0
fi
echo "${@: -1}" >called
echo '` + c.says + `'
[ -n '` + c.first + `' ] && echo '<testsuites><testsuite>` + c.first + `</testsuite></testsuites>' >"$out"
exit 1
`})
		rep, err := find(t, Builtin(dir, Settings{Detect: true, FlakyReruns: 1}), "tests:python").Check(t.Context(),
			Subject{Dir: dir})
		called, _ := os.ReadFile(filepath.Join(dir, "called"))
		first, second, _ := strings.Cut(strings.TrimSpace(string(called)), "\n")
		if err != nil || second != c.want || rep.Status != c.status || first != "--ignore=sub" {
			t.Errorf("%s: %s, called %q: %+v, %v", name, rep.Status, called, rep.Findings, err)
		}
	}
}
