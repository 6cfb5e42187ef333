package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// stamp is the checksum of an index and its tree.
type stamp struct {
	tree string
	sum  [sha256.Size]byte
}

// knowIndex records the tree of the index. Only the caller changes the index meanwhile.
func (w *Workspace) knowIndex(tree string) {
	w.index = stamp{}
	if sum, ok := w.indexSum(); ok {
		w.index = stamp{tree, sum}
	}
}

// indexIs reports whether the index is byte for byte one that has tree. If it is not, it may still have that tree.
func (w *Workspace) indexIs(tree string) bool {
	if w.index.tree != tree || tree == "" {
		return false
	}
	sum, ok := w.indexSum()
	return ok && sum == w.index.sum
}

// indexSum returns a checksum of the index.
func (w *Workspace) indexSum() (sum [sha256.Size]byte, ok bool) {
	if shared, _ := filepath.Glob(filepath.Join(w.GitDir, "sharedindex.*")); len(shared) > 0 {
		return sum, false // a part of it is in another file
	}
	data, err := os.ReadFile(filepath.Join(w.GitDir, "index"))
	return sha256.Sum256(data), err == nil
}

// Unhide removes the marks of [Repo.Hidden] and returns the files that had one. It leaves skip-worktree alone in a sparse
// checkout, which needs it.
func (w *Workspace) Unhide(ctx context.Context) ([]string, error) {
	assumed, skipped, err := hidden(ctx, w.GitDir, w.Run)
	if err != nil {
		return nil, err
	}
	if len(skipped) > 0 {
		if v, err := w.Run(ctx, "config", "--type=bool", "--get", "core.sparseCheckout"); err == nil && v == "true" {
			skipped = nil
		}
	}
	for flag, paths := range map[string][]string{"--no-assume-unchanged": assumed, "--no-skip-worktree": skipped} {
		for part := range slices.Chunk(paths, 200) {
			if _, err := w.Run(ctx, append([]string{"update-index", flag, "--"}, part...)...); err != nil {
				return nil, fmt.Errorf("stop hiding files from git: %w", err)
			}
		}
	}
	return slices.Concat(assumed, skipped), nil
}

// Hidden lists the files of the checkout that git was told to ignore: those marked assume-unchanged, and those marked
// skip-worktree.
func (r *Repo) Hidden(ctx context.Context) (assumed, skipped []string, err error) {
	return hidden(ctx, r.GitDir, r.Run)
}

func hidden(ctx context.Context, gitDir string, run func(context.Context, ...string) (string, error)) (assumed,
	skipped []string, err error) {
	data, err := os.ReadFile(filepath.Join(gitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && unmarked(data) {
		return nil, nil, nil
	}
	out, err := run(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return nil, nil, fmt.Errorf("list the files that are hidden from git: %w", err)
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		if len(entry) < 3 {
			continue
		}
		switch tag, path := entry[0], entry[2:]; {
		case tag == 'S':
			skipped = append(skipped, path)
		case tag == 's':
			skipped = append(skipped, path)
			assumed = append(assumed, path)
		case tag >= 'a' && tag <= 'z':
			assumed = append(assumed, path)
		}
	}
	return assumed, skipped, nil
}

// unmarked reports whether it is certain that an index hides no file.
func unmarked(data []byte) bool {
	ix, err := parseIndex(data, 0)
	return err == nil && !slices.ContainsFunc(ix.entries,
		func(e indexLine) bool { return e.flags&(flagAssumed|flagExtended) != 0 })
}

// IndexEntry is one file of an index.
type IndexEntry struct {
	Path string // slashes
	Mode uint32 // as in a tree: 0100644, 0100755, 0120000, 0160000
	Size uint32 // size modulo 2^32 in the file system when git wrote the file
}

// ErrIndexFormat reports that [Workspace.Index] does not support the format of an index.
var ErrIndexFormat = errors.New("unknown index format")

// Index lists the files of the workspace's index in its order. It reads versions 2 and 3 without a split index, as
// [Workspace.Fill] writes them.
func (w *Workspace) Index() ([]IndexEntry, error) {
	ix, err := w.readIndex(len(w.index.tree) / 2)
	if err != nil {
		return nil, fmt.Errorf("read the index of %s: %w", w.Dir, err)
	}
	out := make([]IndexEntry, len(ix.entries))
	for i, e := range ix.entries {
		out[i] = IndexEntry{Path: e.path, Mode: e.stat.mode, Size: e.stat.size}
	}
	return out, nil
}

// Fill brings the tracked files and the index to tree, and HEAD to commit base, off any branch. Untracked files stay.
func (w *Workspace) Fill(ctx context.Context, base, tree string) error {
	if err := w.force(ctx, "-c", "index.version=2", "-c", "core.splitIndex=false", "-c", "core.untrackedCache=false", "-c",
		"core.fsmonitor=false",
		"-c", "core.trustctime=true", "-c", noHooks, "read-tree", "--reset", "-u", tree); err != nil {
		return fmt.Errorf("check out tree %s: %w", tree, err)
	}
	w.index = stamp{tree: tree}
	return w.headTo(ctx, base)
}
