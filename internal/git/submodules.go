package git

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/proc"
)

// Submodule is a checked out submodule that is not as a commit has it.
type Submodule struct {
	Path      string `json:"path"`                // with slashes, in the workspace
	Commit    string `json:"commit,omitempty"`    // it is at this one, and not at the one that it is to be at
	Changed   bool   `json:"changed,omitempty"`   // files are not as the submodule's own commit has them
	Untracked bool   `json:"untracked,omitempty"` // there are files that its repository does not know
}

// Submodules lists the submodules of the workspace that are not as commit base has them.
func (w *Workspace) Submodules(ctx context.Context, base string) ([]Submodule, error) {
	if !exists(filepath.Join(w.Dir, ".gitmodules")) {
		return nil, nil
	}
	moved, err := w.movedSubmodules(ctx, base)
	if err != nil {
		return nil, fmt.Errorf("look at the submodules of %s: %w", w.Dir, err)
	}
	out, err := w.Run(ctx, "status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no",
		"--ignore-submodules=none")
	if err != nil {
		return nil, fmt.Errorf("look at the submodules of %s: %w", w.Dir, err)
	}
	found := map[string]Submodule{}
	for path, commit := range moved {
		found[path] = Submodule{Path: path, Commit: commit}
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		f := strings.SplitN(entry, " ", 9) // 1 XY SCMU mode mode mode object object path
		if len(f) != 9 || f[0] != "1" || len(f[2]) != 4 || f[2][2:] == ".." || f[2][0] != 'S' {
			continue
		}
		s := found[f[8]]
		s.Path, s.Changed, s.Untracked = f[8], f[2][2] == 'M', f[2][3] == 'U'
		found[s.Path] = s
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Submodule) int { return strings.Compare(a.Path, b.Path) }), nil
}

// movedSubmodules returns the commits of submodules that are at another one than base says.
func (w *Workspace) movedSubmodules(ctx context.Context, base string) (map[string]string, error) {
	out, err := w.Run(ctx, "diff-index", "--raw", "--no-renames", "-z", "--ignore-submodules=dirty", base)
	if err != nil {
		return nil, err
	}
	entries, err := parseRaw(out)
	if err != nil {
		return nil, err
	}
	moved := map[string]string{}
	for _, e := range entries {
		if e.NewMode != modeGitlink || !exists(filepath.Join(w.Dir, filepath.FromSlash(e.Path), ".git")) {
			continue
		}
		commit, err := w.inSubmodule(ctx, e.Path, "rev-parse", "--verify", "HEAD")
		if err != nil {
			return nil, err
		}
		if commit != e.oldBlob {
			moved[e.Path] = commit
		}
	}
	return moved, nil
}

// Published reports whether a commit of a submodule is one that its remote has, as far as was ever fetched.
func (w *Workspace) Published(ctx context.Context, s Submodule) (bool, error) {
	if s.Commit == "" {
		return true, nil
	}
	ref, err := w.inSubmodule(ctx, s.Path, "for-each-ref", "--count=1", "--format=%(refname)", "--contains="+s.Commit,
		"refs/remotes", "refs/tags")
	if err != nil {
		return false, fmt.Errorf("look at submodule %s: %w", s.Path, err)
	}
	return ref != "", nil
}

// CleanSubmodule removes the files of a submodule that its repository does not know; those that it ignores stay.
func (w *Workspace) CleanSubmodule(ctx context.Context, s Submodule) error {
	if _, err := w.inSubmodule(ctx, s.Path, "clean", "-ffdq"); err != nil {
		return fmt.Errorf("clean submodule %s: %w", s.Path, err)
	}
	return nil
}

// inSubmodule runs git in a checked-out submodule. Without a .git of its own, git would use the repository around it.
func (w *Workspace) inSubmodule(ctx context.Context, path string, args ...string) (string, error) {
	out, err := proc.Output(context.WithoutCancel(ctx),
		proc.Cmd{Args: append([]string{"git"}, args...), Dir: filepath.Join(w.Dir, filepath.FromSlash(path)),
			Env: w.repo.env})
	return strings.TrimRight(string(out), "\n"), err
}
