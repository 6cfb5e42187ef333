package routing

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/tools/tooltest"
)

// Advice on parallel work names the evidence in the plan and the speed-up that a change would bring.
func TestAssess(t *testing.T) {
	file := func(title, name string) string { return title + "\n**Files:**\n- Create: `" + name + "`" }
	for name, tt := range map[string]struct {
		plan string
		want []string
	}{
		"nothing to say": {batches("A\nText."), nil},
		"text shows a dependency": {batches(file("A", "src/store.py"), file("B", "x.py")+"\n\nIt imports src/store.py."),
			[]string{
				`depends-on 2: B2 needs B1 (names src/store.py, which B1 creates); add: "depends_on: batch-1"`}},
		"a declared dependency is not suggested again": {batches(file("A", "src/store.py"),
			"B\ndepends_on: 1\n\n**Files:**\n- Create: `x.py`\n\nIt imports src/store.py."), nil},
		"a finished batch is not needed": {"# P\n\n## Batch 1: A\n\n### Task 1: T\n\n- [x] written\n\n**Files:**\n- " +
			"Create: `a.py`\n\n" +
			"## Batch 2: B\n\n### Task 2: U\n\n- [ ] changed\n\n**Files:**\n- Modify: `a.py`\n", nil},
		"files show a dependency": {batches(file("A", "a.py"), "B\n**Files:**\n- Modify: `a.py`"), []string{
			`depends-on 2: B2 needs B1 (both change a.py); add: "depends_on: batch-1"`,
			"more-parallel 2: B1 and B2 share a.py: if B2 left 1 file alone, 3 workers would be 2.0 times as fast as one, " +
				"instead of 1.0 times (by simulation)"}},
		"a server in a parallel batch": {batches("A\nparallel_safe: true\n\nStart the server on localhost:8080."), []string{
			"shared-runtime 1: batch 1 is marked parallel_safe but uses port 8080, starts a server, uses a fixed port"}},
		"too many batches to try changes on": {batches(slices.Repeat([]string{"A\nText."}, mostAssessed+1)...), nil},
		"apart": {batches(file("A", "a.py"), file("B", "b.py")), []string{
			`parallel-safe : batches 1, 2 touch files that no other batch touches, and none names what another one makes; write "parallel_safe: true" below their headings`}},
		"a test and its code": {batches(file("A", "src/ledger.py"), file("B", "tests/test_ledger.py"), file("C", "c.py")),
			[]string{
				`depends-on 2: B2 needs B1 (tests/test_ledger.py is a test of src/ledger.py, which B1 creates); add: "depends_on: batch-1"`}},
		"no files": {batches(file("A", "a.py"), "B\nText.", file("C", "c.py")), []string{
			`parallel-safe : batches 1, 3 touch files that no other batch touches, and none names what another one makes; write "parallel_safe: true" below their headings`,
			"more-parallel 2: B2 names no files, so it runs after all earlier batches: if it named them, and shared none, 3 " +
				"workers would be 3.0 times as fast as one, " +
				"instead of 1.0 times (by simulation)"}},
	} {
		var got []string
		for _, a := range Assess(parsed(t, tt.plan)) {
			got = append(got, a.Code+" "+a.Batch+": "+a.Message)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s\n%s", name, diff)
		}
	}
}

// Advice on a plan of the corpus never repeats what the plan already states, and never mentions the internal files
// used to compute it.
func TestAssessCorpus(t *testing.T) {
	tooltest.Slow(t)
	doc, err := os.ReadFile("../docs/plan-format.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range corpusPlans(t) {
		for _, a := range Assess(p.Plan) {
			n++
			if !strings.Contains(string(doc), "- `"+a.Code+"` (advice): ") {
				t.Errorf("docs/plan-format.md does not tell of %s", a.Code)
			}
			if strings.Contains(a.Message, "runplan-assess") {
				t.Errorf("%s: %s", p.name, a.Message)
			}
			if b, ok := p.Batch(a.Batch); a.Code == "depends-on" &&
				(!ok || slices.ContainsFunc(b.DependsOn, func(key string) bool {
					return strings.Contains(a.Message, "needs B"+key+" ")
				})) {
				t.Errorf("%s: %s", p.name, a.Message)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d pieces of advice", n)
	}
}
