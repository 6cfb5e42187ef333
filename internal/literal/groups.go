package literal

import (
	"math/bits"
	"regexp/syntax"
)

// Groups finds in one pass which groups of literals occur in a text. An expression that needs a literal of its group is
// then tried only on texts that contain one. It is safe for concurrent use.
type Groups struct {
	set  *Set
	of   []uint64 // groups of each literal, as bits
	free uint64   // groups without any
}

// MostGroups is the limit of [NewGroups].
const MostGroups = 64

// NewGroups prepares the search. It panics if there are more than [MostGroups]. Each literal needs at least [Shortest]
// bytes. A group without literals, for an expression with none known, matches every text.
func NewGroups(groups ...[]Lit) *Groups {
	if len(groups) > MostGroups {
		panic("literal: more groups than bits")
	}
	g := &Groups{}
	at := map[Lit]int{}
	var all []Lit
	for i, lits := range groups {
		if len(lits) == 0 {
			g.free |= 1 << i
		}
		for _, l := range lits {
			n, known := at[l]
			if !known {
				n = len(all)
				at[l] = n
				all, g.of = append(all, l), append(g.of, 0)
			}
			g.of[n] |= 1 << i
		}
	}
	g.set = NewSet(all)
	return g
}

// Folded returns literals that match in any case. The words are in lower case.
func Folded(words ...string) []Lit { return lits(words, true) }

// Exactly returns literals that match only literally.
func Exactly(words ...string) []Lit { return lits(words, false) }

// Needs returns the literals of an expression: each match contains one of them. It returns nil if none are known.
func Needs(expr string) []Lit {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	return Required(re).Any
}

func lits(words []string, fold bool) []Lit {
	out := make([]Lit, len(words))
	for i, w := range words {
		out[i] = Lit{Text: w, Fold: fold}
	}
	return out
}

// In returns the groups with a literal in text: bit i is group i.
func (g *Groups) In(text string) uint64 {
	return g.Where(text, func(int, int) bool { return true })
}

// Where does what [Groups.In] does, without the places of literals that fits refuses for a group.
func (g *Groups) Where(text string, fits func(group, at int) bool) (found uint64) {
	found = g.free
	g.set.each(text, 0, func(m Match) bool {
		for of := g.of[m.Lit] &^ found; of != 0; of &= of - 1 {
			if i := bits.TrailingZeros64(of); fits(i, m.Pos) {
				found |= 1 << i
			}
		}
		return true
	})
	return found
}

// Next returns the position of a literal that begins at from or later, -1 if there is none. No earlier literal ends
// before that position.
func (s *Set) Next(text string, from int) int {
	at := -1
	s.each(text, from, func(m Match) bool {
		at = m.Pos
		return false
	})
	return at
}

// each calls found with the literals that begin at from or later, until it returns false.
func (s *Set) each(text string, from int, found func(Match) bool) {
	if len(s.lits) == 0 {
		return
	}
	stride, mask := s.stride, s.mask
	i := from
	for ; i+4 <= len(text); i += stride {
		b := text[i : i+4]
		v := (uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24) & mask
		h := v * hashMul >> (32 - hashBits)
		if s.bits[h/64]>>(h%64)&1 != 0 && !verify(s, text, from, v, i, found) {
			return
		}
	}
	for ; i+Shortest <= len(text); i += stride { // text that begins here has no fourth byte
		v := (uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16) & mask
		if h := hash(v); s.bits[h/64]>>(h%64)&1 != 0 && !verify(s, text, from, v, i, found) {
			return
		}
	}
}
