package curate

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"unicode"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/training"
)

// shingles holds the word groups of a text as sorted 64-bit hashes.
type shingles []uint64

// shinglesOf returns the shingles of an example without its system message, which many examples share.
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
	return lists.Unique(out)
}

// wordSums returns the hashes of the words in a text: runs of letters, digits and underscores.
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

// mix spreads the bits of a hash (the last step of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// lot returns a pseudo-random number for an id and a seed.
func lot(seed uint64, id string) uint64 {
	h := mix(seed)
	for _, c := range []byte(id) {
		h = mix(h ^ uint64(c))
	}
	return h
}

// without removes shingles that are in nearly all examples: they come from the prompt templates and do not show
// similarity. A set without other shingles stays unchanged.
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

// like returns the Jaccard similarity of two sets.
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

// sketch is a MinHash signature. The share of equal positions estimates the similarity.
type sketch [hashes]uint32

func sketchOf(s shingles) sketch {
	var out sketch
	for i := range out {
		out[i] = math.MaxUint32
	}
	for _, x := range s {
		for i := range out {
			// Multiply by the odd constant of this hash and keep the upper half.
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

// missed is the probability that the sketches miss a pair at the threshold.
const missed = 1e-6

// rows returns the number of positions of a sketch in one lookup key. It is chosen so that pairs at the threshold are
// not missed.
func rows(threshold float64) int {
	for r := 16; r > 1; r-- {
		if math.Pow(1-math.Pow(threshold, float64(r)), float64(hashes/r)) < missed {
			return r
		}
	}
	return 1
}

// found is a pair of similar records; a comes before b.
type found struct {
	a, b *record
	like float64
}

// doubt is the tolerance of a sketch's estimate: five standard deviations.
const doubt = 0.22

// mostKept limits the texts that are kept for comparisons, to twice as many.
const mostKept = 256

// pairs returns all pairs at or above the threshold, in record order. Sketches select candidates; the texts decide.
func pairs(ctx context.Context, all []*record, threshold float64, text func(*record) (shingles, error)) ([]found,
	error) {
	r := rows(threshold)
	type bucket struct{ band, sum uint64 }
	var out []found
	seen := map[bucket][]int{}
	kept := recent.New[*record](mostKept, func(shingles) int { return 1 })
	textOf := func(r *record) (shingles, error) {
		return kept.Load(r, func() (shingles, error) { return text(r) })
	}
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
			a, err := textOf(all[j])
			if err != nil {
				return nil, err
			}
			b, err := textOf(rec)
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

// Parameters of common shingles: the least number of examples, the highest number of shingles, and the share of
// examples that must contain one.
const (
	fewestForCommon = 20
	mostForCommon   = 500
	commonShare     = 0.9
)

// commonOf returns the shingles that nearly all samples contain.
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
