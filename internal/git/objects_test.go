package git

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// counting returns a PATH with a git that records each call. calls returns the calls since its last use.
func counting(t *testing.T) (env string, calls func() []string) {
	t.Helper()
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	script := fmt.Sprintf("#!/bin/sh\necho \"$*\" >> %s\nexec %s \"$@\"\n", log, gitProgram(t))
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + bin + ":" + os.Getenv("PATH"), func() []string {
		data, _ := os.ReadFile(log)
		os.Remove(log)
		return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
	}
}

// A commit that is written without git has the same hash, bytes and permissions as if git had written it.
func TestCommitTreeWithoutGit(t *testing.T) {
	dir := made(t, map[string]string{"a": "1"})
	path, calls := counting(t)
	r := opened(t, dir, path)
	tree, head := run(t, dir, "rev-parse", "HEAD^{tree}"), run(t, dir, "rev-parse", "HEAD")
	calls()
	root, err := r.CommitTree(t.Context(), tree, "", "base")
	if err != nil {
		t.Fatal(err)
	}
	child, err := r.CommitTree(t.Context(), tree, head, "candidate of batch 1\n\nwith more\n\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls() {
		if !strings.HasPrefix(c, "config --list") {
			t.Error("asked git: " + c)
		}
	}
	for hash, want := range map[string][]string{root: nil, child: {"-p", head}} {
		message := "base\n"
		if want != nil {
			message = "candidate of batch 1\n\nwith more\n"
		}
		file := filepath.Join(dir, ".git", "objects", hash[:2], hash[2:])
		mine, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(file)
		other := opened(t, dir)
		other.objects.plainOnce.Do(func() {}) // not plain: git has to do it
		parent := ""
		if want != nil {
			parent = head
		}
		if by, err := other.CommitTree(t.Context(), tree, parent, message); by != hash || err != nil {
			t.Errorf("git says %s, %v; we said %s", by, err, hash)
		}
		if gits, err := os.Stat(file); err != nil || gits.Mode() != mine.Mode() {
			t.Errorf("rights %v, git has %v, %v", mine.Mode(), gits.Mode(), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".git", "objects", "*", "tmp_obj_*")); len(left) > 0 {
		t.Error(left)
	}
	if out := run(t, dir, "fsck", "--strict", "--no-dangling"); out != "" {
		t.Error(out)
	}
}

// An existing commit is touched, so that git gc keeps it; a damaged one is written again.
func TestCommitTreeRefreshesExistingCommit(t *testing.T) {
	dir := made(t, map[string]string{"a": "1"})
	r := opened(t, dir)
	tree := run(t, dir, "rev-parse", "HEAD^{tree}")
	hash, err := r.CommitTree(t.Context(), tree, "", "base")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, ".git", "objects", hash[:2], hash[2:])
	old := time.Now().Add(-30 * 24 * time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	again := func() {
		t.Helper()
		if by, err := opened(t, dir).CommitTree(t.Context(), tree, "", "base"); by != hash || err != nil {
			t.Fatalf("%s, %v, want %s", by, err, hash)
		}
	}
	again()
	run(t, dir, "prune", "--expire=2.weeks.ago")
	if !exists(file) {
		t.Fatal("it was removed as an old one")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o444); err != nil {
		t.Fatal(err)
	}
	again()
	if got := run(t, dir, "cat-file", "-t", hash); got != "commit" {
		t.Error(got)
	}
}

// If the settings require more than a plain file for a new object, git writes the commit.
func TestCommitTreeRespectsGitSettings(t *testing.T) {
	for _, setting := range []string{"core.sharedRepository=group", "core.fsync=all", "core.fsyncMethod=batch"} {
		dir := made(t, map[string]string{"a": "1"})
		key, value, _ := strings.Cut(setting, "=")
		run(t, dir, "config", key, value)
		path, calls := counting(t)
		r := opened(t, dir, path)
		if _, err := r.CommitTree(t.Context(), run(t, dir, "rev-parse", "HEAD^{tree}"), "", "x"); err != nil {
			t.Error(err)
		}
		if !strings.Contains(strings.Join(calls(), "\n"), "commit-tree") {
			t.Errorf("%s: git was not called", setting)
		}
	}
}

// TreeOf returns the same trees as git, for commits and trees, loose, packed and replaced.
func TestTreeOf(t *testing.T) {
	dir := made(t, map[string]string{"a/b": "1", "c": "2"})
	list := commits(t, dir, 3)
	names := append(list, run(t, dir, "rev-parse", "HEAD^{tree}"), run(t, dir, "rev-parse", "HEAD^{tree}:a"), "HEAD",
		list[0][:8])
	check := func(r *Repo, when string) {
		t.Helper()
		for _, name := range names {
			want := run(t, dir, "rev-parse", name+"^{tree}")
			for range 2 {
				if got, err := r.TreeOf(t.Context(), name); got != want || err != nil {
					t.Errorf("%s: tree of %s is %q, %v, want %s", when, name, got, err, want)
				}
			}
		}
	}
	check(opened(t, dir), "loose")
	run(t, dir, "gc", "-q")
	check(opened(t, dir), "packed")
	r := opened(t, dir)
	for _, bad := range []string{run(t, dir, "rev-parse", "HEAD:c"), strings.Repeat("1", 40), "none"} {
		if got, err := r.TreeOf(t.Context(), bad); err == nil {
			t.Errorf("%s has tree %q", bad, got)
		}
	}
	other := made(t, map[string]string{"a": "1"})
	pair := commits(t, other, 1)
	run(t, other, "commit", "--allow-empty", "-q", "-m", "x")
	write(t, other, map[string]string{"new": "file"})
	run(t, other, "add", ".")
	run(t, other, "commit", "-q", "-m", "y")
	run(t, other, "replace", pair[0], run(t, other, "rev-parse", "HEAD"))
	if got, err := opened(t, other).TreeOf(t.Context(), pair[0]); got != run(t, other, "--no-replace-objects", "rev-parse",
		pair[0]+"^{tree}") || err != nil {
		t.Errorf("a commit for which git shows another one has tree %s, %v", got, err)
	}
}

// A comparison of trees without git finds the same changes as git, for files, folders, links and permissions.
func TestDiffTrees(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	r, w, base := worktree(t, map[string]string{"a": "1", "d/e": "2", "d/f/g": "3", "x-y": "4", "x/y": "5", "x.y": "6"})
	names := []string{"a", "d", "d/e", "d/f", "d/f/g", "d/f/h", "x", "x/y", "x-y", "x.y", "new", "new/deep/er"}
	for n := range 40 {
		for range 1 + rnd.IntN(4) {
			path := filepath.Join(w.Dir, names[rnd.IntN(len(names))])
			os.RemoveAll(path)
			for dir := filepath.Dir(path); len(dir) > len(w.Dir); dir = filepath.Dir(dir) {
				if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
					os.Remove(dir)
				}
			}
			os.MkdirAll(filepath.Dir(path), 0o755)
			switch rnd.IntN(5) {
			case 0:
			case 1:
				os.Symlink("a", path)
			case 2:
				os.WriteFile(path, []byte("x"), 0o755)
			default:
				os.WriteFile(path, fmt.Appendf(nil, "%d", rnd.IntN(3)), 0o644)
			}
		}
		tree, changed, err := w.Stage(t.Context(), base, nil)
		if err != nil {
			t.Fatal(err)
		}
		below, err := r.TreeOf(t.Context(), base)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := r.diffTrees(below, tree)
		if !ok {
			t.Fatal("new trees cannot be read")
		}
		sortEntries(got)
		want, err := r.Compare(base, tree).Entries(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(Entry{})); d != "" {
			t.Fatalf("go %d: %s", n, d)
		}
		var paths []string
		for _, e := range want {
			paths = append(paths, e.Path)
		}
		if d := cmp.Diff(paths, changed); d != "" {
			t.Fatal(d)
		}
	}
}

// Trees that cannot be compared without git are left to it: packed trees, and submodules, whose handling is a
// setting.
func TestDiffTreesDefersToGit(t *testing.T) {
	r, w, base := worktree(t, map[string]string{"a": "1", "d/e": "2"})
	write(t, w.Dir, map[string]string{"d/e": "new"})
	run(t, r.Root, "gc", "-q")
	tree, changed, err := w.Stage(t.Context(), base, nil)
	if d := cmp.Diff([]string{"d/e"}, changed); d != "" || err != nil {
		t.Error(d, err)
	}
	if _, ok := r.compare(t.Context(), base, tree); ok {
		t.Error("a packed tree was read")
	}
	link := run(t, w.Dir, "write-tree")
	run(t, w.Dir, "update-index", "--add", "--cacheinfo", "160000,"+base+",sub")
	if _, ok := r.diffTrees(link, run(t, w.Dir, "write-tree")); ok {
		t.Error("a submodule was judged without git")
	}
}
