package outline

import (
	"cmp"
	"slices"

	"github.com/runplan/runplan/internal/lists"
)

// goPart is the parse result of a Go file or of a piece of it. It lacks what only the whole file shows: parents of
// methods and used names of imports.
type goPart struct {
	Outline
	methods []goMethod
	used    map[string][]string // qualifier → names selected from it
	clause  int                 // number of lines of the package clause that was added to the piece
	alone   bool                // the piece parses differently in its file, so the file must be read as a whole
	size    int                 // approximate size of the source in bytes
}

// goMethod is a method and the name of its receiver type.
type goMethod struct {
	symbol int
	of     string
}

// goPiece is a part and its position in a file.
type goPiece struct {
	*goPart
	above int // lines before it, without added lines
}

// joinGo makes the outline of a file from its pieces. It does not modify them.
func joinGo(pieces []goPiece) Outline {
	var n struct{ symbols, docs, comments int }
	for _, p := range pieces {
		n.symbols, n.docs, n.comments = n.symbols+len(p.Symbols), n.docs+len(p.Docs), n.comments+len(p.Comments)
	}
	out := Outline{Error: pieces[0].Error}
	out.Symbols = make([]Symbol, 0, n.symbols)
	out.Docs, out.Comments = slices.Grow(out.Docs, n.docs), slices.Grow(out.Comments, n.comments)
	types := map[string]int{}
	for _, p := range pieces {
		base := len(out.Symbols)
		in := func(symbol int) int { // the symbol's index in the file
			if symbol < 0 {
				return symbol
			}
			return base + symbol
		}
		for _, s := range p.Symbols {
			if s.Parent < 0 && s.Kind != Function && s.Kind != Method && s.Kind != Variable {
				types[s.Name] = len(out.Symbols)
			}
			s.Start, s.End, s.Parent = s.Start+p.above, s.End+p.above, in(s.Parent)
			out.Symbols = append(out.Symbols, s)
		}
		out.join(&p.Outline, p.above, in)
	}
	for i, x := range out.Imports {
		out.Imports[i].Names = usedOf(pieces, cmp.Or(x.Alias, packageName(x.Path)))
	}
	// The parent of a method is its receiver type, if that is in the same file.
	base := 0
	for _, p := range pieces {
		for _, m := range p.methods {
			if t, ok := types[m.of]; ok {
				out.Symbols[base+m.symbol].Parent = t
			}
		}
		base += len(p.Symbols)
	}
	return out
}

// usedOf returns the names that a file uses of a package.
func usedOf(pieces []goPiece, local string) []Name {
	names := slices.Concat(lists.Map(pieces, func(p goPiece) []string { return p.used[local] })...)
	return lists.Map(lists.Unique(names), func(n string) Name { return Name{n, n} })
}
