package git

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/proc"
)

// environ returns an environment in which git has an author and ignores the settings of this machine.
func environ(more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.org",
		"GIT_AUTHOR_DATE=2026-05-04T09:00:00Z", "GIT_COMMITTER_DATE=2026-05-04T09:00:00Z",
	}, more...)
}

// run runs git as a user would, in dir.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

// write writes files below dir; the content of a file "x -> y" is ignored and makes x a link.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name, target, link := strings.Cut(name, " -> ")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		err := os.WriteFile(path, []byte(text), 0o644)
		if link {
			os.Remove(path)
			err = os.Symlink(target, path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// made creates a repository with one commit of some files, on branch main.
func made(t *testing.T, files map[string]string) string {
	t.Helper()
	// An unusual path: tools that build command lines or URLs from paths fail on it.
	dir := filepath.Join(t.TempDir(), "my [1] repo's ü")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "init", "--quiet", "--initial-branch=main")
	write(t, dir, files)
	run(t, dir, "add", "--all")
	run(t, dir, "commit", "--quiet", "--allow-empty", "--message=start")
	return dir
}

func opened(t *testing.T, dir string, more ...string) *Repo {
	t.Helper()
	r, err := Open(t.Context(), dir, environ(more...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func real(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func bytesOf(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestOpen(t *testing.T) {
	dir := real(t, made(t, map[string]string{"a/b/c": "x"}))
	run(t, dir, "worktree", "add", "--quiet", filepath.Join(dir, "..", "linked"))
	bare := filepath.Join(t.TempDir(), "bare.git")
	run(t, dir, "clone", "--quiet", "--bare", dir, bare)
	run(t, bare, "worktree", "add", "--quiet", filepath.Join(bare, "..", "of-bare"), "main")
	links := t.TempDir()
	for name, target := range map[string]string{"top": dir, "deep": filepath.Join(dir, "a", "b")} {
		if err := os.Symlink(target, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	git := filepath.Join(dir, ".git")
	linked, ofBare := filepath.Join(filepath.Dir(dir), "linked"), filepath.Join(filepath.Dir(bare), "of-bare")
	for name, tt := range map[string]struct{ dir, root, gitDir, common string }{
		"at the top":                         {dir, dir, git, git},
		"in a subfolder":                     {filepath.Join(dir, "a", "b"), dir, git, git},
		"through a link to the top":          {filepath.Join(links, "top"), dir, git, git},
		"through a link into the middle":     {filepath.Join(links, "deep"), dir, git, git},
		"in a linked worktree":               {linked, linked, filepath.Join(git, "worktrees", "linked"), git},
		"in a worktree of a bare repository": {ofBare, ofBare, filepath.Join(bare, "worktrees", "of-bare"), bare},
	} {
		t.Run(name, func(t *testing.T) {
			r := opened(t, tt.dir)
			got := []string{r.Root, r.GitDir, real(t, r.Common)}
			if d := cmp.Diff([]string{tt.root, tt.gitDir, tt.common}, got); d != "" {
				t.Error(d)
			}
			if commit, _, err := r.Head(t.Context()); err != nil || commit != run(t, dir, "rev-parse", "main") {
				t.Errorf("HEAD is at %s, %v", commit, err)
			}
		})
	}
	for name, where := range map[string]string{
		"outside of any repository": t.TempDir(), "in a bare repository": bare, "inside of .git": git,
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Open(t.Context(), where, environ())
			if !errors.Is(err, ErrNotRepo) || !strings.Contains(err.Error(), where) {
				t.Errorf("%v, %v; want %v and the folder", r, err, ErrNotRepo)
			}
		})
	}
	t.Run("without git", func(t *testing.T) {
		if _, err := Open(t.Context(), dir, []string{"PATH=/nonexistent"}); !errors.Is(err, proc.ErrNotFound) ||
			errors.Is(err, ErrNotRepo) {
			t.Errorf("%v, want %v", err, proc.ErrNotFound)
		}
	})
}

// Variables that git sets for its hooks, and variables that change the meaning of our commands, do not reach these
// commands.
func TestGitIgnoresHookVariables(t *testing.T) {
	dir, other := made(t, map[string]string{"a": "1"}), made(t, map[string]string{"b": "2"})
	r := opened(t, dir,
		"GIT_DIR="+filepath.Join(other, ".git"), "GIT_WORK_TREE="+other, "GIT_INDEX_FILE=/nonexistent/index",
		"GIT_PREFIX=sub/",
		"GIT_COMMON_DIR="+filepath.Join(other, ".git"), "GIT_OBJECT_DIRECTORY="+filepath.Join(other, ".git", "objects"),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+other, "GIT_NAMESPACE=x", "GIT_QUARANTINE_PATH="+other,
		"GIT_LITERAL_PATHSPECS=1", "GIT_EDITOR=/bin/false", "GIT_PAGER=/bin/false", "LC_ALL=de_DE.UTF-8", "LANGUAGE=de")
	if r.Root != real(t, dir) {
		t.Fatalf("the repository is %s, want %s", r.Root, dir)
	}
	head, branch, err := r.Head(t.Context())
	if err != nil || branch != "main" || head != run(t, dir, "rev-parse", "HEAD") {
		t.Errorf("HEAD is %s on %s, %v", head, branch, err)
	}
	if err := r.UpdateRefs(t.Context(), RefUpdate{Ref: "refs/heads/x", New: head}); err != nil {
		t.Error(err)
	}
	w, err := r.AddWorkspace(t.Context(), filepath.Join(dir, ".runplan", "w"), "runplan/x", head)
	if err != nil {
		t.Fatal(err)
	}
	write(t, w.Dir, map[string]string{"new": "n", "left": "out"})
	if _, changed, err := w.Stage(t.Context(), head, []string{"left"}); err != nil ||
		!slices.Equal(changed, []string{"new"}) {
		t.Errorf("changed %v, %v", changed, err)
	}
}

func TestHead(t *testing.T) {
	dir := made(t, map[string]string{"a": "1"})
	first := run(t, dir, "rev-parse", "HEAD")
	for name, tt := range map[string]struct {
		do     []string
		branch string
	}{
		"on a branch": {[]string{"checkout", "--quiet", "-B", "main"}, "main"},
		"on a branch of folders": {[]string{"checkout", "--quiet", "-B", "feature/deep/one"},
			"feature/deep/one"},
		"on a branch with a tag of its name":   {[]string{"tag", "main"}, "main"},
		"detached":                             {[]string{"checkout", "--quiet", "--detach"}, ""},
		"on a branch that looks like a remote": {[]string{"checkout", "--quiet", "-B", "origin/main"}, "origin/main"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, dir, "checkout", "--quiet", "refs/heads/main")
			run(t, dir, "symbolic-ref", "HEAD", "refs/heads/main")
			run(t, dir, tt.do...)
			commit, branch, err := opened(t, dir).Head(t.Context())
			if err != nil || commit != first || branch != tt.branch {
				t.Errorf("commit %s on %q, %v; want %s on %q", commit, branch, err, first, tt.branch)
			}
		})
	}
	t.Run("without a commit", func(t *testing.T) {
		run(t, dir, "symbolic-ref", "HEAD", "refs/heads/unborn")
		if _, _, err := opened(t, dir).Head(t.Context()); !errors.Is(err, ErrNoCommits) {
			t.Errorf("error %v, want %v", err, ErrNoCommits)
		}
	})
}

// Dirty lists what the user sees as changed, for any file name, and changes nothing.
func TestDirty(t *testing.T) {
	library := made(t, map[string]string{"lib": "1"})
	tests := map[string]struct {
		do                 func(t *testing.T, dir string)
		changed, untracked []string
	}{
		"nothing": {do: func(*testing.T, string) {}},
		"an edit": {do: func(t *testing.T, dir string) { write(t, dir, map[string]string{"a.txt": "changed"}) },
			changed: []string{"a.txt"}},
		"a deletion": {do: func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "a.txt")) },
			changed: []string{"a.txt"}},
		"a staged one": {do: func(t *testing.T, dir string) { run(t, dir, "rm", "--quiet", "--cached", "a.txt") },
			changed: []string{"a.txt"}, untracked: []string{"a.txt"}},
		"a rename": {do: func(t *testing.T, dir string) { run(t, dir, "mv", "old name.txt", "b.txt") },
			changed: []string{"b.txt"}},
		"a rename and an edit": {do: func(t *testing.T, dir string) {
			run(t, dir, "mv", "old name.txt", "b.txt")
			write(t, dir, map[string]string{"z.txt": "changed"})
		}, changed: []string{"b.txt", "z.txt"}},
		"a rename that is only in the index": {do: func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, "old name.txt"), filepath.Join(dir, "b.txt")); err != nil {
				t.Fatal(err)
			}
			run(t, dir, "add", "--intent-to-add", "b.txt")
		}, changed: []string{"b.txt"}},
		"a mode": {do: func(t *testing.T, dir string) { os.Chmod(filepath.Join(dir, "a.txt"), 0o755) },
			changed: []string{"a.txt"}},
		"a file to a link": {do: func(t *testing.T, dir string) { write(t, dir, map[string]string{"a.txt -> z.txt": ""}) },
			changed: []string{"a.txt"}},
		"odd names": {do: func(t *testing.T, dir string) {
			write(t, dir, map[string]string{" lead": "", "ü\n\"x\"": "", "-n": ""})
		}, untracked: []string{" lead", "-n", "ü\n\"x\""}},
		"a new folder": {do: func(t *testing.T,
			dir string) {
			write(t, dir, map[string]string{"new/one": "", "new/two": ""})
		}, untracked: []string{"new/"}},
		"what is ignored": {do: func(t *testing.T, dir string) { write(t, dir, map[string]string{"x.log": ""}) }},
		"a touch": {do: func(t *testing.T,
			dir string) {
			write(t, dir, map[string]string{"a.txt": "a\n"})
		}},
		"a file in a submodule": {do: func(t *testing.T, dir string) { write(t, dir, map[string]string{"sub/lib": "2"}) },
			changed: []string{"sub"}},
		"a new file in a submodule": {do: func(t *testing.T, dir string) { write(t, dir, map[string]string{"sub/new": ""}) },
			changed: []string{"sub"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := made(t, map[string]string{
				"a.txt": "a\n", "old name.txt": strings.Repeat("text\n", 50), "z.txt": "z", ".gitignore": "*.log\n",
			})
			if slices.Contains(tt.changed, "sub") {
				run(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "sub")
				run(t, dir, "commit", "--quiet", "--message=submodule")
			}
			// Settings of the user must not change the result.
			for _, kv := range []string{"status.short=true", "status.branch=true", "status.showUntrackedFiles=no",
				"status.relativePaths=true", "diff.ignoreSubmodules=all", "color.ui=always"} {
				key, value, _ := strings.Cut(kv, "=")
				run(t, dir, "config", key, value)
			}
			tt.do(t, dir)
			index := filepath.Join(dir, ".git", "index")
			before := bytesOf(t, index)
			changed, untracked, err := opened(t, dir).Dirty(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(changed)
			slices.Sort(untracked)
			if d := cmp.Diff(tt.changed, changed); d != "" {
				t.Error("changed:", d)
			}
			if d := cmp.Diff(tt.untracked, untracked); d != "" {
				t.Error("untracked:", d)
			}
			if !bytes.Equal(before, bytesOf(t, index)) {
				t.Error("the index was written")
			}
		})
	}
}

func TestIsAncestor(t *testing.T) {
	dir := made(t, nil)
	r := opened(t, dir)
	first := run(t, dir, "rev-parse", "HEAD")
	run(t, dir, "commit", "--quiet", "--allow-empty", "--message=two")
	for name, tt := range map[string]struct {
		old, of string
		want    bool
		err     bool
	}{
		"a parent":      {first, "HEAD", true, false},
		"itself":        {"HEAD", "HEAD", true, false},
		"a child":       {"HEAD", first, false, false},
		"a missing ref": {strings.Repeat("1", 40), "HEAD", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := r.IsAncestor(t.Context(), tt.old, tt.of)
			if got != tt.want || (err != nil) != tt.err {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestIdent(t *testing.T) {
	dir := made(t, nil)
	if err := opened(t, dir).Ident(t.Context()); err != nil {
		t.Error(err)
	}
	run(t, dir, "config", "user.useConfigOnly", "true")
	r, err := Open(t.Context(), dir,
		[]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Ident(t.Context()); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v; want one line that says git does not know who commits", err)
	}
}

// A cancelled run lets git finish, because an interrupted git leaves lock files behind.
func TestCancelLetsGitFinish(t *testing.T) {
	ctx, cancel := cancelled(t)
	defer cancel()
	dir := made(t, nil)
	r := opened(t, dir)
	if err := r.UpdateRefs(ctx, RefUpdate{Ref: "refs/heads/x", New: run(t, dir, "rev-parse", "HEAD")}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".git", "refs", "heads", "x")); errors.Is(err, fs.ErrNotExist) {
		t.Error("the ref was not written")
	}
}

// BlobName agrees with git in both hash formats.
func TestBlobName(t *testing.T) {
	for length, want := range map[int]string{
		40: "ce013625030ba8dba906f756967f9e9ca394464a",
		64: "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4",
		50: "",
	} {
		if got := BlobName([]byte("hello\n"), length); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Binary has to agree with git about where a zero byte counts.
func TestBinaryAgreesWithGit(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "init", "-q")
	for at, want := range map[int]bool{0: true, 7999: true, 8000: false} {
		data := bytes.Repeat([]byte("a"), 9000)
		data[at] = 0
		if err := os.WriteFile(filepath.Join(dir, "f"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		run(t, dir, "add", "f")
		ours, theirs := Binary(data), strings.HasPrefix(run(t, dir, "diff", "--cached", "--numstat"), "-")
		if ours != want || theirs != want {
			t.Errorf("a zero byte at %d: %v, and git %v, want %v", at, ours, theirs, want)
		}
	}
}
