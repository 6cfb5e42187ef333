package curate

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"unicode"

	"github.com/runplan/runplan/training"
)

// shingles are the groups of words of a text, as sorted sums of 64 bits.
type shingles []uint64

// shinglesOf are those of all that an example says, without the system message, which many share.
func shinglesOf(e training.Example, words int) shingles {
	var all []uint64
	add := func(text string) { all = append(all, wordSums(text)...) }
	for _, m := range e.Prompt {
		if m.Role != "system" {
			add(m.Content)
		}
	}
	add(e.Completion)
	add(e.Rejected)
	if len(all) == 0 {
		return nil
	}
	n := max(1, len(all)-words+1)
	out := make(shingles, n)
	for i := range n {
		h := uint64(14695981039346656037)
		for _, w := range all[i:min(len(all), i+words)] {
			h = mix(h ^ w)
		}
		out[i] = h
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wordSums are the sums of the words of a text: letters, digits and underscores that stand together.
func wordSums(text string) []uint64 {
	var out []uint64
	h, in := uint64(0), false
	for _, r := range text {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			if !in {
				h, in = 14695981039346656037, true
			}
			h = (h ^ uint64(r)) * 1099511628211
			continue
		}
		if in {
			out, in = append(out, mix(h)), false
		}
	}
	if in {
		out = append(out, mix(h))
	}
	return out
}

// mix spreads the bits of a sum (the last step of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// lot is the number that an id drew, for a seed.
func lot(seed uint64, id string) uint64 {
	h := mix(seed)
	for _, c := range []byte(id) {
		h = mix(h ^ uint64(c))
	}
	return h
}

// without takes away what is common to nearly all examples: the words of the prompts themselves, which say nothing about
// how alike two examples are. What consists of nothing else stays as it is.
func (s shingles) without(common map[uint64]bool) shingles {
	if len(common) == 0 {
		return s
	}
	var out shingles
	for _, x := range s {
		if !common[x] {
			out = append(out, x)
		}
	}
	if len(out) == 0 {
		return s
	}
	return out
}

// like is the share of groups of words that two texts have in common, of all that they have (Jaccard).
func like(a, b shingles) float64 {
	if len(a) == 0 && len(b) == 0 {
		return 1
	}
	i, j, both := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			i, j, both = i+1, j+1, both+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// hashes is the length of a sketch.
const hashes = 128

// sketch is a MinHash signature: the share of places at which two are equal is about how alike the texts are.
type sketch [hashes]uint32

func sketchOf(s shingles) sketch {
	var out sketch
	for i := range out {
		out[i] = math.MaxUint32
	}
	for _, x := range s {
		for i := range out {
			// A multiplication by an odd number that is the hash's own, of which the upper half is taken.
			hi, lo := bits.Mul64(x, multipliers[i])
			out[i] = min(out[i], uint32((hi^lo)>>32))
		}
	}
	return out
}

var multipliers = func() (m [hashes]uint64) {
	for i := range m {
		m[i] = mix(uint64(i)+1) | 1
	}
	return m
}()

func (s *sketch) like(o *sketch) float64 {
	n := 0
	for i := range s {
		if s[i] == o[i] {
			n++
		}
	}
	return float64(n) / hashes
}

// missed is how likely two texts that are just alike enough may be overlooked by the sketches.
const missed = 1e-6

// rows is how many places of a sketch are looked up together: as many as keep a pair with the given likeness from being
// overlooked.
func rows(threshold float64) int {
	for r := 16; r > 1; r-- {
		if math.Pow(1-math.Pow(threshold, float64(r)), float64(hashes/r)) < missed {
			return r
		}
	}
	return 1
}

// found are two records that are alike; a comes before b.
type found struct {
	a, b *record
	like float64
}

// doubt is how far a sketch may be from the truth: five times the spread of its estimate.
const doubt = 0.22

// pairs finds all that are at least so much alike, in the order of the records. Sketches propose, the texts decide.
func pairs(ctx context.Context, all []*record, threshold float64, text func(*record) (shingles, error)) ([]found, error) {
	r := rows(threshold)
	type bucket struct{ band, sum uint64 }
	var out []found
	seen := map[bucket][]int{}
	cache := newCache(text)
	for i, rec := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		candidates := map[int]bool{}
		for band := 0; band+r <= hashes; band += r {
			h := mix(uint64(band))
			for _, v := range rec.sketch[band : band+r] {
				h = mix(h ^ uint64(v))
			}
			b := bucket{uint64(band), h}
			for _, j := range seen[b] {
				candidates[j] = true
			}
			seen[b] = append(seen[b], i)
		}
		for j := range candidates {
			if all[j].sketch.like(&rec.sketch) < threshold-doubt {
				continue
			}
			a, err := cache.get(all[j])
			if err != nil {
				return nil, err
			}
			b, err := cache.get(rec)
			if err != nil {
				return nil, err
			}
			if l := like(a, b); l >= threshold {
				out = append(out, found{all[j], rec, l})
			}
		}
	}
	order := map[*record]int{}
	for i, r := range all {
		order[r] = i
	}
	slices.SortFunc(out, func(x, y found) int {
		return cmp.Or(cmp.Compare(order[x.a], order[y.a]), cmp.Compare(order[x.b], order[y.b]))
	})
	return out, nil
}

// cache keeps the texts that were looked at last.
type cache struct {
	load  func(*record) (shingles, error)
	held  map[*record]shingles
	order []*record
}

const cached = 512

func newCache(load func(*record) (shingles, error)) *cache {
	return &cache{load: load, held: map[*record]shingles{}}
}

func (c *cache) get(r *record) (shingles, error) {
	if s, ok := c.held[r]; ok {
		return s, nil
	}
	s, err := c.load(r)
	if err != nil {
		return nil, err
	}
	if len(c.order) == cached {
		delete(c.held, c.order[0])
		c.order = c.order[1:]
	}
	c.held[r], c.order = s, append(c.order, r)
	return s, nil
}

// Figures of what is common to nearly all examples: at least so many have to be looked at, at most so many are, and a
// group of words has to be in this share of them.
const (
	fewestForCommon = 20
	mostForCommon   = 500
	commonShare     = 0.9
)

// commonOf finds the groups of words that nearly all of some examples have.
func commonOf(samples []shingles) map[uint64]bool {
	if len(samples) < fewestForCommon {
		return nil
	}
	counts := map[uint64]int{}
	for _, s := range samples {
		for _, x := range s {
			counts[x]++
		}
	}
	common := map[uint64]bool{}
	for x, n := range counts {
		if float64(n) >= commonShare*float64(len(samples)) {
			common[x] = true
		}
	}
	return common
}
