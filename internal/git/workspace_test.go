package git

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/tools/tooltest"
)

const branch = "runplan/plan/b1"

// AddWorkspace makes a linked worktree at dir with branch checked out at base.
func (r *Repo) AddWorkspace(ctx context.Context, dir, branch, base string) (*Workspace, error) {
	return r.addWorktree(ctx, dir, "--no-track", "-B", branch, dir, base)
}

// worktree returns a repository and a workspace in it, in the folder where runplan keeps workspaces.
func worktree(t *testing.T, files map[string]string) (*Repo, *Workspace, string) {
	t.Helper()
	r := opened(t, made(t, files))
	base := run(t, r.Root, "rev-parse", "HEAD")
	w, err := r.AddWorkspace(t.Context(), filepath.Join(r.Root, ".runplan", "worktrees", "plan-w1"), branch, base)
	if err != nil {
		t.Fatal(err)
	}
	return r, w, base
}

// listing returns the content of a folder: mode and content by path, without .git.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case d.Name() == ".git" && d.IsDir(), name == ".runplan":
			return fs.SkipDir
		case d.IsDir(), name == ".git":
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(path)
			out[name] = "-> " + target
			return err
		}
		data, err := os.ReadFile(path)
		if out[name] = string(data); info.Mode()&0o100 != 0 {
			out[name] = "x " + string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// treeOf returns the entries of a tree by path, read with git.
func treeOf(t *testing.T, r *Repo, tree string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.SplitSeq(run(t, r.Root, "ls-tree", "-r", "-z", tree), "\x00") {
		meta, path, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		f := strings.Fields(meta)
		text := ""
		if f[1] == "blob" {
			text = run(t, r.Root, "cat-file", "blob", f[2])
		}
		out[path] = map[string]string{"100644": "", "100755": "x ", "120000": "-> ", "160000": "link"}[f[0]] + text
	}
	return out
}

func TestAddWorkspace(t *testing.T) {
	r, w, base := worktree(t, map[string]string{"a": "1", "sub/b": "2"})
	if d := cmp.Diff(map[string]string{"a": "1", "sub/b": "2"}, listing(t, w.Dir)); d != "" {
		t.Error(d)
	}
	if ref, err := w.HeadRef(); ref != "refs/heads/"+branch || err != nil {
		t.Error(ref, err)
	}
	if head, err := w.Head(t.Context()); head != base || err != nil {
		t.Error(head, err)
	}
	if err := w.Check(); err != nil {
		t.Error(err)
	}
	if got := run(t, r.Root, "status", "--porcelain", "--untracked-files=no"); got != "" {
		t.Errorf("the user's checkout is dirty: %s", got)
	}
	if got := run(t, r.Root, "config", "--list", "--local"); strings.Contains(got, "runplan") ||
		strings.Contains(got, "relative") {
		t.Errorf("the configuration that all worktrees share was written to:\n%s", got)
	}
	again, err := r.OpenWorkspace(w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if again.GitDir != w.GitDir {
		t.Errorf("the opened workspace has the git folder %s, the created one %s", again.GitDir, w.GitDir)
	}
}

func removed(t *testing.T, r *Repo, dir string) {
	t.Helper()
	if err := r.RemoveWorkspace(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
}

// The record of a user's worktree on a disk that is not mounted is kept.
func TestUnmountedUserWorktreeIsKept(t *testing.T) {
	r, w, base := worktree(t, map[string]string{"a": "1"})
	disk := filepath.Join(t.TempDir(), "disk")
	users := filepath.Join(disk, "feature")
	run(t, r.Root, "worktree", "add", "--quiet", "-b", "feature", users)
	if err := os.Rename(disk, disk+" unmounted"); err != nil {
		t.Fatal(err)
	}
	removed(t, r, w.Dir)
	if _, err := r.AddWorkspace(t.Context(), w.Dir, branch, base); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(disk+" unmounted", disk); err != nil {
		t.Fatal(err)
	}
	if got := run(t, users, "symbolic-ref", "--short", "HEAD"); got != "feature" {
		t.Errorf("the user's worktree is on %q", got)
	}
}

func TestRemoveWorkspace(t *testing.T) {
	r, w, _ := worktree(t, map[string]string{"a": "1"})
	other, err := r.AddWorkspace(t.Context(), filepath.Join(r.Root, ".runplan", "worktrees", "plan-w10"),
		"runplan/plan/b2", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	write(t, w.Dir, map[string]string{"new/deep/file": "x", "a": "changed"})
	removed(t, r, w.Dir)
	removed(t, r, w.Dir) // a second removal is not an error
	for _, path := range []string{w.Dir, w.GitDir} {
		if exists(path) {
			t.Errorf("%s is still there", path)
		}
	}
	if err := other.Check(); err != nil {
		t.Error("the workspace next to it:", err)
	}
	if got, err := r.Resolve(t.Context(), "refs/heads/"+branch); got == "" || err != nil {
		t.Error("its branch is gone", err)
	}
}

func TestOpenWorkspaceRefuses(t *testing.T) {
	r, w, _ := worktree(t, map[string]string{"a": "1"})
	other := opened(t, made(t, nil))
	foreign := filepath.Join(t.TempDir(), "foreign")
	run(t, other.Root, "worktree", "add", "--quiet", foreign)
	for name, tt := range map[string]struct {
		dir  string
		want error
	}{
		"a missing folder":                    {filepath.Join(w.Dir, "missing"), fs.ErrNotExist},
		"a folder of the repository":          {filepath.Join(w.Dir, ".."), fs.ErrNotExist},
		"a worktree of another repository":    {foreign, ErrBroken},
		"a .git that leads nowhere":           {folder(t, ".git", "gitdir: /nonexistent/.git/worktrees/x\n"), ErrBroken},
		"a .git that leads to the repository": {folder(t, ".git", "gitdir: "+filepath.Join(r.Root, ".git")+"\n"), ErrBroken},
		"a .git of nonsense":                  {folder(t, ".git", "hello\n"), ErrBroken},
		"the repository itself":               {r.Root, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := r.OpenWorkspace(tt.dir)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func folder(t *testing.T, file, text string) string {
	dir := t.TempDir()
	write(t, dir, map[string]string{file: text})
	return dir
}

// A reset leaves no trace of earlier changes, except ignored files such as build caches.
func TestReset(t *testing.T) {
	tooltest.Slow(t)
	files := map[string]string{"a": "1", "sub/b": "2", ".gitignore": "cache/\n*.log\n", "link -> a": ""}
	fresh := map[string]string{"a": "1", "sub/b": "2", ".gitignore": "cache/\n*.log\n", "link": "-> a"}
	tests := map[string]func(t *testing.T, w *Workspace){
		"nothing happened": func(*testing.T, *Workspace) {},
		"edits and new files": func(t *testing.T, w *Workspace) {
			write(t, w.Dir, map[string]string{"a": "2", "new/x": "", " odd\nname": ""})
		},
		"deletions": func(t *testing.T, w *Workspace) {
			os.RemoveAll(filepath.Join(w.Dir, "sub"))
			os.Remove(filepath.Join(w.Dir, "link"))
		},
		"everything is gone": func(t *testing.T, w *Workspace) { run(t, w.Dir, "rm", "--quiet", "-r", ".") },
		"staged changes": func(t *testing.T, w *Workspace) {
			write(t, w.Dir, map[string]string{"a": "2", "c": ""})
			run(t, w.Dir, "add", "--all")
		},
		"modes": func(t *testing.T, w *Workspace) { os.Chmod(filepath.Join(w.Dir, "a"), 0o755) },
		"a folder for a file": func(t *testing.T, w *Workspace) {
			os.Remove(filepath.Join(w.Dir, "a"))
			write(t, w.Dir, map[string]string{"a/x": ""})
		},
		"a file for a folder": func(t *testing.T, w *Workspace) {
			os.RemoveAll(filepath.Join(w.Dir, "sub"))
			write(t, w.Dir, map[string]string{"sub": ""})
		},
		"commits": func(t *testing.T,
			w *Workspace) {
			run(t, w.Dir, "commit", "--quiet", "--allow-empty", "-m", "own")
		},
		"another branch":   func(t *testing.T, w *Workspace) { run(t, w.Dir, "checkout", "--quiet", "-b", "own") },
		"a detached HEAD":  func(t *testing.T, w *Workspace) { run(t, w.Dir, "checkout", "--quiet", "--detach") },
		"an unborn branch": func(t *testing.T, w *Workspace) { run(t, w.Dir, "checkout", "--quiet", "--orphan", "own") },
		"a repository inside": func(t *testing.T, w *Workspace) {
			run(t, w.Dir, "init", "--quiet", "inner")
			write(t, w.Dir, map[string]string{"inner/x": ""})
		},
		"a stale index.lock": func(t *testing.T, w *Workspace) {
			write(t, w.GitDir, map[string]string{"index.lock": "", "HEAD.lock": ""})
		},
		"a stale lock of its branch": func(t *testing.T, w *Workspace) {
			write(t, w.repo.Common, map[string]string{"refs/heads/" + branch + ".lock": ""})
		},
		"a merge in the middle":  func(t *testing.T, w *Workspace) { conflict(t, w, "merge") },
		"a rebase in the middle": func(t *testing.T, w *Workspace) { conflict(t, w, "rebase") },
		"a pick in the middle":   func(t *testing.T, w *Workspace) { conflict(t, w, "cherry-pick") },
		"a bisect in the middle": func(t *testing.T, w *Workspace) { run(t, w.Dir, "bisect", "start") },
		"ignored files in git": func(t *testing.T, w *Workspace) {
			write(t, w.Dir, map[string]string{"x.log": ""})
			run(t, w.Dir, "add", "--force", "x.log")
		},
	}
	for name, mess := range tests {
		t.Run(name, func(t *testing.T) {
			_, w, base := worktree(t, files)
			write(t, w.Dir, map[string]string{"cache/object": "kept"})
			mess(t, w)
			if err := w.Reset(t.Context(), branch, base); err != nil {
				t.Fatal(err)
			}
			got := listing(t, w.Dir)
			if got["cache/object"] != "kept" {
				t.Error("the cache of the build is gone")
			}
			delete(got, "cache/object")
			delete(got, "x.log")
			if d := cmp.Diff(fresh, got); d != "" {
				t.Error(d)
			}
			if head, err := w.Head(t.Context()); head != base || err != nil {
				t.Errorf("at %s, %v; want %s", head, err, base)
			}
			if ref, err := w.HeadRef(); ref != "refs/heads/"+branch || err != nil {
				t.Errorf("on %s, %v", ref, err)
			}
			status := run(t, w.Dir, "status", "--untracked-files=all")
			if !strings.Contains(status, "working tree clean") || strings.Contains(status, "in progress") ||
				strings.Contains(status, "Last command") || strings.Contains(status, "bisecting") {
				t.Errorf("git status says:\n%s", status)
			}
		})
	}
}

// conflict leaves an unfinished merge, rebase or similar operation.
func conflict(t *testing.T, w *Workspace, how string) {
	t.Helper()
	run(t, w.Dir, "checkout", "--quiet", "-b", "theirs")
	write(t, w.Dir, map[string]string{"a": "theirs"})
	run(t, w.Dir, "commit", "--quiet", "--all", "-m", "theirs")
	run(t, w.Dir, "checkout", "--quiet", branch)
	write(t, w.Dir, map[string]string{"a": "ours"})
	run(t, w.Dir, "commit", "--quiet", "--all", "-m", "ours")
	if _, err := w.Run(t.Context(), how, "theirs"); err == nil {
		t.Fatalf("git %s met no conflict", how)
	}
}

func TestDropUnfinished(t *testing.T) {
	for _, how := range []string{"merge", "rebase", "cherry-pick"} {
		t.Run(how, func(t *testing.T) {
			_, w, _ := worktree(t, map[string]string{"a": "1"})
			conflict(t, w, how)
			before := listing(t, w.Dir)
			if err := w.DropUnfinished(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, listing(t, w.Dir)); d != "" {
				t.Error("the files changed:", d)
			}
			if err := w.SetHead(t.Context(), "refs/heads/"+branch); err != nil {
				t.Fatal(err)
			}
			if _, _, err := w.Stage(t.Context(), "HEAD", nil); err != nil {
				t.Fatal(err)
			}
			if out, err := w.Run(t.Context(), "commit", "--quiet", "--message=after"); err != nil {
				t.Fatal(out, err)
			}
			head, err := w.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c, err := w.repo.ReadCommit(t.Context(), head); err != nil || len(c.Parents) != 1 || c.Message != "after" {
				t.Errorf("the next commit is %+v, %v; want one parent", c, err)
			}
		})
	}
}

func TestCheckout(t *testing.T) {
	r, w, base := worktree(t, map[string]string{"a": "1", "gone": "", "sub/b": "2"})
	write(t, w.Dir, map[string]string{"a": "2", "new/c": "3", "l -> a": ""})
	if err := os.Remove(filepath.Join(w.Dir, "gone")); err != nil {
		t.Fatal(err)
	}
	tree, changed, err := w.Stage(t.Context(), base, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := listing(t, w.Dir)
	if err := w.Reset(t.Context(), branch, base); err != nil {
		t.Fatal(err)
	}
	write(t, w.Dir, map[string]string{"new/c": "in the way", "more": "x"})
	if err := w.Checkout(t.Context(), branch, base, tree); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, listing(t, w.Dir)); d != "" {
		t.Error(d)
	}
	if got, err := w.Changed(t.Context(), base); !slices.Equal(got, changed) || err != nil {
		t.Errorf("changed %v, %v; want %v", got, err, changed)
	}
	if head, err := w.Head(t.Context()); head != base || err != nil {
		t.Error("a checkout of a tree makes no commit:", head, err)
	}
	if d := cmp.Diff(want, treeOf(t, r, tree)); d != "" {
		t.Error(d)
	}
}

// Stage includes all files of the workspace, except ignored and excluded ones.
func TestStage(t *testing.T) {
	base := map[string]string{"a": "1", "gone": "g", "sub/b": "2", "sub/c": "3", "dir/x": "4",
		".gitignore": "*.log\nsecret/\n.env\n"}
	tests := map[string]struct {
		do      func(t *testing.T, dir string)
		except  []string
		changed []string
		want    map[string]string // what differs in the tree; "-" is gone
	}{
		"nothing": {do: func(*testing.T, string) {}},
		"edits, new files and deletions": {
			do: func(t *testing.T, dir string) {
				write(t, dir, map[string]string{"a": "2", "new/deep/x": "n"})
				os.Remove(filepath.Join(dir, "gone"))
			},
			changed: []string{"a", "gone", "new/deep/x"}, want: map[string]string{"a": "2", "gone": "-", "new/deep/x": "n"},
		},
		"odd names": {
			do: func(t *testing.T, dir string) {
				write(t, dir, map[string]string{"ü/文": "1", " lead": "2", "new\nline": "3", "-n": "4", ":(top)x": "5",
					"q\"'\\": "6", "*": "7", "[a]": "8", "tab\t": "9", "end ": "0"})
			},
			changed: []string{" lead", "*", "-n", ":(top)x", "[a]", "end ", "new\nline", "q\"'\\", "tab\t", "ü/文"},
			want: map[string]string{"ü/文": "1", " lead": "2", "new\nline": "3", "-n": "4", ":(top)x": "5", "q\"'\\": "6",
				"*": "7", "[a]": "8", "tab\t": "9", "end ": "0"},
		},
		"modes and links": {
			do: func(t *testing.T, dir string) {
				os.Chmod(filepath.Join(dir, "a"), 0o755)
				write(t, dir, map[string]string{"sub/b -> ../a": "", "dangling -> /nonexistent/ü": ""})
			},
			changed: []string{"a", "dangling", "sub/b"},
			want:    map[string]string{"a": "x 1", "sub/b": "-> ../a", "dangling": "-> /nonexistent/ü"},
		},
		"a rename is a deletion and a new file": {
			do:      func(t *testing.T, dir string) { os.Rename(filepath.Join(dir, "gone"), filepath.Join(dir, "here")) },
			changed: []string{"gone", "here"}, want: map[string]string{"gone": "-", "here": "g"},
		},
		"a folder for a file, and a file for a folder": {
			do: func(t *testing.T, dir string) {
				os.Remove(filepath.Join(dir, "a"))
				os.RemoveAll(filepath.Join(dir, "sub"))
				write(t, dir, map[string]string{"a/x": "1", "sub": "2"})
			},
			changed: []string{"a", "a/x", "sub", "sub/b", "sub/c"},
			want:    map[string]string{"a": "-", "a/x": "1", "sub": "2", "sub/b": "-", "sub/c": "-"},
		},
		"everything is gone": {
			do: func(t *testing.T, dir string) {
				for _, name := range []string{"a", "gone", "sub", "dir", ".gitignore"} {
					os.RemoveAll(filepath.Join(dir, name))
				}
			},
			changed: []string{".gitignore", "a", "dir/x", "gone", "sub/b", "sub/c"},
			want:    map[string]string{".gitignore": "-", "a": "-", "dir/x": "-", "gone": "-", "sub/b": "-", "sub/c": "-"},
		},
		"ignored files are not staged": {do: func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"x.log": "", "secret/key": "", ".env": "", "sub/.env": ""})
		}},
		"excepted files are not staged, ignored or not": {
			do: func(t *testing.T, dir string) {
				write(t, dir, map[string]string{".env": "1", "secret/key": "2", "conf/local.yml": "3", "conf/new": "4",
					"[ab]*": "5", "b": "6", "ü": "7"})
			},
			except:  []string{".env", "secret/key", "conf/local.yml", "[ab]*", "ü", "not/there"},
			changed: []string{"b", "conf/new"}, want: map[string]string{"b": "6", "conf/new": "4"},
		},
		"all there is is left out": {
			do:     func(t *testing.T, dir string) { write(t, dir, map[string]string{"conf/local.yml": "3"}) },
			except: []string{"conf/local.yml"},
		},
		"commits of the agent's count as its changes": {
			do: func(t *testing.T, dir string) {
				write(t, dir, map[string]string{"a": "2"})
				run(t, dir, "commit", "--quiet", "--all", "-m", "own")
				write(t, dir, map[string]string{"c": "3"})
			},
			changed: []string{"a", "c"}, want: map[string]string{"a": "2", "c": "3"},
		},
		"a file that was staged and then deleted": {
			do: func(t *testing.T, dir string) {
				write(t, dir, map[string]string{"new": "n", "a": "2"})
				run(t, dir, "add", "--all")
				os.Remove(filepath.Join(dir, "new"))
				write(t, dir, map[string]string{"a": "1"})
			},
		},
		"line ends as they are": {
			do: func(t *testing.T, dir string) {
				write(t, dir, map[string]string{"crlf": "a\r\nb\r\n", "mixed": "a\r\nb\n"})
			},
			changed: []string{"crlf", "mixed"}, want: map[string]string{"crlf": "a\r\nb\r", "mixed": "a\r\nb"},
		},
		"a repository that a tool made inside, without a commit": {
			do: func(t *testing.T, dir string) {
				run(t, dir, "init", "--quiet", "app [1]")
				write(t, dir, map[string]string{"app [1]/x": "1"})
			},
			changed: []string{"app [1]/x"}, want: map[string]string{"app [1]/x": "1"},
		},
		"a repository that a tool made inside, with a commit": {
			do: func(t *testing.T, dir string) {
				run(t, dir, "init", "--quiet", "app/deep")
				write(t, dir, map[string]string{"app/deep/x": "1"})
				run(t, filepath.Join(dir, "app", "deep"), "add", "--all")
				run(t, filepath.Join(dir, "app", "deep"), "commit", "--quiet", "-m", "scaffold")
			},
			changed: []string{"app/deep/x"}, want: map[string]string{"app/deep/x": "1"},
		},
		"a repository made in an existing folder": {
			do: func(t *testing.T, dir string) {
				run(t, dir, "init", "--quiet", "sub")
				write(t, dir, map[string]string{"sub/new": "1"})
			},
			changed: []string{"sub/new"}, want: map[string]string{"sub/new": "1"},
		},
		"a repository with a commit, made in an existing folder": {
			do: func(t *testing.T, dir string) {
				run(t, dir, "init", "--quiet", "sub")
				write(t, dir, map[string]string{"sub/new": "1"})
				run(t, filepath.Join(dir, "sub"), "add", "--all")
				run(t, filepath.Join(dir, "sub"), "commit", "--quiet", "-m", "scaffold")
			},
			changed: []string{"sub/new"}, want: map[string]string{"sub/new": "1"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, w, commit := worktree(t, base)
			// These settings of the user must not change the result either.
			run(t, r.Root, "config", "core.safecrlf", "true")
			run(t, r.Root, "config", "diff.renames", "copies")
			tt.do(t, w.Dir)
			tree, changed, err := w.Stage(t.Context(), commit, tt.except)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.changed, changed); d != "" {
				t.Error(d)
			}
			want := treeOf(t, r, commit)
			for path, text := range tt.want {
				if want[path] = text; text == "-" {
					delete(want, path)
				}
			}
			if d := cmp.Diff(want, treeOf(t, r, tree)); d != "" {
				t.Error(d)
			}
			again, _, err := w.Stage(t.Context(), commit, tt.except)
			if err != nil || again != tree {
				t.Errorf("a second Stage gives %s, %v; want %s", again, err, tree)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	dotGit := func(w *Workspace) string { return filepath.Join(w.Dir, ".git") }
	for name, tt := range map[string]struct {
		harm func(t *testing.T, w *Workspace)
		want error
	}{
		"as it was made":         {func(*testing.T, *Workspace) {}, nil},
		"its .git was deleted":   {func(t *testing.T, w *Workspace) { os.Remove(dotGit(w)) }, ErrBroken},
		"its folder was deleted": {func(t *testing.T, w *Workspace) { os.RemoveAll(w.Dir) }, ErrBroken},
		"a separate repository": {func(t *testing.T, w *Workspace) {
			os.Remove(dotGit(w))
			run(t, w.Dir, "init", "--quiet")
		}, ErrBroken},
		"tied to the user's checkout": {func(t *testing.T, w *Workspace) {
			write(t, w.Dir, map[string]string{".git": "gitdir: " + w.repo.GitDir + "\n"})
		}, ErrBroken},
		"git forgot it": {func(t *testing.T, w *Workspace) { os.RemoveAll(w.GitDir) }, ErrBroken},
		"emptied":       {func(t *testing.T, w *Workspace) { write(t, w.Dir, map[string]string{".git": ""}) }, ErrBroken},
	} {
		t.Run(name, func(t *testing.T) {
			_, w, _ := worktree(t, map[string]string{"a": "1"})
			tt.harm(t, w)
			if err := w.Check(); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// A workspace is inside the user's repository. If an agent damages its .git, no command of ours changes the
// repository around it.
func TestBrokenWorkspaceSparesRepository(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, w *Workspace){
		"its .git was deleted": func(t *testing.T, w *Workspace) { os.Remove(filepath.Join(w.Dir, ".git")) },
		"git forgot it":        func(t *testing.T, w *Workspace) { os.RemoveAll(w.GitDir) },
		"both": func(t *testing.T, w *Workspace) {
			os.Remove(filepath.Join(w.Dir, ".git"))
			os.RemoveAll(w.GitDir)
		},
		"tied to the user's checkout": func(t *testing.T, w *Workspace) {
			write(t, w.Dir, map[string]string{".git": "gitdir: " + w.repo.GitDir + "\n"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, w, base := worktree(t, map[string]string{"a": "1", "b": "2"})
			write(t, r.Root, map[string]string{"a": "the user's own change", "untracked": "the user's own file"})
			run(t, r.Root, "add", "a")
			tree := run(t, r.Root, "write-tree")
			index, head := bytesOf(t, filepath.Join(r.GitDir, "index")), bytesOf(t, filepath.Join(r.GitDir, "HEAD"))
			files := listing(t, r.Root)
			harm(t, w)
			write(t, w.Dir, map[string]string{"new": "x", "a": "agent's"})
			ctx := t.Context()
			// Some of these fail, some do not; the test checks only their effect on the rest.
			w.Check()
			w.DropUnfinished()
			w.HeadRef()
			w.Head(ctx)
			w.SetHead(ctx, "refs/heads/"+branch)
			w.Stage(ctx, base, []string{"b"})
			w.Changed(ctx, base)
			w.Conflicts(ctx)
			w.Visited(0)
			w.Checkout(ctx, branch, base, tree)
			w.Reset(ctx, branch, base)
			w.Run(ctx, "commit", "--quiet", "--allow-empty", "--message=x")
			w.Run(ctx, "clean", "-ffdxq")
			if !bytes.Equal(index, bytesOf(t, filepath.Join(r.GitDir, "index"))) {
				t.Error("the user's index was written")
			}
			if !bytes.Equal(head, bytesOf(t, filepath.Join(r.GitDir, "HEAD"))) {
				t.Error("the user's HEAD was moved")
			}
			if d := cmp.Diff(files, listing(t, r.Root)); d != "" {
				t.Error("the user's files changed:", d)
			}
			if got := run(t, r.Root, "rev-parse", "main"); got != base {
				t.Errorf("main went to %s", got)
			}
		})
	}
}

func TestWorkspaceHead(t *testing.T) {
	for name, tt := range map[string]struct {
		do   []string
		ref  string // "" is the commit
		read bool   // git reads the refs, as in repositories with reftable
	}{
		"on its branch":              {[]string{"status"}, "refs/heads/" + branch, false},
		"on its branch, read by git": {[]string{"status"}, "refs/heads/" + branch, true},
		"on its branch, packed":      {[]string{"pack-refs", "--all"}, "refs/heads/" + branch, false},
		"on another branch":          {[]string{"checkout", "--quiet", "-b", "x/y"}, "refs/heads/x/y", false},
		"detached":                   {[]string{"checkout", "--quiet", "--detach"}, "", false},
		"detached, read by git":      {[]string{"checkout", "--quiet", "--detach"}, "", true},
		"on a branch that is an alias": {[]string{"symbolic-ref", "refs/heads/" + branch, "refs/heads/main"}, "refs/heads/" +
			branch, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, w, base := worktree(t, nil)
			run(t, w.Dir, tt.do...)
			if tt.read {
				if err := os.Mkdir(filepath.Join(r.Common, "reftable"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if tt.ref == "" {
				tt.ref = base
			}
			if ref, err := w.HeadRef(); ref != tt.ref || err != nil {
				t.Errorf("on %s, %v; want %s", ref, err, tt.ref)
			}
			if head, err := w.Head(t.Context()); head != base || err != nil {
				t.Errorf("at %s, %v; want %s", head, err, base)
			}
		})
	}
}

// A commit in a workspace is signed with the program and the variables of the user.
func TestWorkspaceCommitIsSigned(t *testing.T) {
	dir := made(t, map[string]string{"a": "1"})
	tools := t.TempDir()
	signer := filepath.Join(tools, "signer")
	script := "#!/bin/sh\ncat > /dev/null\nenv > '" + filepath.Join(tools, "env") + "'\n" +
		"echo '[GNUPG:] SIG_CREATED ' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\n\\nnone\\n-----END PGP " +
		"SIGNATURE-----\\n'\n"
	if err := os.WriteFile(signer, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "config", "commit.gpgsign", "true")
	run(t, dir, "config", "gpg.program", signer)
	want := []string{"GNUPGHOME=/home/me/gnupg", "GPG_TTY=/dev/pts/1", "SSH_AUTH_SOCK=/run/agent"}
	r := opened(t, dir, want...)
	w, err := r.AddWorkspace(t.Context(), filepath.Join(dir, ".runplan", "w"), branch, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Run(t.Context(), "commit", "--quiet", "--allow-empty", "--message=signed"); err != nil {
		t.Fatal(err)
	}
	saw := strings.Split(string(bytesOf(t, filepath.Join(tools, "env"))), "\n")
	for _, kv := range want {
		if !slices.Contains(saw, kv) {
			t.Errorf("the signer did not see %s", kv)
		}
	}
	head, err := w.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c, err := r.ReadCommit(t.Context(), head); err != nil || c.Message != "signed" || len(c.Parents) != 1 {
		t.Errorf("a signed commit reads as %+v, %v", c, err)
	}
	if raw := run(t, dir, "cat-file", "commit", head); !strings.Contains(raw, "gpgsig") {
		t.Errorf("it is not signed:\n%s", raw)
	}
}

// A workspace that is made without git has the files, bytes and permissions that git would give it, and only the
// checkout of its files is left to git.
func TestAddEmptyWithoutGit(t *testing.T) {
	path, calls := counting(t)
	r := opened(t, made(t, map[string]string{"a": "1"}), path)
	base := run(t, r.Root, "rev-parse", "HEAD")
	r.plainFiles(t.Context())
	calls()
	under := filepath.Join(r.Root, ".runplan", "worktrees")
	run(t, r.Root, "worktree", "add", "--quiet", "--detach", filepath.Join(t.TempDir(), "plan-w1"))
	ours, err := r.AddEmpty(t.Context(), filepath.Join(under, "plan-w1"), base) // its data is in plan-w11
	if err != nil {
		t.Fatal(err)
	}
	if err := ours.Reset(t.Context(), branch, base); err != nil {
		t.Fatal(err)
	}
	if got := calls(); len(got) != 1 || !strings.Contains(got[0], " checkout ") {
		t.Errorf("git was asked: %q", got)
	}
	theirs, err := r.addWorktree(t.Context(), filepath.Join(under, "plan-w2"), "--detach", "--no-checkout",
		filepath.Join(under, "plan-w2"), base)
	if err != nil {
		t.Fatal(err)
	}
	if err := theirs.Reset(t.Context(), branch+"x", base); err != nil {
		t.Fatal(err)
	}
	state := func(w *Workspace) map[string]string {
		out := map[string]string{}
		for _, dir := range []string{w.GitDir, w.Dir} {
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				info, ierr := os.Lstat(path)
				if err = errors.Join(err, ierr); err != nil {
					return err
				}
				text := ""
				if d.Type().IsRegular() && d.Name() != "index" {
					text = regexp.MustCompile(` [\w.]+ <\S+> \d+ `).ReplaceAllString(string(bytesOf(t, path)), " somebody ")
				}
				name, _ := filepath.Rel(dir, path)
				out[filepath.Base(filepath.Dir(dir))+"/"+name] = info.Mode().String() + " " +
					strings.NewReplacer("plan-w2", "plan-w1", "plan-w11", "plan-w1", branch+"x", branch).Replace(text)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	if d := cmp.Diff(state(theirs), state(ours)); d != "" {
		t.Error("less is of git, more is ours\n" + d)
	}
	if got := run(t, r.Root, "worktree", "prune", "--verbose", "--expire=now"); got != "" {
		t.Error(got)
	}
}

// What git would do otherwise is left to git: copies of settings, other names, broken commits, refs in a table.
func TestAddEmptyLeavesTheUnusualToGit(t *testing.T) {
	for name, unusual := range map[string]func(t *testing.T, r *Repo, dir *string){
		"settings of the worktree": func(t *testing.T, r *Repo, _ *string) {
			run(t, r.Root, "config", "extensions.worktreeConfig", "true")
			run(t, r.Root, "config", "--worktree", "core.abbrev", "12")
		},
		"a sparse checkout":       func(t *testing.T, r *Repo, _ *string) { run(t, r.Root, "sparse-checkout", "set", "d") },
		"a name that git changes": func(_ *testing.T, _ *Repo, dir *string) { *dir += " 1.lock" },
		"an empty folder": func(t *testing.T, _ *Repo, dir *string) {
			if err := os.MkdirAll(*dir, 0o777); err != nil {
				t.Fatal(err)
			}
		},
		"no logs of refs": func(t *testing.T, r *Repo, _ *string) {
			run(t, r.Root, "config", "core.logAllRefUpdates", "false")
		},
		"shared by a group": func(t *testing.T, r *Repo, _ *string) {
			run(t, r.Root, "config", "core.sharedRepository", "group")
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, calls := counting(t)
			r := opened(t, made(t, map[string]string{"a": "1", "d/e": "2"}), path)
			base, dir := run(t, r.Root, "rev-parse", "HEAD"), filepath.Join(t.TempDir(), "all", "w1")
			unusual(t, r, &dir)
			calls()
			w, err := r.AddEmpty(t.Context(), dir, base)
			if err != nil {
				t.Fatal(err)
			}
			if got := calls(); !strings.Contains(strings.Join(got, "\n"), "worktree add") {
				t.Errorf("git was asked only: %q", got)
			}
			if err := w.Reset(t.Context(), branch, base); err != nil || w.Check() != nil {
				t.Error(err)
			}
		})
	}
	r := opened(t, made(t, map[string]string{"a": "1"}))
	dir := filepath.Join(t.TempDir(), "w1")
	if _, err := r.AddEmpty(t.Context(), dir, strings.Repeat("1", 40)); err == nil || exists(dir) {
		t.Errorf("a workspace at a commit that does not exist: %v", err)
	}
}

// A kill while a workspace is made leaves nothing that stays after the workspace is made again.
func TestAddEmptyAgain(t *testing.T) {
	for name, kill := range map[string]func(w *Workspace) error{
		"before git's data is in place": func(w *Workspace) error { return os.Rename(w.GitDir, filepath.Join(w.Dir, "data")) },
		"before the folder is complete": func(w *Workspace) error { return os.Remove(filepath.Join(w.Dir, ".git")) },
		"after it":                      func(*Workspace) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := opened(t, made(t, map[string]string{"a": "1"}))
			base, dir := run(t, r.Root, "rev-parse", "HEAD"), filepath.Join(t.TempDir(), "w1")
			w, err := r.AddEmpty(t.Context(), dir, base)
			if err == nil {
				err = kill(w)
			}
			if err == nil {
				err = r.RemoveWorkspace(t.Context(), dir)
			}
			if err == nil {
				w, err = r.AddEmpty(t.Context(), dir, base)
			}
			if err != nil || filepath.Base(w.GitDir) != "w1" {
				t.Error(w.GitDir, err)
			}
			if got := run(t, r.Root, "worktree", "list"); strings.Count(got, "\n") != 1 {
				t.Error(got)
			}
		})
	}
}

// A workspace that is created without files is unfilled until a reset adds all files.
func TestAddEmpty(t *testing.T) {
	r := opened(t, made(t, map[string]string{"a": "1", "d/e": "2"}))
	base := run(t, r.Root, "rev-parse", "HEAD")
	w, err := r.AddEmpty(t.Context(), filepath.Join(r.Root, ".runplan", "worktrees", "plan-w1"), base)
	if err != nil {
		t.Fatal(err)
	}
	if got := listing(t, w.Dir); len(got) > 0 || !w.Unfilled() {
		t.Error(got)
	}
	if err := w.Reset(t.Context(), branch, base); err != nil || w.Unfilled() {
		t.Error(err)
	}
	if d := cmp.Diff(map[string]string{"a": "1", "d/e": "2"}, listing(t, w.Dir)); d != "" {
		t.Error(d)
	}
	if got := run(t, w.Dir, "status", "--porcelain"); got != "" {
		t.Error(got)
	}
}
