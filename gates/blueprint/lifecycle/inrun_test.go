package lifecycle

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/llm"
)

// reviewing returns a reviewer whose model gives this answer or this error.
func reviewing(t *testing.T, root, said string, failed error) Reviewer {
	t.Helper()
	d := deps(t, root)
	d.Hide = func(s string) string { return strings.ReplaceAll(s, "Add it", "[hidden]") }
	n := 7
	return Reviewer{
		Deps: d, Model: llm.Model{Name: "m", Provider: llm.Ollama},
		Sources: func(_ context.Context, root string) (summary.Options, error) {
			return summary.Options{Root: root, Own: summary.Own(os.DirFS(root))}, nil
		},
		LLM: llm.CompleterFunc(func(context.Context, llm.Request) (llm.Response, error) {
			return llm.Response{Text: said, PromptTokens: &n}, failed
		}),
	}
}

// below lists the files below a folder.
func below(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, p)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// A review in a run writes nothing into the tree. Its decision determines the files that it leaves, the findings and
// the questions (BP-23).
func TestReviewInRun(t *testing.T) {
	for name, c := range map[string]struct {
		said      string
		decision  Recommendation
		left      []string
		findings  int
		questions string
	}{
		"reject": {answer(one("critical")+","+one("observation"), "reject"), Reject,
			[]string{"ast_summaries", "cc_review", "returned", "review_prompt"}, 1, ""},
		"notes": {answer(one("minor"), "approve_with_notes"), ApproveWithNotes,
			[]string{"ast_summaries", "cc_review", "review_prompt"}, 0, "review (contract, minor): GET /orders/{id}|Who pays?"},
		"approve": {answer("", "approve"), Approve, []string{"ast_summaries", "cc_review", "review_prompt"}, 0, "Who pays?"},
	} {
		t.Run(name, func(t *testing.T) {
			root, out := unit(t, blueprint.Live, goodCode), filepath.Join(t.TempDir(), "not", "there", "yet")
			before := below(t, root)
			o, err := reviewing(t, root, c.said, nil).Review(t.Context(), root, "orders", out)
			if err != nil || o.Record.Decision != c.decision || o.Record.Cold.Context != NewSession ||
				o.Said.PromptTokens == nil {
				t.Fatalf("%+v, %v", o, err)
			}
			if after := below(t, root); !slices.Equal(before, after) {
				t.Errorf("the tree has %v, and had %v", after, before)
			}
			var left []string
			for _, f := range below(t, out) {
				kind, _, _ := strings.Cut(strings.TrimPrefix(f, "orders/"), "_2")
				left = append(left, kind)
				if text, _ := os.ReadFile(filepath.Join(out, f)); strings.Contains(string(text), "Add it") {
					t.Errorf("%s has a secret", f)
				}
			}
			if !slices.Equal(left, c.left) {
				t.Errorf("left %v, want %v", left, c.left)
			}
			if c.decision == Reject {
				rep := o.Report()
				if rep.Status != gates.Fail || len(rep.Findings) != c.findings ||
					!strings.Contains(rep.Findings[0].Message, "GET /orders/{id}") || rep.Findings[0].Fix == "" {
					t.Errorf("%+v", rep)
				}
			}
			var heads []string
			for _, q := range o.Questions {
				head, _, _ := strings.Cut(q, ": Not found")
				head, _, _ = strings.Cut(head, ": "+NotFound)
				heads = append(heads, head)
			}
			if strings.Join(heads, "|") != c.questions {
				t.Errorf("questions %q, want %q", strings.Join(heads, "|"), c.questions)
			}
		})
	}
}

// A rejection without a discrepancy still has a finding, and a path outside of the repository is dropped.
func TestRejectionWithoutDiscrepancyHasFinding(t *testing.T) {
	o := Opinion{Unit: "orders",
		Record: Record{ReviewResult: ReviewResult{SummaryNote: "all of it is wrong"},
			DecisionReason: "the reviewer rejects it"}}
	if r := o.Report(); len(r.Findings) != 1 || r.Findings[0].Message != "orders: all of it is wrong" {
		t.Errorf("%+v", r)
	}
	o.Record.Discrepancies = []Discrepancy{{Dimension: "intent", Severity: Major, BlueprintClaim: "a", CodeEvidence: "b",
		Recommendation: "c", AffectedFile: "../../etc/passwd"}}
	if r := o.Report(); r.Findings[0].Path != "" {
		t.Errorf("%+v", r)
	}
}

// An invalid answer is an error, and is stored for inspection without its secrets.
func TestInvalidAnswerInRunIsStored(t *testing.T) {
	root, out := unit(t, blueprint.Live, goodCode), t.TempDir()
	_, err := reviewing(t, root, "Fine! Add it.", nil).Review(t.Context(), root, "orders", out)
	if answer := (*llm.AnswerError)(nil); !errors.As(err, &answer) {
		t.Fatal(err)
	}
	kept, _ := filepath.Glob(filepath.Join(out, "orders", "no_review_*.txt"))
	if len(kept) != 1 {
		t.Fatal(kept)
	}
	if text, _ := os.ReadFile(kept[0]); string(text) != "Fine! [hidden]." {
		t.Errorf("%q", text)
	}
	down := errors.New("down")
	if _, err := reviewing(t, root, "", down).Review(t.Context(), root, "orders", out); !errors.Is(err, down) {
		t.Error(err)
	}
}

// A change concerns the units whose files or blueprint it changes.
func TestConcerned(t *testing.T) {
	root := unit(t, blueprint.Live, goodCode)
	for changed, want := range map[string]string{"orders/orders.go": "orders",
		"knowledge/blueprints/orders.yaml": "orders", "other.go": ""} {
		got, err := Concerned(root, []string{changed})
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v", changed, got, err)
		}
	}
	put(t, root, blueprint.PathOf("broken", blueprint.Live), "unit: [")
	if _, err := Concerned(root, nil); err == nil {
		t.Error("a blueprint that cannot be read is passed over")
	}
}
