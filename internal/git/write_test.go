package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Files and commits that are written without git have the same hashes, bytes and permissions as if git had written
// them.
func TestWriteWithoutGit(t *testing.T) {
	dir := made(t, map[string]string{"a": "1"})
	path, calls := counting(t)
	r := opened(t, dir, path)
	head := run(t, dir, "rev-parse", "HEAD")
	calls()
	// Folders are sorted as if a slash followed: "logs-x" comes before the folder "logs".
	texts := map[string]string{"logs/b1/agent.log": "said\r\n", "logs/b1/empty": "", "logs-x": "x", "logs.txt": "\x00\xff",
		"a b/c": "d"}
	write := func(r *Repo) (tree, commit string) {
		t.Helper()
		files := map[string]string{}
		for name, text := range texts {
			blob, err := r.WriteBlob(t.Context(), []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = blob
		}
		tree, err := r.WriteTree(t.Context(), files)
		if err != nil {
			t.Fatal(err)
		}
		old, err := r.CommitTree(t.Context(), tree, "", "old")
		if err != nil {
			t.Fatal(err)
		}
		commit, err = r.CommitAt(t.Context(), time.Unix(1_700_000_000, 0), tree, []string{head, old}, "two parents\n")
		if err != nil {
			t.Fatal(err)
		}
		return tree, commit
	}
	tree, commit := write(r)
	for _, c := range calls() {
		if !strings.HasPrefix(c, "config --list") {
			t.Error("asked git: " + c)
		}
	}
	other := opened(t, made(t, map[string]string{"a": "1"}))
	run(t, other.Root, "fetch", "--quiet", dir, head)
	other.objects.plainOnce.Do(func() {}) // not plain: git has to do it
	if t2, c2 := write(other); t2 != tree || c2 != commit {
		t.Errorf("git says %s and %s; we said %s and %s", t2, c2, tree, commit)
	}
	for name, text := range texts {
		if got := run(t, dir, "cat-file", "-s", commit+":"+name); got != fmt.Sprint(len(text)) {
			t.Errorf("%s has %s bytes", name, got)
		}
	}
	mine, err := os.Stat(filepath.Join(dir, ".git", "objects", tree[:2], tree[2:]))
	gits, gerr := os.Stat(filepath.Join(other.Common, "objects", tree[:2], tree[2:]))
	if err != nil || gerr != nil || mine.Mode() != gits.Mode() {
		t.Errorf("rights %v %v, git has %v %v", mine.Mode(), err, gits.Mode(), gerr)
	}
	if out := run(t, dir, "fsck", "--strict", "--no-dangling"); out != "" {
		t.Error(out)
	}
}
