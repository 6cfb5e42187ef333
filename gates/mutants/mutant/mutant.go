package mutant

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/runplan/runplan/internal/phrase"
)

// Mutant is one small wrong version of a file: the bytes from Start to End are replaced by New.
type Mutant struct {
	Path       string // of the file, slashes, relative to the tree
	Line       int    // of Start, from 1
	Start, End int    // byte offsets into the file
	Old, New   string
	Kind       Kind
}

// Kind is the kind of error that a mutant introduces.
type Kind string

// The kinds of mutants.
const (
	Condition Kind = "condition" // a condition is negated, or && and || are exchanged
	Boundary  Kind = "boundary"  // < becomes <=
	Operator  Kind = "operator"  // + becomes -
	Constant  Kind = "constant"  // a number is one larger, a boolean is the other one
	Return    Kind = "return"    // a zero value is returned
	Call      Kind = "call"      // a call or an assignment is removed
	Swallow   Kind = "swallow"   // an error is ignored
)

// Place is a line of a file.
type Place struct {
	Path string
	Line int
}

// Place returns the line on which a mutant begins.
func (m Mutant) Place() Place { return Place{m.Path, m.Line} }

// Apply returns the text of the mutated file.
func (m Mutant) Apply(text string) string { return text[:m.Start] + m.New + text[m.End:] }

// Of returns the mutants of a Go file on the given lines, sorted by place. A file that does not parse has none.
// Files of other languages are mutated by [Script].
func Of(file, text string, lines map[int]bool) []Mutant {
	if path.Ext(file) != ".go" {
		return nil
	}
	return tidy(golang(file, text, lines))
}

// tidy sorts mutants by place and drops duplicates and mutants without effect.
func tidy(list []Mutant) []Mutant {
	list = slices.DeleteFunc(list, func(m Mutant) bool { return m.Old == m.New })
	slices.SortStableFunc(list, func(a, b Mutant) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End),
			cmp.Compare(a.New, b.New))
	})
	return slices.CompactFunc(list, func(a, b Mutant) bool {
		return a.Path == b.Path && a.Start == b.Start && a.End == b.End && a.New == b.New
	})
}

// Spread orders mutants so that the first ones cover as many lines and kinds as possible: one of each line, then a
// second one of each line, and so on. The order depends only on the mutants.
func Spread(list []Mutant) []Mutant {
	byLine := map[Place][]Mutant{}
	var places []Place
	for _, m := range list {
		p := m.Place()
		if byLine[p] == nil {
			places = append(places, p)
		}
		byLine[p] = append(byLine[p], m)
	}
	for _, p := range places {
		slices.SortStableFunc(byLine[p], func(a, b Mutant) int { return cmp.Compare(rank(a.Kind), rank(b.Kind)) })
	}
	// A stride without a common factor with most counts visits files evenly.
	out := make([]Mutant, 0, len(list))
	for round := 0; len(out) < len(list); round++ {
		for i := range places {
			p := places[(i*7919)%len(places)]
			if len(places)%7919 == 0 {
				p = places[i]
			}
			if round < len(byLine[p]) {
				out = append(out, byLine[p][round])
			}
		}
	}
	return out
}

// rank puts the most informative kinds first.
func rank(k Kind) int {
	return slices.Index([]Kind{Swallow, Condition, Return, Call, Operator, Boundary, Constant}, k)
}

// Describe describes a mutant: "a < b becomes a <= b".
func (m Mutant) Describe() string {
	was := phrase.Line(m.Old)
	if m.New == "" || m.New == ";" || m.New == "pass" {
		return fmt.Sprintf("%q is removed", phrase.Cut(was, 60))
	}
	return fmt.Sprintf("%q becomes %q", phrase.Cut(was, 60), phrase.Cut(phrase.Line(m.New), 60))
}
