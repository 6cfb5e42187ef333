package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// index parses the index of the user's checkout. A repository without one has no entries.
func (r *Repo) index() (*indexFile, error) {
	data, err := os.ReadFile(filepath.Join(r.GitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return &indexFile{}, nil
	}
	if err != nil {
		return nil, err
	}
	return parseIndex(data, r.objects.nameSize/2)
}

// Named returns the tracked files of the user's checkout that have one of the base names, in the order of the index.
func (r *Repo) Named(ctx context.Context, names ...string) ([]string, error) {
	var found []string
	if ix, err := r.index(); err == nil {
		for _, e := range ix.entries {
			if slices.Contains(names, path.Base(e.path)) {
				found = append(found, e.path)
			}
		}
		return slices.Compact(found), nil // a conflict has several entries
	}
	args := []string{"ls-files", "-z", "--"}
	for _, name := range names {
		args = append(args, ":(top,glob)**/"+name)
	}
	out, err := r.Run(ctx, args...)
	for name := range strings.SplitSeq(out, "\x00") {
		if name != "" {
			found = append(found, name)
		}
	}
	return slices.Compact(found), err
}

// HeadLacks reports whether it is certain that no file of HEAD has a base name: the index has the tree of HEAD, and no
// such file.
func (r *Repo) HeadLacks(ctx context.Context, name string) bool {
	ix, err := r.index()
	if err != nil || ix.root == nil || ix.root.hash == "" ||
		slices.ContainsFunc(ix.entries, func(e indexLine) bool { return path.Base(e.path) == name }) {
		return false
	}
	head, _, err := r.Head(ctx)
	if err != nil {
		return false
	}
	tree, err := r.TreeOf(ctx, head)
	return err == nil && tree == ix.root.hash
}
