package literal

import (
	"encoding/binary"
	"slices"
)

// Pad is the number of bytes that a text for [Set.Append] needs after its end.
const Pad = 4

// The search skips bytes. Every literal has at least stride+gram-1 bytes, so one of its first stride grams begins at a
// multiple of stride. Only there a gram is read from the text and looked up in a table that fits into the L1 cache.
// Entries of the table are then compared in full.
const (
	hashBits = 16
	hashMul  = 0x9E3779B1
)

// Set searches for many literals at once. It is safe for concurrent use.
type Set struct {
	lits   []Lit
	stride int
	mask   uint32
	bits   [1 << hashBits / 64]uint64
	heads  map[uint32][]place
}

// place is a literal with the offset of a gram in it.
type place struct{ lit, offset int }

// Match is a literal at a place in the text.
type Match struct{ Lit, Pos int }

// NewSet prepares the search. Each literal has at least [Shortest] bytes.
func NewSet(lits []Lit) *Set {
	s := &Set{lits: lits, heads: map[uint32][]place{}}
	if len(lits) == 0 {
		return s
	}
	n := shortest(lits)
	gram := 4
	s.mask = 0xFFFFFFFF
	if n < 5 {
		gram, s.mask = 3, 0xFFFFFF
	}
	s.stride = min(n-gram+1, 8)
	for i, l := range lits {
		at := rarest(l.Text, s.stride, gram)
		for o := at; o < at+s.stride; o++ {
			var b [4]byte
			copy(b[:], l.Text[o:o+gram])
			s.add(b, 0, l.Fold, place{i, o})
		}
	}
	return s
}

// add adds a gram, from a byte on with its letters in both cases if they are folded. So the text is looked up as it is.
func (s *Set) add(gram [4]byte, from int, fold bool, p place) {
	for at := from; fold && at < len(gram); at++ {
		if c := gram[at]; 'a' <= c && c <= 'z' {
			upper := gram
			upper[at] = c - 'a' + 'A'
			s.add(upper, at+1, fold, p)
		}
	}
	v := binary.LittleEndian.Uint32(gram[:])
	h := hash(v)
	s.bits[h/64] |= 1 << (h % 64)
	if !slices.Contains(s.heads[v], p) {
		s.heads[v] = append(s.heads[v], p)
	}
}

func hash(v uint32) uint32 { return v * hashMul >> (32 - hashBits) }

// rarest returns the offset in a literal of its stride grams: at its rarest bytes.
func rarest(text string, stride, gram int) int {
	best, bestCost := 0, 1<<30
	for at := 0; at+stride+gram-1 <= len(text); at++ {
		cost := 0
		for o := at; o < at+stride; o++ {
			c := 1
			for _, b := range []byte(text[o : o+gram]) {
				c *= usual(b)
			}
			cost += c
		}
		if cost < bestCost {
			best, bestCost = at, cost
		}
	}
	return best
}

// usual returns a rough guess at how often a byte is in code.
func usual(b byte) int {
	switch b | 0x20 {
	case ' ':
		return 30
	case 'e', 't':
		return 12
	case 'a', 'i', 'n', 'o', 'r', 's':
		return 9
	case 'c', 'd', 'f', 'l', 'm', 'p', 'u':
		return 5
	}
	return 2
}

// Append adds the places of all literals in text to dst. text has [Pad] more bytes of capacity.
func (s *Set) Append(dst []Match, text []byte) []Match {
	if len(s.lits) == 0 {
		return dst
	}
	padded := text[:len(text)+Pad]
	stride, mask := s.stride, s.mask
	for i := 0; i+4 <= len(padded); i += stride {
		v := binary.LittleEndian.Uint32(padded[i:]) & mask
		h := v * hashMul >> (32 - hashBits)
		if s.bits[h/64]>>(h%64)&1 != 0 {
			verify(s, text, 0, v, i, func(m Match) bool {
				dst = append(dst, m)
				return true
			})
		}
	}
	return dst
}

// verify compares the literals with the gram v with the text around i, and calls found with those that begin at from
// or later, until it returns false.
func verify[T string | []byte](s *Set, text T, from int, v uint32, i int, found func(Match) bool) bool {
	for _, p := range s.heads[v] {
		l := &s.lits[p.lit]
		at := i - p.offset
		if at >= from && at+len(l.Text) <= len(text) && same(text[at:at+len(l.Text)], l) && !found(Match{p.lit, at}) {
			return false
		}
	}
	return true
}

func same[T string | []byte](b T, l *Lit) bool {
	if !l.Fold {
		return string(b) == l.Text
	}
	for i := range len(b) {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != l.Text[i] {
			return false
		}
	}
	return true
}
