package routing

import "math/bits"

// set is a set of batches, by number.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s set) put(i int) { s[i/64] |= 1 << (i % 64) }

func (s set) drop(i int) { s[i/64] &^= 1 << (i % 64) }

// add adds i and everything that it depends on.
func (s set) add(i int, behind set) {
	s.put(i)
	for k, w := range behind {
		s[k] |= w
	}
}

// first returns the smallest number that is in both, or -1.
func (s set) first(other set) int {
	for k, w := range s {
		if w &= other[k]; w != 0 {
			return 64*k + bits.TrailingZeros64(w)
		}
	}
	return -1
}
