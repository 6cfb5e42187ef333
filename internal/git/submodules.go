package git

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Submodule is a checked-out submodule that differs from a commit.
type Submodule struct {
	Path      string `json:"path"`                // with slashes, in the workspace
	Commit    string `json:"commit,omitempty"`    // its present commit, which is not the recorded one
	Changed   bool   `json:"changed,omitempty"`   // files differ from the submodule's own commit
	Untracked bool   `json:"untracked,omitempty"` // it has untracked files
}

// Submodules lists the submodules of the workspace that differ from commit base.
func (w *Workspace) Submodules(ctx context.Context, base string) ([]Submodule, error) {
	if !exists(filepath.Join(w.Dir, ".gitmodules")) {
		return nil, nil
	}
	moved, err := w.movedSubmodules(ctx, base)
	if err != nil {
		return nil, fmt.Errorf("check the submodules of %s: %w", w.Dir, err)
	}
	out, err := w.Run(ctx, "status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no",
		"--ignore-submodules=none")
	if err != nil {
		return nil, fmt.Errorf("check the submodules of %s: %w", w.Dir, err)
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

// movedSubmodules returns the present commits of submodules that differ from base.
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

// Published reports whether the remote of a submodule has a commit, according to the last fetch.
func (w *Workspace) Published(ctx context.Context, s Submodule) (bool, error) {
	if s.Commit == "" {
		return true, nil
	}
	ref, err := w.inSubmodule(ctx, s.Path, "for-each-ref", "--count=1", "--format=%(refname)", "--contains="+s.Commit,
		"refs/remotes", "refs/tags")
	return ref != "", failed(err, "check submodule %s", s.Path)
}

// CleanSubmodule removes the untracked files of a submodule, except ignored ones.
func (w *Workspace) CleanSubmodule(ctx context.Context, s Submodule) error {
	_, err := w.inSubmodule(ctx, s.Path, "clean", "-ffdq")
	return failed(err, "clean submodule %s", s.Path)
}

// inSubmodule runs git in a checked-out submodule. If it has no .git, git would use the repository around it.
func (w *Workspace) inSubmodule(ctx context.Context, path string, args ...string) (string, error) {
	out, err := w.repo.at(ctx, filepath.Join(w.Dir, filepath.FromSlash(path)), nil, args...)
	return strings.TrimRight(string(out), "\n"), err
}
