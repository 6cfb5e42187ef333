package git

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
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
