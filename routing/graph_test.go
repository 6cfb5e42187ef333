package routing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/planparse"
)

// arrows returns the edges as lines such as "1 -> 2 files: both change a.go".
func arrows(d Decision) string {
	var out []string
	for _, e := range d.Edges {
		out = append(out, fmt.Sprintf("%s -> %s %s: %s", e.From, e.To, e.Kind, e.Reason))
	}
	return strings.Join(out, "\n")
}

// batches returns a plan with one batch per body; the first line of a body is the title.
func batches(bodies ...string) string {
	var s strings.Builder
	s.WriteString("# A plan\n")
	for i, body := range bodies {
		title, rest, _ := strings.Cut(body, "\n")
		fmt.Fprintf(&s, "\n## Batch %d: %s\n\n%s\n\n### Task 1: do it\n", i+1, title, rest)
	}
	return s.String()
}

func decided(t *testing.T, text string, o Options) Decision {
	t.Helper()
	d, err := Decide(parsed(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A batch that adds a file to a package that exists does not create the package.
func TestExistingPackageIsNoEvidence(t *testing.T) {
	plan := batches("A\n**Files:**\n- Create: `retry/retry.go`", "B\n**Files:**\n- Create: `retry/wait.go`")
	for folder, want := range map[string]string{"retry": "",
		"other": "1 -> 2 text: retry/wait.go is in the same package as retry/retry.go, which B1 creates"} {
		got := arrows(decided(t, strings.Replace(plan, "# A plan\n", "# A plan\n\nparallel_safe: true\n", 1),
			Options{HasGo: func(dir string) bool { return dir == folder }}))
		if got != want {
			t.Errorf("a package %s: %s", folder, got)
		}
	}
}

// Each case shows evidence that makes a batch wait for another, or text that does not.
func TestEvidence(t *testing.T) {
	a := "A\n**Files:**\n- Create: `src/app/store.py`"
	other := "B\n**Files:**\n- Modify: `src/other.py`\n\n"
	names := "1 -> 2 text: names %s, which B1 creates"
	for name, tt := range map[string]struct {
		plan string
		want string
	}{
		"nothing in common": {batches(a, other), ""},
		"depends_on": {batches(a, "B\ndepends_on: [batch-1]\n\n**Files:**\n- Modify: `src/other.py`"),
			"1 -> 2 declared: declared by depends_on"},
		"depends_on with no files": {batches(a, "B\ndepends_on: batch-1\n\nText."),
			"1 -> 2 declared: declared by depends_on"},
		"depends_on further down": {batches(a, other+"More.\n\n**Depends on:** Batch 1 green"),
			"1 -> 2 declared: the text says that it depends on batch 1"},
		"a dependency in parentheses": {batches(a, other+"Do it (depends on Batch 1)."),
			"1 -> 2 declared: the text says that it depends on batch 1"},
		"context_refs to what is made": {batches(a, "B\ncontext_refs: src/app/store.py\n\n**Files:**\n- Modify: `x.py`"),
			"1 -> 2 context: context_refs names src/app/store.py, which B1 creates"},
		"context_refs to a folder": {batches(a, "B\ncontext_refs: src/app/\n\n**Files:**\n- Modify: `x.py`"),
			"1 -> 2 context: context_refs names src/app/, which B1 changes"},
		"context_refs to something else": {batches(a, "B\ncontext_refs: README.md\n\n**Files:**\n- Modify: `x.py`"), ""},
		"context_refs and no files": {batches(a, "B\ncontext_refs: README.md\n\nText."),
			"1 -> 2 order: nothing shows that they are independent: B2 names no files"},
		"context_refs and a check": {batches(a, "B\ncontext_refs: README.md\n\nChange the totals.\n\nRun: `make test`"),
			"1 -> 2 order: nothing shows that they are independent: B2 names no files"},
		"context_refs and only a check": {batches(a, "B\ncontext_refs: README.md\n\nRun: `make test`"), ""},
		"the same file": {batches("A\n**Files:**\n- Modify: `a.go`", "B\n**Files:**\n- Modify: `a.go`"),
			"1 -> 2 files: both change a.go"},
		"three files": {batches("A\n**Files:**\n- Modify: `a.go`, `b.go`, `c.go`",
			"B\n**Files:**\n- Modify: `c.go`, `b.go`, `a.go`"), "1 -> 2 files: both change a.go, b.go and c.go"},
		"four files": {batches("A\n**Files:**\n- Modify: `a.go`, `b.go`, `c.go`, `d.go`",
			"B\n**Files:**\n- Modify: `a.go`, `b.go`, `c.go`, `d.go`"), "1 -> 2 files: both change a.go, b.go and 2 more"},
		"the same file, spelled otherwise": {
			batches("A\n**Files:**\n- Modify: `./src//a.go`", "B\n**Files:**\n- Modify: `src/a.go:10-20`"),
			"1 -> 2 files: both change src/a.go"},
		"another case is another file": {batches("A\n**Files:**\n- Modify: `src/A.go`",
			"B\n**Files:**\n- Modify: `src/a.go`"), ""},
		"a folder and a file in it": {batches("A\n**Files:**\n- Modify: `src/api/`",
			"B\n**Files:**\n- Modify: `src/api/x/a.ts`"), "1 -> 2 files: both change src/api/x/a.ts"},
		"a folder without its slash": {batches("A\n**Files:**\n- Modify: `src/api`",
			"B\n**Files:**\n- Modify: `src/api/a.ts`"), "1 -> 2 files: both change src/api/a.ts"},
		"a folder is not a prefix of a name": {batches("A\n**Files:**\n- Modify: `src/api/`",
			"B\n**Files:**\n- Modify: `src/apis/a.ts`"), ""},
		"a pattern": {batches("A\n**Files:**\n- Modify: `src/**/*.ts`",
			"B\n**Files:**\n- Modify: `src/x/a.ts`"), "1 -> 2 files: both change src/x/a.ts"},
		"a pattern that does not match": {batches("A\n**Files:**\n- Modify: `src/**/*.ts`",
			"B\n**Files:**\n- Modify: `src/x/a.py`"), ""},
		"a literal block": {batches("A\n```python file=a.py\nx\n```", "B\n**Files:**\n- Modify: `a.py`"),
			"1 -> 2 files: both change a.py"},
		"a patch": {batches("A\n```diff\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n```",
			"B\n**Files:**\n- Modify: `a.py`"), "1 -> 2 files: both change a.py"},
		"a chain of changes": {
			batches("A\n**Files:**\n- Modify: `a.go`", "B\n**Files:**\n- Modify: `a.go`", "C\n**Files:**\n- Modify: `a.go`"),
			"1 -> 2 files: both change a.go\n2 -> 3 files: both change a.go"},
		"a path in the text": {batches(a, other+"See src/app/store.py."),
			fmt.Sprintf(names, "src/app/store.py")},
		"a path in code": {batches(a, other+"```sh\npytest src/app/store.py\n```"),
			fmt.Sprintf(names, "src/app/store.py")},
		"the end of a path": {batches(a, other+"Change `app/store.py`."),
			fmt.Sprintf(names, "src/app/store.py")},
		"a path from further up": {batches(a, other+"See /home/me/project/src/app/store.py"),
			fmt.Sprintf(names, "home/me/project/src/app/store.py (src/app/store.py)")},
		"a file, named in two ways": {batches(a, other+"Change `app/store.py` (see src/app/store.py)."),
			fmt.Sprintf(names, "src/app/store.py")},
		"a file's name":                {batches(a, other+"See `store.py`."), fmt.Sprintf(names, "src/app/store.py")},
		"a name that two files have":   {batches(a+"\n- Create: `lib/store.py`", other+"See `store.py`."), ""},
		"a part of a longer name":      {batches(a, other+"See `restore.py`, `store.pyc` and `other/app/store.py`."), ""},
		"a word that is a file's name": {batches(a, other+"Go to the store."), ""},
		"a module, dotted": {batches(a, other+"```python\nfrom src.app.store import x\n```"),
			fmt.Sprintf(names, "src.app.store (src/app/store.py)")},
		"a module, imported": {batches(a, other+"```python\nimport store\n```"),
			fmt.Sprintf(names, "store (src/app/store.py)")},
		"a module, relative": {batches("A\n**Files:**\n- Create: `src/greet.ts`", other+
			"```ts\nimport { x } from \"./greet\"\n```"), fmt.Sprintf(names, "greet (src/greet.ts)")},
		"a package of Go": {batches("A\n**Files:**\n- Create: `internal/retry/retry.go`", other+
			"```go\nimport \"example.org/x/internal/retry\"\n```"),
			fmt.Sprintf(names, "example.org/x/internal/retry (internal/retry)")},
		"a file in the same package of Go": {batches("A\n**Files:**\n- Create: `retry/retry.go`",
			"B\n**Files:**\n- Create: `retry/wait.go`"),
			"1 -> 2 text: retry/wait.go is in the same package as retry/retry.go, which B1 creates"},
		"a file in another package of Go": {batches("A\n**Files:**\n- Create: `retry/retry.go`",
			"B\n**Files:**\n- Create: `wait/wait.go`"), ""},
		"what it is built with": {batches("A\n**Files:**\n- Create: `web/package.json`",
			"B\n**Files:**\n- Create: `web/src/a.ts`"),
			"1 -> 2 text: web/src/a.ts is built with web/package.json, which B1 creates"},
		"what something else is built with": {
			batches("A\n**Files:**\n- Create: `web/package.json`", "B\n**Files:**\n- Create: `cli/a.ts`"), ""},
		"a test of what is made": {batches(a, "B\n**Files:**\n- Test: `tests/test_store.py`"),
			"1 -> 2 text: tests/test_store.py is a test of src/app/store.py, which B1 creates"},
		"what is made after its test": {batches("A\n**Files:**\n- Test: `tests/store.test.ts`",
			"B\n**Files:**\n- Create: `src/store.ts`"),
			"1 -> 2 text: src/store.ts is tested by tests/store.test.ts, which B1 creates"},
		"an identifier": {
			batches(a+"\n\n```python\ndef open_store(path):\n    pass\n```", other+"It calls open_store for each."),
			fmt.Sprintf(names, "open_store")},
		"a part of a longer identifier": {
			batches(a+"\n\n```python\ndef open_store(path):\n    pass\n```", other+"It calls reopen_store and open_stores."),
			""},
		"an identifier that is a word, in code": {batches(a+"\n\n```ts\nexport class Ledger {}\n```", other+
			"It fills the `Ledger`."), fmt.Sprintf(names, "Ledger")},
		"an identifier that is a word, in a fence": {batches(a+"\n\n```ts\nexport class Ledger {}\n```", other+
			"```ts\nlet x: Ledger\n```"), fmt.Sprintf(names, "Ledger")},
		"a function that is a word, called": {batches(a+"\n\n```python\ndef ledger():\n    pass\n```", other+
			"```python\nx = ledger()\n```"), fmt.Sprintf(names, "ledger")},
		"a function that is a word, not called": {batches(a+"\n\n```python\ndef ledger():\n    pass\n```", other+
			"```python\nx = ledger\n```"), ""},
		"a method that is a word": {batches(a+"\n\n```python\ndef ledger():\n    pass\n```", other+
			"```python\nx.ledger()\n```"), ""},
		"an identifier that is a word, in prose": {
			batches(a+"\n\n```ts\nexport class Ledger {}\n```", other+"Ledger is a word."), ""},
		"an identifier that any code has": {batches(a+"\n\n```go\nfunc main() {}\nfunc setup() {}\n```", other+
			"```go\nsetup()\nmain()\n```"), ""},
		"an identifier of its own": {batches(a+"\n\n```go\nfunc readAll() {}\n```", other+
			"```go\nfunc readAll() {}\nreadAll()\n```"), ""},
		"an identifier in a code span": {batches(a+"\n\nMake `type LedgerEntry struct`.", other+"Sum up LedgerEntry."),
			fmt.Sprintf(names, "LedgerEntry")},
		"Consumes and Produces": {
			batches(a+
				"\n\n**Interfaces:**\n- Consumes: nothing\n- Produces:\n  - `class Ledger` with `x: int`\n  - `load_ledger(path) "+
				"-> Ledger`", other+"**Interfaces:**\n- Consumes: `Ledger`, `load_ledger`"),
			"1 -> 2 declared: Consumes: names Ledger and load_ledger, which B1 produces"},
		"Consumes a batch": {batches(a, other+"Consumes: the store (Batch 1)"), "1 -> 2 declared: Consumes: names batch 1"},
		"Consumes nothing": {batches("A\nText.", "B\nConsumes: nothing\n\nText."), ""},
		"the same port": {batches(a+"\n\nOpen localhost:8080.", other+"Open localhost:8080."),
			"1 -> 2 runtime: each of the two uses port 8080"},
		"nothing to go by": {batches("A\nText.", "B\nText."),
			"1 -> 2 order: nothing shows that they are independent: B1 and B2 name no files"},
		"only one has files": {batches("A\nText.", other),
			"1 -> 2 order: nothing shows that they are independent: B1 names no files"},
		"one in the middle says nothing": {
			batches(a, other, "C\nText.", "D\n**Files:**\n- Modify: `d.py`"),
			"1 -> 3 order: nothing shows that they are independent: B3 names no files\n2 -> 3 order: nothing shows that they " +
				"are independent: B3 names no files\n" +
				"3 -> 4 order: nothing shows that they are independent: B3 names no files"},
		"it says that it needs nothing": {batches("A\nText.", "B\ndepends_on: none\n\nText."), ""},
		"it needs something that is no batch": {batches("A\nText.", "B\n**Depends on:** good weather\n\nText."),
			"1 -> 2 order: nothing shows that they are independent: B1 and B2 name no files"},
		"a look at the whole that needs something else": {
			batches(a, "Integration wiring\n**Depends on:** good weather\n\n**Files:**\n- Modify: `main.py`"),
			"1 -> 2 text: the title says \"integration\": it is about the results of earlier batches"},
		"a look at the whole that needs nothing": {
			batches(a, "Integration wiring\n**Depends on:** nothing\n\n**Files:**\n- Modify: `main.py`"), ""},
		"what only runs commands": {batches(a, "B\ncontext_refs: src/app/store.py\n\nRun: `make`",
			"C\n**Files:**\n- Modify: `c.py`"), "1 -> 2 context: context_refs names src/app/store.py, which B1 creates"},
		"a look at the whole": {batches(a, other, "Integration wiring\n**Files:**\n- Modify: `main.py`"),
			"1 -> 3 text: the title says \"integration\": it is about the results of earlier batches\n2 -> 3 text: the title " +
				"says \"integration\": it is about the results of earlier batches"},
		"parallel_safe takes order away": {batches("A\nText.", "B\nparallel_safe: true\n\nText.",
			"C\n**Files:**\n- Modify: `c.py`"), "1 -> 3 order: nothing shows that they are independent: B1 names no files"},
		"parallel_safe leaves files": {batches("A\n**Files:**\n- Modify: `a.go`",
			"B\nparallel_safe: true\n\n**Files:**\n- Modify: `a.go`"), "1 -> 2 files: both change a.go"},
		"parallel_safe leaves the machine": {batches(a+"\n\nOpen localhost:8080.",
			"B\nparallel_safe: true\n\nOpen localhost:8080."), "1 -> 2 runtime: each of the two uses port 8080"},
		"parallel_safe for the whole plan": {"---\nparallel_safe: true\n---\n" + batches("A\nText.", "B\nText.", "C\nText."),
			""},
		"all that speaks for it, in a line": {batches("A\n**Files:**\n- Modify: `a.go`",
			"B\ndepends_on: 1\n\n**Files:**\n- Modify: `a.go`"), "1 -> 2 declared: declared by depends_on; both change a.go"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decided(t, tt.plan, Options{})
			if diff := cmp.Diff(tt.want, arrows(d)); diff != "" {
				t.Errorf("%s\n%s", diff, tt.plan)
			}
		})
	}
}

// Each format has its own notation for the order of batches.
func TestOrderNotations(t *testing.T) {
	comes := func(from, to, a, b string) string {
		return fmt.Sprintf("%s -> %s wave: %s is after %s", from, to, b, a)
	}
	for name, tt := range map[string]struct{ plan, want string }{
		"phases of spec-kit, whatever their tasks are marked": {
			"# T\n\n## Phase 1: Setup\n\n- [ ] T001 [P] Make a\n\n## Phase 2: Core\n\n- [ ] T002 [P] Make b\n- [ ] T003 [P] " +
				"Make c\n",
			comes("1", "2", "phase 1", "phase 2")},
		"a task that depends on one of another phase": {
			"# T\n\n## Phase 1: Setup\n\n- [ ] T001 Make a\n\n## Phase 2: Core\n\n- [ ] T002 Make b (depends on T001)\n",
			"1 -> 2 declared: the text says that it depends on T001; phase 2 is after phase 1"},
		"waves are parallel inside": {
			"# P\n\n## Wave 1\n\n### Task 1: A\n\nText.\n\n### Task 2: B\n\nText.\n\n## Wave 2\n\n### Task 3: C\n\nText.\n",
			comes("1", "3", "wave 1", "wave 2") + "\n" + comes("2", "3", "wave 1", "wave 2")},
		"(parallel) refers to the batches of the wave": {
			"# P\n\n## Wave 1 (parallel)\n\n### Task 1: A\n\nText.\n\n## Wave 2 (parallel)\n\n### Task 2: B\n\nText.\n",
			comes("1", "2", "wave 1", "wave 2")},
		"phases are not parallel inside": {
			"# P\n\n## Phase 1: X\n\n### Task 1: A\n\nText.\n\n### Task 2: B\n\nText.\n",
			"1 -> 2 order: nothing shows that they are independent: B1 and B2 name no files"},
		"chunks only cut the text": {
			"# P\n\n## Chunk 1: X\n\n### Task 1: A\n\n**Files:**\n- Create: `a.go`\n\n## Chunk 2: Y\n\n### Task 2: " +
				"B\n\n**Files:**\n- Create: `b/b.go`\n", ""},
		"a phase that is safe to run in parallel with the previous one": {
			"# P\n\n## Phase 1: X\n\n### Task 1: A\n\n**Files:**\n- Create: `x/a.py`\n\n## Phase 2: Y\n\n### Task 2: " +
				"B\nparallel_safe: true\n\n**Files:**\n- Create: `y/b.py`\n\n" +
				"## Phase 3: Z\n\n### Task 3: C\n\n**Files:**\n- Create: `z/c.py`\n",
			comes("1", "3", "phase 1", "phase 3") + "\n" + comes("2", "3", "phase 2", "phase 3")},
		"a phase that is marked as parallel inside": {
			"# P\n\n## Phase 1: X\n\n### Task 1: A\n\nText.\n\n## Phase 2: Y (parallel)\n\n### Task 2: B\n\nText.\n\n### Task " +
				"3: C\n\nText.\n",
			comes("1", "2", "phase 1", "phase 2") + "\n" + comes("1", "3", "phase 1", "phase 2")},
		"(P) on both": {"# K\n\n- [ ] 1. A\n  - [ ] 1.1 x\n- [ ] 2. (P) B\n  - [ ] 2.1 y\n- [ ] 3. (P) C\n  - [ ] 3.1 z\n- " +
			"[ ] 4. D\n  - [ ] 4.1 z\n",
			"1 -> 2 order: nothing shows that they are independent: B1 and B2 name no files\n1 -> 3 order: nothing shows that " +
				"they are independent: B1 and B3 name no files\n" +
				"2 -> 4 order: nothing shows that they are independent: B2 and B4 name no files\n3 -> 4 order: nothing shows " +
				"that they are independent: B3 and B4 name no files"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decided(t, tt.plan, Options{})
			if diff := cmp.Diff(tt.want, arrows(d)); diff != "" {
				t.Errorf("%s\n%s", diff, tt.plan)
			}
		})
	}
}

// Each edge contains the line of its reason in the plan.
func TestEdgesContainReasonLines(t *testing.T) {
	d := decided(t, batches("A\n**Files:**\n- Create: `a.py`", "B\ndepends_on: 1\n\nText.",
		"C\ncontext_refs: a.py\n\nText.", "D\n**Files:**\n- Modify: `d.py`\n\nIt needs a.py."), Options{})
	got := map[string]int{}
	for _, e := range d.Edges {
		got[e.From+e.To] = e.Line
	}
	want := map[string]int{"12": 12, "13": 20, "14": 31, "23": 0, "34": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, arrows(d))
	}
}

// An edge that follows from the names of files alone has no line.
func TestEdgesOfFilesHaveNoLine(t *testing.T) {
	d := decided(t, batches("A\n**Files:**\n- Create: `web/package.json`", "B\n**Files:**\n- Create: `web/a.ts`",
		"C\n**Files:**\n- Create: `src/ledger.py`", "D\n**Files:**\n- Test: `tests/test_ledger.py`",
		"E\n**Files:**\n- Create: `retry/retry.go`", "F\n**Files:**\n- Create: `retry/wait.go`",
		"G\n**Files:**\n- Modify: `g.py`\n\nOpen localhost:80.",
		"H\n**Files:**\n- Modify: `g.py`\n\nOpen localhost:80."), Options{})
	if len(d.Edges) != 4 {
		t.Error(arrows(d))
	}
	for _, e := range d.Edges {
		if e.Line != 0 {
			t.Errorf("line %d: %s", e.Line, e.Reason)
		}
	}
}

// A pair of independent batches lists the evidence that they can run in parallel (ROUTE-02).
func TestPairs(t *testing.T) {
	a := "A\n**Files:**\n- Create: `a.py`, `b.py`, `c.py`"
	for name, tt := range map[string]struct{ plan, want string }{
		"files": {batches(a, "B\n**Files:**\n- Modify: `x.py`, `y.py`"),
			"1 | 2: share none of their 3 + 2 files; neither names anything that the other creates"},
		"refs": {batches("A\n**Files:**\n- Create: `y.py`", "B\ncontext_refs: x.py\n\nRun: `make`"),
			"1 | 2: B2 states its dependencies, and B1 is not among them"},
		"marked": {batches("A\nText.", "B\nparallel_safe: true\n\nText."), "1 | 2: B2 is marked parallel_safe"},
		"marked before": {batches("A\nparallel_safe: true\n\nText.", "B\n**Files:**\n- Modify: `x.py`"),
			"1 | 2: B1 is marked parallel_safe"},
		"commands": {batches("A\ndepends_on: none\n\nRun: `make`", "B\n**Files:**\n- Modify: `x.py`"),
			"1 | 2: B1 only runs commands; B2 is not among its stated dependencies"},
		"a wave": {"# P\n\n## Wave 1\n\n### Task 1: A\n\nText.\n\n### Task 2: B\n\nText.\n\n## Wave 2\n\n### Task " +
			"3: C\n\nText.\n", "1 | 2: are in the same parallel group; neither names anything that the other creates"},
		"none": {batches("A\nText.", "B\nText."), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range decided(t, tt.plan, Options{}).Pairs {
				got = append(got, fmt.Sprintf("%s | %s: %s", p.A, p.B, p.Reason))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("%s\n%s", diff, tt.plan)
			}
		})
	}
}

// The error about a dependency cycle lists the lines that cause it.
func TestCycleErrorListsLines(t *testing.T) {
	p := plan(t, "1 after 3", "2 after 1", "3 after 2", "4 after 3")
	_, err := Decide(p, Options{})
	want := "the dependencies of the plan form a cycle: line 10: batch 1 waits for 3; line 30: batch 3 waits for 2; " +
		"line 20: batch 2 waits for 1"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestDeclaredNames(t *testing.T) {
	for line, want := range map[string]string{
		"func Open(path string) error {": "Open", "func (s *Store) Close() error {": "Close",
		"\tdef load_all(self):": "load_all", "async def fetch_one(x):": "fetch_one",
		"class Ledger(Base):": "Ledger", "type Entry struct {": "Entry", "export default function Page() {": "Page",
		"export const LIMIT = 3": "LIMIT", "const top = 1": "top",
		"  const local = 1": "", "  let x = 2": "", "pub fn run_all() {": "run_all", "pub(crate) struct Inner;": "Inner",
		"fn helper() {": "helper", "load_plan() {": "load_plan",
		"CREATE TABLE IF NOT EXISTS users (": "users", "create table `orders` (": "orders", "return funcs": "", "x = 3": "",
		"": "", "classic()": "", "public static void main(String[] a)": "",
		"interface Props {": "Props", "enum Color { Red }": "Color", "create_file(x)": "", "export": "",
	} {
		if got := declaredBy(line); got != want {
			t.Errorf("%q declares %q, want %q", line, got, want)
		}
	}
	for span, want := range map[string]string{
		"class Settings": "Settings", "load_settings(path: Path | None = None) -> Settings": "load_settings",
		"DEFAULTS: Settings": "DEFAULTS", "src/a.py": "", "a.py": "", "kind: 'x'": "kind",
	} {
		if got := declaredIn(span); got != want {
			t.Errorf("%q is about %q, want %q", span, got, want)
		}
	}
}

// patched returns the files that a patch creates, and those that it changes or deletes.
func TestPatched(t *testing.T) {
	created, changed := patched(
		"--- /dev/null\n+++ b/new.go\n@@ -0,0 +1 @@\n+x\n--- a/old.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n--- " +
			"a/x.go\t2026\n+++ b/x.go\t2026\n")
	if diff := cmp.Diff([][]string{{"new.go"}, {"old.go", "x.go"}}, [][]string{created, changed}); diff != "" {
		t.Error(diff)
	}
}

// Folders and patterns cover the paths below them, but not paths that only have the same prefix.
func TestCovers(t *testing.T) {
	for in, want := range map[string]bool{
		"src/ src/a.go": true, "src/ src": true, "src srcs/a.go": false, "./ a/b": true, "src/*.go src/a.go": true,
		"src/*.go src/x/a.go": false, "src/**/*.go src/x/y/a.go": true,
		"src/**/*.go src/x/": true, "src/*.go lib/": false, "src/*.go src/**/x.go": true, "src/*.go lib/*.go": false,
		"{a,b}/*.c b/x.c": true, "src/{x src/x/y": true, "src/{x lib/y": false,
	} {
		w, p, _ := strings.Cut(in, " ")
		if got := spanOf(w).covers(p); got != want {
			t.Errorf("%s covers %s: %v", w, p, got)
		}
	}
}

// Routing reads fences as the parser does: a fence inside another belongs to the outer one, and a code span at the
// beginning of a line is not a fence.
func TestFencesMatchParser(t *testing.T) {
	b := &planparse.Batch{StartLine: 10,
		Text: "a\n```go file=x.go\nb\n```sh\nc\n```\nd\n```\n```span``` e\n~~~\nf\n```\ng\n~~~\nh\n"}
	var got []string
	planparse.EachLine(b, func(l planparse.Line) {
		got = append(got, fmt.Sprintf("%d %s %v %s", l.Number, l.Text, l.Fenced, l.Lang))
	})
	want := []string{
		"11 a false ", "13 b true go", "15 c true go", "17 d true go", "19 ```span``` e false ", "21 f true ", "22 ``` true ",
		"23 g true ", "25 h false ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A name connects batches only if it is specific: long enough, no number and no word of any code. A distinctive one has
// a capital or an underscore inside, and cannot be a word of the text.
func TestSpecificNames(t *testing.T) {
	for name, want := range map[string]string{
		"abc": "", "abcd": "usable word", "1abc": "word", "Config": "word", "config_": "word", "_main_": "word",
		"parse_plan": "usable distinctive word",
		"parsePlan":  "usable distinctive word", "Parser": "usable word", "_parser": "usable word",
		"$parser": "usable word", "a-bc": "usable distinctive",
		"APIs": "usable word", "IDs": "", "parser-": "usable", "ABCd": "usable word",
		"aBcd": "usable distinctive word", "aB": "",
	} {
		var got []string
		if usable(name) {
			got = append(got, "usable")
		}
		if distinctive(name) {
			got = append(got, "distinctive")
		}
		if isPlainWord(name) {
			got = append(got, "word")
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q is %q, want %q", name, s, want)
		}
	}
}
