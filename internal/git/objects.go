package git

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// objects caches facts about the objects of a repository. Objects never change, so entries stay valid.
type objects struct {
	trees sync.Map // commit or tree → its tree

	plainOnce sync.Once
	plain     bool // new ones, and branches, may be written as files without git
	unlogged  bool // a new branch gets no log

	checkoutOnce sync.Once
	checkout     bool // files are written as they are stored

	settingsOnce sync.Once
	settings     map[string]string
	settingsErr  error

	nameSize int // letters of the name of an object; 0 if git does not say it
}

// TreeOf returns the tree of a commit. Fresh and already known commits need no process.
func (r *Repo) TreeOf(ctx context.Context, commit string) (string, error) {
	if !isHash(commit) {
		return r.Run(ctx, "rev-parse", "--verify", "--quiet", commit+"^{tree}")
	}
	if tree, ok := r.objects.trees.Load(commit); ok {
		return tree.(string), nil
	}
	tree, ok := r.looseTree(commit)
	if !ok {
		var err error
		if tree, err = r.Run(ctx, "rev-parse", "--verify", "--quiet", commit+"^{tree}"); err != nil {
			return tree, err
		}
	}
	r.objects.trees.Store(commit, tree)
	return tree, nil
}

// looseTree is [Repo.TreeOf] for loose objects.
func (r *Repo) looseTree(hash string) (string, bool) {
	raw, _, err := r.loose(hash, "commit", 1<<20)
	if err == nil && raw != nil {
		tree, _, _ := bytes.Cut(bytes.TrimPrefix(raw, []byte("tree ")), []byte("\n"))
		return string(tree), isHash(string(tree)) // a copy, because a substring would keep the whole commit in memory
	}
	_, _, err = r.loose(hash, "tree", 0)
	return hash, err == nil
}

// isHash reports whether name is a full object name, and not a ref or an abbreviation.
func isHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// writeLoose stores a loose object as git does. It returns false if git has to do it. size is the length of the
// repository's object names.
func (r *Repo) writeLoose(ctx context.Context, kind string, body []byte, size int) (name string, ok bool) {
	sum := hashOfSize(size / 2)
	if sum == nil || !r.plainFiles(ctx) {
		return "", false
	}
	data := append(fmt.Appendf(nil, "%s %d\x00", kind, len(body)), body...)
	sum.Write(data)
	name = hex.EncodeToString(sum.Sum(nil))
	dir := filepath.Join(r.Common, "objects", name[:2])
	path := filepath.Join(dir, name[2:])
	// Touch an existing object, as git does, so that gc keeps it: an old unreferenced object may be removed at any
	// time. Write an object again that a power failure has emptied.
	if old, _, err := r.loose(name, kind, len(body)); err == nil && bytes.Equal(old, body) {
		if now := time.Now(); os.Chtimes(path, now, now) == nil {
			return name, true
		}
	}
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	if err != nil {
		return "", false
	}
	_, err = z.Write(data)
	if cerr := z.Close(); err != nil || cerr != nil {
		return "", false
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", false
	}
	// "git gc" removes leftover files with such names.
	temp := filepath.Join(dir, "tmp_obj_"+token())
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return "", false
	}
	_, err = f.Write(packed.Bytes())
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
		return "", false
	}
	return name, true
}

// plainFiles reports whether new objects and branches are plain files. It is false if the repository is shared by group
// permissions, needs fsync, or has a second object format.
func (r *Repo) plainFiles(ctx context.Context) bool {
	r.objects.plainOnce.Do(func() {
		is, err := r.settings(ctx)
		r.objects.plain = err == nil
		for _, key := range []string{"core.sharedrepository", "core.fsync", "core.fsyncmethod", "core.fsyncobjectfiles",
			"extensions.compatobjectformat"} {
			if _, given := is[key]; given {
				r.objects.plain = false
			}
		}
		value, given := is["core.logallrefupdates"]
		r.objects.unlogged = given && value != "true" && value != "always"
	})
	return r.objects.plain
}

// writeCommit makes the commit of [Repo.CommitAt] without a process. It reports whether it could.
func (r *Repo) writeCommit(ctx context.Context, tree string, parents []string, date, message string) (string, bool) {
	if !isHash(tree) || !ascii(message) {
		return "", false
	}
	if is, err := r.TreeOf(ctx, tree); err != nil || is != tree {
		return "", false
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, parent := range parents {
		if is, err := r.TreeOf(ctx, parent); !isHash(parent) || err != nil || is == parent || len(parent) != len(tree) {
			return "", false
		}
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	who := fmt.Sprintf("%s <%s> %s", ourName, ourEmail, date)
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", who, who, message)
	name, ok := r.writeLoose(ctx, "commit", b.Bytes(), len(tree))
	if ok {
		r.objects.trees.Store(name, tree)
	}
	return name, ok
}

// ascii reports whether s is plain ASCII; git may have to recode any other text.
func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c == 0 || c > 126 })
}

// loose reads a loose object, as all recently written objects are. For an object larger than limit it returns only the
// size. After an error, ask git.
func (r *Repo) loose(hash, kind string, limit int) (data []byte, size int, err error) {
	if len(hash) < 40 {
		return nil, 0, fs.ErrNotExist
	}
	f, err := os.Open(filepath.Join(r.Common, "objects", hash[:2], hash[2:]))
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return nil, 0, err
	}
	defer z.Close()
	in := bufio.NewReader(z)
	head, err := in.ReadString(0)
	if err != nil {
		return nil, 0, err
	}
	is, count, _ := strings.Cut(strings.TrimSuffix(head, "\x00"), " ")
	if size, err = strconv.Atoi(count); err != nil || is != kind || size < 0 {
		return nil, 0, fs.ErrInvalid
	}
	if size > limit {
		return nil, size, nil
	}
	data = make([]byte, size)
	_, err = io.ReadFull(in, data)
	return data, size, err
}

// hashTrees returns the trees of the folder of entries, whose paths all begin with prefix, without storing them. It
// does not use the tree cache of an index, because an agent can write anything there. size is the length of an
// object's name in bytes.
func hashTrees(entries []indexLine, prefix string, size int) *cachedTree {
	t := &cachedTree{count: len(entries), below: map[string]*cachedTree{}}
	var lines []treeLine
	for name, part := range children(entries, prefix) {
		if part[0].path == prefix+name {
			lines = append(lines, part[0].line(name))
			continue
		}
		sub := hashTrees(part, prefix+name+"/", size)
		if sub == nil {
			return nil
		}
		t.below[name] = sub
		lines = append(lines, treeLine{treeEntry{modeTree, sub.hash}, name})
	}
	body, err := treeBody(lines)
	sum := hashOfSize(size)
	if err != nil || sum == nil {
		return nil
	}
	fmt.Fprintf(sum, "tree %d\x00", len(body))
	sum.Write(body)
	t.hash = hex.EncodeToString(sum.Sum(nil))
	return t
}

// children yields the names in the folder of entries, whose paths all begin with prefix, each with its entries.
func children(entries []indexLine, prefix string) iter.Seq2[string, []indexLine] {
	return func(yield func(string, []indexLine) bool) {
		for i := 0; i < len(entries); {
			name, _, folder := strings.Cut(entries[i].path[len(prefix):], "/")
			end := i + 1
			for folder && end < len(entries) && strings.HasPrefix(entries[end].path, prefix+name+"/") {
				end++
			}
			if !yield(name, entries[i:end]) {
				return
			}
			i = end
		}
	}
}

// line returns the entry as a line of a tree.
func (e indexLine) line(name string) treeLine {
	return treeLine{treeEntry{fmt.Sprintf("%06o", e.stat.mode), e.hash}, name}
}

// append appends the tree cache of a folder in the format that [cachedTrees] parses.
func (t *cachedTree) append(b []byte, name string) []byte {
	b = fmt.Appendf(b, "%s\x00%d %d\n", name, t.count, len(t.below))
	hash, _ := hex.DecodeString(t.hash)
	b = append(b, hash...)
	// git searches the folders in this order.
	order := func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(t.below), order) {
		b = t.below[name].append(b, name)
	}
	return b
}

// hashOfSize returns git's hash whose sums have size bytes, nil if there is none.
func hashOfSize(size int) hash.Hash {
	switch size {
	case sha1.Size:
		return sha1.New()
	case sha256.Size:
		return sha256.New()
	}
	return nil
}

// BlobName returns the name of data as a blob, in the hash format whose names have the given length, or "" for none.
func BlobName(data []byte, length int) string {
	sum := hashOfSize(length / 2)
	if sum == nil {
		return ""
	}
	fmt.Fprintf(sum, "blob %d\x00", len(data))
	sum.Write(data)
	return hex.EncodeToString(sum.Sum(nil))
}

// WriteBlob stores data unchanged, without the repository's filters, and returns its name.
func (r *Repo) WriteBlob(ctx context.Context, data []byte) (string, error) {
	if name, ok := r.writeLoose(ctx, "blob", data, r.objects.nameSize); ok {
		return name, nil
	}
	name, err := r.Input(ctx, string(data), "hash-object", "-w", "--no-filters", "--stdin")
	return name, failed(err, "store %d bytes", len(data))
}

// WriteTree stores a tree of plain files, given by their slash-separated paths and the names of their blobs.
func (r *Repo) WriteTree(ctx context.Context, files map[string]string) (string, error) {
	if len(files) == 0 {
		return r.writeTree(ctx, nil)
	}
	var added []Entry
	for path, blob := range files {
		added = append(added, Entry{Path: path, NewMode: "100644", newBlob: blob})
	}
	return r.graft(ctx, "", added)
}

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
	if name, ok := r.writeLoose(ctx, "tree", body, r.objects.nameSize); ok {
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
	return name, failed(err, "store a tree of %d entries", len(entries))
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
	env := append(slices.Clip(r.env), "GIT_AUTHOR_NAME="+ourName, "GIT_AUTHOR_EMAIL="+ourEmail, "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME="+ourName, "GIT_COMMITTER_EMAIL="+ourEmail, "GIT_COMMITTER_DATE="+date)
	out, err := call(ctx, r.Root, env, strings.NewReader(text), append(args, tree)...)
	return strings.TrimSpace(string(out)), failed(err, "make a commit of tree %s", tree)
}

// Who makes the commits in the middle.
const (
	ourName  = "runplan"
	ourEmail = "runplan@localhost"
)
