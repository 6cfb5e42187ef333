package corpus

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/training"
)

// Split lists the units held out for validation. All pairs of a unit are on the same side, because they share code.
type Split struct {
	Held  map[string]bool
	Notes []string // kinds missing in validation, with the reason
}

// split holds out a share of the pairs of each kind, and at least one unit of each kind that has two (TRAIN-18). It
// never holds out a whole kind. Only the seed decides the order of the units.
func split(pairs []Pair, share float64, seed uint64) Split {
	out := Split{Held: map[string]bool{}}
	count := map[training.Kind]map[string]int{}
	var units []string
	for _, p := range pairs {
		if count[p.Type] == nil {
			count[p.Type] = map[string]int{}
		}
		count[p.Type][p.Service]++
		units = lists.Add(units, p.Service)
	}
	slices.SortFunc(units, func(a, b string) int { return strings.Compare(place(seed, a), place(seed, b)) })
	kinds := []training.Kind{training.Forward, training.Retroactive}
	held := func(k training.Kind) (n, left int) {
		for u, c := range count[k] {
			if out.Held[u] {
				n += c
			} else {
				left++
			}
		}
		return n, left
	}
	for _, k := range kinds {
		total := 0
		for _, c := range count[k] {
			total += c
		}
		if total == 0 {
			continue
		}
		want := max(1, int(math.Round(share*float64(total))))
		for _, u := range units {
			n, _ := held(k)
			if n >= want || count[k][u] == 0 || out.Held[u] {
				continue
			}
			spares := true
			for _, other := range kinds { // training must keep a unit of each kind
				if _, left := held(other); count[other][u] > 0 && left < 2 {
					spares = false
				}
			}
			if spares {
				out.Held[u] = true
			}
		}
		if n, _ := held(k); n == 0 {
			out.Notes = append(out.Notes,
				fmt.Sprintf(
					"validation has no %s pairs: all %d belong to one unit, or to units that training needs", k,
					total))
		}
	}
	return out
}

// place returns the sort key of a unit for a seed.
func place(seed uint64, unit string) string {
	return checksum.SHA256(fmt.Appendf(nil, "%d:%s", seed, unit))[:16]
}
