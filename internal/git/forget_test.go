package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The record of a missing worktree is removed only if the worktree was below the folder; existing worktrees stay.
func TestForgetMissing(t *testing.T) {
	repo := opened(t, made(t, map[string]string{"a": "a\n"}))
	rooms := real(t, t.TempDir())
	for _, dir := range []string{filepath.Join(rooms, "here"), filepath.Join(rooms, "gone"),
		filepath.Join(t.TempDir(), "elsewhere")} {
		if _, err := repo.AddEmpty(t.Context(), dir, "HEAD"); err != nil {
			t.Fatal(err)
		}
		if filepath.Base(dir) != "here" {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := repo.ForgetMissing(rooms); err != nil {
		t.Fatal(err)
	}
	out, err := repo.Run(t.Context(), "worktree", "list", "--porcelain")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "/here") || !strings.Contains(out, "/elsewhere") || strings.Contains(out, "/gone") {
		t.Error(out)
	}
}
