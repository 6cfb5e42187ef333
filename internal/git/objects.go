package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

	sizeOnce sync.Once
	size     int // of a name
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
		out, err := r.Run(ctx, "config", "--get-regexp",
			`^(core\.(sharedrepository|fsync|fsyncmethod|fsyncobjectfiles|logallrefupdates)|extensions\.compatobjectformat)$`)
		r.objects.plain = err == nil || exitStatus(err) == 1 // 1: none of them is set
		for line := range strings.Lines(out) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if name != "core.logallrefupdates" {
				r.objects.plain = false
			} else if value != "true" && value != "always" {
				r.objects.unlogged = true
			}
		}
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
