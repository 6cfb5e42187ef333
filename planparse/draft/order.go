package draft

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

var reference = lazyre.New(`(?i)(?:§+|\bsections?|\b(phases?|steps?|stages?|parts?|milestones?))\s*(\d+(?:\.\d+)*[a-z]?)`)

// order sets the dependencies of batches: on batches whose sections it refers to, and on batches that create files
// that it changes or reads. Only earlier batches count, so the order of the document stays valid.
func (d *document) order() {
	for i, b := range d.batches {
		for _, m := range reference.FindAllStringSubmatch(b.text, -1) {
			phase := m[1] != ""
			number := strings.TrimRight(m[2], ".")
			for j, other := range d.batches[:i] {
				if phase && slices.Contains(other.phases, number) && !slices.Contains(b.phases, number) ||
					!phase && slices.Contains(other.numbers, number) {
					b.DependsOn = append(b.DependsOn, j+1)
				}
			}
		}
		for _, m := range d.mentions(b.text) {
			for j, other := range d.batches[:i] {
				if slices.Contains(other.Files.Create, m.path) {
					b.DependsOn = append(b.DependsOn, j+1)
				}
			}
		}
		b.DependsOn = d.needed(lists.Unique(b.DependsOn))
	}
}

// needed omits batches on which another batch of the list already depends.
func (d *document) needed(list []int) []int {
	var before func(n int, seen map[int]bool)
	before = func(n int, seen map[int]bool) {
		for _, m := range d.batches[n-1].DependsOn {
			if !seen[m] {
				seen[m] = true
				before(m, seen)
			}
		}
	}
	seen := map[int]bool{}
	for _, n := range list {
		before(n, seen)
	}
	return slices.DeleteFunc(list, func(n int) bool { return seen[n] })
}
