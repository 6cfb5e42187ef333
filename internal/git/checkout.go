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

	"github.com/runplan/runplan/internal/lists"
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

// Untracked returns those of paths that exist in the user's checkout without being in its index, ignored ones included.
// If a folder on the way to a path is a file, it returns that file. Git refuses to write over such files in a merge, and
// overwrites ignored ones without a message.
func (r *Repo) Untracked(ctx context.Context, paths []string) ([]string, error) {
	var found []string
	for _, p := range paths {
		if at := r.present(p); at != "" {
			found = append(found, at)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	tracked, err := r.tracked(ctx)
	found = slices.DeleteFunc(found, func(p string) bool {
		for at := p; at != "."; at = path.Dir(at) { // a folder in the index is a submodule
			if _, ok := slices.BinarySearch(tracked, at); ok {
				return true
			}
		}
		return false
	})
	return lists.Unique(found), err
}

// present returns what the checkout has at a path: the path itself, a file on the way to it, or "".
func (r *Repo) present(p string) string {
	if !filepath.IsLocal(filepath.FromSlash(p)) {
		return ""
	}
	for i := range len(p) + 1 {
		if i < len(p) && p[i] != '/' {
			continue
		}
		info, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(p[:i])))
		if err != nil {
			return ""
		}
		if !info.IsDir() {
			return p[:i]
		}
	}
	return "" // a folder
}

// tracked returns the paths in the index of the user's checkout, sorted.
func (r *Repo) tracked(ctx context.Context) ([]string, error) {
	if ix, err := r.index(); err == nil {
		return slices.Sorted(func(yield func(string) bool) {
			for _, e := range ix.entries {
				if !yield(e.path) {
					return
				}
			}
		}), nil
	}
	out, err := r.at(ctx, r.Root, nil, "ls-files", "-z")
	list := strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 })
	slices.Sort(list)
	return list, err
}

// InTheWay returns the files of the user's checkout that keep a merge of commit target from succeeding, or that the
// merge would overwrite: untracked ones that it adds, and changed ones that it changes.
func (r *Repo) InTheWay(ctx context.Context, target string) ([]string, error) {
	head, _, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	base, err := r.MergeBase(ctx, head, target)
	if err != nil {
		return nil, err
	}
	entries, err := r.Compare(base, target).Entries(ctx)
	if err != nil {
		return nil, err
	}
	paths := lists.Map(entries, func(e Entry) string { return e.Path })
	found, err := r.Untracked(ctx, paths)
	if err != nil {
		return nil, err
	}
	changed, _, err := r.Dirty(ctx)
	for _, p := range changed {
		if slices.Contains(paths, p) {
			found = append(found, p)
		}
	}
	return lists.Unique(found), err
}

// FastForward merges commit into the branch that the user's checkout has, and writes its files. It refuses to overwrite
// files that are not committed, also ignored ones.
func (r *Repo) FastForward(ctx context.Context, commit string) error {
	_, err := r.Run(ctx, "-c", "gc.auto=0", "merge", "--quiet", "--ff-only", "--no-overwrite-ignore", commit)
	return err
}
