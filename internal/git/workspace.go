package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Workspace is a linked worktree that an agent may change.
type Workspace struct {
	Dir    string // the working tree
	GitDir string // .git/worktrees/NAME
	repo   *Repo
	env    []string
	listed *Compared // the last listing of the index
	index  stamp     // the index, as it was when it was last known which tree it holds
}

// noHooks turns off post-checkout hooks at each reset. They are meant for people who switch branches.
const noHooks = "core.hooksPath=" + os.DevNull

// ErrBroken reports that a workspace lost its link to the repository.
var ErrBroken = errors.New("the workspace's .git was removed or changed")

// OpenWorkspace returns the linked worktree at dir. It fails if dir is not one.
func (r *Repo) OpenWorkspace(dir string) (*Workspace, error) {
	data, err := os.ReadFile(filepath.Join(dir, ".git"))
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", dir, err)
	}
	gitDir, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok || !exists(filepath.Join(gitDir, "HEAD")) || filepath.Dir(gitDir) != filepath.Join(r.Common, "worktrees") {
		return nil, fmt.Errorf("open workspace %s: %w", dir, ErrBroken)
	}
	return &Workspace{Dir: dir, GitDir: gitDir, repo: r,
		env: append(slices.Clip(r.env), "GIT_DIR="+gitDir, "GIT_WORK_TREE="+dir)}, nil
}

// RemoveWorkspace deletes a worktree in any state. Its branch stays.
func (r *Repo) RemoveWorkspace(ctx context.Context, dir string) error {
	if err := RemoveAll(dir); err != nil {
		return fmt.Errorf("remove workspace: %w", err)
	}
	return failed(r.untie(dir), "remove workspace")
}

// untie makes git forget the worktree that was at dir. "git worktree prune" would also forget the user's worktrees,
// such as those on an unmounted disk.
func (r *Repo) untie(dir string) error {
	real := dir // git writes where it really is
	if parent, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		real = filepath.Join(parent, filepath.Base(dir))
	}
	return r.forget(func(at string) bool { return at == dir || at == real })
}

// Run runs git in the workspace.
func (w *Workspace) Run(ctx context.Context, args ...string) (string, error) {
	out, err := call(ctx, w.Dir, w.env, nil, args...)
	return strings.TrimRight(string(out), "\n"), err
}

// Env returns the environment that git is run with in the workspace.
func (w *Workspace) Env() []string { return w.env }

// Reset brings the workspace to commit base on branch and removes everything else, except for ignored files, which are
// build caches.
func (w *Workspace) Reset(ctx context.Context, branch, base string) error {
	if err := w.release(branch); err != nil {
		return err
	}
	if done, untracked := w.resetFile(ctx, branch, base); done && !untracked {
		return nil
	} else if done {
		return w.cleaned(ctx)
	}
	entries, err := os.ReadDir(w.Dir)
	empty := err == nil && len(entries) == 1 && w.Unfilled() // nothing was ever written, so there is nothing to clean
	// An agent may have put another worktree on this branch. Newer gits would refuse then.
	if err := w.overwrite(ctx, "checkout", "--quiet", "--force", "--ignore-other-worktrees", "--no-track", "-B", branch,
		base); err != nil {
		return fmt.Errorf("reset workspace %s: %w", w.Dir, err)
	}
	if empty {
		return nil
	}
	return w.cleaned(ctx)
}

// overwrite runs a git command that writes files, without hooks, over all changes. Git alone would write through a link
// in place of a folder, and keep the changes of a file that is marked skip-worktree.
func (w *Workspace) overwrite(ctx context.Context, args ...string) error {
	if err := w.unlinkFolders(); err != nil {
		return err
	}
	if _, err := w.Unhide(ctx); err != nil {
		return err
	}
	return w.force(ctx, append([]string{"-c", noHooks}, args...)...)
}

// cleaned removes files that are neither in the index nor ignored.
func (w *Workspace) cleaned(ctx context.Context) error {
	return failed(w.clean(ctx), "clean workspace %s", w.Dir)
}

// Leave brings the workspace to commit at, off branch, and removes everything else except for ignored files.
func (w *Workspace) Leave(ctx context.Context, branch, at string) error {
	if err := w.release(branch); err != nil {
		return err
	}
	if err := w.overwrite(ctx, "checkout", "--quiet", "--force", "--detach", at); err != nil {
		return fmt.Errorf("clear workspace %s: %w", w.Dir, err)
	}
	return failed(w.clean(ctx), "clear workspace %s", w.Dir)
}

// release removes what keeps git from moving the workspace: locks, and an unfinished merge or rebase.
func (w *Workspace) release(branch string) error {
	if err := w.Unlock(branch); err != nil {
		return err
	}
	return failed(w.DropUnfinished(), "reset workspace %s", w.Dir)
}

// Unlock removes lock files that a killed git left in the workspace's own git folder and at its branch. The caller
// has the lock of the run, so no other process works there.
func (w *Workspace) Unlock(branch string) error {
	entries, err := os.ReadDir(w.GitDir)
	if err != nil {
		return err
	}
	var locks []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".lock") {
			locks = append(locks, filepath.Join(w.GitDir, e.Name()))
		}
	}
	return removeLocks(append(locks, filepath.Join(w.repo.Common, "refs", "heads", filepath.FromSlash(branch)+".lock")))
}

// UnlockBranches removes the lock files that a killed git left at the branches under prefix, which the caller owns.
func (r *Repo) UnlockBranches(prefix string) error {
	var locks []string
	err := filepath.WalkDir(filepath.Join(r.Common, "refs", "heads", filepath.FromSlash(prefix)),
		func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".lock") {
				locks = append(locks, path)
			}
			return nil // a missing folder has no locks
		})
	if err != nil {
		return err
	}
	return removeLocks(locks)
}

// removeLocks waits a moment for each lock: a git process that outlived its runplan may still run.
func removeLocks(paths []string) error {
	for _, path := range paths {
		for wait := 0; exists(path); wait++ {
			if wait < 20 {
				time.Sleep(50 * time.Millisecond)
				continue
			}
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove stale %s: %w", path, err)
			}
			break
		}
	}
	return nil
}

// Checkout brings files and index to tree, on top of commit base, and removes everything else except for ignored files.
func (w *Workspace) Checkout(ctx context.Context, branch, base, tree string) error {
	if head, err := w.HeadRef(); err == nil && head == "refs/heads/"+branch {
		// HEAD is already on the branch, so only the branch must move before the files do.
		if err := w.release(branch); err != nil {
			return err
		}
		if w.repo.moveFile(ctx, branch, base, "runplan") && w.fill(ctx, tree) == nil {
			return nil
		}
	}
	if err := w.Reset(ctx, branch, base); err != nil {
		return err
	}
	return w.fill(ctx, tree)
}

// fill brings the files and the index to tree.
func (w *Workspace) fill(ctx context.Context, tree string) error {
	if name, err := w.repo.TreeOf(ctx, tree); err == nil && w.repo.plainFiles(ctx) {
		if done, untracked := w.moveTo(ctx, name); done {
			w.knowIndex(name)
			if untracked {
				return w.cleaned(ctx)
			}
			return nil
		}
	}
	if err := w.overwrite(ctx, "read-tree", "--reset", "-u", tree); err != nil {
		return fmt.Errorf("check out tree %s: %w", tree, err)
	}
	if err := w.cleaned(ctx); err != nil {
		return err
	}
	if name, err := w.repo.TreeOf(ctx, tree); err == nil {
		w.knowIndex(name)
	}
	return nil
}

// Check verifies that the workspace is still intact.
func (w *Workspace) Check() error {
	data, err := os.ReadFile(filepath.Join(w.Dir, ".git"))
	if err != nil || strings.TrimSpace(string(data)) != "gitdir: "+w.GitDir {
		return ErrBroken
	}
	if !exists(filepath.Join(w.GitDir, "HEAD")) {
		return ErrBroken
	}
	return nil
}

// HeadRef returns the branch ("refs/heads/…") that the workspace is on, or a commit when it is detached.
func (w *Workspace) HeadRef() (string, error) {
	if w.repo.reftable() { // with reftable, the file HEAD has no information
		ctx := context.Background()
		if ref, err := w.Run(ctx, "symbolic-ref", "--quiet", "HEAD"); err == nil {
			return ref, nil
		}
		return w.Run(ctx, "rev-parse", "--verify", "HEAD")
	}
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

// Unfilled reports whether nothing was ever checked out in the workspace, see [Repo.AddEmpty].
func (w *Workspace) Unfilled() bool { return !exists(filepath.Join(w.GitDir, "index")) }

// HeadName returns the repository's ref name of the workspace's HEAD, for [Repo.UpdateRefs].
func (w *Workspace) HeadName() string { return "worktrees/" + filepath.Base(w.GitDir) + "/HEAD" }

// SetHead puts the workspace back on a branch without touching files or index.
func (w *Workspace) SetHead(ctx context.Context, ref string) error {
	_, err := w.Run(ctx, "symbolic-ref", "HEAD", ref)
	return err
}

// Detach takes the workspace off its branch, to commit at, without touching files or index.
func (w *Workspace) Detach(ctx context.Context, at string) error {
	_, err := w.Run(ctx, "update-ref", "--no-deref", "-m", "runplan", "HEAD", at)
	return failed(err, "take %s off its branch", w.Dir)
}

// Differences reports whether the index differs from tree ("" skips this check). It also lists the files that differ
// from the index: changed, missing or untracked, without ignored files and those in except, where a slash at the end
// means a folder. It does not look into submodules.
func (w *Workspace) Differences(ctx context.Context, tree string, except []string) (index bool, files []string,
	err error) {
	if tree != "" && !w.indexIs(tree) {
		is, err := w.Run(ctx, "write-tree")
		if err != nil {
			return true, nil, nil // entries without a blob: not a tree of runplan
		}
		w.knowIndex(is)
		index = is != tree
	}
	changed, untracked, err := w.unindexed(ctx, "all")
	return index, slices.DeleteFunc(append(changed, untracked...), func(file string) bool {
		return slices.ContainsFunc(except, func(e string) bool {
			return e == file || strings.HasSuffix(e, "/") && strings.HasPrefix(file, e)
		})
	}), err
}

// Untidy lists the files that differ from the index, and the untracked paths that git does not ignore. An untracked
// folder is one path with a slash at its end. It does not look into submodules.
func (w *Workspace) Untidy(ctx context.Context) (changed, untracked []string, err error) {
	return w.unindexed(ctx, "normal")
}

// unindexed lists what differs from the index. mode says how git lists untracked files.
func (w *Workspace) unindexed(ctx context.Context, mode string) (changed, untracked []string, err error) {
	out, err := w.Run(ctx, "status", "--porcelain", "-z", "--no-renames", "--untracked-files="+mode,
		"--ignore-submodules=all")
	if err != nil {
		return nil, nil, fmt.Errorf("read the state of %s: %w", w.Dir, err)
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		switch {
		case len(entry) <= 3 || entry[1] == ' ':
		case strings.HasPrefix(entry, "??"):
			untracked = append(untracked, entry[3:])
		default:
			changed = append(changed, entry[3:])
		}
	}
	return changed, untracked, nil
}

// Overwrite brings the tracked files and the index to tree. Untracked files stay.
func (w *Workspace) Overwrite(ctx context.Context, tree string) error {
	return failed(w.overwrite(ctx, "read-tree", "--reset", "-u", tree), "check out tree %s", tree)
}

// Head returns the commit that the workspace is at.
func (w *Workspace) Head(ctx context.Context) (string, error) {
	ref, err := w.HeadRef()
	if name, ok := strings.CutPrefix(ref, "refs/heads/"); err == nil && ok && !w.repo.reftable() {
		if hash, err := w.repo.branch(name); err == nil && isHash(hash) {
			return hash, nil
		}
	}
	return w.Run(ctx, "rev-parse", "--verify", "HEAD")
}

// Stage adds everything that is not ignored to the index, except for the paths in except. It returns the tree and the
// paths that differ from base.
func (w *Workspace) Stage(ctx context.Context, base string, except []string) (tree string, changed []string,
	err error) {
	args := addAll(w.GitDir)
	ignored, err := w.Ignored(ctx, except) // git add reports an error if one of these is named
	if err != nil {
		return "", nil, fmt.Errorf("stage the changes in %s: %w", w.Dir, err)
	}
	for _, p := range except {
		if !ignored[p] {
			args = append(args, ":(exclude,literal)"+p)
		}
	}
	for again := false; ; again = true {
		err := w.force(ctx, args...)
		if err == nil {
			ok := false
			if tree, ok = w.indexTree(ctx, base); !ok {
				if tree, err = w.Run(ctx, "write-tree"); err != nil {
					return "", nil, fmt.Errorf("write the tree of %s: %w", w.Dir, err)
				}
			}
			w.knowIndex(tree)
			links := false
			if changed, links, err = w.changed(ctx, base, tree); err != nil || !links || again {
				return tree, changed, err
			}
		}
		if again || errors.Is(err, ErrShut) {
			return "", nil, fmt.Errorf("stage the changes in %s: %w", w.Dir, err)
		}
		switch found, derr := w.dropEmbedded(ctx); {
		case derr != nil:
			return "", nil, fmt.Errorf("stage the changes in %s: %w", w.Dir, derr)
		case !found && err == nil:
			return tree, changed, nil // a submodule that is new
		case !found:
			return "", nil, fmt.Errorf("stage the changes in %s: %w", w.Dir, err)
		}
	}
}

// Restage adds the changes of the files in the index to it, and returns its tree.
func (w *Workspace) Restage(ctx context.Context) (tree string, err error) {
	w.index.tree = ""
	if _, err = w.Run(ctx, "-c", "core.safecrlf=false", "add", "--update", "--", "."); err == nil {
		tree, err = w.Run(ctx, "write-tree")
	}
	return tree, failed(err, "stage the changes in %s", w.Dir)
}

// sparseFile is the file of a worktree with the patterns of its sparse checkout.
const sparseFile = "info/sparse-checkout"

// addAll returns the command that adds all files to the index, also those outside of a sparse checkout: git alone would
// leave them out without an error.
func addAll(gitDir string) []string {
	args := []string{"-c", "advice.addEmbeddedRepo=false", "-c", "core.safecrlf=false", "add", "--all"}
	if exists(filepath.Join(gitDir, sparseFile)) {
		args = append(args, "--sparse")
	}
	return append(args, "--", ".")
}

// Changed returns the sorted paths in which the index differs from commit base.
func (w *Workspace) Changed(ctx context.Context, base string) ([]string, error) {
	tree := ""
	if w.indexIs(w.index.tree) {
		tree = w.index.tree
	}
	paths, _, err := w.changed(ctx, base, tree)
	return paths, err
}

// changed also reports whether there are new links to other repositories. The tree of the index may be known.
func (w *Workspace) changed(ctx context.Context, base, tree string) (paths []string, links bool, err error) {
	entries, ok := w.repo.compare(ctx, base, tree)
	if !ok {
		out, err := w.Run(ctx, "diff-index", "--cached", "--raw", "--no-renames", "-z", base)
		if err != nil {
			return nil, false, fmt.Errorf("list the changes in %s: %w", w.Dir, err)
		}
		if entries, err = parseRaw(out); err != nil {
			return nil, false, err
		}
	}
	for _, e := range entries {
		paths = append(paths, e.Path)
		links = links || e.Status == 'A' && e.NewMode == modeGitlink
	}
	slices.Sort(paths)
	w.listed = &Compared{repo: w.repo, base: base}
	w.listed.know(entries)
	return paths, links, nil
}

// Compared returns the comparison of the index with commit base, as last listed. Only the caller changes the index
// meanwhile.
func (w *Workspace) Compared(base, tree string) *Compared {
	if w.listed == nil || w.listed.base != base {
		return w.repo.Compare(base, tree)
	}
	return w.listed
}

// CommitInfo holds the content of a commit.
type CommitInfo struct {
	Tree    string
	Parents []string
	Message string
}

// ReadCommit reads a commit. A fresh commit is a loose object, which is read without a process.
func (r *Repo) ReadCommit(ctx context.Context, hash string) (CommitInfo, error) {
	raw, _, err := r.loose(hash, "commit", 1<<20)
	if err != nil || raw == nil {
		text, err := r.Run(ctx, "cat-file", "commit", hash)
		if err != nil {
			return CommitInfo{}, fmt.Errorf("read commit %s: %w", hash, err)
		}
		raw = []byte(text)
	}
	var c CommitInfo
	header, message, _ := strings.Cut(string(raw), "\n\n")
	for line := range strings.Lines(header) {
		line = strings.TrimSuffix(line, "\n") // a line that begins with a space belongs to the one before
		if t, ok := strings.CutPrefix(line, "tree "); ok && c.Tree == "" {
			c.Tree = t
		} else if p, ok := strings.CutPrefix(line, "parent "); ok {
			c.Parents = append(c.Parents, p)
		}
	}
	c.Message = strings.TrimRight(message, "\n")
	return c, nil
}

// ForgetWorkspaces makes git forget the worktrees below dir, even if their files are missing.
func (r *Repo) ForgetWorkspaces(dir string) error {
	return r.forget(func(at string) bool { return isBelow(dir, at) })
}

// ForgetMissing removes git's records of worktrees below dir that do not exist: a killed "git worktree add" leaves one.
// The caller must prevent concurrent additions there.
func (r *Repo) ForgetMissing(dir string) error {
	return r.forget(func(at string) bool {
		_, err := os.Lstat(at)
		return isBelow(dir, at) && errors.Is(err, fs.ErrNotExist)
	})
}

func isBelow(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// forget removes git's records of the worktrees that are unwanted.
func (r *Repo) forget(unwanted func(worktree string) bool) error {
	ties := filepath.Join(r.Common, "worktrees")
	entries, err := os.ReadDir(ties)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(ties, e.Name(), "gitdir"))
		if err == nil && unwanted(filepath.Dir(strings.TrimSpace(string(data)))) {
			if err := os.RemoveAll(filepath.Join(ties, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
