package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/tools/tooltest"
)

// worked returns a workspace in which a file was committed, so that a reset to that commit only moves HEAD.
func worked(t *testing.T) (dir string, w *Workspace, base string, calls func() []string) {
	t.Helper()
	dir = made(t, map[string]string{"a": "1", "d/b": "2", "d/e/c": "3", "run.sh": "x"})
	path, calls := counting(t)
	r := opened(t, dir, path)
	w, err := r.AddWorkspace(t.Context(), filepath.Join(t.TempDir(), "w"), "runplan/p/b1", "main")
	if err != nil {
		t.Fatal(err)
	}
	write(t, w.Dir, map[string]string{"d/n": "new"})
	time.Sleep(20 * time.Millisecond) // files that are as young as the index are for git to look at
	run(t, w.Dir, "add", "--all")
	run(t, w.Dir, "commit", "--quiet", "--message=work")
	base = run(t, w.Dir, "rev-parse", "HEAD")
	run(t, w.Dir, "checkout", "--quiet", "--detach")
	r.plainFiles(t.Context())
	calls()
	return dir, w, base, calls
}

// A workspace that already holds the files of the commit is put on its branch without git, and git sees the state
// that it would create itself.
func TestResetWithoutGit(t *testing.T) {
	dir, w, base, calls := worked(t)
	if err := w.Reset(t.Context(), "runplan/p/b2", base); err != nil {
		t.Fatal(err)
	}
	if got := calls(); len(got) > 0 {
		t.Errorf("git was asked: %q", got)
	}
	if got := run(t, w.Dir, "symbolic-ref", "HEAD"); got != "refs/heads/runplan/p/b2" {
		t.Errorf("HEAD is %s", got)
	}
	if got := run(t, w.Dir, "rev-parse", "HEAD"); got != base {
		t.Errorf("it is at %s, want %s", got, base)
	}
	if got := run(t, w.Dir, "status", "--porcelain"); got != "" {
		t.Error(got)
	}
	if got := run(t, w.Dir, "reflog", "-1", "--format=%gs", "HEAD"); got != "checkout: moving from "+base+
		" to runplan/p/b2" {
		t.Errorf("the log of HEAD says %q", got)
	}
	if got := run(t, dir, "reflog", "--format=%gs", "runplan/p/b2"); got != "branch: Created from "+base {
		t.Errorf("the log of the branch says %q", got)
	}
	if out := run(t, dir, "fsck", "--no-dangling"); out != "" {
		t.Error(out)
	}
	if err := w.Reset(t.Context(), "runplan/p/b2", base); err != nil || len(calls()) > 0 {
		t.Errorf("a second reset asked git, %v", err)
	}
}

// A workspace whose files match the index moves to another commit without git, and keeps a complete tree cache.
func TestResetToAnotherCommitWithoutGit(t *testing.T) {
	dir, w, base, calls := worked(t)
	w.repo.plainCheckout(t.Context())
	write(t, dir, map[string]string{"d/b": "other", "d/new/x": "1", "z": "2"})
	os.RemoveAll(filepath.Join(dir, "d/e"))
	run(t, dir, "add", "--all")
	run(t, dir, "commit", "--quiet", "--message=other")
	other := run(t, dir, "rev-parse", "HEAD")
	for i, to := range []string{other, base, other} {
		write(t, w.Dir, map[string]string{"z": "an agent's", "by-agent": "x"})
		run(t, w.Dir, "add", "--all")
		run(t, w.Dir, "write-tree") // as Stage does
		calls()
		if err := w.Reset(t.Context(), "runplan/p/b2", to); err != nil {
			t.Fatal(err)
		}
		if got := calls(); len(got) > 0 {
			t.Errorf("reset %d asked git: %q", i, got)
		}
		if got := run(t, w.Dir, "status", "--porcelain"); got != "" {
			t.Errorf("reset %d left %s", i, got)
		}
		if got, want := run(t, w.Dir, "write-tree"), run(t, dir, "rev-parse", to+"^{tree}"); got != want {
			t.Errorf("reset %d: the index holds %s, want %s", i, got, want)
		}
		data, err := os.ReadFile(filepath.Join(w.GitDir, "index"))
		if err != nil {
			t.Fatal(err)
		}
		if ix, err := parseIndex(data, 0); err != nil || ix.root == nil || ix.root.count != len(ix.entries) {
			t.Errorf("reset %d: the index has no complete tree cache: %v", i, err)
		}
		if exists(filepath.Join(w.Dir, "d/e")) != (to == base) {
			t.Errorf("reset %d: folder d/e", i)
		}
	}
	if out := run(t, dir, "fsck", "--no-dangling"); out != "" {
		t.Error(out)
	}
}

// If the tree cache of the index is forged, its tree does not get into the next batch.
func TestResetIgnoresForgedTreeCache(t *testing.T) {
	_, w, base, _ := worked(t)
	file := filepath.Join(w.GitDir, "index")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ix, err := parseIndex(data, 0)
	if err != nil {
		t.Fatal(err)
	}
	write(t, w.Dir, map[string]string{"d/evil": "x"})
	run(t, w.Dir, "add", "--all")
	forged := hashTrees(ix.entries, "", 20)
	forged.below["d"].hash = run(t, w.Dir, "rev-parse", run(t, w.Dir, "write-tree")+":d")
	run(t, w.Dir, "rm", "-q", "--cached", "d/evil")
	os.Remove(filepath.Join(w.Dir, "d/evil"))
	if data, err = writeIndex(ix.entries, forged, 20); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := w.Reset(t.Context(), "runplan/p/b2", base); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	if ix, err := parseIndex(data, 0); err != nil || ix.root.below["d"].hash == forged.below["d"].hash {
		t.Errorf("the index still has the forged tree, %v", err)
	}
	write(t, w.Dir, map[string]string{"a": "honest"})
	if _, changed, err := w.Stage(t.Context(), base, nil); err != nil || !slices.Equal(changed, []string{"a"}) {
		t.Errorf("the next batch changed %q, %v", changed, err)
	}
}

// Resetting, leaving and refilling a workspace remove every change of an agent.
func TestResetAndLeaveRemoveAgentChanges(t *testing.T) {
	tooltest.Slow(t)
	for name, spoil := range map[string]func(t *testing.T, w *Workspace){
		"content":     func(t *testing.T, w *Workspace) { write(t, w.Dir, map[string]string{"a": "9"}) },
		"rights":      func(t *testing.T, w *Workspace) { os.Chmod(filepath.Join(w.Dir, "run.sh"), 0o755) },
		"gone":        func(t *testing.T, w *Workspace) { os.Remove(filepath.Join(w.Dir, "d/e/c")) },
		"new":         func(t *testing.T, w *Workspace) { write(t, w.Dir, map[string]string{"d/x/y": "9"}) },
		"empty":       func(t *testing.T, w *Workspace) { os.MkdirAll(filepath.Join(w.Dir, "d/none"), 0o755) },
		"link":        func(t *testing.T, w *Workspace) { write(t, w.Dir, map[string]string{"a -> d/b": ""}) },
		"linked":      func(t *testing.T, w *Workspace) { linkFolder(t, w.Dir, "d") },
		"index":       func(t *testing.T, w *Workspace) { run(t, w.Dir, "rm", "--quiet", "--cached", "a") },
		"assumed":     func(t *testing.T, w *Workspace) { hide(t, w, "--assume-unchanged") },
		"skipped":     func(t *testing.T, w *Workspace) { hide(t, w, "--skip-worktree") },
		"same length": func(t *testing.T, w *Workspace) { keepTime(t, filepath.Join(w.Dir, "a"), "7") },
	} {
		undo := func(t *testing.T, how func(w *Workspace, base string) error) {
			_, w, base, _ := worked(t)
			run(t, w.Dir, "checkout", "--quiet", "runplan/p/b1")
			spoil(t, w)
			if err := how(w, base); err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]string{"a": "1", "d/b": "2", "d/e/c": "3", "d/n": "new"} {
				if got, err := os.ReadFile(filepath.Join(w.Dir, path)); string(got) != want {
					t.Errorf("%s is %q, %v, want %q", path, got, err, want)
				}
			}
			if exists(filepath.Join(w.Dir, "d/x")) || exists(filepath.Join(w.Dir, "d/none")) {
				t.Error("a new folder stayed")
			}
			if got := run(t, w.Dir, "status", "--porcelain"); got != "" {
				t.Error(got)
			}
		}
		t.Run(name+", reset", func(t *testing.T) {
			undo(t, func(w *Workspace, base string) error { return w.Reset(t.Context(), "runplan/p/b2", base) })
		})
		t.Run(name+", leave", func(t *testing.T) {
			undo(t, func(w *Workspace, base string) error { return w.Leave(t.Context(), "runplan/p/b2", base) })
		})
		t.Run(name+", checkout", func(t *testing.T) { // HEAD is on the branch already
			undo(t, func(w *Workspace, base string) error {
				return w.Checkout(t.Context(), "runplan/p/b1", base, run(t, w.Dir, "rev-parse", base+"^{tree}"))
			})
		})
	}
}

func hide(t *testing.T, w *Workspace, how string) {
	t.Helper()
	run(t, w.Dir, "update-index", how, "a")
	write(t, w.Dir, map[string]string{"a": "9"})
}

// linkFolder moves a folder away and replaces it with a link to the new place.
func linkFolder(t *testing.T, dir, name string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(filepath.Join(dir, name), to); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// keepTime changes the content of a file and keeps its modification time.
func keepTime(t *testing.T, path, text string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// The tree of a changed index is the same as the tree that git writes.
func TestIndexTreeMatchesGit(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, w *Workspace){
		"changed": func(t *testing.T, w *Workspace) { write(t, w.Dir, map[string]string{"d/b": "9", "d/e/new": "8"}) },
		"added": func(t *testing.T, w *Workspace) {
			write(t, w.Dir, map[string]string{"d.x": "9", "d-y/z": "1", "d/é": "8"})
		},
		"removed": func(t *testing.T, w *Workspace) { os.RemoveAll(filepath.Join(w.Dir, "d/e")) },
		"all":     func(t *testing.T, w *Workspace) { run(t, w.Dir, "rm", "-rq", ".") },
		"link":    func(t *testing.T, w *Workspace) { write(t, w.Dir, map[string]string{"l -> a": ""}) },
		"program": func(t *testing.T, w *Workspace) { os.Chmod(filepath.Join(w.Dir, "run.sh"), 0o755) },
		"folder": func(t *testing.T, w *Workspace) {
			os.Remove(filepath.Join(w.Dir, "a"))
			write(t, w.Dir, map[string]string{"a/b": "1"})
		},
		"nothing": func(*testing.T, *Workspace) {},
	} {
		t.Run(name, func(t *testing.T) {
			dir, w, base, calls := worked(t)
			change(t, w)
			run(t, w.Dir, "add", "--all")
			calls()
			got, ok := w.indexTree(t.Context(), base)
			if asked := calls(); !ok || len(asked) > 0 {
				t.Fatalf("git was called: %v %q", ok, asked)
			}
			if want := run(t, w.Dir, "write-tree"); got != want {
				t.Errorf("the tree is %s, want %s", got, want)
			}
			if out := run(t, dir, "fsck", "--no-dangling"); out != "" {
				t.Error(out)
			}
		})
	}
}

// An index with missing objects, or with more than plain files, is left to git.
func TestIndexTreeDefersToGit(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, w *Workspace){
		"missing": func(t *testing.T, w *Workspace) {
			run(t, w.Dir, "update-index", "--add", "--cacheinfo", "100644,"+strings.Repeat("1", 40)+",d/x")
		},
		"submodule": func(t *testing.T, w *Workspace) {
			run(t, w.Dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",d/x")
		},
		"intent": func(t *testing.T, w *Workspace) {
			write(t, w.Dir, map[string]string{"d/x": "1"})
			run(t, w.Dir, "add", "--intent-to-add", "d/x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, w, base, _ := worked(t)
			spoil(t, w)
			if tree, ok := w.indexTree(t.Context(), base); ok {
				t.Errorf("it wrote %s", tree)
			}
		})
	}
}

// A workspace that is refilled has the files and the index that git would have written.
func TestRefillMatchesGit(t *testing.T) {
	dir := made(t, map[string]string{"a": "1", "d/b": "2", "d/e/c": "3", "run.sh": "x"})
	base := run(t, dir, "rev-parse", "HEAD")
	next := func(change func()) string {
		change()
		run(t, dir, "add", "--all")
		return run(t, dir, "write-tree")
	}
	trees := []string{
		run(t, dir, "rev-parse", "HEAD^{tree}"),
		next(func() { write(t, dir, map[string]string{"d/b": "changed", "new/x/y": "1", "d-": "2"}) }),
		next(func() { os.RemoveAll(filepath.Join(dir, "d/e")); os.Chmod(filepath.Join(dir, "run.sh"), 0o755) }),
		next(func() { write(t, dir, map[string]string{".github/w.yml": "1", "d/e/c": "4"}) }),
	}
	trees = append(trees, trees[0])
	path, calls := counting(t)
	r := opened(t, dir, path)
	w, err := r.AddEmpty(t.Context(), filepath.Join(t.TempDir(), "w"), base)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Fill(t.Context(), base, trees[0]); err != nil {
		t.Fatal(err)
	}
	r.plainCheckout(t.Context())
	for i, tree := range trees[1:] {
		calls()
		if _, ok := w.Refill(t.Context(), base, trees[i], tree); !ok || len(calls()) > 0 {
			t.Fatalf("tree %d was left to git", i+1)
		}
		if got := run(t, w.Dir, "write-tree"); got != tree {
			t.Errorf("the index of tree %d holds %s, want %s", i+1, got, tree)
		}
		if got := run(t, w.Dir, "status", "--porcelain"); strings.Contains(got, "?") ||
			slices.ContainsFunc(strings.Split(got, "\n"), func(l string) bool {
				return len(l) > 1 && l[1] != ' '
			}) {
			t.Errorf("tree %d: files are not as in the index:\n%s", i+1, got)
		}
		if exists(filepath.Join(w.Dir, "d/e")) == (i == 1) {
			t.Errorf("tree %d: a folder without files, or none with files", i+1)
		}
		w.index = stamp{tree: tree}
	}
}

// Files that git would convert, and paths that are blocked, are left to git.
func TestRefillDefersToGit(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string, w *Workspace){
		"attributes": func(t *testing.T, dir string, _ *Workspace) {
			write(t, dir, map[string]string{"d/.gitattributes": "* eol=crlf\n"})
		},
		"info": func(t *testing.T, dir string, _ *Workspace) {
			write(t, dir, map[string]string{".git/info/attributes": "* ident\n"})
		},
		"setting":    func(t *testing.T, dir string, _ *Workspace) { run(t, dir, "config", "core.autocrlf", "true") },
		"link":       func(t *testing.T, dir string, _ *Workspace) { write(t, dir, map[string]string{"l -> a": ""}) },
		"in the way": func(t *testing.T, _ string, w *Workspace) { write(t, w.Dir, map[string]string{"d/b": "theirs"}) },
		"outside":    func(t *testing.T, _ string, w *Workspace) { os.Symlink(t.TempDir(), filepath.Join(w.Dir, "d")) },
		"locked":     func(t *testing.T, _ string, w *Workspace) { write(t, w.GitDir, map[string]string{"index.lock": ""}) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := made(t, map[string]string{"a": "1"})
			base, from := run(t, dir, "rev-parse", "HEAD"), run(t, dir, "rev-parse", "HEAD^{tree}")
			r := opened(t, dir)
			w, err := r.AddEmpty(t.Context(), filepath.Join(t.TempDir(), "w"), base)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Fill(t.Context(), base, from); err != nil {
				t.Fatal(err)
			}
			spoil(t, dir, w)
			write(t, dir, map[string]string{"d/b": "2"})
			run(t, dir, "add", "--all")
			to := run(t, dir, "write-tree")
			if _, ok := w.Refill(t.Context(), base, from, to); ok {
				t.Error("the reset was done without git")
			}
		})
	}
}
