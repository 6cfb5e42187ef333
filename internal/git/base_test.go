package git

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The tree of the checkout has the current content of each file, even if the file changed in the same second as the
// index and to a text of the same length.
func TestWorkingTreeSeesSameSecondChanges(t *testing.T) {
	dir := made(t, map[string]string{"a": "1"})
	r := opened(t, dir)
	file := filepath.Join(dir, "a")
	for _, text := range []string{"2", "3", "4"} {
		now := time.Now().Truncate(time.Second)
		for _, write := range []string{"x", text} {
			if err := os.WriteFile(file, []byte(write), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file, now, now); err != nil {
				t.Fatal(err)
			}
			if write == "x" {
				run(t, dir, "add", "a")
				if err := os.Chtimes(filepath.Join(dir, ".git", "index"), now, now); err != nil {
					t.Fatal(err)
				}
			}
		}
		tree, err := r.WorkingTree(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, dir, "cat-file", "blob", tree+":a"); got != text {
			t.Errorf("the tree has %q, the file %q", got, text)
		}
		if got := run(t, dir, "cat-file", "blob", ":a"); got != "x" {
			t.Errorf("the index was touched: it has %q", got)
		}
	}
}

func TestUpstream(t *testing.T) {
	dir := made(t, map[string]string{"a": "1"})
	r := opened(t, dir)
	first := run(t, dir, "rev-parse", "HEAD")
	branch := run(t, dir, "symbolic-ref", "--short", "HEAD")
	if name, commit, err := r.Upstream(t.Context(), branch); err != nil || name+commit != "" {
		t.Errorf("a lone branch follows %q at %q (%v)", name, commit, err)
	}
	run(t, dir, "checkout", "-q", "-b", "work")
	if branch == "main" || branch == "master" {
		if name, commit, err := r.Upstream(t.Context(), "work"); err != nil || name != branch || commit != first {
			t.Errorf("with the branch %s, the upstream is %q at %q (%v)", branch, name, commit, err)
		}
	}
	run(t, dir, "checkout", "-q", "-b", "topic", "--track", "work")
	path, calls := counting(t)
	counted := opened(t, dir, path)
	calls()
	if name, commit, err := counted.Upstream(t.Context(), "topic"); err != nil || name != "work" || commit != first {
		t.Errorf("a branch that follows work has the upstream %q at %q (%v)", name, commit, err)
	}
	run(t, dir, "branch", "--unset-upstream")
	run(t, dir, "checkout", "-q", "-B", "main")
	calls()
	if name, _, err := counted.Upstream(t.Context(), "main"); err != nil || name != "" || len(calls()) > 0 {
		t.Errorf("a lone main branch follows %q (%v), or git was called although files tell that", name, err)
	}
	run(t, dir, "update-ref", "refs/remotes/origin/main", first)
	if name, commit, err := r.Upstream(t.Context(), "work"); err != nil || name != "origin/main" || commit != first {
		t.Errorf("with a remote it is %q at %q (%v)", name, commit, err)
	}
	if common, err := r.MergeBase(t.Context(), "HEAD", "origin/main"); err != nil || common != first {
		t.Errorf("merge base %q (%v)", common, err)
	}
	orphan := run(t, dir, "commit-tree", "-m", "x", run(t, dir, "rev-parse", "HEAD^{tree}"))
	if common, err := r.MergeBase(t.Context(), orphan, first); err != nil || common != "" {
		t.Errorf("merge base of strangers %q (%v)", common, err)
	}
}
