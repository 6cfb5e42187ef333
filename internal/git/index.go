package git

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"
)

// stamp is an index of which it is known what tree it holds.
type stamp struct {
	tree string
	sum  [sha256.Size]byte
}

// knowIndex takes note of the tree that the index holds now. Nobody but the caller changes the index meanwhile.
func (w *Workspace) knowIndex(tree string) {
	w.index = stamp{}
	if sum, ok := w.indexSum(); ok {
		w.index = stamp{tree, sum}
	}
}

// indexIs tells whether the index is byte for byte one that is known to hold tree. Where it is not, it may hold it all
// the same.
func (w *Workspace) indexIs(tree string) bool {
	if w.index.tree != tree || tree == "" {
		return false
	}
	sum, ok := w.indexSum()
	return ok && sum == w.index.sum
}

// indexSum tells one index from another.
func (w *Workspace) indexSum() (sum [sha256.Size]byte, ok bool) {
	if shared, _ := filepath.Glob(filepath.Join(w.GitDir, "sharedindex.*")); len(shared) > 0 {
		return sum, false // a part of it is in another file
	}
	data, err := os.ReadFile(filepath.Join(w.GitDir, "index"))
	return sha256.Sum256(data), err == nil
}

// Hidden lists the files that git was told not to look at: those that are assumed not to change, and those that are
// taken for not checked out.
func (w *Workspace) Hidden(ctx context.Context) (assumed, skipped []string, err error) {
	if data, err := os.ReadFile(filepath.Join(w.GitDir, "index")); err == nil && unmarked(data) {
		return nil, nil, nil
	}
	out, err := w.Run(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return nil, nil, fmt.Errorf("look for files that are hidden from git: %w", err)
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

// The parts of an index, as git's own description of the format has them.
const (
	indexHead    = 12     // "DIRC", version, number of entries
	entryStat    = 40     // what the file system said of a file
	flagAssumed  = 0x8000 // assumed not to change
	flagExtended = 0x4000 // two more bytes of flags follow; who is taken for not checked out has them
)

// unmarked tells for certain that no file of an index is hidden. It looks at indexes of version 2 and 3 that are all in one
// file; of others it does not know.
func unmarked(data []byte) bool {
	if len(data) < indexHead || string(data[:4]) != "DIRC" {
		return false
	}
	name := 0 // length of an object's name
	for _, h := range []hash.Hash{sha1.New(), sha256.New()} {
		if end := len(data) - h.Size(); end >= indexHead {
			h.Write(data[:end])
			if bytes.Equal(h.Sum(nil), data[end:]) {
				name, data = h.Size(), data[:end]
				break
			}
		}
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if name == 0 || version != 2 && version != 3 {
		return false
	}
	at := indexHead
	for range count {
		path := at + entryStat + name + 2
		if path > len(data) {
			return false
		}
		if binary.BigEndian.Uint16(data[path-2:])&(flagAssumed|flagExtended) != 0 {
			return false
		}
		length := bytes.IndexByte(data[path:], 0)
		if length < 0 {
			return false
		}
		at += (path + length - at + 8) &^ 7 // one to eight bytes of zero
	}
	return at <= len(data) && !bytes.Contains(data[at:], []byte("link")) // a part of it in another file
}

// IndexEntry is one file of an index.
type IndexEntry struct {
	Path string // slashes
	Mode uint32 // as in a tree: 0100644, 0100755, 0120000, 0160000
	Hash string // of its blob, hex
	Size uint32 // bytes modulo 2^32, as the file system had them when git wrote the file
	Sec  uint32 // seconds of its modification time then
}

// ErrIndexFormat says that an index is of a kind that [Workspace.Index] does not read.
var ErrIndexFormat = errors.New("unknown index format")

// Index lists the files of the workspace's index in its order. It reads versions 2 and 3 that are in one file, which is
// what [Workspace.Fill] writes.
func (w *Workspace) Index() ([]IndexEntry, error) {
	data, err := os.ReadFile(filepath.Join(w.GitDir, "index"))
	if err != nil {
		return nil, fmt.Errorf("read the index of %s: %w", w.Dir, err)
	}
	if len(data) < indexHead || string(data[:4]) != "DIRC" {
		return nil, fmt.Errorf("read the index of %s: %w", w.Dir, ErrIndexFormat)
	}
	name := sha1.Size
	if len(w.index.tree) == 2*sha256.Size {
		name = sha256.Size
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version != 2 && version != 3 {
		return nil, fmt.Errorf("read the index of %s: version %d: %w", w.Dir, version, ErrIndexFormat)
	}
	out := make([]IndexEntry, 0, min(count, uint32(len(data)/entryStat)))
	for at := indexHead; count > 0; count-- {
		path := at + entryStat + name + 2
		if path > len(data) {
			return nil, fmt.Errorf("read the index of %s: it ends early: %w", w.Dir, ErrIndexFormat)
		}
		field := func(n int) uint32 { return binary.BigEndian.Uint32(data[at+n:]) }
		e := IndexEntry{Sec: field(8), Mode: field(24), Size: field(36), Hash: hex.EncodeToString(data[at+entryStat : at+entryStat+name])}
		if binary.BigEndian.Uint16(data[path-2:])&flagExtended != 0 {
			path += 2
		}
		length := -1
		if path <= len(data) {
			length = bytes.IndexByte(data[path:], 0)
		}
		if length < 0 {
			return nil, fmt.Errorf("read the index of %s: it ends early: %w", w.Dir, ErrIndexFormat)
		}
		e.Path = string(data[path : path+length])
		out = append(out, e)
		at += (path + length - at + 8) &^ 7
	}
	return out, nil
}

// Fill brings the tracked files and the index to tree, and HEAD to commit base, off any branch. Files that git does not
// track stay.
func (w *Workspace) Fill(ctx context.Context, base, tree string) error {
	if err := w.force(ctx, "-c", "index.version=2", "-c", "core.splitIndex=false", "-c", "core.untrackedCache=false", "-c", "core.fsmonitor=false",
		"-c", "core.trustctime=true", "-c", noHooks, "read-tree", "--reset", "-u", tree); err != nil {
		return fmt.Errorf("check out tree %s: %w", tree, err)
	}
	w.index = stamp{tree: tree}
	if head, err := w.HeadRef(); err == nil && head == base {
		return nil
	}
	if w.repo.reftable() || !isHash(base) {
		return w.Detach(ctx, base)
	}
	head := filepath.Join(w.GitDir, "HEAD") // nobody else writes to it
	if err := os.WriteFile(head+".new", []byte(base+"\n"), 0o644); err != nil {
		return fmt.Errorf("move HEAD of %s: %w", w.Dir, err)
	}
	if err := os.Rename(head+".new", head); err != nil {
		return fmt.Errorf("move HEAD of %s: %w", w.Dir, err)
	}
	return nil
}
