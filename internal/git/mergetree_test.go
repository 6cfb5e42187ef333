package git

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/tools/tooltest"
)

// side commits change on a new branch from start, and returns the commit.
func side(t *testing.T, dir, name string, change func()) string {
	t.Helper()
	run(t, dir, "checkout", "--quiet", "-b", name, "start")
	change()
	run(t, dir, "add", "--all")
	run(t, dir, "commit", "--quiet", "--allow-empty", "--message="+name)
	return run(t, dir, "rev-parse", "HEAD")
}

// mergeCase is a merge of two sides that began at the same tree, with the expected result.
type mergeCase struct {
	start, ours, theirs map[string]string
	then                func(t *testing.T, dir, side string) // more changes than files can say
	conflicts           []string
	want                map[string]string // path and content of the merged tree, where there is no conflict
}

var mergeCases = map[string]mergeCase{
	"different files": {
		start: map[string]string{"a": "1\n", "b": "1\n"}, ours: map[string]string{"a": "2\n"},
		theirs: map[string]string{"b": "2\n"},
		want:   map[string]string{"a": "2\n", "b": "2\n"},
	},
	"both ends of a file": {
		start: map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n8\n"}, ours: map[string]string{"a": "one\n2\n3\n4\n5\n6\n7\n8\n"},
		theirs: map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\neight\n"},
		want:   map[string]string{"a": "one\n2\n3\n4\n5\n6\n7\neight\n"},
	},
	"the same change": {
		start: map[string]string{"a": "1\n"}, ours: map[string]string{"a": "2\n"},
		theirs: map[string]string{"a": "2\n", "b": "x"},
		want:   map[string]string{"a": "2\n", "b": "x"},
	},
	"the same line": {
		start: map[string]string{"a": "1\n", "z": "1\n"}, ours: map[string]string{"a": "2\n", "z": "2\n"},
		theirs:    map[string]string{"a": "3\n", "z": "3\n"},
		conflicts: []string{"a", "z"},
	},
	"the same new file": {
		ours: map[string]string{"new": "1\n"}, theirs: map[string]string{"new": "2\n"},
		conflicts: []string{"new"},
	},
	"a binary file on one side": {
		start: map[string]string{"bin": "\x00\x01", "b": ""}, ours: map[string]string{"bin": "\x00\x02"},
		theirs: map[string]string{"b": "x"},
		want:   map[string]string{"bin": "\x00\x02", "b": "x"},
	},
	"a binary file on both sides": {
		start:     map[string]string{"bin": "\x00" + strings.Repeat("line\n", 20) + "\x00"},
		ours:      map[string]string{"bin": "\x00first\n" + strings.Repeat("line\n", 20) + "\x00"},
		theirs:    map[string]string{"bin": "\x00" + strings.Repeat("line\n", 20) + "last\n\x00"},
		conflicts: []string{"bin"},
	},
	"an edit follows a rename": {
		start:  map[string]string{"old": "1\n2\n3\n4\n5\n6\n7\n8\n"},
		theirs: map[string]string{"old": "1\n2\n3\n4\n5\n6\n7\neight\n"},
		then: func(t *testing.T, dir, side string) {
			if side == "ours" {
				run(t, dir, "mv", "old", "new")
			}
		},
		want: map[string]string{"new": "1\n2\n3\n4\n5\n6\n7\neight\n"},
	},
	"two renames of one file": {
		start: map[string]string{"old": "1\n2\n3\n4\n"},
		then:  func(t *testing.T, dir, side string) { run(t, dir, "mv", "old", side) },
		// All three names conflict, because the old name is gone on both sides.
		conflicts: []string{"old", "ours", "theirs"},
	},
	"a delete against an edit": {
		start: map[string]string{"a": "1\n"}, theirs: map[string]string{"a": "2\n"},
		then: func(t *testing.T, dir, side string) {
			if side == "ours" {
				run(t, dir, "rm", "--quiet", "a")
			}
		},
		conflicts: []string{"a"},
	},
	"a delete on both sides": {
		start: map[string]string{"a": "1\n", "b": "1\n"}, ours: map[string]string{"b": "2\n"},
		then: func(t *testing.T, dir, _ string) { run(t, dir, "rm", "--quiet", "a") },
		want: map[string]string{"b": "2\n"},
	},
	"a mode against an edit": {
		start: map[string]string{"a": "1\n"}, theirs: map[string]string{"a": "2\n"},
		then: func(t *testing.T, dir, side string) {
			if side == "ours" {
				chmod(t, filepath.Join(dir, "a"))
			}
		},
		want: map[string]string{"a": "2\n"},
	},
	"a file where a folder is": {
		ours: map[string]string{"a": "1\n"}, theirs: map[string]string{"a/b": "1\n"},
		conflicts: []string{"a"},
	},
	"a link against an edit": {
		start: map[string]string{"a": "1\n"}, ours: map[string]string{"a -> b": ""}, theirs: map[string]string{"a": "2\n"},
		conflicts: []string{"a"},
	},
	"a submodule on one side": {
		start: map[string]string{"a": "1\n"}, theirs: map[string]string{"a": "2\n"},
		then: func(t *testing.T, dir, side string) {
			if side == "ours" {
				link(t, dir, "sub", 1)
			}
		},
		want: map[string]string{"a": "2\n", "sub": "submodule"},
	},
	"a submodule on both sides": {
		then: func(t *testing.T, dir, side string) {
			link(t, dir, "sub", len(side))
		},
		conflicts: []string{"sub"},
	},
	"a folder moved to two places": {
		start: map[string]string{"d/1": "one\none\n", "d/2": "two\ntwo\n"}, theirs: map[string]string{"d/new": "x"},
		then: func(t *testing.T, dir, side string) {
			if side == "ours" {
				for i, to := range []string{"e", "f"} {
					write(t, dir, map[string]string{to + "/x": to})
					run(t, dir, "mv", "d/"+string(rune('1'+i)), to)
				}
			}
		},
		conflicts: []string{"d"},
	},
	"a new file in a moved folder": {
		start: map[string]string{"d/1": "one\none\n", "d/2": "two\ntwo\n"}, theirs: map[string]string{"d/new": "x"},
		then: func(t *testing.T, dir, side string) {
			if side == "ours" {
				run(t, dir, "mv", "d", "e")
			}
		},
		conflicts: []string{"e/new"},
	},
	"names that need quotes elsewhere": {
		start: map[string]string{"ü \"x\"\n": "1\n"}, ours: map[string]string{"ü \"x\"\n": "2\n"},
		theirs:    map[string]string{"ü \"x\"\n": "3\n"},
		conflicts: []string{"ü \"x\"\n"},
	},
}

func chmod(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// link adds a submodule to the index, at a commit that does not exist. The folder keeps the submodule in the index
// when all files are added.
func link(t *testing.T, dir, path string, n int) {
	t.Helper()
	run(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat(string(rune('0'+n)), 40)+","+path)
	if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
		t.Fatal(err)
	}
}

// build makes the repository of a case and returns its commits.
func (c mergeCase) build(t *testing.T) (dir, start, ours, theirs string) {
	t.Helper()
	dir = made(t, c.start)
	run(t, dir, "tag", "start")
	start = run(t, dir, "rev-parse", "HEAD")
	var at [2]string
	for i, s := range []string{"ours", "theirs"} {
		at[i] = side(t, dir, s, func() {
			for name, text := range map[string]map[string]string{"ours": c.ours, "theirs": c.theirs}[s] {
				write(t, dir, map[string]string{name: text})
			}
			if c.then != nil {
				c.then(t, dir, s)
			}
		})
	}
	run(t, dir, "checkout", "--quiet", "main")
	return dir, start, at[0], at[1]
}

// contents returns a tree as a map from path to content.
func contents(t *testing.T, r *Repo, tree string) map[string]string {
	t.Helper()
	list, err := r.at(t.Context(), r.Root, nil, "ls-tree", "-r", "-z", tree)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for entry := range strings.SplitSeq(string(list), "\x00") {
		meta, path, ok := strings.Cut(entry, "\t")
		if !ok {
			continue
		}
		if f := strings.Fields(meta); f[1] == "commit" {
			files[path] = "submodule"
		} else if text, err := r.at(t.Context(), r.Root, nil, "cat-file", "blob", f[2]); err != nil {
			t.Fatal(err)
		} else {
			files[path] = string(text)
		}
	}
	return files
}

// A merge of commits and a merge of their trees give the same result, in both directions, and do not change the
// checkout.
func TestCommitAndTreeMergesAgree(t *testing.T) {
	tooltest.Slow(t)
	for name, c := range mergeCases {
		t.Run(name, func(t *testing.T) {
			dir, start, ours, theirs := c.build(t)
			r := opened(t, dir)
			before := run(t, dir, "for-each-ref") + bytesString(t, filepath.Join(dir, ".git", "index"))
			check := func(how, tree string, conflicts []string, err error) {
				t.Helper()
				if d := cmp.Diff(c.conflicts, conflicts); d != "" || err != nil {
					t.Fatalf("%s: %v %s", how, err, d)
				}
				if len(conflicts) > 0 {
					return
				}
				if d := cmp.Diff(c.want, contents(t, r, tree)); d != "" {
					t.Error(how, d)
				}
			}
			tree, conflicts, err := r.MergeTree(t.Context(), ours, theirs)
			check("commits", tree, conflicts, err)
			tree, conflicts, err = r.MergeTree(t.Context(), theirs, ours)
			check("commits, turned round", tree, conflicts, err)

			tree, conflicts, err = r.Rebased(t.Context(), start, ours, run(t, dir, "rev-parse", theirs+"^{tree}"))
			check("trees", tree, conflicts, err)
			again, twice, err := r.Rebased(t.Context(), run(t, dir, "rev-parse", start+"^{tree}"),
				run(t, dir, "rev-parse", ours+"^{tree}"), theirs)
			if again != tree || !slices.Equal(twice, conflicts) || err != nil {
				t.Errorf("trees named otherwise merge to %s %q (%v), not to %s %q", again, twice, err, tree, conflicts)
			}
			if after := run(t, dir, "for-each-ref") + bytesString(t, filepath.Join(dir, ".git", "index")); after != before {
				t.Error("refs or index were changed")
			}
			if status := run(t, dir, "status", "--porcelain"); status != "" && status != "?? sub/" {
				t.Error("the checkout was changed: ", status)
			}
		})
	}
}

func bytesString(t *testing.T, path string) string {
	t.Helper()
	return string(bytesOf(t, path))
}

// A mode that only one side changed survives an edit of the other.
func TestMergeKeepsChangedMode(t *testing.T) {
	dir, start, ours, theirs := mergeCases["a mode against an edit"].build(t)
	tree, _, err := opened(t, dir).Rebased(t.Context(), start, ours, theirs)
	if err != nil || !strings.HasPrefix(run(t, dir, "ls-tree", tree, "a"), "100755 ") {
		t.Errorf("it is %s (%v)", run(t, dir, "ls-tree", tree, "a"), err)
	}
}

// A merge uses the common ancestor of two commits: a change that both have since then is not a conflict.
func TestMergeUsesCommonAncestor(t *testing.T) {
	dir := made(t, map[string]string{"a": "1\n"})
	write(t, dir, map[string]string{"a": "2\n"})
	run(t, dir, "commit", "--quiet", "--all", "--message=shared")
	run(t, dir, "tag", "start")
	ours := side(t, dir, "ours", func() { write(t, dir, map[string]string{"a": "3\n"}) })
	theirs := side(t, dir, "theirs", func() { write(t, dir, map[string]string{"b": "1\n"}) })
	r := opened(t, dir)
	tree, conflicts, err := r.MergeTree(t.Context(), ours, theirs)
	if d := cmp.Diff(map[string]string{"a": "3\n", "b": "1\n"}, contents(t, r, tree)); d != "" || conflicts != nil ||
		err != nil {
		t.Error(conflicts, err, d)
	}
}

// If a side did not change, the result is the tree of the other side. If the sides changed different files, a merge
// without a git process gives the same tree as git.
func TestMergeDisjointMatchesGit(t *testing.T) {
	tooltest.Slow(t)
	names := []string{"a", "b", "d/a", "d/b", "d/e/c", "d/e/f", "d.x", "d-y/z", "x/y", "x/z/w", "x"}
	random := rand.New(rand.NewPCG(1, 2))
	dir := made(t, map[string]string{"a": "1", "d/a": "2", "d/e/c": "3", "x/y": "4", "d-y/z": "5"})
	r := opened(t, dir)
	commit := func(from string) string {
		run(t, dir, "checkout", "--quiet", "--force", "--detach", from)
		for range 1 + random.IntN(3) {
			path := filepath.Join(dir, names[random.IntN(len(names))])
			if random.IntN(3) == 0 {
				os.RemoveAll(path)
			} else if info, err := os.Stat(path); err != nil || !info.IsDir() {
				if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
					os.WriteFile(path, fmt.Appendf(nil, "%d\n", random.IntN(5)), 0o644)
				}
			}
		}
		run(t, dir, "add", "--all")
		run(t, dir, "commit", "--quiet", "--allow-empty", "--message=x")
		return run(t, dir, "rev-parse", "HEAD")
	}
	base, alone := run(t, dir, "rev-parse", "HEAD"), 0
	tree := func(c string) string { return run(t, dir, "rev-parse", c+"^{tree}") }
	for range 60 {
		ours, theirs := commit(base), commit(base)
		got, ok := r.mergeDisjoint(t.Context(), tree(base), tree(ours), tree(theirs))
		if !ok {
			continue
		}
		alone++
		want, conflicts, err := r.MergeTree(t.Context(), ours, theirs)
		if err != nil || len(conflicts) > 0 || got != want {
			t.Errorf("it made %s of %s and %s; git makes %s, %v, %v", got, ours, theirs, want, conflicts, err)
		}
		if random.IntN(4) == 0 {
			base = ours
		}
	}
	if alone < 10 {
		t.Errorf("only %d of 60 merges were made without git", alone)
	}
}

func TestRebasedWithoutChanges(t *testing.T) {
	dir, start, ours, theirs := mergeCases["the same line"].build(t)
	r := opened(t, dir)
	tree := func(c string) string { return run(t, dir, "rev-parse", c+"^{tree}") }
	for name, c := range map[string]struct{ onto, candidate, want string }{
		"the base did not move":         {start, theirs, theirs},
		"the candidate changed nothing": {ours, start, ours},
		"both did the same":             {ours, ours, ours},
	} {
		got, conflicts, err := r.Rebased(t.Context(), start, c.onto, c.candidate)
		if got != tree(c.want) || conflicts != nil || err != nil {
			t.Errorf("%s: %s %q %v, want %s", name, got, conflicts, err, tree(c.want))
		}
	}
}

// Merge settings of the user do not decide whether a run has conflicts.
func TestMergeIgnoresUserSettings(t *testing.T) {
	dir, _, ours, theirs := mergeCases["an edit follows a rename"].build(t)
	for _, kv := range []string{"merge.renames=false", "diff.renames=false", "merge.conflictStyle=zdiff3",
		"commit.gpgSign=true", "gpg.program=/nonexistent"} {
		name, value, _ := strings.Cut(kv, "=")
		run(t, dir, "config", name, value)
	}
	_, conflicts, err := opened(t, dir).MergeTree(t.Context(), ours, theirs)
	if conflicts != nil || err != nil {
		t.Error(conflicts, err)
	}
	dir, _, ours, theirs = mergeCases["a new file in a moved folder"].build(t)
	for _, value := range []string{"true", "false"} {
		run(t, dir, "config", "merge.directoryRenames", value)
		if _, conflicts, err := opened(t, dir).MergeTree(t.Context(), ours, theirs); len(conflicts) != 1 || err != nil {
			t.Errorf("with merge.directoryRenames=%s: %q, %v", value, conflicts, err)
		}
	}
}

// An impossible merge is an error, neither a conflict nor a clean merge.
func TestMergeErrors(t *testing.T) {
	dir, start, ours, _ := mergeCases["different files"].build(t)
	r := opened(t, dir)
	other := run(t, dir, "commit-tree", "-m", "another past", start+"^{tree}")
	for name, c := range map[string][2]string{
		"no such commit": {ours, strings.Repeat("1", 40)}, "a blob": {ours, run(t, dir, "rev-parse", ours+":a")},
		"no common past": {ours, other}, "nothing": {ours, ""},
	} {
		if tree, conflicts, err := r.MergeTree(t.Context(), c[0], c[1]); err == nil || tree != "" || conflicts != nil {
			t.Errorf("%s: %q %q %v", name, tree, conflicts, err)
		}
	}
	for _, c := range [][3]string{{"none", ours, ours}, {start, "none", ours}, {start, ours, "none"}} {
		if tree, _, err := r.Rebased(t.Context(), c[0], c[1], c[2]); err == nil || tree != "" {
			t.Errorf("%v: %q %v", c, tree, err)
		}
	}
}

// A git without this merge command prints its usage, which is distinguished from a failed merge.
func TestMergeDetectsOldGit(t *testing.T) {
	dir := made(t, nil)
	bin := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *merge-tree*) echo 'usage: git merge-tree <base-tree> <branch1> <branch2>' " +
		">&2; exit 129;; esac\nexec " + gitProgram(t) + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r := opened(t, dir, "PATH="+bin+":"+os.Getenv("PATH"))
	if _, _, err := r.MergeTree(t.Context(), "HEAD", "HEAD"); !errors.Is(err, ErrNoMergeTree) {
		t.Error(err)
	}
}

func gitProgram(t *testing.T) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, "git"); exists(path) {
			return path
		}
	}
	t.Fatal("no git in PATH")
	return ""
}

// The same commit has the same hash for each author, at any time and with any git settings.
func TestCommitTreeHashIsStable(t *testing.T) {
	made1, made2 := made(t, map[string]string{"a": "1"}), made(t, map[string]string{"a": "1"})
	run(t, made2, "config", "i18n.commitEncoding", "ISO-8859-1")
	run(t, made2, "config", "commit.gpgSign", "true")
	run(t, made2, "config", "gpg.program", "/nonexistent")
	tree := run(t, made1, "rev-parse", "HEAD^{tree}")
	message := "ünder way\n\nRunplan-Batch: 1"
	var hashes []string
	for _, r := range []*Repo{opened(t, made1),
		opened(t, made2, "GIT_AUTHOR_NAME=Somebody", "GIT_COMMITTER_DATE=2020-01-01T00:00:00Z", "TZ=Asia/Tokyo")} {
		root, err := r.CommitTree(t.Context(), tree, "", "base")
		if err != nil {
			t.Fatal(err)
		}
		child, err := r.CommitTree(t.Context(), tree, root, message)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, root, child)
		got, err := r.ReadCommit(t.Context(), child)
		if d := cmp.Diff(CommitInfo{Tree: tree, Parents: []string{root}, Message: message}, got); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	if hashes[0] != hashes[2] || hashes[1] != hashes[3] {
		t.Errorf("the same commits have different names: %v", hashes)
	}
	r := opened(t, made1)
	for _, c := range [][2]string{{strings.Repeat("1", 40), ""}, {tree, tree}, {tree, "none"}} {
		if hash, err := r.CommitTree(t.Context(), c[0], c[1], "x"); err == nil || hash != "" {
			t.Errorf("%v: %q %v", c, hash, err)
		}
	}
}
