package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/lists"
)

// MaxBlob limits the bytes of a file that [Compared.Before] and [Compared.After] read.
const MaxBlob = 2 << 20

// maxBlobs limits the bytes that one comparison holds in memory.
const maxBlobs = 256 << 20

// ErrBlobTooLarge reports that a file, or all files together, are too large to read.
var ErrBlobTooLarge = errors.New("the file is too large to check")

// Compared compares two trees. It runs git at the first call: one process each for the different names, the sizes and
// all contents, for any number of files.
type Compared struct {
	repo         *Repo
	base, target string

	names sync.Once
	list  []Entry
	err   error

	texts    sync.Once
	blobs    map[string][]byte // by object
	large    map[string]bool
	textsErr error
}

// Entry is a path that differs between two trees.
type Entry struct {
	Path             string
	Status           byte // A, M, D, or T where a file became a link or the other way round
	OldMode, NewMode string
	oldBlob, newBlob string
}

// Link reports whether the path is, or became, a symbolic link.
func (e Entry) Link() bool { return e.NewMode == "120000" }

// Compare compares tree or commit base with tree or commit target.
func (r *Repo) Compare(base, target string) *Compared {
	return &Compared{repo: r, base: base, target: target}
}

// Entries lists the differences, sorted by path. It does not detect renames.
func (c *Compared) Entries(ctx context.Context) ([]Entry, error) {
	c.names.Do(func() {
		out, err := c.repo.at(ctx, c.repo.Root, nil, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", c.base,
			c.target, "--")
		if err != nil {
			c.err = fmt.Errorf("compare %s with %s: %w", c.base, c.target, err)
			return
		}
		c.list, c.err = parseRaw(string(out))
		sortEntries(c.list)
	})
	return c.list, c.err
}

// Patch returns the difference of the paths as a patch for git apply, including binary files.
func (c *Compared) Patch(ctx context.Context, paths []string) ([]byte, error) {
	args := append([]string{"--literal-pathspecs", "diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames",
		"--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", c.base, c.target, "--"}, paths...)
	out, err := c.repo.at(ctx, c.repo.Root, nil, args...)
	return out, failed(err, "compare %s with %s", c.base, c.target)
}

// know sets the entries, so that git need not be asked.
func (c *Compared) know(list []Entry) {
	c.names.Do(func() {
		c.list = list
		sortEntries(c.list)
	})
}

func sortEntries(list []Entry) {
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
}

// parseRaw reads ":mode mode hash hash status NUL path NUL" and so on.
func parseRaw(out string) ([]Entry, error) {
	var list []Entry
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if len(fields) == 1 && fields[0] == "" {
		return nil, nil
	}
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(f) != 5 || f[4] == "" {
			return nil, fmt.Errorf("git diff-tree printed %q, which cannot be read", fields[i])
		}
		list = append(list, Entry{Path: fields[i+1], Status: f[4][0], OldMode: f[0], NewMode: f[1], oldBlob: f[2],
			newBlob: f[3]})
	}
	return list, nil
}

// Reverts reports whether all differing paths have in the target the content of one commit before base.
func (c *Compared) Reverts(ctx context.Context, base string) bool {
	list, err := c.Entries(ctx)
	if err != nil {
		return false
	}
	paths := lists.Map(list, func(e Entry) string { return e.Path })
	return c.repo.Reverts(ctx, base, c.target, paths)
}

// Before returns the content in base of a path that differs, After the content in target: nil if the path is not a
// file or a link there.
func (c *Compared) Before(ctx context.Context, path string) ([]byte, error) {
	return c.text(ctx, path, func(e Entry) string { return blobOf(e.OldMode, e.oldBlob) })
}

// After returns the other side of [Compared.Before].
func (c *Compared) After(ctx context.Context, path string) ([]byte, error) {
	return c.text(ctx, path, func(e Entry) string { return blobOf(e.NewMode, e.newBlob) })
}

// blobOf returns "" for entries without content: missing files and submodules.
func blobOf(mode, blob string) string {
	if strings.HasPrefix(mode, "10") || mode == "120000" {
		return blob
	}
	return ""
}

func (c *Compared) text(ctx context.Context, path string, side func(Entry) string) ([]byte, error) {
	list, err := c.Entries(ctx)
	if err != nil {
		return nil, err
	}
	i, ok := slices.BinarySearchFunc(list, path, func(e Entry, p string) int { return strings.Compare(e.Path, p) })
	if !ok {
		return nil, fmt.Errorf("read %s: it does not differ from %s", path, c.base)
	}
	blob := side(list[i])
	if blob == "" {
		return nil, nil
	}
	c.texts.Do(func() { c.blobs, c.large, c.textsErr = c.repo.readBlobs(ctx, list) })
	switch data, ok := c.blobs[blob]; {
	case c.textsErr != nil:
		return nil, c.textsErr
	case c.large[blob]:
		return nil, ErrBlobTooLarge
	case !ok:
		return nil, fmt.Errorf("read %s: git does not have object %s", path, blob)
	default:
		return data, nil
	}
}

func (r *Repo) readBlobs(ctx context.Context, list []Entry) (map[string][]byte, map[string]bool, error) {
	blobs, large := map[string][]byte{}, map[string]bool{}
	var names []string
	total := 0
	seen := map[string]bool{}
	for _, e := range list {
		for _, b := range []string{blobOf(e.OldMode, e.oldBlob), blobOf(e.NewMode, e.newBlob)} {
			if b == "" || seen[b] {
				continue
			}
			seen[b] = true
			// Objects that an agent has just made are loose, and need no process to read.
			data, size, err := r.loose(b, "blob", MaxBlob)
			switch {
			case err != nil:
				names = append(names, b)
			case size > MaxBlob || total+size > maxBlobs:
				large[b] = true
			default:
				total += size
				blobs[b] = data
			}
		}
	}
	if len(names) == 0 {
		return blobs, large, nil
	}
	sizes, err := r.Input(ctx, strings.Join(names, "\n")+"\n", "cat-file", "--batch-check=%(objectname) %(objectsize)")
	if err != nil {
		return nil, nil, fmt.Errorf("read the sizes of changed files: %w", err)
	}
	var ask []string
	for line := range strings.Lines(sizes) {
		name, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(size)
		if err != nil {
			continue // missing: text reports it when requested
		}
		if n > MaxBlob || total+n > maxBlobs {
			large[name] = true
			continue
		}
		total += n
		ask = append(ask, name)
	}
	if len(ask) == 0 {
		return blobs, large, nil
	}
	objects, err := r.ReadObjects(ctx, ask)
	if err != nil {
		return nil, nil, fmt.Errorf("read changed files: %w", err)
	}
	for _, x := range objects {
		blobs[x.Hash] = x.Data
	}
	return blobs, large, nil
}

// ReadObjects returns the objects of names, in their order. Unlike [Repo.Objects] it keeps no process, and it fetches
// what a partial clone lacks.
func (r *Repo) ReadObjects(ctx context.Context, names []string) ([]Object, error) {
	out, err := r.at(ctx, r.Root, strings.NewReader(strings.Join(names, "\n")+"\n"), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(bytes.NewReader(out))
	list := make([]Object, len(names))
	for i := range list {
		if list[i], err = readObject(in); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// WorkingTree writes a tree of the working tree around dir, with untracked files and without ignored ones, and returns
// its hash. Index, files and refs do not change; it only adds objects.
func (r *Repo) WorkingTree(ctx context.Context) (string, error) {
	temp, err := os.MkdirTemp("", "runplan-index-")
	if err != nil {
		return "", fmt.Errorf("write the working tree as a tree: %w", err)
	}
	defer os.RemoveAll(temp)
	index := filepath.Join(temp, "index")
	// With a copy of the index, git need not read each file again.
	own := filepath.Join(r.GitDir, "index")
	if data, err := os.ReadFile(own); err == nil {
		if err := os.WriteFile(index, data, 0o600); err != nil {
			return "", fmt.Errorf("write the working tree as a tree: %w", err)
		}
		// Keep the modification time: git reads files again that are as new as the index, and trusts the recorded times
		// of the rest.
		info, err := os.Stat(own)
		if err == nil {
			err = os.Chtimes(index, info.ModTime(), info.ModTime())
		}
		if err != nil {
			return "", fmt.Errorf("write the working tree as a tree: %w", err)
		}
	}
	var tree []byte
	env := append(slices.Clip(r.env), "GIT_INDEX_FILE="+index)
	apart, err := r.submodulesApart(ctx, env)
	if err != nil {
		return "", fmt.Errorf("write the working tree as a tree: %w", err)
	}
	add := addAll(r.GitDir)
	for _, path := range apart {
		add = append(add, ":(top,exclude,literal)"+path)
	}
	for _, args := range [][]string{add, {"write-tree"}} {
		if tree, err = call(ctx, r.Root, env, nil, args...); err != nil {
			return "", fmt.Errorf("write the working tree as a tree: %w", err)
		}
	}
	return strings.TrimSpace(string(tree)), nil
}

// Binary reports whether git treats data as binary: its first 8,000 bytes contain a zero byte.
func Binary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 }
