package review

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/review/prose"
	"github.com/runplan/runplan/gates/review/security"
	"github.com/runplan/runplan/gates/rules"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/lessons"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/tools/gatetest"
	"github.com/runplan/runplan/tools/llmtest"
	"github.com/runplan/runplan/tools/tooltest"
)

// plant is one defect in one of the two projects: it replaces a text of the change without defects. A file without an
// old text is rewritten; "-" deletes it.
type plant struct {
	file, old, new string
	more           []plant
	// Expected findings of programs and of reviewers, without remarks, as "number rule".
	programs, reviewers string
}

// defects returns the twelve defects, each in Go and in Python.
func defects() []struct {
	name   string
	goes   plant
	python plant
} {
	return []struct {
		name   string
		goes   plant
		python plant
	}{
		{
			"wrong endpoint path",
			plant{file: "client.go", old: "/v1/prices", new: "/v1/price", reviewers: "3 architectural/contract"},
			plant{file: "shop/client.py", old: "/v1/prices", new: "/v1/price", reviewers: "3 architectural/contract"},
		},
		{
			"undeclared dependency",
			plant{file: "pages.go", old: "package shop\n", new: "package shop\n\nimport _ \"example.org/money\"\n",
				programs: "1 vet, 2 build"},
			plant{file: "shop/pages.py", old: "\n\n\ndef pages", new: "\n\nimport acme_money\n\n\ndef pages",
				programs: "2 build"},
		},
		{
			"unhandled failure mode",
			plant{file: "client.go",
				old: "\tif res.Status != 200 {\n\t\treturn nil, fmt.Errorf(\"ask for prices: status %d\", res.Status)\n\t}\n", new: "",
				more: []plant{{file: "client.go", old: "\t\"fmt\"\n", new: ""}}, reviewers: "6 adversarial/failure-mode"},
			plant{file: "shop/client.py",
				old: "        if response.status != 200:\n            raise RuntimeError(f\"the service answers " +
					"{response.status}\")\n", new: "", reviewers: "6 adversarial/failure-mode"},
		},
		{
			"off by one",
			plant{file: "pages.go", old: "(n + size - 1) / size", new: "(n + size) / size", programs: "2 test"},
			plant{file: "shop/pages.py", old: "(count + size - 1) // size", new: "(count + size) // size",
				more:      []plant{{file: "tests/test_pages.py", old: "{0: 0, 1: 1, 10: 1, 11: 2}", new: "{1: 1, 11: 2}"}},
				reviewers: "6 adversarial/boundary"},
		},
		{
			"leaked secret",
			plant{file: "client.go", old: "// Prices asks", new: "const token = \"ghp_" + strings.Repeat("a1B2", 9) +
				"\"\n\n// Prices asks", programs: "1 lesson/0029, 4 secrets/github-token"},
			plant{file: "shop/client.py", old: "\n\ndef prices", new: "\nTOKEN = \"ghp_" + strings.Repeat("a1B2", 9) +
				"\"\n\n\ndef prices", programs: "1 lesson/0029, 4 secrets/github-token"},
		},
		{
			"SQL by concatenation",
			plant{file: "store.go", old: `name = ?", name)`, new: `name = '"+name+"'")`, programs: "4 security/sql"},
			plant{file: "shop/store.py", old: `execute("SELECT price FROM things WHERE name = ?", (name,))`,
				new: `execute(f"SELECT price FROM things WHERE name = '{name}'")`, programs: "4 security/sql"},
		},
		{
			"missing test",
			plant{file: "pages_test.go", new: "-", reviewers: "6 adversarial/missing-test"},
			plant{file: "tests/test_pages.py", new: "-", reviewers: "6 adversarial/missing-test"},
		},
		{
			"dead code",
			plant{file: "pages.go", old: "// Pages is", new: "func roundedUp(n int) int {\n\treturn n + n%2\n}\n\n// Pages is",
				reviewers: "3 architectural/dead-code"},
			plant{file: "shop/pages.py", old: "\n\ndef pages",
				new:       "\n\ndef _rounded_up(count):\n    return count + count % 2\n\n\ndef pages",
				reviewers: "3 architectural/dead-code"},
		},
		{
			"doc that lies",
			plant{file: "pages.go", old: "// Pages is how many pages n things take, size of them on each.",
				new: "// PageCount panics where size is 0 or below.", programs: "5 prose/doc-name", reviewers: "5 prose/false-doc"},
			plant{file: "shop/client.py", old: "    :param fetch: opens an address\n",
				new: "    :param retries: how often it tries again\n", programs: "5 prose/doc-param",
				reviewers: "5 prose/false-doc"},
		},
		{
			"race",
			plant{file: "store.go", old: "\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n", new: "",
				more: []plant{{file: "store.go", old: "\tmu    sync.Mutex\n", new: ""},
					{file: "store.go", old: "\t\"database/sql\"\n\t\"sync\"\n", new: "\t\"database/sql\"\n"}},
				reviewers: "6 adversarial/race"},
			plant{file: "shop/store.py",
				old: "        with self.lock:\n            self.asked += 1\n            return self.asked\n",
				new: "        self.asked += 1\n        return self.asked\n", reviewers: "6 adversarial/race"},
		},
		{
			"changed public name",
			plant{file: "shop.go", old: "// Total adds prices up.\nfunc Total(", new: "// Sum adds prices up.\nfunc Sum(",
				more: []plant{{file: "shop_test.go", old: "got := Total(", new: "got := Sum("}}, programs: "",
				reviewers: "3 architectural/contract"},
			plant{file: "shop/total.py", old: "def total(", new: "def add(",
				more: []plant{{file: "tests/test_total.py", old: "import total", new: "import add"},
					{file: "tests/test_total.py", old: "(total([", new: "(add(["}}, programs: "",
				reviewers: "3 architectural/contract"},
		},
		{
			"test that cannot fail",
			plant{file: "pages_test.go",
				old: "\t\tif got := Pages(n, 10); got != want {\n\t\t\tt.Errorf(\"%d things take %d pages, want %d\", n, got, " +
					"want)\n\t\t}\n", new: "\t\t_, _ = n, want\n", programs: "1 tamper/new-test-empty"},
			plant{file: "tests/test_pages.py", old: "            self.assertEqual(pages(count, 10), want)\n",
				new: "            self.assertTrue(True)\n", programs: "1 tamper/new-always-true",
				reviewers: "6 adversarial/weak-test"},
		},
	}
}

// scripted returns the answers of the reviewers to the defects: a phrase of the prompt that only a diff with the
// defect has, the pass, and the finding. For any other diff they have no findings.
func scripted() []llmtest.Answer {
	var out []llmtest.Answer
	add := func(phrase, pass, rule, path, citation string) {
		out = append(out, llmtest.Answer{
			Match: "(?s)" + phrase + ".*# Your task: [^\n]*" + regexp.QuoteMeta(pass),
			JSON:  json.RawMessage(found(rule, path, 1, "error", citation)),
		})
	}
	add(`\+[^\n]*base\+"/v1/price"`, architectural, "contract", "client.go",
		`res, err := fetch(ctx, base+"/v1/price")`)
	add(`\+[^\n]*base \+ "/v1/price"`, architectural, "contract", "shop/client.py",
		`with fetch(base + "/v1/price") as response:`)
	add(`\+\tdefer res.Body.Close\(\)\n\+\tvar`, adversarial, "failure-mode", "client.go", "defer res.Body.Close()")
	add(`as response:\n\+ +return`, adversarial, "failure-mode", "shop/client.py", "return json.load(response)")
	add(`\(count \+ size\) //`, adversarial, "boundary", "shop/pages.py", "return (count + size) // size")
	add(`roundedUp`, architectural, "dead-code", "pages.go", "func roundedUp(n int) int {")
	add(`_rounded_up`, architectural, "dead-code", "shop/pages.py", "def _rounded_up(count):")
	add(`PageCount panics`, prosaic, "false-doc", "pages.go", "// PageCount panics where size is 0 or below.")
	add(`:param retries`, prosaic, "false-doc", "shop/client.py", ":param retries: how often it tries again")
	add(`Ask\(\) int \{\n\+\ts.asked`, adversarial, "race", "store.go", "s.asked++")
	add(`question."""\n\+ {8}self.asked`, adversarial, "race", "shop/store.py", "self.asked += 1")
	add(`-func Total`, architectural, "contract", "shop.go", "func Total(prices []int) int {")
	add(`assertTrue\(True\)`, adversarial, "weak-test", "tests/test_pages.py", "self.assertTrue(True)")
	add(`-def total`, architectural, "contract", "shop/total.py", "def total(prices):")
	return append(out, untested("pages.go", "pages_test.go", "func Pages(n, size int) int {"),
		untested("shop/pages.py", "tests/test_pages.py", "def pages(count, size):"),
		llmtest.Answer{JSON: json.RawMessage(fine)})
}

// untested returns the answer of a reviewer that misses a test. Go's regular expressions cannot match "without", so
// the expression lists the files of the diff, which are in order, up to the place where the test would be.
func untested(code, test, citation string) llmtest.Answer {
	next := map[string]string{"pages_test.go": "store.go", "tests/test_pages.py": "tests/test_store.py"}[test]
	before := map[string]string{"pages_test.go": "return \\(n \\+ size - 1\\) / size\n\\+\\}\n",
		"tests/test_pages.py": "\\{\"tea\": 3\\}\\)\n"}[test]
	return llmtest.Answer{
		Match: "(?s)" + before + "--- /dev/null\n\\+\\+\\+ b/" + regexp.QuoteMeta(next) + ".*" +
			regexp.QuoteMeta(adversarial),
		JSON: json.RawMessage(found("missing-test", code, 1, "error", citation)),
	}
}

// project reads one of the two projects, before and after the change.
func project(t *testing.T, name string) (before, after map[string]string) {
	t.Helper()
	a, err := txtar.ParseFile("testdata/planted-" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	before, after = map[string]string{}, map[string]string{}
	for _, f := range a.Files {
		if path, ok := strings.CutPrefix(f.Name, "before/"); ok {
			before[path] = string(f.Data)
		} else if path, ok := strings.CutPrefix(f.Name, "after/"); ok {
			after[path] = string(f.Data)
		}
	}
	return before, after
}

// with returns the changed files with the defect.
func (p plant) with(t *testing.T, before, after map[string]string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, text := range after {
		out[name] = text
	}
	for _, one := range append([]plant{p}, p.more...) {
		text, ok := out[one.file]
		if !ok {
			text = before[one.file]
		}
		if one.new == "-" {
			delete(out, one.file)
			continue
		}
		if strings.Count(text, one.old) != 1 {
			t.Fatalf("%s has %q %d times", one.file, one.old, strings.Count(text, one.old))
		}
		out[one.file] = strings.Replace(text, one.old, one.new, 1)
	}
	return out
}

// reviewOf reviews a change like "runplan review": with all gates of the suite, the built-in lessons, and a reviewer.
func reviewOf(t *testing.T, before, after map[string]string, reviewer Reviewer) Review {
	t.Helper()
	s := gatetest.Change(t, before, after)
	s.Timeout = time.Minute
	read := func() (*lessons.Scanner, error) {
		lib, err := lessons.Load(lessons.BuiltIn())
		if err != nil {
			return nil, err
		}
		return lessons.NewScanner(lib.Lessons, lessons.Options{})
	}
	settings := gates.Settings{Detect: true,
		More: append(security.All(false), rules.Lessons(read), prose.New(), prose.Names())}
	return mustRun(t, input(t, s, suite.All(s.Dir, settings), reviewer))
}

// what lists the findings above a remark as "number rule", of programs or of reviewers, each once.
func what(v Review, fact bool) string {
	var out []string
	for _, p := range v.Passes {
		for _, f := range p.Findings {
			if text := fmt.Sprintf("%d %s", p.Number, f.Rule); f.Fact == fact && !f.Unproven && f.Severity != gates.Note &&
				!slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return strings.Join(out, ", ")
}

// Each of twelve defects in two small projects is found by its pass. Reviewers are scripted; programs are real. The
// change without a defect has no findings. A reviewer is not asked after a program has failed.
func TestPlantedDefects(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and tests two projects thirteen times")
	}
	srv := llmtest.Start(t, llmtest.Script{Models: []llmtest.Model{{Name: "judge"}}, Answers: scripted()})
	reviewer := Reviewer{Name: "judge", Vendor: "x", LLM: llm.New(llm.Options{Timeout: time.Minute}),
		Model: llm.Model{Name: "judge", Provider: llm.Ollama, BaseURL: srv.URL, MaxTokens: 2048, Window: 32768}}
	type row struct{ programs, reviewers, verdict string }
	table := map[string]row{}
	var mu sync.Mutex
	t.Run("all", func(t *testing.T) {
		for _, language := range []string{"go", "python"} {
			if _, err := exec.LookPath("python3"); language == "python" && err != nil {
				t.Run(language, func(t *testing.T) {
					tooltest.Missing(t, err, "install python3: the gates of a Python project are real")
				})
				continue
			}
			before, after := project(t, language)
			t.Run(language+", without a defect", func(t *testing.T) {
				t.Parallel()
				v := reviewOf(t, before, after, reviewer)
				if v.Verdict != OK || what(v, true) != "" || what(v, false) != "" || v.ConfidencePct < 85 {
					t.Errorf("%s %d: programs %q, reviewers %q", v.Verdict, v.ConfidencePct, what(v, true), what(v, false))
				}
				for _, p := range v.Passes {
					if len(p.Findings) > 0 {
						t.Errorf("pass %d: %+v", p.Number, p.Findings)
					}
				}
			})
			for _, d := range defects() {
				p := d.goes
				if language == "python" {
					p = d.python
				}
				t.Run(language+", "+d.name, func(t *testing.T) {
					t.Parallel()
					v := reviewOf(t, before, p.with(t, before, after), reviewer)
					got := row{what(v, true), what(v, false), string(v.Verdict)}
					mu.Lock()
					table[d.name+language] = got
					mu.Unlock()
					if got.programs != p.programs || got.reviewers != p.reviewers {
						t.Errorf("programs found %q, want %q; reviewers found %q, want %q", got.programs, p.programs, got.reviewers,
							p.reviewers)
					}
					if v.Verdict != Block && v.Verdict != RequestChanges {
						t.Errorf("the verdict is %s: %s", v.Verdict, statuses(v))
					}
				})
			}
		}
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %-8s %-40s %-28s %s\n", "defect", "project", "programs", "reviewers (scripted)", "verdict")
	for _, d := range defects() {
		for _, language := range []string{"go", "python"} {
			r := table[d.name+language]
			fmt.Fprintf(&b, "%-24s %-8s %-40s %-28s %s\n", d.name, language, cmp.Or(r.programs, "-"), cmp.Or(r.reviewers, "-"),
				r.verdict)
		}
	}
	t.Logf("\n%s", b.String())
}
