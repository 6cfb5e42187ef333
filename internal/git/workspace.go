package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/proc"
)

// Workspace is a linked worktree that an agent may change.
type Workspace struct {
	Dir    string // the working tree
	GitDir string // .git/worktrees/NAME
	repo   *Repo
	env    []string
}

// ErrBroken says that a workspace lost its tie to the repository.
var ErrBroken = errors.New("the workspace's .git was removed or changed")

// AddWorkspace makes a linked worktree at dir with branch checked out at base. The branch is made, or moved.
// The caller sees to it that no two of these run at once: git locks its own files, but not against itself.
func (r *Repo) AddWorkspace(ctx context.Context, dir, branch, base string) (*Workspace, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("make a workspace: %w", err)
	}
	if _, err := r.Run(ctx, "worktree", "prune"); err != nil {
		return nil, fmt.Errorf("make a workspace: %w", err)
	}
	// --no-track keeps git from writing to the configuration that all worktrees share.
	if _, err := r.Run(ctx, "worktree", "add", "--quiet", "--force", "--no-track", "-B", branch, dir, base); err != nil {
		return nil, fmt.Errorf("make workspace %s: %w", dir, err)
	}
	return r.OpenWorkspace(dir)
}

// OpenWorkspace returns the linked worktree at dir. It fails where dir is not one.
func (r *Repo) OpenWorkspace(dir string) (*Workspace, error) {
	data, err := os.ReadFile(filepath.Join(dir, ".git"))
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", dir, err)
	}
	gitDir, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok || !exists(filepath.Join(gitDir, "HEAD")) || filepath.Dir(gitDir) != filepath.Join(r.Common, "worktrees") {
		return nil, fmt.Errorf("open workspace %s: %w", dir, ErrBroken)
	}
	return &Workspace{Dir: dir, GitDir: gitDir, repo: r, env: append(slices.Clip(r.env), "GIT_DIR="+gitDir, "GIT_WORK_TREE="+dir)}, nil
}

// RemoveWorkspace deletes a worktree, whatever state it is in. Its branch stays.
func (r *Repo) RemoveWorkspace(ctx context.Context, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove workspace: %w", err)
	}
	_, err := r.Run(ctx, "worktree", "prune")
	return err
}

// Run runs git in the workspace.
func (w *Workspace) Run(ctx context.Context, args ...string) (string, error) {
	out, err := proc.Output(context.WithoutCancel(ctx), proc.Cmd{Args: append([]string{"git"}, args...), Dir: w.Dir, Env: w.env})
	return strings.TrimRight(string(out), "\n"), err
}

// Env returns the environment that git is run with in the workspace.
func (w *Workspace) Env() []string { return w.env }

// Reset brings the workspace to commit base on branch, without a trace of what was there; ignored files
// stay, they are the caches of the build.
func (w *Workspace) Reset(ctx context.Context, branch, base string) error {
	if err := w.unlock(); err != nil {
		return err
	}
	if _, err := w.Run(ctx, "checkout", "--quiet", "--force", "--no-track", "-B", branch, base); err != nil {
		return fmt.Errorf("reset workspace %s: %w", w.Dir, err)
	}
	if _, err := w.Run(ctx, "clean", "-ffdq"); err != nil {
		return fmt.Errorf("clean workspace %s: %w", w.Dir, err)
	}
	return nil
}

// unlock removes lock files that a killed git left in the workspace's own git folder. Nobody else works
// there: the caller holds the lock of the run.
func (w *Workspace) unlock() error {
	for _, name := range []string{"index.lock", "HEAD.lock"} {
		path := filepath.Join(w.GitDir, name)
		for wait := 0; exists(path); wait++ {
			if wait < 20 { // a git that outlived its runplan may still be at work
				time.Sleep(50 * time.Millisecond)
				continue
			}
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove stale %s: %w", path, err)
			}
		}
	}
	return nil
}

// Checkout brings the files and the index to tree, on top of commit base.
func (w *Workspace) Checkout(ctx context.Context, branch, base, tree string) error {
	if err := w.Reset(ctx, branch, base); err != nil {
		return err
	}
	if _, err := w.Run(ctx, "read-tree", "--reset", "-u", tree); err != nil {
		return fmt.Errorf("check out tree %s: %w", tree, err)
	}
	return nil
}

// Check finds out whether the workspace still is what it was made to be.
func (w *Workspace) Check() error {
	data, err := os.ReadFile(filepath.Join(w.Dir, ".git"))
	if err != nil || strings.TrimSpace(string(data)) != "gitdir: "+w.GitDir {
		return ErrBroken
	}
	return nil
}

// HeadRef returns the branch ("refs/heads/…") that the workspace is on, or a commit when it is detached.
func (w *Workspace) HeadRef() (string, error) {
	data, err := os.ReadFile(filepath.Join(w.GitDir, "HEAD"))
	if err != nil {
		return "", fmt.Errorf("read HEAD of %s: %w", w.Dir, err)
	}
	head := strings.TrimSpace(string(data))
	if ref, ok := strings.CutPrefix(head, "ref: "); ok {
		return ref, nil
	}
	return head, nil
}

// SetHead puts the workspace back on a branch without touching files or index.
func (w *Workspace) SetHead(ctx context.Context, ref string) error {
	_, err := w.Run(ctx, "symbolic-ref", "HEAD", ref)
	return err
}

// Head returns the commit that the workspace is at.
func (w *Workspace) Head(ctx context.Context) (string, error) {
	if ref, err := w.HeadRef(); err == nil && strings.HasPrefix(ref, "refs/") {
		if data, err := os.ReadFile(filepath.Join(w.repo.Common, filepath.FromSlash(ref))); err == nil {
			return strings.TrimSpace(string(data)), nil
		}
	}
	return w.Run(ctx, "rev-parse", "--verify", "HEAD")
}

// Stage puts everything that is not ignored into the index, but for the paths in except, and returns the
// tree and the paths that differ from base.
func (w *Workspace) Stage(ctx context.Context, base string, except []string) (tree string, changed []string, err error) {
	args := []string{"-c", "advice.addEmbeddedRepo=false", "-c", "core.safecrlf=false", "add", "--all", "--", "."}
	for _, p := range except {
		args = append(args, ":(exclude,literal)"+p)
	}
	if _, err := w.Run(ctx, args...); err != nil {
		return "", nil, fmt.Errorf("stage the changes in %s: %w", w.Dir, err)
	}
	if tree, err = w.Run(ctx, "write-tree"); err != nil {
		return "", nil, fmt.Errorf("write the tree of %s: %w", w.Dir, err)
	}
	changed, err = w.Changed(ctx, base)
	return tree, changed, err
}

// Changed returns the paths in which the index differs from commit base, sorted.
func (w *Workspace) Changed(ctx context.Context, base string) ([]string, error) {
	out, err := w.Run(ctx, "diff-index", "--cached", "--name-only", "--no-renames", "-z", base)
	if err != nil {
		return nil, fmt.Errorf("list the changes in %s: %w", w.Dir, err)
	}
	var paths []string
	for p := range strings.SplitSeq(out, "\x00") {
		if p != "" {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// CommitInfo is what stands in a commit.
type CommitInfo struct {
	Tree    string
	Parents []string
	Message string
}

// ReadCommit reads a commit. A fresh commit is a loose object, which is read without a process.
func (r *Repo) ReadCommit(ctx context.Context, hash string) (CommitInfo, error) {
	raw, err := r.looseCommit(hash)
	if err != nil {
		text, err := r.Run(ctx, "cat-file", "commit", hash)
		if err != nil {
			return CommitInfo{}, fmt.Errorf("read commit %s: %w", hash, err)
		}
		raw = []byte(text)
	}
	var c CommitInfo
	header, message, _ := strings.Cut(string(raw), "\n\n")
	for line := range strings.Lines(header) {
		line = strings.TrimSpace(line)
		if t, ok := strings.CutPrefix(line, "tree "); ok && c.Tree == "" {
			c.Tree = t
		} else if p, ok := strings.CutPrefix(line, "parent "); ok {
			c.Parents = append(c.Parents, p)
		}
	}
	c.Message = message
	return c, nil
}

func (r *Repo) looseCommit(hash string) ([]byte, error) {
	if len(hash) < 40 {
		return nil, fs.ErrNotExist
	}
	f, err := os.Open(filepath.Join(r.Common, "objects", hash[:2], hash[2:]))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	data, err := io.ReadAll(io.LimitReader(z, 1<<20))
	if err != nil {
		return nil, err
	}
	head, body, ok := bytes.Cut(data, []byte{0})
	if !ok || !bytes.HasPrefix(head, []byte("commit ")) {
		return nil, fs.ErrInvalid
	}
	return body, nil
}
