package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// locked leaves files in a workspace that its user can neither read nor remove. For root this makes no difference.
func locked(t *testing.T, w *Workspace) {
	t.Helper()
	loosen(w.Dir)
	for _, name := range []string{"cache", "shut"} {
		if err := os.RemoveAll(filepath.Join(w.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, w.Dir, map[string]string{"cache/x/f": "1", "cache/key": "2", "shut/f": "3"})
	for path, mode := range map[string]os.FileMode{"cache/key": 0, "cache/x": 0o555, "cache": 0o555, "shut": 0} {
		if err := os.Chmod(filepath.Join(w.Dir, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { loosen(w.Dir) })
}

// Permissions are restored for the user and for no one else; links are left alone.
func TestLoosen(t *testing.T) {
	_, w, _ := worktree(t, map[string]string{"a": "1"})
	locked(t, w)
	elsewhere := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(elsewhere, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(w.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	if n, shut := loosen(w.Dir); n != 4 || len(shut) > 0 {
		t.Errorf("%d were locked, want 4; still locked: %q", n, shut)
	}
	for path, want := range map[string]os.FileMode{"cache/key": 0o400, "cache/x": 0o755, "cache": 0o755, "shut": 0o700} {
		if info, err := os.Stat(filepath.Join(w.Dir, path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	if info, err := os.Stat(elsewhere); err != nil || info.Mode().Perm() != 0 {
		t.Errorf("the target of the link was changed: %v, %v", info.Mode(), err)
	}
	if n, _ := loosen(w.Dir); n != 0 {
		t.Errorf("%d folders are still locked", n)
	}
}

// A workspace with files of any permissions can be staged, reset and removed.
func TestWorkspaceHandlesAnyPermissions(t *testing.T) {
	r, w, base := worktree(t, map[string]string{"a": "1"})
	ctx := t.Context()
	locked(t, w)
	_, changed, err := w.Stage(ctx, base, nil)
	if d := cmp.Diff([]string{"cache/key", "cache/x/f", "shut/f"}, changed); d != "" || err != nil {
		t.Error(d, err)
	}
	tree := run(t, r.Root, "rev-parse", base+"^{tree}")
	for name, back := range map[string]func() error{
		"reset":    func() error { return w.Reset(ctx, "other", base) },
		"checkout": func() error { return w.Checkout(ctx, "other", base, tree) },
		"leave":    func() error { return w.Leave(ctx, "other", base) },
	} {
		locked(t, w)
		if err := back(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if exists(filepath.Join(w.Dir, "cache")) || exists(filepath.Join(w.Dir, "shut")) {
			t.Errorf("%s: files of the agent are left", name)
		}
	}
	locked(t, w)
	if err := r.RemoveWorkspace(ctx, w.Dir); err != nil || exists(w.Dir) {
		t.Error("remove:", err)
	}
}

// Git skips a folder that it cannot read, and succeeds; Stage includes the files in it anyway. For root this
// makes no difference.
func TestStageIncludesUnreadableFolders(t *testing.T) {
	for name, dir := range map[string]string{"a new folder": "new", "a folder that is tracked": "old"} {
		_, w, base := worktree(t, map[string]string{"old/f": "1"})
		write(t, w.Dir, map[string]string{dir + "/f": "2", dir + "/deep/g": "3"})
		if err := os.Chmod(filepath.Join(w.Dir, dir), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { loosen(w.Dir) })
		_, changed, err := w.Stage(t.Context(), base, nil)
		if d := cmp.Diff([]string{dir + "/deep/g", dir + "/f"}, changed); d != "" || err != nil {
			t.Errorf("%s: %s%v", name, d, err)
		}
	}
}
