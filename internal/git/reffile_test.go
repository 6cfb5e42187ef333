package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Moving a branch by writing its files has the same result as git: the same commit, and a reflog with the earlier ones.
func TestLogBranch(t *testing.T) {
	dir := made(t, map[string]string{"a": "1"})
	list := commits(t, dir, 4)
	path, calls := counting(t)
	r := opened(t, dir, path)
	run(t, dir, "config", "core.logAllRefUpdates", "false")
	const name = "runplan/plan/candidates"
	calls()
	for i, commit := range list {
		if err := r.LogBranch(t.Context(), name, commit); err != nil {
			t.Fatal(err)
		}
		if got := run(t, dir, "rev-parse", "refs/heads/"+name); got != commit {
			t.Errorf("it is at %s, want %s", got, commit)
		}
		if n := len(calls()); n > 0 && i > 0 {
			t.Errorf("git was asked %d times", n)
		}
		if i == 2 { // somebody tidies up
			run(t, dir, "pack-refs", "--all", "--prune")
			if err := r.LogBranch(t.Context(), name, list[0]); err != nil || len(calls()) == 0 {
				t.Errorf("a packed branch was moved without git, %v", err)
			}
		}
	}
	log := run(t, dir, "reflog", "show", "--format=%H %gs", "refs/heads/"+name)
	for _, commit := range list {
		if !strings.Contains(log, commit) {
			t.Errorf("the log does not know %s:\n%s", commit, log)
		}
	}
	if out := run(t, dir, "fsck", "--no-dangling"); out != "" {
		t.Error(out)
	}
}

// A branch is left to git if it is locked or not a plain file, or if the target is not a commit.
func TestMoveFileDefersToGit(t *testing.T) {
	dir := made(t, map[string]string{"a": "1"})
	list := commits(t, dir, 2)
	r := opened(t, dir)
	run(t, dir, "branch", "b", list[0])
	file := filepath.Join(dir, ".git", "refs", "heads", "b")
	write(t, dir, map[string]string{".git/refs/heads/b.lock": ""})
	if r.moveFile(t.Context(), "b", list[1], "x") || !exists(file+".lock") {
		t.Error("the lock of another process was ignored")
	}
	os.Remove(file + ".lock")
	if r.moveFile(t.Context(), "b", "HEAD", "x") || r.moveFile(t.Context(), "none", list[1], "x") {
		t.Error("moved")
	}
	write(t, dir, map[string]string{".git/refs/heads/b": "ref: refs/heads/trunk\n"})
	if r.moveFile(t.Context(), "b", list[1], "x") || exists(file+".lock") {
		t.Error("a symbolic branch was moved")
	}
	if got := string(bytesOf(t, file)); got != "ref: refs/heads/trunk\n" {
		t.Error(got)
	}
}

// If the settings require shared permissions or a sync to disk for a branch, git moves it.
func TestMoveFileRespectsGitSettings(t *testing.T) {
	for _, setting := range []string{"core.sharedRepository=group", "core.fsync=reference"} {
		dir := made(t, map[string]string{"a": "1"})
		list := commits(t, dir, 2)
		run(t, dir, "branch", "b", list[0])
		if !opened(t, dir).moveFile(t.Context(), "b", list[1], "x") {
			t.Fatal("not moved")
		}
		key, value, _ := strings.Cut(setting, "=")
		run(t, dir, "config", key, value)
		if opened(t, dir).moveFile(t.Context(), "b", list[0], "x") {
			t.Errorf("%s: git was not called", setting)
		}
	}
}

// Hidden finds the files of a workspace that git was told not to check. If the index has none, git is not called.
func TestHidden(t *testing.T) {
	r, w, base := worktree(t, map[string]string{"a": "1", "b/c": "2", "d": "3", strings.Repeat("long/", 20) + "name": "4"})
	path, calls := counting(t)
	w.env = append(w.env, path)
	asked := func(want bool) (string, string) {
		t.Helper()
		calls()
		assumed, skipped, err := hidden(t.Context(), w.GitDir, w.Run)
		if got := len(calls()) > 0; err != nil || got != want {
			t.Errorf("git was asked: %v, %v", got, err)
		}
		return strings.Join(assumed, " "), strings.Join(skipped, " ")
	}
	if a, s := asked(false); a+s != "" {
		t.Error(a, s)
	}
	for _, version := range []string{"3", "2"} {
		run(t, w.Dir, "update-index", "--index-version", version)
		if a, s := asked(false); a+s != "" {
			t.Error(a, s)
		}
		run(t, w.Dir, "update-index", "--assume-unchanged", "b/c")
		run(t, w.Dir, "update-index", "--skip-worktree", "d")
		if a, s := asked(true); a != "b/c" || s != "d" {
			t.Errorf("assumed %q, skipped %q", a, s)
		}
		run(t, w.Dir, "update-index", "--no-assume-unchanged", "b/c")
		if a, s := asked(true); a != "" || s != "d" {
			t.Errorf("assumed %q, skipped %q", a, s)
		}
		run(t, w.Dir, "update-index", "--no-skip-worktree", "d")
	}
	run(t, w.Dir, "update-index", "--index-version", "4") // which is not read here
	asked(true)
	run(t, w.Dir, "update-index", "--index-version", "2")
	run(t, w.Dir, "update-index", "--split-index")
	asked(true)
	for _, data := range []string{"", "DIRC", "DIRC\x00\x00\x00\x02\xff\xff\xff\xff" + strings.Repeat("x", 200)} {
		if unmarked([]byte(data)) {
			t.Errorf("%q is taken for an index", data)
		}
	}
	_, _ = r, base
}

// An index is known to hold a tree only while no byte of it changes.
func TestIndexIs(t *testing.T) {
	_, w, base := worktree(t, map[string]string{"a": "1", "b": "2"})
	write(t, w.Dir, map[string]string{"a": "new"})
	tree, _, err := w.Stage(t.Context(), base, nil)
	if err != nil || !w.indexIs(tree) || w.indexIs(base) || w.indexIs("") {
		t.Errorf("%v, %v", w.index, err)
	}
	if index, files, err := w.Differences(t.Context(), tree, nil); index || len(files) > 0 || err != nil {
		t.Errorf("index %v, files %v, %v", index, files, err)
	}
	write(t, w.Dir, map[string]string{"b": "foreign"})
	run(t, w.Dir, "add", "b")
	if w.indexIs(tree) {
		t.Error("the index changed")
	}
	if index, _, err := w.Differences(t.Context(), tree, nil); !index || err != nil {
		t.Errorf("index %v, %v", index, err)
	}
	if index, files, err := w.Differences(t.Context(), "", nil); index || len(files) > 0 || err != nil {
		t.Errorf("index %v, files %v, %v", index, files, err)
	}
	if err := w.Checkout(t.Context(), branch, base, tree); err != nil || !w.indexIs(tree) {
		t.Error(err)
	}
}

// If the workspace is already on its branch, a checkout takes two git processes and removes all earlier changes.
func TestCheckoutInPlace(t *testing.T) {
	r, w, base := worktree(t, map[string]string{"a": "1", "b": "2", ".gitignore": "cache\n"})
	write(t, w.Dir, map[string]string{"a": "new", "c/d": "more"})
	tree, _, err := w.Stage(t.Context(), base, nil)
	if err != nil {
		t.Fatal(err)
	}
	next, err := r.CommitTree(t.Context(), tree, base, "x")
	if err != nil {
		t.Fatal(err)
	}
	write(t, w.Dir, map[string]string{"b": "astray", "left": "behind", "c/e/f": "g", "cache": "kept"})
	os.Remove(filepath.Join(w.Dir, "a"))
	path, calls := counting(t)
	w.env, w.repo.env = append(w.env, path), append(w.repo.env, path)
	if err := w.Checkout(t.Context(), branch, next, tree); err != nil {
		t.Fatal(err)
	}
	if c := calls(); len(c) != 2 {
		t.Error(c)
	}
	if got := run(t, w.Dir, "status", "--porcelain"); got != "" {
		t.Error(got)
	}
	if got := run(t, w.Dir, "rev-parse", "HEAD"); got != next ||
		run(t, w.Dir, "symbolic-ref", "HEAD") != "refs/heads/"+branch {
		t.Error(got)
	}
	if string(bytesOf(t, filepath.Join(w.Dir, "cache"))) != "kept" {
		t.Error("an ignored file was removed")
	}
}
