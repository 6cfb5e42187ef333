package git

import (
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"iter"
	"maps"
	"slices"
	"strings"
)

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
