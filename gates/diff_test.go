package gates_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/gatetest"
)

func TestGitDiff(t *testing.T) {
	s := gatetest.Change(t,
		map[string]string{"gone": "a\n", "same": "x\n", "changed": "old\n", "to-link": "file\n", "odd \t\"name": "1\n",
			"large": strings.Repeat("x", 3<<20)},
		map[string]string{"gone": "-", "new/file": "n\n", "changed": "new\n", "to-link": "-> /etc/passwd",
			"odd \t\"name": "2\n", "large": "small\n", "empty": ""})
	changes, err := s.Diff.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []gates.Change{
		{Path: "changed", Status: gates.Modified}, {Path: "empty", Status: gates.Added},
		{Path: "gone", Status: gates.Deleted}, {Path: "large", Status: gates.Modified},
		{Path: "new/file", Status: gates.Added}, {Path: "odd \t\"name", Status: gates.Modified},
		{Path: "to-link", Status: gates.Modified, Link: true},
	}
	if d := cmp.Diff(want, changes); d != "" {
		t.Error(d)
	}
	for path, text := range map[string][2]string{"changed": {"old\n", "new\n"}, "gone": {"a\n", ""},
		"new/file": {"", "n\n"}, "to-link": {"file\n", "/etc/passwd"}, "empty": {"", ""}} {
		before, err1 := s.Diff.Before(t.Context(), path)
		after, err2 := s.Diff.After(t.Context(), path)
		if err := errors.Join(err1, err2); err != nil || string(before) != text[0] || string(after) != text[1] {
			t.Errorf("%s: %q %q %v", path, before, after, err)
		}
	}
	if _, err := s.Diff.Before(t.Context(), "large"); !errors.Is(err, gates.ErrTooLarge) {
		t.Errorf("large: %v", err)
	}
	if _, err := s.Diff.After(t.Context(), "same"); err == nil {
		t.Error("an unchanged file can be read")
	}
}

func TestAddedLines(t *testing.T) {
	f := gates.File{Before: "a\nb\na\n", After: "b\na\r\nc\na\na\n"}
	if d := cmp.Diff([]gates.Line{{Number: 3, Text: "c"}, {Number: 5, Text: "a"}}, f.AddedLines()); d != "" {
		t.Error(d)
	}
}

func TestNames(t *testing.T) {
	s := gates.Subject{Batch: planparse.Batch{
		Files: planparse.Files{Create: []string{"src/"},
			Modify: []string{"./a.go", "`b.go`", "docs/**/*.md", "**", ".", "../x"}, Delete: []string{"old.go"}},
		Blocks: []planparse.Block{{Kind: planparse.BlockFile, Path: "made.txt"},
			{Kind: planparse.BlockShell, Text: "echo x >other.txt\n"}},
		Text: "Leave ci.yml alone.",
	}}
	for path, want := range map[string]bool{
		"src/x.go": true, "srcs/x.go": false, "a.go": true, "b.go": true, "docs/x/y.md": true, "docs/x.txt": false,
		"made.txt": true, "other.txt": false,
		"ci.yml": false, "x": false, "old.go": true,
	} {
		if got := s.Names(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if s.NamesForDeletion("a.go") || !s.NamesForDeletion("old.go") {
		t.Error("a file to modify must not count as a file to delete")
	}
	said := gates.Subject{Batch: planparse.Batch{Named: []planparse.Named{{Verb: "delete", Path: "old_test.go"},
		{Verb: "modify", Path: "a_test.go"}}}}
	if !said.NamesForDeletion("old_test.go") || said.NamesForDeletion("a_test.go") || said.Names("old_test.go") {
		t.Error("a sentence that asks to delete a file must allow this, and no other change")
	}
}
