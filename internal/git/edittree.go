package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// TreeFile is a file to put into a tree: its mode, such as "100644", and the hash of its blob.
type TreeFile struct{ Mode, Blob string }

// EditTree stores a copy of tree with the files of put and without those of drop. It uses a temporary index, so it
// changes neither checkouts nor the user's index.
func (r *Repo) EditTree(ctx context.Context, tree string, put map[string]TreeFile, drop []string) (string, error) {
	dir, err := os.MkdirTemp("", "runplan-index-")
	if err != nil {
		return "", fmt.Errorf("edit tree %s: %w", tree, err)
	}
	defer os.RemoveAll(dir)
	env := append(slices.Clip(r.env), "GIT_INDEX_FILE="+filepath.Join(dir, "index"))
	git := func(stdin string, args ...string) (string, error) {
		out, err := call(ctx, r.Root, env, strings.NewReader(stdin), args...)
		return strings.TrimSpace(string(out)), err
	}
	if _, err := git("", "read-tree", tree); err != nil {
		return "", fmt.Errorf("edit tree %s: %w", tree, err)
	}
	var lines strings.Builder
	for _, path := range drop {
		fmt.Fprintf(&lines, "0 %s\t%s\x00", strings.Repeat("0", len(tree)), path)
	}
	for path, f := range put {
		fmt.Fprintf(&lines, "%s %s\t%s\x00", f.Mode, f.Blob, path)
	}
	if _, err := git(lines.String(), "update-index", "-z", "--index-info"); err != nil {
		return "", fmt.Errorf("edit tree %s: %w", tree, err)
	}
	out, err := git("", "write-tree")
	if err != nil {
		return "", fmt.Errorf("edit tree %s: %w", tree, err)
	}
	return out, nil
}

// IsAsIn reports whether all paths are equal in tree and commit, including paths that are in neither.
func (r *Repo) IsAsIn(ctx context.Context, commit, tree string, paths []string) (bool, error) {
	_, err := r.Run(ctx, append(
		[]string{"--literal-pathspecs", "diff-tree", "-r", "--quiet", commit + "^{tree}", tree, "--"}, paths...)...)
	if exitStatus(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// oldCommits limits the commits that are searched for a revert.
const oldCommits = 50

// Reverts reports whether all paths in tree have the state of one older commit of base.
func (r *Repo) Reverts(ctx context.Context, base, tree string, paths []string) bool {
	if base == "" || len(paths) == 0 || len(paths) > 500 {
		return false
	}
	out, err := r.Run(ctx, append(
		[]string{"--literal-pathspecs", "log", "--format=%P", "-n", strconv.Itoa(oldCommits), base, "--"}, paths...)...)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(strings.Fields(out), func(commit string) bool {
		same, err := r.IsAsIn(ctx, commit, tree, paths)
		return err == nil && same
	})
}
