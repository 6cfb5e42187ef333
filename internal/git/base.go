package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/proc"
)

// EmptyTree returns the hash of the empty tree.
func (r *Repo) EmptyTree(ctx context.Context) (string, error) {
	return r.Input(ctx, "", "hash-object", "-t", "tree", "--stdin")
}

// MergeBase returns the best common ancestor of two commits, or "" if there is none.
func (r *Repo) MergeBase(ctx context.Context, a, b string) (string, error) {
	out, err := r.Run(ctx, "merge-base", a, b)
	if exitStatus(err) == 1 {
		return "", nil
	}
	return out, err
}

// Upstream finds the base to compare the work in the checkout with: the main branch of origin, else the upstream of
// this branch, else a local main branch. It returns the ref and its commit, or nothing.
func (r *Repo) Upstream(ctx context.Context, branch string) (name, commit string, err error) {
	refs := []string{"refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master"}
	if branch != "" {
		refs = append(refs, branch+"@{upstream}")
	}
	for _, b := range []string{"main", "master"} {
		if b != branch {
			refs = append(refs, "refs/heads/"+b)
		}
	}
	// Most of them do not exist; one query for all is cheaper than one for each.
	if there, err := r.Run(ctx, append([]string{"for-each-ref", "--format=%(refname)"}, refs...)...); err == nil {
		known := strings.Split(there, "\n")
		refs = slices.DeleteFunc(refs,
			func(ref string) bool { return strings.HasPrefix(ref, "refs/") && !slices.Contains(known, ref) })
	}
	for _, ref := range refs {
		out, err := r.Run(ctx, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
		switch code := exitStatus(err); {
		case code == 1, code == 128: // 128: the branch follows none
			continue
		case err != nil:
			return "", "", err
		}
		name = strings.TrimPrefix(strings.TrimPrefix(ref, "refs/remotes/"), "refs/heads/")
		if full, err := r.Run(ctx, "rev-parse", "--abbrev-ref", "--verify", "--quiet", ref); err == nil && full != "" {
			name = full
		}
		return name, out, nil
	}
	return "", "", nil
}

// AddDetached makes a linked worktree at dir that is on no branch. No hook of the repository runs.
func (r *Repo) AddDetached(ctx context.Context, dir, commit string) (*Workspace, error) {
	return r.addWorktree(ctx, dir, "--detach", dir, commit)
}

// AddEmpty is [Repo.AddDetached] without the files, for callers that then bring the workspace to a commit.
func (r *Repo) AddEmpty(ctx context.Context, dir, commit string) (*Workspace, error) {
	if r.addFile(ctx, dir, commit) {
		return r.OpenWorkspace(dir)
	}
	return r.addWorktree(ctx, dir, "--detach", "--no-checkout", dir, commit)
}

func (r *Repo) addWorktree(ctx context.Context, dir string, args ...string) (*Workspace, error) {
	args = append([]string{"-c", "worktree.useRelativePaths=false", "-c", noHooks, "worktree", "add", "--quiet",
		"--force"}, args...)
	if _, err := r.Run(ctx, args...); err != nil {
		return nil, fmt.Errorf("make workspace %s: %w", dir, err)
	}
	return r.OpenWorkspace(dir)
}

// exitStatus returns the status that git ended with; 0 for any other error.
func exitStatus(err error) int {
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		return exit.Code
	}
	return 0
}
