package giventests

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/gatetest"
	"github.com/runplan/runplan/tools/tooltest"
)

const (
	pyCode  = "def parse(text):\n    return [int(p) for p in text.split(',')]\n"
	pyWeak  = "import unittest\nfrom calc import parse\n\n\nclass TestParse(unittest.TestCase):\n    def test_empty(self):\n        self.assertTrue(callable(parse))\n"
	pySkip  = "\n\nclass TestNet(unittest.TestCase):\n    @unittest.skip('no network')\n    def test_fetch(self):\n        pass\n"
	pyGiven = "Write the tests:\n\n```python\nimport unittest\nfrom calc import parse\n\n\nclass TestParse(unittest.TestCase):\n    def test_empty(self):\n        self.assertEqual(parse(\"\"), [])\n```\n"

	jsCode  = "export const words = t => t.split(' ')\n"
	jsWeak  = "import test from 'node:test'\nimport assert from 'node:assert'\nimport { words } from './words.mjs'\n\nconst none = ''\ntest('no words', () => assert.ok(words(none)))\n"
	jsGiven = "1. Write the tests:\n\n   ```js\n   import assert from 'node:assert'\n   import test, { describe } from 'node:test'\n   import { words } from './words.mjs'\n\n   const none = ''\n   describe('words', () => {\n     test('no words', () => {\n       assert.deepEqual(words(none), [])\n     })\n   })\n   ```\n"

	goCode  = "package calc\n\nfunc Add(a, b int) int { return a - b }\n"
	goWeak  = "package calc\n\nimport \"testing\"\n\nfunc want(t *testing.T, ok bool) {\n\tif !ok {\n\t\tt.Error(\"no\")\n\t}\n}\n\nfunc TestAdd(t *testing.T) { want(t, Add(0, 0) == 0) }\n"
	goGiven = "```go\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc want(t *testing.T, ok bool) {}\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != 3 {\n\t\tt.Error(fmt.Sprint(got))\n\t}\n}\n```\n"
)

func TestGate(t *testing.T) {
	tooltest.Slow(t)
	for _, c := range []struct {
		name, file, plan string
		after            map[string]string
		want             []string // findings
		note             string
	}{
		{"weaker test of python", "test_calc.py", pyGiven, map[string]string{"calc.py": pyCode, "test_calc.py": pyWeak},
			[]string{"error plan/given-test-fails test_calc.py: the plan's test TestParse › test_empty fails on the new code"},
			"0 of 1 test that the plan gives as code"},
		{"weaker test beside a skipped one", "test_calc.py", pyGiven, map[string]string{"calc.py": pyCode, "test_calc.py": pyWeak + pySkip},
			[]string{"error plan/given-test-fails test_calc.py: the plan's test TestParse › test_empty fails on the new code"},
			"0 of 1 test that the plan gives as code"},
		{"correct code beside a skipped test", "test_calc.py", pyGiven, map[string]string{"calc.py": strings.Replace(pyCode, "split(',')", "split(',') if p", 1), "test_calc.py": pyWeak + pySkip},
			nil, "1 of 1 test that the plan gives as code"},
		{"correct code", "test_calc.py", pyGiven, map[string]string{"calc.py": strings.Replace(pyCode, "split(',')", "split(',') if p", 1), "test_calc.py": pyWeak},
			nil, "1 of 1 test that the plan gives as code"},
		{"same test", "test_calc.py", pyGiven, map[string]string{"calc.py": pyCode, "test_calc.py": strings.Replace(pyWeak,
			"self.assertTrue(callable(parse))", "result = 1\n        self.assertEqual(parse(\"\"), [])", 1)},
			nil, "1 of 1 test that the plan gives as code"},
		{"same test with another value", "test_calc.py", strings.Replace(pyGiven, "[])", "['a'])", 1), map[string]string{"calc.py": "def parse(text):\n    return ['b']\n", "test_calc.py": strings.Replace(pyWeak,
			"self.assertTrue(callable(parse))", "self.assertEqual(parse(\"\"), ['b'])", 1)},
			[]string{"error plan/given-test-fails test_calc.py: the plan's test TestParse › test_empty fails on the new code"},
			"0 of 1 test that the plan gives as code"},
		{"same test that cannot fail", "test_calc.py", pyGiven, map[string]string{"calc.py": pyCode, "test_calc.py": strings.Replace(pyWeak,
			"self.assertTrue(callable(parse))", "try:\n            self.assertEqual(parse(\"\"), [])\n        except Exception:\n            pass", 1)},
			[]string{"error plan/given-test-fails test_calc.py: the plan's test TestParse › test_empty fails on the new code"},
			"0 of 1 test that the plan gives as code"},
		{"test in another file", "test_calc.py", pyGiven, map[string]string{"calc.py": pyCode, "test_calc.py": "import unittest\n",
			"test_parse.py": strings.Replace(pyWeak, "self.assertTrue(callable(parse))", "self.assertEqual(parse(\"\"), [])", 1)},
			nil, "1 of 1 test that the plan gives as code"},
		{"function of another name", "test_calc.py", pyGiven, map[string]string{"calc.py": strings.Replace(pyCode, "parse", "read", 1),
			"test_calc.py": strings.ReplaceAll(pyWeak, "parse", "read")}, nil,
			"not decided: 1 test of test_calc.py: did not run: "},
		{"no file", "test_calc.py", pyGiven, map[string]string{"calc.py": pyCode}, nil,
			"not decided: 1 test of test_calc.py: the file does not exist; 0 of 1 test that the plan gives as code"},
		{"weaker test of node", "words.test.mjs", jsGiven, map[string]string{"words.mjs": jsCode, "words.test.mjs": jsWeak},
			[]string{"error plan/given-test-fails words.test.mjs: the plan's test words › no words fails on the new code"},
			"0 of 1 test that the plan gives as code"},
		{"weaker test of go", "calc_test.go", goGiven, map[string]string{"go.mod": "module example.org/calc\n\ngo 1.24\n", "calc.go": goCode, "calc_test.go": goWeak},
			[]string{"error plan/given-test-fails calc_test.go: the plan's test TestAdd fails on the new code: -1"},
			"0 of 1 test that the plan gives as code"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := gatetest.Change(t, nil, c.after)
			s.Env = os.Environ()
			b := planparse.Batch{Text: c.plan, Named: []planparse.Named{{Verb: "test", Path: c.file}}}
			g, ok := Gate(&b, Options{Files: func() []string { return slices.Sorted(maps.Keys(c.after)) }})
			if !ok {
				t.Fatal("no gate")
			}
			rep, err := g.Check(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range rep.Findings {
				got = append(got, fmt.Sprintf("%s %s %s: %s", f.Severity, f.Rule, f.Path, f.Message))
			}
			prefix := func(got, want string) bool { return strings.HasPrefix(got, want) }
			if !slices.EqualFunc(got, c.want, prefix) || !strings.HasPrefix(rep.Note, c.note) {
				t.Errorf("got %q, note %q\nwant %q, note %q", got, rep.Note, c.want, c.note)
			}
			if none := strings.Contains(rep.Note, "not decided"); none != (rep.Status == gates.Skipped) {
				t.Errorf("status %s with the note %q", rep.Status, rep.Note)
			}
			for name, text := range c.after {
				if now, err := os.ReadFile(s.Dir + "/" + name); err != nil || string(now) != text {
					t.Errorf("the gate left %s as\n%s (%v)", name, now, err)
				}
			}
		})
	}
}

// A block counts if the batch names its file, and the code is complete.
func TestFind(t *testing.T) {
	const one = "```python\ndef test_a():\n    assert f(1) == 2\n```\n"
	for _, c := range []struct {
		name, text string
		named      []string
		want       []string // file, line and names
	}{
		{"one file", one, []string{"calc.py", "tests/test_calc.py"}, []string{"tests/test_calc.py:2 test_a"}},
		{"the file named last", "In `test_b.py`:\n\n" + one + "\nIn `test_a.py`: more.\n", []string{"test_a.py", "test_b.py"}, []string{"test_b.py:4 test_a"}},
		{"the file of a comment", strings.Replace(one, "\n", "\n# test_b.py\n", 1), []string{"test_a.py", "test_b.py"}, []string{"test_b.py:2 test_a"}},
		{"two files", one, []string{"test_a.py", "test_b.py"}, nil},
		{"no test file", one, []string{"calc.py"}, nil},
		{"other language", one, []string{"calc.test.js"}, nil},
		{"left out", strings.Replace(one, "assert", "...\n    assert", 1), []string{"test_a.py"}, nil},
		{"like before", strings.Replace(one, "    assert", "    # rest of the set-up\n    assert", 1), []string{"test_a.py"}, nil},
		{"a mock", strings.Replace(one, "assert", "m = mock.Mock()\n    assert", 1), []string{"test_a.py"}, nil},
		{"asserts nothing", "```python\ndef test_a():\n    f(1)\n```\n", []string{"test_a.py"}, nil},
		{"no tests", "```python\ndef f(n):\n    return n + 1\n```\n", []string{"test_a.py"}, nil},
		{"no language", strings.Replace(one, "python", "", 1), []string{"test_a.py"}, nil},
	} {
		b := planparse.Batch{Text: c.text}
		for _, p := range c.named {
			b.Named = append(b.Named, planparse.Named{Verb: "test", Path: p})
		}
		var got []string
		for _, k := range find(&b) {
			for _, u := range k.tests {
				got = append(got, fmt.Sprintf("%s:%d %s", k.file, k.line, u.Name))
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestMain(m *testing.M) {
	for _, program := range []string{"python3", "node", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			fmt.Fprintf(os.Stderr, "these tests need %s: %v\n", program, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
