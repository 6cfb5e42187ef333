package git

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strconv"
)

// The parts of an index, by git's own description of the format.
const (
	indexHead    = 12     // "DIRC", version, number of entries
	entryStat    = 40     // the recorded stat data of a file
	flagAssumed  = 0x8000 // assumed not to change
	flagExtended = 0x4000 // two more bytes of flags follow; files that count as not checked out have them
	flagStage    = 0x3000 // one side of a conflict
)

// indexFile is an index that is in one file and has version 2 or 3.
type indexFile struct {
	entries []indexLine
	root    *cachedTree // nil if the index has none
}

// indexLine is one entry of an index.
type indexLine struct {
	stat  fileStat
	hash  string
	flags uint16
	path  string
}

// fileStat is the stat data of a file that an index records.
type fileStat struct {
	changeSec, changeNano, sec, nano, dev, inode, mode, uid, gid, size uint32
}

// cachedTree is an entry of the index's tree cache, for one folder.
type cachedTree struct {
	hash  string // "" if invalid
	count int    // entries of the index in and below the folder; -1 if invalid
	below map[string]*cachedTree
}

// parseIndex parses an index. size is the length in bytes of an object's name; with 0 the checksum at the end decides
// and is verified. It returns [ErrIndexFormat] for other formats: split indexes, and those with required extensions.
func parseIndex(data []byte, size int) (*indexFile, error) {
	if len(data) < indexHead || string(data[:4]) != "DIRC" {
		return nil, ErrIndexFormat
	}
	if size == 0 {
		size = checksum(data)
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version != 2 && version != 3 {
		return nil, fmt.Errorf("version %d: %w", version, ErrIndexFormat)
	}
	if size == 0 || len(data) < indexHead+size {
		return nil, fmt.Errorf("it ends early: %w", ErrIndexFormat)
	}
	data = data[:len(data)-size]
	ix := &indexFile{entries: make([]indexLine, 0, min(count, uint32(len(data)/entryStat)))}
	text := string(data) // all paths are substrings of it
	at := indexHead
	for range count {
		path := at + entryStat + size + 2
		if path+2 > len(data) {
			return nil, fmt.Errorf("it ends early: %w", ErrIndexFormat)
		}
		field := func(n int) uint32 { return binary.BigEndian.Uint32(data[at+4*n:]) }
		e := indexLine{
			stat:  fileStat{field(0), field(1), field(2), field(3), field(4), field(5), field(6), field(7), field(8), field(9)},
			hash:  hex.EncodeToString(data[at+entryStat : at+entryStat+size]),
			flags: binary.BigEndian.Uint16(data[path-2:]),
		}
		if e.flags&flagExtended != 0 {
			path += 2
		}
		length := bytes.IndexByte(data[path:], 0)
		if length < 0 {
			return nil, fmt.Errorf("it ends early: %w", ErrIndexFormat)
		}
		e.path = text[path : path+length]
		ix.entries = append(ix.entries, e)
		at += (path + length - at + 8) &^ 7 // one to eight bytes of zero
	}
	for at+8 <= len(data) {
		name, length := text[at:at+4], int(binary.BigEndian.Uint32(data[at+4:]))
		at += 8
		switch {
		case length < 0 || length > len(data)-at:
			return nil, fmt.Errorf("it ends early: %w", ErrIndexFormat)
		case name[0] < 'A' || name[0] > 'Z': // a part of it in another file, folders instead of files, or something new
			return nil, fmt.Errorf("it has the unsupported part %q: %w", name, ErrIndexFormat)
		case name == "TREE":
			ix.root, _ = cachedTrees(data[at:at+length], size)
		}
		at += length
	}
	if at != len(data) {
		return nil, fmt.Errorf("it ends at the wrong place: %w", ErrIndexFormat)
	}
	return ix, nil
}

// readIndex parses the index of the workspace.
func (w *Workspace) readIndex(size int) (*indexFile, error) {
	data, err := os.ReadFile(filepath.Join(w.GitDir, "index"))
	if err != nil {
		return nil, err
	}
	return parseIndex(data, size)
}

// checksum returns the length of the valid checksum at the end of data, 0 if there is none.
func checksum(data []byte) int {
	for _, h := range []hash.Hash{sha1.New(), sha256.New()} {
		if end := len(data) - h.Size(); end >= indexHead {
			h.Write(data[:end])
			if bytes.Equal(h.Sum(nil), data[end:]) {
				return h.Size()
			}
		}
	}
	return 0
}

// cachedTrees parses an entry of the index's tree cache. Each entry is a name, a zero, the number of index entries, a
// space, the number of subtrees and a line feed. Then follow the object's name, unless the number of entries is
// negative, and the subtrees. It returns the remaining data, and no tree if data is invalid.
func cachedTrees(data []byte, size int) (*cachedTree, []byte) {
	_, data, named := bytes.Cut(data, []byte{0})
	line, data, ended := bytes.Cut(data, []byte{'\n'})
	first, second, two := bytes.Cut(line, []byte{' '})
	count, err := strconv.Atoi(string(first))
	folders, serr := strconv.Atoi(string(second))
	if !named || !ended || !two || err != nil || serr != nil || folders < 0 {
		return nil, nil
	}
	t := &cachedTree{count: count}
	if count >= 0 {
		if len(data) < size {
			return nil, nil
		}
		t.hash, data = hex.EncodeToString(data[:size]), data[size:]
	}
	for range folders {
		end := bytes.IndexByte(data, 0)
		if end < 0 {
			return nil, nil
		}
		name := string(data[:end])
		var sub *cachedTree
		if sub, data = cachedTrees(data, size); sub == nil {
			return nil, nil
		}
		if t.below == nil {
			t.below = map[string]*cachedTree{}
		}
		t.below[name] = sub
	}
	return t, data
}
