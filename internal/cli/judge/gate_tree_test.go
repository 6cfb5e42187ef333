package judge

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/git"
)

// asGit runs git in a checkout; the test ends if git fails.
type asGit func(args ...string) string

// checkoutOf makes a repository of three files and one commit.
func checkoutOf(t *testing.T, format string) (*git.Repo, asGit) {
	t.Helper()
	dir := t.TempDir()
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A",
		"GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")
	boot := &git.Repo{Root: dir}
	if _, err := boot.Run(t.Context(), "init", "--quiet", "--initial-branch=work", "--object-format="+format); err != nil {
		t.Fatal(err)
	}
	repo, err := git.Open(t.Context(), dir, env)
	if err != nil {
		t.Fatal(err)
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := repo.Run(t.Context(), args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for name, text := range map[string]string{"a.txt": "a\n", "b/c.txt": "c\n", ".gitignore": "*.log\nout/\n"} {
		writeIn(t, repo, name, text)
	}
	must("add", "--all")
	must("commit", "--quiet", "-m", "first")
	return repo, must
}

func writeIn(t *testing.T, repo *git.Repo, name, text string) {
	t.Helper()
	file := filepath.Join(repo.Root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The short way to find the tree and its base gives the same result as the long way, for any checkout.
func TestQuickTreeMatchesFullTree(t *testing.T) {
	commit := func(t *testing.T, repo *git.Repo, git asGit) {
		writeIn(t, repo, "a.txt", "second\n")
		git("commit", "--quiet", "-a", "-m", "second")
	}
	for name, c := range map[string]struct {
		change func(*testing.T, *git.Repo, asGit)
		base   string
		quick  bool // the commit's tree is the answer
	}{
		"as committed": {func(*testing.T, *git.Repo, asGit) {}, "", true},
		"compared with a branch": {func(_ *testing.T, _ *git.Repo, git asGit) { git("branch", "other") }, "other",
			true},
		"a file was changed": {func(t *testing.T, r *git.Repo, _ asGit) { writeIn(t, r, "a.txt", "b\n") }, "",
			false},
		"a file is new": {func(t *testing.T, r *git.Repo, _ asGit) { writeIn(t, r, "new/d.txt", "d\n") }, "",
			false},
		"a file that git ignores is new": {func(t *testing.T, r *git.Repo, _ asGit) { writeIn(t, r, "x.log", "d\n") }, "",
			true},
		"a file is deleted":           {func(t *testing.T, r *git.Repo, _ asGit) { remove(t, r, "b/c.txt") }, "", false},
		"a program became executable": {func(t *testing.T, r *git.Repo, _ asGit) { chmod(t, r, "a.txt") }, "", false},
		"a file is a link now":        {func(t *testing.T, r *git.Repo, _ asGit) { link(t, r, "a.txt") }, "", false},
		"a change is staged": {func(t *testing.T, r *git.Repo, git asGit) {
			writeIn(t, r, "a.txt", "b\n")
			git("add", "a.txt")
		}, "", false},
		"a change is staged and undone": {func(t *testing.T, r *git.Repo, git asGit) { stageAndUndo(t, r, git) }, "", false},
		"a file is moved": {func(_ *testing.T, _ *git.Repo, git asGit) { git("mv", "a.txt", "z.txt") }, "",
			false},
		"a file is taken out of git": {func(_ *testing.T, _ *git.Repo,
			git asGit) {
			git("rm", "--quiet", "--cached", "a.txt")
		}, "", true},
		"a file is announced": {func(t *testing.T, r *git.Repo, git asGit) {
			writeIn(t, r, "n", "n\n")
			git("add", "-N", "n")
		}, "", false},
		"another date, the same content": {func(t *testing.T, r *git.Repo, _ asGit) { writeIn(t, r, "a.txt", "a\n") }, "",
			true},
		"the user hides untracked files": {func(t *testing.T, r *git.Repo, git asGit) {
			git("config", "status.showUntrackedFiles", "no")
			writeIn(t, r, "n", "n\n")
		}, "", false},
		"no branch": {func(_ *testing.T, _ *git.Repo, git asGit) { git("checkout", "--quiet", "--detach") }, "", true},
		"no commit": {func(_ *testing.T, _ *git.Repo, git asGit) {
			git("checkout", "--quiet", "--orphan", "fresh")
		}, "", false},
		"the trunk is behind": {func(t *testing.T, r *git.Repo, git asGit) { git("branch", "main"); commit(t, r, git) }, "",
			true},
		"the trunk is ahead": {func(t *testing.T, r *git.Repo, git asGit) { ahead(t, r, git, commit) }, "", true},
		"the trunk is here":  {func(_ *testing.T, _ *git.Repo, git asGit) { git("branch", "main") }, "", true},
		"on main, with an older master": {func(t *testing.T, r *git.Repo, git asGit) {
			git("branch", "master")
			git("branch", "-m", "main")
			commit(t, r, git)
		}, "", true},
		"the remote's trunk is behind": {func(t *testing.T, r *git.Repo, git asGit) { remote(git); commit(t, r, git) }, "",
			true},
		"the remote's trunk is here": {func(_ *testing.T, _ *git.Repo, git asGit) { remote(git) }, "", true},
		"it follows a branch": {func(t *testing.T, r *git.Repo, git asGit) {
			git("branch", "up")
			git("branch", "-u", "up")
			commit(t, r, git)
		}, "", true},
		"it follows a branch at its side": {func(_ *testing.T, _ *git.Repo, git asGit) {
			git("branch", "up")
			git("branch", "-u", "up")
		}, "", true},
		"the upstream branch no longer exists": {func(t *testing.T, r *git.Repo, git asGit) {
			git("branch", "up")
			git("branch", "-u", "up")
			git("branch", "-D", "up")
		}, "", true},
		"a repository in the repository": {func(t *testing.T, r *git.Repo, git asGit) {
			git("clone", "--quiet", ".", "inner")
		}, "", false},
	} {
		for _, format := range []string{"sha1", "sha256"} {
			t.Run(name+", "+format, func(t *testing.T) {
				repo, must := checkoutOf(t, format)
				c.change(t, repo, must)
				w := writtenAt(t.Context(), repo, c.base)
				if w.err != nil || w.unrelated != nil || w.hidden {
					t.Fatal(w.err, w.unrelated, w.hidden)
				}
				tree, err := repo.WorkingTree(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				from, err := compareWith(t.Context(), repo, c.base)
				if err != nil {
					t.Fatal(err)
				}
				if w.hash != tree || w.from != from {
					t.Errorf("the shortcut gives %s %+v\nwithout it: %s %+v", w.hash, w.from, tree, from)
				}
				if name != "no commit" {
					if same := w.hash == must("rev-parse", "HEAD^{tree}"); same != c.quick {
						t.Errorf("as committed: %t", same)
					}
				}
			})
		}
	}
}

func remove(t *testing.T, r *git.Repo, name string) {
	if err := os.Remove(filepath.Join(r.Root, filepath.FromSlash(name))); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, r *git.Repo, name string) {
	if err := os.Chmod(filepath.Join(r.Root, name), 0o755); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, r *git.Repo, name string) {
	remove(t, r, name)
	if err := os.Symlink("b", filepath.Join(r.Root, name)); err != nil {
		t.Fatal(err)
	}
}

// stageAndUndo leaves a change in the index that the working tree does not have.
func stageAndUndo(t *testing.T, r *git.Repo, git asGit) {
	writeIn(t, r, "a.txt", "b\n")
	git("add", "a.txt")
	writeIn(t, r, "a.txt", "a\n")
	writeIn(t, r, "b/c.txt", "changed\n")
}

func ahead(t *testing.T, r *git.Repo, git asGit, commit func(*testing.T, *git.Repo, asGit)) {
	git("checkout", "--quiet", "-b", "main")
	commit(t, r, git)
	git("checkout", "--quiet", "work")
}

// remote adds the refs that a clone has of a remote repository.
func remote(git asGit) {
	git("update-ref", "refs/remotes/origin/trunk", "HEAD")
	git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
}

// Files that git ignores are listed one by one, except for folders that are ignored as a whole.
func TestIgnoredFilesAreListed(t *testing.T) {
	repo, _ := checkoutOf(t, "sha1")
	for _, name := range []string{"x.log", "logs/y.log", "out/z", "ä ö.log"} {
		writeIn(t, repo, name, "x")
	}
	w := writtenAt(t.Context(), repo, "")
	slices.Sort(w.ignored)
	if got, want := strings.Join(w.ignored, "|"), "logs/y.log|out/|x.log|ä ö.log"; got != want || w.err != nil {
		t.Errorf("%s, want %s (%v)", got, want, w.err)
	}
}

// A changed file can be hidden from git. The tree is then incomplete, and no answer about it may be kept.
func TestHiddenChangeMakesTreeIncomplete(t *testing.T) {
	for name, tt := range map[string]struct {
		args   []string
		gone   bool
		hidden bool
	}{
		"nothing is hidden":         {nil, false, false},
		"assumed unchanged":         {[]string{"--assume-unchanged", "a.txt"}, false, true},
		"left out, and there":       {[]string{"--skip-worktree", "a.txt"}, false, true},
		"left out and missing":      {[]string{"--skip-worktree", "a.txt"}, true, false},
		"executable in index alone": {[]string{"--chmod=+x", "a.txt"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			repo, must := checkoutOf(t, "sha1")
			if tt.args != nil {
				must(append([]string{"update-index"}, tt.args...)...)
			}
			if tt.gone {
				remove(t, repo, "a.txt")
			}
			if w := writtenAt(t.Context(), repo, ""); w.hidden != tt.hidden || w.err != nil {
				t.Errorf("hidden: %t %v", w.hidden, w.err)
			}
		})
	}
}

// If the output of git status has an unknown line, the tree counts as changed.
func TestUnknownStatusLineIsChange(t *testing.T) {
	for out, want := range map[string]checkout{
		"":                       {level: true, clean: true},
		"# branch.oid abc\x00":   {head: "abc", level: true, clean: true},
		"# branch.oid (initial)": {level: true, clean: true},
		"# branch.upstream up":   {clean: true},
		"# stash 3\x00":          {level: true, clean: true},
		"? x":                    {level: true},
		"X something new\x00":    {level: true},
		"1 .M N... 100644 a b c": {level: true},
		"! x\x00! y/":            {level: true, clean: true, ignored: []string{"x", "y/"}},
		"# branch.upstream up\x00# branch.ab +? -?": {clean: true},
		"# branch.upstream up\x00# branch.ab +0 -0": {level: true, clean: true},
	} {
		got := parseStatus(out)
		if got.head != want.head || got.level != want.level || got.clean != want.clean ||
			!slices.Equal(got.ignored, want.ignored) {
			t.Errorf("%q: %+v, want %+v", out, got, want)
		}
	}
}
