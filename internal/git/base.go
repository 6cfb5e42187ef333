package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/lists"
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
	// Most of them do not exist, and files tell that.
	settings, settingsErr := r.settings(ctx)
	refs = slices.DeleteFunc(refs, func(ref string) bool {
		if strings.HasPrefix(ref, "refs/") {
			return !r.MayExist(ref)
		}
		return settingsErr == nil && settings["branch."+branch+".merge"] == ""
	})
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

// ErrNoMergeTree reports that this git cannot merge without a checkout.
var ErrNoMergeTree = errors.New("git is too old to merge without a checkout; install git 2.38 or newer")

// MergeTree merges two commits without a checkout: it only adds objects. It returns the tree and the sorted paths that
// git could not merge. If there are such paths, the tree contains conflict markers and must not be committed. A
// conflict is not an error.
func (r *Repo) MergeTree(ctx context.Context, ours, theirs string) (tree string, conflicts []string, err error) {
	// Settings for merges by hand must not decide whether a run conflicts. Moved folders are conflicts, as in git's
	// default, because it is uncertain whether a new file belongs into the old or the new folder.
	out, err := r.at(ctx, r.Root, nil, "-c", "merge.renames=true", "-c", "merge.directoryRenames=conflict", "-c",
		"merge.conflictStyle=merge", "merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, theirs)
	code := exitStatus(err)
	if code == 129 { // it prints its usage
		return "", nil, fmt.Errorf("merge %s with %s: %w", ours, theirs, ErrNoMergeTree)
	}
	if err != nil && code != 1 {
		return "", nil, fmt.Errorf("merge %s with %s: %w", ours, theirs, err)
	}
	tree, rest, _ := strings.Cut(string(out), "\x00")
	if len(tree) < 40 {
		return "", nil, fmt.Errorf("merge %s with %s: git merge-tree printed %q, which cannot be read", ours, theirs, out)
	}
	if code == 0 {
		return tree, nil, nil
	}
	if conflicts = conflicted(rest, ours, theirs); len(conflicts) == 0 {
		return "", nil, fmt.Errorf("merge %s with %s: git reports a conflict and names no file", ours, theirs)
	}
	return tree, conflicts, nil
}

// mergeDisjoint is [Repo.Rebased] without a process, for sides that changed different files and cannot contain renames.
func (r *Repo) mergeDisjoint(ctx context.Context, base, onto, tree string) (newTree string, ok bool) {
	ours, ok := r.diffTrees(base, onto)
	if !ok || mayRename(ours) {
		return "", false
	}
	theirs, ok := r.diffTrees(base, tree)
	if !ok || mayRename(theirs) || meet(ours, theirs) || meet(theirs, ours) || !r.plainFiles(ctx) {
		return "", false
	}
	newTree, err := r.graft(ctx, onto, theirs)
	return newTree, err == nil && newTree != ""
}

// mayRename reports whether git could treat one of the changes as a rename: a file was removed and another added.
func mayRename(changes []Entry) bool {
	is := func(status byte) func(Entry) bool { return func(e Entry) bool { return e.Status == status } }
	return slices.ContainsFunc(changes, is('A')) && slices.ContainsFunc(changes, is('D'))
}

// meet reports whether a path of a is also in b, or a folder of a path in b.
func meet(a, b []Entry) bool {
	paths := lists.SetBy(a, func(e Entry) string { return e.Path })
	return slices.ContainsFunc(b, func(e Entry) bool {
		for at := e.Path; at != "."; at = path.Dir(at) {
			if paths[at] {
				return true
			}
		}
		return false
	})
}

// errNotLoose reports that git has to read a tree.
var errNotLoose = errors.New("the tree is packed")

// graft stores a copy of tree, "" for none, with changes, whose old versions it contains. It returns "" for a folder
// without files.
func (r *Repo) graft(ctx context.Context, tree string, changes []Entry) (string, error) {
	entries, ok := r.readTree(tree)
	if !ok {
		return "", errNotLoose
	}
	if entries == nil {
		entries = map[string]treeEntry{}
	}
	below := map[string][]Entry{}
	for _, e := range changes {
		name, rest, folder := strings.Cut(e.Path, "/")
		switch {
		case folder:
			e.Path = rest
			below[name] = append(below[name], e)
		case e.NewMode == modeNone:
			delete(entries, name)
		default:
			entries[name] = treeEntry{e.NewMode, e.newBlob}
		}
	}
	for name, of := range below {
		if was, there := entries[name]; there && was.mode != modeTree {
			return "", fmt.Errorf("%s is a file and a folder", name)
		}
		sub, err := r.graft(ctx, treeHash(entries[name]), of)
		if err != nil {
			return "", err
		}
		if entries[name] = (treeEntry{modeTree, sub}); sub == "" {
			delete(entries, name)
		}
	}
	if len(entries) == 0 {
		return "", nil
	}
	lines := make([]treeLine, 0, len(entries))
	for name, e := range entries {
		lines = append(lines, treeLine{e, name})
	}
	return r.writeTree(ctx, lines)
}

// conflicted parses what follows the tree: paths, an empty field, and then messages. Each message has a count, that
// many paths, a kind and a text. Some conflicts, such as a folder that moved to two places, appear only in messages.
func conflicted(out string, sides ...string) []string {
	fields := strings.Split(out, "\x00")
	end := slices.Index(fields, "")
	if end < 0 {
		end = len(fields)
	}
	paths := slices.Clone(fields[:end])
	for i := end + 1; i < len(fields); {
		n := 0
		if _, err := fmt.Sscanf(fields[i], "%d", &n); err != nil || n < 0 || n > len(fields)-i-3 {
			break
		}
		if kind := fields[i+1+n]; strings.HasPrefix(kind, "CONFLICT") && len(paths) == 0 {
			paths = append(paths, fields[i+1:i+1+n]...)
		}
		i += n + 3
	}
	for i := range paths {
		for _, side := range sides {
			// If a file and a folder, or a file and a link, have the same name, git renames one of them.
			paths[i] = strings.TrimSuffix(paths[i], "~"+strings.ReplaceAll(side, "/", "_"))
		}
	}
	return lists.Unique(paths)
}

// Rebased applies the change from base to tree onto onto: a three-way merge of trees, each of which may be given as a
// commit. The result depends only on the three trees. Conflicts are as in [Repo.MergeTree].
func (r *Repo) Rebased(ctx context.Context, base, onto, tree string) (newTree string, conflicts []string, err error) {
	fail := func(err error) (string, []string, error) {
		return "", nil, fmt.Errorf("rebase %s from %s onto %s: %w", tree, base, onto, err)
	}
	trees := [3]string{base, onto, tree}
	for i, name := range trees {
		if trees[i], err = r.TreeOf(ctx, name); err != nil {
			return fail(err)
		}
	}
	// An unchanged side takes the state of the other one.
	switch {
	case trees[0] == trees[1], trees[1] == trees[2]:
		return trees[2], nil, nil
	case trees[0] == trees[2]:
		return trees[1], nil, nil
	}
	if newTree, ok := r.mergeDisjoint(ctx, trees[0], trees[1], trees[2]); ok {
		return newTree, nil, nil
	}
	// git accepts a base by name since 2.40. For older versions a common parent has the same effect.
	root, err := r.CommitTree(ctx, trees[0], "", "base")
	if err != nil {
		return fail(err)
	}
	var sides [2]string
	for i, message := range []string{"onto", "candidate"} {
		if sides[i], err = r.CommitTree(ctx, trees[i+1], root, message); err != nil {
			return fail(err)
		}
	}
	if newTree, conflicts, err = r.MergeTree(ctx, sides[0], sides[1]); err != nil {
		return fail(err)
	}
	return newTree, conflicts, nil
}

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
	return out, failed(err, "edit tree %s", tree)
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
