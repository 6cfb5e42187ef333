package git

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func cancelled(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

// commits makes n commits on top of HEAD without moving a ref, and returns them.
func commits(t *testing.T, dir string, n int) []string {
	t.Helper()
	var out []string
	parent := run(t, dir, "rev-parse", "HEAD")
	for i := range n {
		parent = run(t, dir, "commit-tree", "-p", parent, "-m", "commit "+string(rune('a'+i)), "HEAD^{tree}")
		out = append(out, parent)
	}
	return out
}

// Refs are read from files, loose, packed or both. The test compares them with the output of git.
func TestRefsMatchGit(t *testing.T) {
	branch := func(name, at string) []string { return []string{"update-ref", "refs/heads/" + name, at} }
	pack := []string{"pack-refs", "--all"}
	tests := map[string][][]string{
		"loose":                 {branch("a", "0"), branch("runplan/x/main", "1")},
		"packed":                {branch("a", "0"), branch("runplan/x/main", "1"), pack},
		"loose over packed":     {branch("a", "0"), branch("b", "0"), pack, branch("a", "1")},
		"deleted after packing": {branch("a", "0"), branch("b", "1"), pack, {"update-ref", "-d", "refs/heads/a"}},
		"packed twice":          {branch("a", "0"), pack, branch("a", "1"), branch("c", "2"), pack},
		"next to tags and remotes": {branch("a", "0"), {"update-ref", "refs/tags/a", "1"},
			{"update-ref", "refs/remotes/origin/a", "2"}, {"tag", "-a", "-m", "x", "annotated"}, pack},
		"non-ASCII names": {branch("ü/ß-文", "0"), branch("x'\"&", "1"), pack, branch("ü/b", "1")},
	}
	for name, steps := range tests {
		for _, reftable := range []bool{false, true} {
			if reftable {
				name += ", read by git"
			}
			t.Run(name, func(t *testing.T) {
				dir := made(t, nil)
				at := commits(t, dir, 3)
				for _, args := range steps {
					args = append([]string(nil), args...)
					for i, a := range args {
						if len(a) == 1 && a[0] >= '0' && a[0] <= '2' {
							args[i] = at[a[0]-'0']
						}
					}
					run(t, dir, args...)
				}
				if reftable { // this folder marks such a repository; git continues with its files
					if err := os.Mkdir(filepath.Join(dir, ".git", "reftable"), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				r := opened(t, dir)
				want := map[string]string{}
				for line := range strings.Lines(run(t, dir, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads")) {
					hash, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
					want[strings.TrimPrefix(ref, "refs/heads/")] = hash
				}
				got, err := r.Refs(t.Context())
				if d := cmp.Diff(want, got); d != "" || err != nil {
					t.Error(d, err)
				}
				got, err = r.Branches(t.Context(), "")
				if d := cmp.Diff(want, got); d != "" || err != nil {
					t.Error(d, err)
				}
				for name, hash := range want {
					if got, err := r.Resolve(t.Context(), "refs/heads/"+name); got != hash || err != nil {
						t.Errorf("%s resolves to %s, %v; want %s", name, got, err, hash)
					}
				}
				for _, name := range []string{"refs/heads/missing", "refs/heads/runplan", "refs/heads/main/below",
					"refs/tags/missing"} {
					if got, err := r.Resolve(t.Context(), name); got != "" || err != nil {
						t.Errorf("%s resolves to %q, %v; it does not exist", name, got, err)
					}
				}
			})
		}
	}
}

func TestResolve(t *testing.T) {
	dir := made(t, nil)
	r := opened(t, dir)
	head := run(t, dir, "rev-parse", "HEAD")
	run(t, dir, "tag", "-a", "-m", "x", "annotated")
	run(t, dir, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
	run(t, dir, "tag", "main", commits(t, dir, 1)[0])
	for _, ref := range []string{"refs/heads/main", "refs/tags/annotated", "HEAD", head, head[:10], "refs/heads/alias"} {
		if got, err := r.Resolve(t.Context(), ref); got != head || err != nil {
			t.Errorf("%s resolves to %s, %v; want %s", ref, got, err, head)
		}
	}
	branches, err := r.Branches(t.Context(), "")
	if d := cmp.Diff(map[string]string{"main": head, "alias": head}, branches); d != "" || err != nil {
		t.Error("a tag of the same name does not change that of a branch:", d, err)
	}
}

func TestBranchesByPrefix(t *testing.T) {
	dir := made(t, nil)
	r := opened(t, dir)
	head := run(t, dir, "rev-parse", "HEAD")
	for _, name := range []string{"runplan/x/main", "runplan/x/b1", "runplan/xy/main", "runplanner", "other/runplan/x"} {
		run(t, dir, "branch", name)
	}
	got, err := r.Branches(t.Context(), "runplan/x/")
	if d := cmp.Diff(map[string]string{"runplan/x/main": head, "runplan/x/b1": head}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if got, err := r.Branches(t.Context(), "nobody/"); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
}

// A reader sees each branch while git packs refs.
func TestRefsDuringPackRefs(t *testing.T) {
	dir := made(t, nil)
	r := opened(t, dir)
	head := run(t, dir, "rev-parse", "HEAD")
	var done atomic.Bool
	go func() {
		defer done.Store(true)
		for range 25 {
			for _, args := range [][]string{{"update-ref", "refs/heads/runplan/x/main", head}, {"pack-refs", "--all"}} {
				if _, err := r.Run(context.Background(), args...); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	run(t, dir, "update-ref", "refs/heads/runplan/x/main", head)
	for !done.Load() {
		refs, err := r.Refs(t.Context())
		if err != nil || refs["main"] != head || refs["runplan/x/main"] != head {
			t.Fatalf("saw %v, %v", refs, err)
		}
		if got, err := r.Resolve(t.Context(), "refs/heads/main"); got != head || err != nil {
			t.Fatalf("main resolves to %q, %v", got, err)
		}
	}
}

// Refs change all together or not at all, and only from the commits that the caller expects.
func TestUpdateRefs(t *testing.T) {
	zero := strings.Repeat("0", 40)
	// Before each test a is at 0 and b at 1.
	tests := map[string]struct {
		updates []RefUpdate // with commits by number
		want    map[string]string
		fails   bool
	}{
		"nothing": {want: map[string]string{"a": "0", "b": "1"}},
		"a new one": {updates: []RefUpdate{{"c", "2", ""}},
			want: map[string]string{"a": "0", "b": "1", "c": "2"}},
		"a move, whatever was": {updates: []RefUpdate{{"a", "2", ""}},
			want: map[string]string{"a": "2", "b": "1"}},
		"a move from where it is": {updates: []RefUpdate{{"a", "2", "0"}},
			want: map[string]string{"a": "2", "b": "1"}},
		"a move from where it is not": {updates: []RefUpdate{{"a", "2", "1"}},
			want: map[string]string{"a": "0", "b": "1"}, fails: true},
		"a deletion":                  {updates: []RefUpdate{{"a", "", ""}}, want: map[string]string{"b": "1"}},
		"a deletion from where it is": {updates: []RefUpdate{{"a", "", "0"}}, want: map[string]string{"b": "1"}},
		"a deletion from where it isn't": {updates: []RefUpdate{{"a", "", "2"}},
			want: map[string]string{"a": "0", "b": "1"}, fails: true},
		"a merge: move and delete": {updates: []RefUpdate{{"a", "1", "0"}, {"b", "", "1"}},
			want: map[string]string{"a": "1"}},
		"a merge that lost the race": {updates: []RefUpdate{{"a", "2", "1"}, {"b", "", "1"}},
			want: map[string]string{"a": "0", "b": "1"}, fails: true},
		"a merge whose other branch is missing": {updates: []RefUpdate{{"a", "1", "0"}, {"c", "", "1"}},
			want: map[string]string{"a": "0", "b": "1"}, fails: true},
		"one that must not be there, and is": {updates: []RefUpdate{{"c", "2", zero}, {"a", "2", zero}},
			want: map[string]string{"a": "0", "b": "1"}, fails: true},
		"one that must not be there, and isn't": {updates: []RefUpdate{{"c", "2", zero}},
			want: map[string]string{"a": "0", "b": "1", "c": "2"}},
		"a missing commit": {updates: []RefUpdate{{"b", "2", ""}, {"a", strings.Repeat("1", 40), ""}},
			want: map[string]string{"a": "0", "b": "1"}, fails: true},
		"a name that cannot be": {updates: []RefUpdate{{"b", "2", ""}, {"a..b", "2", ""}},
			want: map[string]string{"a": "0", "b": "1"}, fails: true},
		"a file where a folder is": {updates: []RefUpdate{{"b", "2", ""}, {"a/x", "2", ""}},
			want: map[string]string{"a": "0", "b": "1"}, fails: true},
	}
	for name, tt := range tests {
		for _, packed := range []bool{false, true} {
			if packed {
				name += ", packed"
			}
			t.Run(name, func(t *testing.T) {
				dir := made(t, nil)
				r := opened(t, dir)
				at := commits(t, dir, 3)
				commit := func(s string) string {
					if len(s) == 1 {
						return at[s[0]-'0']
					}
					return s
				}
				if err := r.UpdateRefs(t.Context(), RefUpdate{"refs/heads/t/a", at[0], ""},
					RefUpdate{"refs/heads/t/b", at[1], ""}); err != nil {
					t.Fatal(err)
				}
				if packed {
					run(t, dir, "pack-refs", "--all")
				}
				var updates []RefUpdate
				for _, u := range tt.updates {
					updates = append(updates, RefUpdate{"refs/heads/t/" + u.Ref, commit(u.New), commit(u.Old)})
				}
				if err := r.UpdateRefs(t.Context(), updates...); (err != nil) != tt.fails {
					t.Errorf("error %v", err)
				}
				want := map[string]string{}
				for name, n := range tt.want {
					want["t/"+name] = commit(n)
				}
				got, err := r.Branches(t.Context(), "t/")
				if d := cmp.Diff(want, got); d != "" || err != nil {
					t.Error(d, err)
				}
				locks, err := filepath.Glob(filepath.Join(dir, ".git", "refs", "heads", "t", "*.lock"))
				if err != nil || locks != nil {
					t.Errorf("locks are left: %v, %v", locks, err)
				}
			})
		}
	}
}

// A commit is read the same wherever git stores it.
func TestReadCommit(t *testing.T) {
	dir := made(t, map[string]string{"a": "1"})
	first := run(t, dir, "rev-parse", "HEAD")
	tree := run(t, dir, "rev-parse", "HEAD^{tree}")
	message := "Über alles\n\nBatch 1 of plan.md\n\ntree of lies\nparent trap\n\nRunplan-Run: r\nRunplan-Batch: 1"
	second := run(t, dir, "commit-tree", "-p", first, "-m", message, tree)
	merge := run(t, dir, "commit-tree", "-p", second, "-p", first, "-m", "merge", tree)
	// A header may continue on lines that begin with a space, and such a line may contain any text.
	tagged := "tree " + tree + "\nparent " + first +
		"\nauthor A <a@example.org> 1 +0000\ncommitter A <a@example.org> 1 +0000\n" +
		"mergetag object " + first +
		"\n type commit\n tag v1\n tagger A <a@example.org> 1 +0000\n \n parent " +
		"1111111111111111111111111111111111111111\n\nsubject\n"
	r := opened(t, dir)
	odd, err := r.Input(t.Context(), tagged, "hash-object", "-t", "commit", "-w", "--stdin")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]CommitInfo{
		first:  {Tree: tree, Message: "start"},
		second: {Tree: tree, Parents: []string{first}, Message: message},
		merge:  {Tree: tree, Parents: []string{second, first}, Message: "merge"},
		odd:    {Tree: tree, Parents: []string{first}, Message: "subject"},
	}
	check := func(where string) {
		for hash, want := range want {
			got, err := r.ReadCommit(t.Context(), hash)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%s %s: %s %v", where, want.Message, d, err)
			}
		}
		for _, hash := range []string{tree, strings.Repeat("1", 40), "", "x"} {
			if got, err := r.ReadCommit(t.Context(), hash); err == nil {
				t.Errorf("%s %q is not a commit, but reads as %v", where, hash, got)
			}
		}
	}
	check("loose")
	for i, hash := range []string{second, merge, odd} {
		run(t, dir, "update-ref", "refs/heads/keep"+string(rune('0'+i)), hash)
	}
	run(t, dir, "gc", "--quiet", "--prune=now")
	if _, err := os.Stat(filepath.Join(dir, ".git", "objects", first[:2], first[2:])); err == nil {
		t.Fatal("git did not pack the commit")
	}
	check("packed")
}

func TestAllRefs(t *testing.T) {
	dir := made(t, map[string]string{"a": "a\n"})
	r := opened(t, dir)
	run(t, dir, "notes", "add", "-m", "note")
	for _, packed := range []bool{false, true} {
		run(t, dir, "tag", "-f", "v1")
		run(t, dir, "tag", "-f", "-a", "-m", "two", "v2")
		if packed {
			run(t, dir, "pack-refs", "--all")
			run(t, dir, "tag", "-f", "v3")
		}
		got, err := r.AllRefs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, name := range []string{"v1", "v2", "v3"} {
			if hash, err := r.Run(t.Context(), "rev-parse", "--verify", "--quiet", "refs/tags/"+name); err == nil {
				want["tags/"+name] = hash
			}
		}
		for _, name := range []string{"heads/main", "notes/commits"} {
			hash, err := r.Run(t.Context(), "rev-parse", "--verify", "refs/"+name)
			if err != nil {
				t.Fatal(err)
			}
			want[name] = hash
		}
		if !maps.Equal(got, want) || len(want) != map[bool]int{false: 4, true: 5}[packed] {
			t.Errorf("packed %v: %v, want %v", packed, got, want)
		}
	}
}

// A repository may be in a folder whose path looks like a pattern: the same is found in it.
func TestFolderLikePattern(t *testing.T) {
	for _, name := range []string{"shop", "shop[1]"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Rename(made(t, map[string]string{"a": "1"}), dir); err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(t.TempDir(), "other")
		run(t, dir, "worktree", "add", "-q", "--no-checkout", "--detach", other)
		run(t, other, "checkout", "-q", "-b", "made")
		r := opened(t, dir)
		if r.HalfMade("made") {
			t.Errorf("%s: a branch that HEAD of another workspace moved to is taken for half made", name)
		}
		w, err := r.OpenWorkspace(other)
		if err != nil {
			t.Fatal(err)
		}
		run(t, other, "update-index", "--split-index")
		if _, whole := w.indexSum(); whole {
			t.Errorf("%s: an index in two files is taken for one", name)
		}
	}
}
