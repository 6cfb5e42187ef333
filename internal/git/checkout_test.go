package git

import (
	"slices"
	"testing"
)

// Tracked files are found by name without a call of git; an index of another format is left to git.
func TestNamedWithoutGit(t *testing.T) {
	dir := made(t, map[string]string{"go.mod": "", "a/b/go.mod": "", "a/package.json": "", "go.mod.bak": "", "x": ""})
	write(t, dir, map[string]string{"c/go.mod": "untracked"})
	want := []string{"a/b/go.mod", "a/package.json", "go.mod"}
	for format, asks := range map[string]bool{"2": false, "4": true} {
		run(t, dir, "update-index", "--index-version", format)
		path, calls := counting(t)
		r := opened(t, dir, path)
		calls()
		got, err := r.Named(t.Context(), "go.mod", "package.json")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("version %s: %q, %v; want %q", format, got, err, want)
		}
		if c := calls(); len(c) > 0 != asks {
			t.Errorf("version %s: asked git: %q", format, c)
		}
	}
}

// That HEAD lacks a file is certain only if the index has the tree of HEAD.
func TestHeadLacks(t *testing.T) {
	dir := made(t, map[string]string{"a": "1"})
	lacks := func(want bool, when string) {
		t.Helper()
		if got := opened(t, dir).HeadLacks(t.Context(), ".gitattributes"); got != want {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	lacks(true, "without the file")
	write(t, dir, map[string]string{"d/.gitattributes": "* text\n"})
	run(t, dir, "add", "--all")
	lacks(false, "staged")
	run(t, dir, "commit", "--quiet", "--message=attributes")
	lacks(false, "committed")
	run(t, dir, "rm", "--quiet", "--cached", "d/.gitattributes")
	lacks(false, "removed from the index only")
	run(t, dir, "write-tree")
	lacks(false, "removed from the index, whose tree is known")
	run(t, dir, "commit", "--quiet", "--message=gone")
	lacks(true, "removed")
}

func TestMayExist(t *testing.T) {
	dir := made(t, nil)
	r := opened(t, dir)
	const runs = "refs/heads/runplan/"
	if r.MayExist(runs) || !r.MayExist("refs/heads/main") {
		t.Error("there is a branch of a run, or no main branch")
	}
	run(t, dir, "branch", "runplan/p/main")
	if !r.MayExist(runs) {
		t.Error("the branch of a run is not found")
	}
	run(t, dir, "pack-refs", "--all")
	if !r.MayExist(runs) || !r.MayExist(runs+"p/main") || r.MayExist("refs/heads/run/") {
		t.Error("packed refs are not read")
	}
}

// The files that a merge would write over are named, whatever the format of the index, also a file in place of a folder
// and an ignored one.
func TestInTheWay(t *testing.T) {
	dir := made(t, map[string]string{"kept": "1", "same": "1", ".gitignore": "*.log\n"})
	run(t, dir, "switch", "--quiet", "--create", "other")
	write(t, dir, map[string]string{"kept": "2", "new": "2", "d/e": "2", "x.log": "2", "absent": "2", "folder": "2"})
	run(t, dir, "add", "--all", "--force")
	run(t, dir, "commit", "--quiet", "--message=other")
	run(t, dir, "switch", "--quiet", "-")
	write(t, dir, map[string]string{"kept": "3", "same": "3", "new": "3", "d": "3", "x.log": "3", "mine": "3"})
	for _, format := range []string{"2", "4"} {
		run(t, dir, "update-index", "--index-version", format)
		got, err := opened(t, dir).InTheWay(t.Context(), "other")
		if want := []string{"d", "kept", "new", "x.log"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("version %s: %q, %v; want %q", format, got, err, want)
		}
	}
	if got, err := opened(t, dir).Untracked(t.Context(), []string{"../x", "/etc/passwd", "kept", "new"}); err != nil ||
		!slices.Equal(got, []string{"new"}) {
		t.Errorf("%q, %v", got, err)
	}
}
