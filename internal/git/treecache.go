package git

import (
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
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
	for i := 0; i < len(entries); {
		e := entries[i]
		name, _, folder := strings.Cut(e.path[len(prefix):], "/")
		if !folder {
			lines = append(lines, treeLine{treeEntry{fmt.Sprintf("%06o", e.stat.mode), e.hash}, name})
			i++
			continue
		}
		end, dir := i, prefix+name+"/"
		for end < len(entries) && strings.HasPrefix(entries[end].path, dir) {
			end++
		}
		sub := hashTrees(entries[i:end], dir, size)
		if sub == nil {
			return nil
		}
		t.below[name] = sub
		lines = append(lines, treeLine{treeEntry{modeTree, sub.hash}, name})
		i = end
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
