package solver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/knowledge/retrieve"
)

const oneEdit = "a.go\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"

func TestParseAnswer(t *testing.T) {
	edits := func(line int) Answer {
		return Answer{Edits: []edit.Edit{{Path: "a.go", Search: "old\n", Replace: "new\n", Lines: true, Line: line}}}
	}
	needs := Answer{Needs: &retrieve.Refinement{Reason: "why", MissingFiles: []string{"b.go"}}}
	tests := map[string]struct {
		text string
		want Answer
	}{
		"edits":             {oneEdit, edits(2)},
		"edits in a fence":  {"```\n" + oneEdit + "```\n", edits(3)},
		"with words around": {"I change it.\n\n" + oneEdit + "\nThat is all.", edits(4)},
		"thoughts are no edits": {"<think>\nx.go\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n</think>\n" + oneEdit,
			edits(3)},
		"edits before a request": {oneEdit + "```json\n{\"refinement_request\": {\"reason\": \"why\"}}\n```\n", edits(2)},
		"json within an edit": {
			"a.md\n<<<<<<< SEARCH\n=======\n```json\n{}\n```\n>>>>>>> REPLACE\n",
			Answer{Edits: []edit.Edit{{Path: "a.md", Replace: "```json\n{}\n```\n", Lines: true, Line: 2}}},
		},
		"a request": {"```json\n{\"refinement_request\": {\"reason\": \"why\", \"missing_files\": " +
			"[\"b.go\"]}}\n```\n", needs},
		"a request, bare": {"\n{\"refinement_request\": {\"reason\": \"why\", \"missing_files\": [\"b.go\"]}}\n",
			needs},
		"a request, with words": {"I need more.\n```json\n{\"refinement_request\": {\"reason\": \"why\", " +
			"\"missing_files\": [\"b.go\"]}}\n```\nThanks.", needs},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseAnswer(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseAnswerFaults(t *testing.T) {
	tests := map[string]struct {
		text  string
		class Class
		want  string
	}{
		"nothing":        {"", NoEdits, "neither an edit block nor a request"},
		"prose":          {"You should change a.go.", NoEdits, "neither"},
		"a whole file":   {"```go\npackage a\n```", NoEdits, "neither"},
		"only thoughts":  {"<think>\n" + oneEdit, NoEdits, "neither"},
		"no end":         {"a.go\n<<<<<<< SEARCH\na\n=======\nb\n", BadEdit, "has no end"},
		"no divider":     {"a.go\n<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", BadEdit, "has no line ======="},
		"no file":        {"<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", BadEdit, "without a file"},
		"truncated JSON": {"```json\n{\"refinement_request\": {\"reason\": \"", BadJSON, "unexpected EOF"},
		"json with more": {"```json\n{\"refinement_request\": {\"reason\": \"x\"}} {}\n```", BadJSON,
			"more than one value"},
		"another field": {"{\"refinement_request\": {\"reason\": \"x\", \"files\": [\"a\"]}}", BadJSON,
			`unknown field "files"`},
		"another type":    {"{\"refinement_request\": {\"reason\": 1}}", BadJSON, "cannot unmarshal number"},
		"another object":  {"```json\n{\"edits\": []}\n```", BadJSON, `unknown field "edits"`},
		"an empty object": {"{}", BadJSON, `it has no "refinement_request"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParseAnswer(tt.text)
			var f *Fault
			if !errors.As(err, &f) || f.Class != tt.class || !strings.Contains(f.Error(), tt.want) {
				t.Errorf("got %v, want %s with %q", err, tt.class, tt.want)
			}
		})
	}
}

// Each answer of a model is parsed as edits, a request or a fault. The edits stay in the workspace or change nothing.
func FuzzParseAnswer(f *testing.F) {
	f.Add(oneEdit)
	f.Add("../a\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\n")
	f.Add("a/b\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\na\n<<<<<<< DELETE\n>>>>>>> DELETE\n")
	f.Add("```json\n{\"refinement_request\": {\"reason\": \"why\", \"missing_files\": [\"b.go\"]}}\n```\n")
	f.Add("<think></think>")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseAnswer(text)
		if err != nil {
			var fault *Fault
			if !errors.As(err, &fault) || fault.Class == "" || len(got.Edits) > 0 || got.Needs != nil {
				t.Fatalf("%v with %+v", err, got)
			}
			return
		}
		if (len(got.Edits) > 0) == (got.Needs != nil) {
			t.Fatalf("the answer must have either edits or needs: %+v", got)
		}
		if got.Needs != nil {
			return
		}
		around := t.TempDir()
		root := filepath.Join(around, "work")
		if err := os.MkdirAll(root, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "a.go"), []byte("old\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = edit.Files(root, got.Edits)
		if left, _ := os.ReadDir(around); len(left) != 1 {
			t.Fatalf("it wrote outside: %v", left)
		}
		if err == nil {
			return
		}
		b, rerr := os.ReadFile(filepath.Join(root, "a.go"))
		left, _ := os.ReadDir(root)
		if rerr != nil || string(b) != "old\n" || len(left) != 1 {
			t.Fatalf("it failed (%v) and changed something: %q, %v", err, b, left)
		}
	})
}
