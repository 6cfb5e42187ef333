package outline

import (
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/recent"
)

// PythonMemory glances at versions of Python files and caches the result for each definition and each member of a
// class, because most of them do not change between versions. It is safe for concurrent use.
type PythonMemory struct {
	parts *recent.Shared[pythonSource, *pythonPart]
}

// pythonSource is a piece of a file's source.
type pythonSource struct {
	text   string
	inside bool // it has members of a class that began before
	goesOn bool // a member of the class that it begins, or is inside of, follows
}

// pythonPart is the outline of a piece. If it is inside of a class, its first symbol stands for the class.
type pythonPart struct {
	Outline
	alone bool // the file must be read as a whole
	size  int
}

// pythonClause precedes the members of a class, so that they can be read.
const pythonClause = "class C:\n"

// NewPythonMemory returns an empty cache.
func NewPythonMemory() *PythonMemory {
	return &PythonMemory{recent.NewShared[pythonSource](mostRemembered, func(p *pythonPart) int { return p.size })}
}

// Glance does what [GlancePython] does.
func (m *PythonMemory) Glance(text string) (Outline, bool) {
	type variable struct {
		parent int
		name   string
	}
	var out Outline
	seen := map[variable]bool{}
	above, class := 0, -1
	for _, s := range pythonPieces(text) {
		p, known := m.parts.Get(s)
		if !known {
			p = readPython(s)
			s.text = strings.Clone(s.text) // a substring would keep the whole file in memory
			m.parts.Put(s, p)
		}
		if p.alone {
			return GlancePython([]byte(text))
		}
		index := make([]int, len(p.Symbols))
		in := func(symbol int) int {
			if symbol < 0 {
				return symbol
			}
			return index[symbol]
		}
		lines := above
		if s.inside {
			lines--
		}
		for i, x := range p.Symbols {
			x.Start, x.End, x.Parent = x.Start+lines, x.End+lines, in(x.Parent)
			if s.inside && i == 0 {
				index[0], out.Symbols[class].End = class, x.End
				continue
			}
			if v := (variable{x.Parent, x.Name}); x.Kind == Variable {
				if seen[v] {
					continue // only its first assignment counts, and it holds nothing
				}
				seen[v] = true
			}
			if index[i] = len(out.Symbols); x.Parent < 0 {
				class = index[i] // the last one of a piece goes on
			}
			out.Symbols = append(out.Symbols, x)
		}
		out.join(&p.Outline, lines, in)
		above += strings.Count(s.text, "\n")
	}
	return out, true
}

// join adds all but the symbols of a piece, with the number of lines above it and its symbols in the file.
func (o *Outline) join(p *Outline, above int, in func(symbol int) int) {
	for _, d := range p.Docs {
		d.Symbol = in(d.Symbol)
		o.Docs = append(o.Docs, d)
	}
	for _, c := range p.Comments {
		c.Symbol, c.Line = in(c.Symbol), c.Line+above
		o.Comments = append(o.Comments, c)
	}
	for _, i := range p.Imports {
		i.Line += above
		o.Imports = append(o.Imports, i)
	}
	for _, r := range p.Refs {
		r.Symbol = in(r.Symbol)
		o.Refs = append(o.Refs, r)
	}
}

// readPython reads a piece. If it is understood, no string, bracket or block crosses its ends, so that it is read the
// same way in its file.
func readPython(s pythonSource) *pythonPart {
	g := pythonGlance{text: []byte(s.text), goesOn: s.goesOn}
	if s.inside {
		g.text = []byte(pythonClause + s.text)
	}
	if g.file() {
		if r := read(Python, g.text, g.nodes, true); !r.cut {
			return &pythonPart{Outline: r.out, size: len(s.text) + 500}
		}
	}
	return &pythonPart{alone: true, size: len(s.text) + 500}
}

// pythonMember is the indentation of the members that are read on their own.
const pythonMember = "    "

// pythonPieces splits a file at the empty lines before definitions and before members of classes, or before their
// comments.
func pythonPieces(text string) []pythonSource {
	var out []pythonSource
	start, class, s := 0, false, pythonSource{}
	for at := 0; strings.HasSuffix(text, "\n"); {
		n := strings.Index(text[at:], "\n\n")
		if n < 0 {
			break
		}
		at += n + 1
		next, before := text[at+1:], text[start:at+1]
		member := false
		switch {
		case beginsPiece(next, ""):
		case beginsPiece(next, pythonMember):
			class = class || !s.inside && (strings.HasPrefix(before, "class ") || strings.Contains(before, "\nclass "))
			if member = true; !class || strings.HasSuffix(strings.TrimRight(before, "\n"), ":") {
				continue
			}
		default:
			continue
		}
		s.text, s.goesOn = before, member
		out = append(out, s)
		start, class, s.inside = at+1, class && member, member
	}
	s.text, s.goesOn = text[start:], false
	return append(out, s)
}

// beginsPiece reports whether a text begins with a definition or a decorator of an indentation, possibly after comments.
func beginsPiece(text, indent string) bool {
	for {
		rest, ok := strings.CutPrefix(text, indent)
		if !ok || rest == "" || rest[0] != '#' {
			return ok && (language.Begins(rest, "def ", "class ", "async def ") || indent == "" && language.Begins(rest, "if ", "try:") ||
				len(rest) > 1 && rest[0] == '@' && isPythonName(rest[1]))
		}
		_, text, _ = strings.Cut(rest, "\n")
	}
}
