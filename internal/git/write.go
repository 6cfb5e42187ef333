package git

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// nameSize returns the length of the repository's object names, 0 if git does not report it.
func (r *Repo) nameSize(ctx context.Context) int {
	r.objects.sizeOnce.Do(func() {
		switch format, err := r.Run(ctx, "rev-parse", "--show-object-format"); {
		case err != nil:
		case format == "sha1":
			r.objects.size = sha1.Size * 2
		case format == "sha256":
			r.objects.size = 64
		}
	})
	return r.objects.size
}

// WriteBlob stores data unchanged, without the repository's filters, and returns its name.
func (r *Repo) WriteBlob(ctx context.Context, data []byte) (string, error) {
	if name, ok := r.writeLoose(ctx, "blob", data, r.nameSize(ctx)); ok {
		return name, nil
	}
	name, err := r.Input(ctx, string(data), "hash-object", "-w", "--no-filters", "--stdin")
	if err != nil {
		return "", fmt.Errorf("store %d bytes: %w", len(data), err)
	}
	return name, nil
}

// WriteTree stores a tree of plain files, given by their slash-separated paths and the names of their blobs.
func (r *Repo) WriteTree(ctx context.Context, files map[string]string) (string, error) {
	below := map[string]map[string]string{} // folder → path in it → blob
	var entries []treeLine
	for path, blob := range files {
		folder, rest, deep := strings.Cut(path, "/")
		switch {
		case !deep:
			entries = append(entries, treeLine{treeEntry{"100644", blob}, path})
		case below[folder] == nil:
			below[folder] = map[string]string{rest: blob}
		default:
			below[folder][rest] = blob
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(below)) {
		tree, err := r.WriteTree(ctx, below[folder])
		if err != nil {
			return "", err
		}
		entries = append(entries, treeLine{treeEntry{modeTree, tree}, folder})
	}
	return r.writeTree(ctx, entries)
}

// treeLine is an entry of a tree with its name.
type treeLine struct {
	treeEntry
	name string
}

// sorted returns the name as git sorts by it: a folder as if a slash followed.
func (l treeLine) sorted() string {
	if l.mode == modeTree {
		return l.name + "/"
	}
	return l.name
}

// treeBody sorts the entries of a tree and returns the content of its object.
func treeBody(entries []treeLine) ([]byte, error) {
	slices.SortFunc(entries, func(a, b treeLine) int { return strings.Compare(a.sorted(), b.sorted()) })
	var body bytes.Buffer
	for _, e := range entries {
		raw, err := hex.DecodeString(e.hash)
		if err != nil {
			return nil, fmt.Errorf("store a tree: %s has the invalid object name %q", e.name, e.hash)
		}
		fmt.Fprintf(&body, "%s %s\x00%s", strings.TrimPrefix(e.mode, "0"), e.name, raw)
	}
	return body.Bytes(), nil
}

func (r *Repo) writeTree(ctx context.Context, entries []treeLine) (string, error) {
	body, err := treeBody(entries)
	if err != nil {
		return "", err
	}
	if name, ok := r.writeLoose(ctx, "tree", body, r.nameSize(ctx)); ok {
		return name, nil
	}
	var lines strings.Builder
	for _, e := range entries {
		kind := "blob"
		if e.mode == modeTree {
			kind = "tree"
		}
		fmt.Fprintf(&lines, "%s %s %s\t%s\x00", e.mode, kind, e.hash, e.name)
	}
	name, err := r.Input(ctx, lines.String(), "mktree", "-z")
	if err != nil {
		return "", fmt.Errorf("store a tree of %d entries: %w", len(entries), err)
	}
	return name, nil
}

// CommitTree makes a commit on no branch. The same tree, parent ("" is none) and message give the same hash in any
// repository at any time: author and dates are fixed, no hook runs, and it is never signed. It is for temporary work,
// not for published history.
func (r *Repo) CommitTree(ctx context.Context, tree, parent, message string) (string, error) {
	var parents []string
	if parent != "" {
		parents = []string{parent}
	}
	return r.CommitAt(ctx, time.Unix(1_000_000_000, 0), tree, parents, message)
}

// CommitAt is [Repo.CommitTree] with a date and any number of parents, which must exist and differ.
func (r *Repo) CommitAt(ctx context.Context, at time.Time, tree string, parents []string, message string) (string,
	error) {
	text, date := strings.TrimRight(message, "\n")+"\n", fmt.Sprintf("%d +0000", at.Unix())
	if hash, ok := r.writeCommit(ctx, tree, parents, date, text); ok {
		return hash, nil
	}
	args := []string{"-c", "i18n.commitEncoding=UTF-8", "-c", "commit.gpgSign=false", "-c", "core.hooksPath=" +
		os.DevNull, "commit-tree"}
	for _, parent := range parents {
		args = append(args, "-p", parent)
	}
	env := append(slices.Clip(r.env),
		"GIT_AUTHOR_NAME="+ourName, "GIT_AUTHOR_EMAIL="+ourEmail, "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME="+ourName, "GIT_COMMITTER_EMAIL="+ourEmail, "GIT_COMMITTER_DATE="+date)
	out, err := call(ctx, r.Root, env, strings.NewReader(text), append(args, tree)...)
	if err != nil {
		return "", fmt.Errorf("make a commit of tree %s: %w", tree, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Who makes the commits in the middle.
const (
	ourName  = "runplan"
	ourEmail = "runplan@localhost"
)
