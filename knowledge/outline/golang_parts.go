package outline

import (
	"cmp"
	"slices"
)

// goPart is what was read of a file of Go, or of a piece of one: without what only the whole file tells, which are the
// types of methods and the names that are used of an import.
type goPart struct {
	Outline
	methods []goMethod
	used    map[string][]string // name in front of a dot → names behind it
	clause  int                 // lines of a package clause that was put in front of it
	alone   bool                // it reads otherwise in its file, which has to be read as a whole
	size    int                 // about that of the source, in bytes
}

// goMethod is a method with the name of its receiver's type.
type goMethod struct {
	symbol int
	of     string
}

// goPiece is a part where it stands in a file.
type goPiece struct {
	*goPart
	above int // lines before it, less those that were put in front of it
}

// joinGo makes the outline of a file of all its pieces. They stay as they are.
func joinGo(pieces []goPiece) Outline {
	out := joinHulls(pieces)
	for i := range out.Imports {
		out.Imports[i].Names = usedOf(pieces, cmp.Or(out.Imports[i].Alias, packageName(out.Imports[i].Path)))
	}
	return out
}

// joinHulls is [joinGo] without the names that a file uses of its imports.
func joinHulls(pieces []goPiece) Outline {
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
		in := func(symbol int) int { // the number that it has in the file
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
		for _, d := range p.Docs {
			d.Symbol = in(d.Symbol)
			out.Docs = append(out.Docs, d)
		}
		for _, c := range p.Comments {
			c.Symbol, c.Line = in(c.Symbol), c.Line+p.above
			out.Comments = append(out.Comments, c)
		}
		for _, i := range p.Imports {
			i.Line += p.above
			out.Imports = append(out.Imports, i)
		}
	}
	// A method has the type of its receiver as parent, where that is in the same file.
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

// usedOf are the names that a file uses of a package.
func usedOf(pieces []goPiece, local string) []Name {
	var names []string
	for _, p := range pieces {
		names = append(names, p.used[local]...)
	}
	slices.Sort(names)
	var out []Name
	for _, n := range slices.Compact(names) {
		out = append(out, Name{n, n})
	}
	return out
}
