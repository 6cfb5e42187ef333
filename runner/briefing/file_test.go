package briefing

import (
	"os"
	"path/filepath"
	"testing"
)

// The context file of an agent contains the block while the agent works. Afterwards it contains its earlier content
// and the agent's changes, and its permissions are unchanged.
func TestPutSection(t *testing.T) {
	const gone = "(gone)"
	tests := map[string]struct {
		before string
		agent  func(path string) error
		after  string
	}{
		"a file":                      {"# Rules", nil, "# Rules"},
		"no file":                     {gone, nil, gone},
		"an empty file":               {"", nil, ""},
		"the agent adds to it":        {"# Rules\n", func(p string) error { return add(p, "more\n") }, "# Rules\nmore\n"},
		"the agent adds to a new one": {gone, func(p string) error { return add(p, "more\n") }, "more\n"},
		"the agent removes it":        {"# Rules\n", os.Remove, gone},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "AGENTS.md")
			if tt.before != gone {
				if err := os.WriteFile(path, []byte(tt.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			undo, err := PutSection(dir, "AGENTS.md", "## Run-Plan: Batch 1\n\nblock\n")
			if err != nil {
				t.Fatal(err)
			}
			if data, err := os.ReadFile(path); err != nil || len(data) < len(tt.before) ||
				string(data) != string(Section(without(tt.before, gone), "## Run-Plan: Batch 1\n\nblock\n")) {
				t.Errorf("the agent sees %q (%v)", data, err)
			}
			if tt.agent != nil {
				if err := tt.agent(path); err != nil {
					t.Fatal(err)
				}
			}
			if err := undo(); err != nil {
				t.Fatal(err)
			}
			got := gone
			if data, err := os.ReadFile(path); err == nil {
				got = string(data)
			}
			if got != tt.after {
				t.Errorf("left is %q, want %q", got, tt.after)
			}
			if fi, err := os.Stat(path); err == nil && tt.before != gone && fi.Mode().Perm() != 0o600 {
				t.Errorf("its rights are %s", fi.Mode())
			}
		})
	}
}

func without(text, gone string) []byte {
	if text == gone {
		return nil
	}
	return []byte(text)
}

func add(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err = f.WriteString(text); err != nil {
		return err
	}
	return f.Close()
}

// A path or a symbolic link cannot lead out of the workspace.
func TestPutSectionStaysInWorkspace(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "mine.md")
	if err := os.WriteFile(outside, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "CLAUDE.md")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	for _, file := range []string{"CLAUDE.md", "../x.md", outside} {
		if _, err := PutSection(dir, file, "block"); err == nil {
			t.Errorf("%s: no error", file)
		}
	}
	if data, _ := os.ReadFile(outside); string(data) != "mine" {
		t.Errorf("the file outside has %q", data)
	}
}
