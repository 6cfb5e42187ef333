package outline

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/recent"
)

// GoMemory reads versions of Go files and caches the result for each declaration, because most declarations do not
// change between versions. It is safe for concurrent use.
type GoMemory struct {
	mutex sync.Mutex
	parts *recent.Map[goSource, *goPart]
}

// goSource is a piece of a file's source.
type goSource struct {
	text  string
	first bool // first piece of the file, with the package clause
	hull  bool // without function bodies
}

// mostRemembered limits the source bytes in the younger half of the cache. The parsed parts take about the same amount
// again.
const mostRemembered = 4 << 20

// NewGoMemory returns an empty cache.
func NewGoMemory() *GoMemory {
	return &GoMemory{parts: recent.New[goSource](mostRemembered, func(p *goPart) int { return p.size })}
}

// Read does what [ReadGo] does.
func (m *GoMemory) Read(name, text string) Outline {
	if pieces := piecesOf(text, m.part); pieces != nil {
		return joinGo(pieces)
	}
	return ReadGo(name, []byte(text))
}

// Glance does what [GoMemory.Read] does for declarations only. It ignores function bodies: their parse errors and the
// imported names that they use.
func (m *GoMemory) Glance(name, text string) Outline {
	if pieces := piecesOf(text, m.hull); pieces != nil {
		return joinHulls(pieces)
	}
	o := ReadGo(name, []byte(text))
	for i := range o.Imports {
		o.Imports[i].Names = nil
	}
	return o
}

// piecesOf reads a file piece by piece. It returns nil if the file must be read as a whole.
func piecesOf(text string, part func(goSource) *goPart) []goPiece {
	var pieces []goPiece
	above := 0
	for rest := text; rest != "" || len(pieces) == 0; {
		s := goSource{text: rest[:endOfPiece(rest, len(pieces) == 0)], first: len(pieces) == 0}
		p := part(s)
		if p.alone {
			return nil
		}
		pieces = append(pieces, goPiece{p, above - p.clause})
		above, rest = above+strings.Count(s.text, "\n"), rest[len(s.text):]
	}
	return pieces
}

// find returns the cached part of a piece.
func (m *GoMemory) find(s goSource) (*goPart, bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.parts.Get(s)
}

// keep caches the parse result of a piece of source.
func (m *GoMemory) keep(s goSource, p *goPart) {
	s.text = strings.Clone(s.text) // a substring would keep the whole file in memory
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.parts.Put(s, p)
}

// part returns the parse result of a piece of source, from the cache if possible.
func (m *GoMemory) part(s goSource) *goPart {
	p, known := m.find(s)
	if !known {
		p = readPiece(s, s.text)
		m.keep(s, p)
	}
	return p
}

// hull reads a piece without its function bodies. The result does not depend on the state of the cache: for a piece
// that parses, it is the same with bodies.
func (m *GoMemory) hull(s goSource) *goPart {
	if p, known := m.find(s); known && !p.alone {
		return p
	}
	of := s
	of.hull = true
	p, known := m.find(of)
	if known {
		return p
	}
	empty, ok := withoutBodies(s.text)
	if ok {
		p = readPiece(s, empty)
	}
	if !ok || p.alone {
		p = m.part(s)
	}
	m.keep(of, p)
	return p
}

// readPiece reads a piece. If the text between two empty lines parses after a package clause, it parses the same way
// in its file: no string, comment or declaration crosses its ends. parsed is the text that is parsed in its place.
func readPiece(s goSource, parsed string) *goPart {
	clause := ""
	if !s.first {
		clause = "package p\n\n"
	}
	g, f := parseGo("", []byte(clause+s.text), []byte(clause+parsed))
	p := g.part
	p.clause, p.size = strings.Count(clause, "\n"), len(s.text)+500
	p.alone = p.Error != nil || !s.first && slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		gen, ok := d.(*ast.GenDecl)
		return ok && gen.Tok == token.IMPORT
	})
	if p.alone {
		return &goPart{alone: true, size: p.size}
	}
	return &p
}

// endOfPiece returns the end of the first piece: an empty line before a declaration or its comment.
func endOfPiece(text string, first bool) int {
	at := 0
	if first && !strings.HasPrefix(text, "package ") {
		if at = strings.Index(text, "\npackage "); at < 0 {
			return len(text)
		}
	}
	for {
		n := strings.Index(text[at:], "\n\n")
		if n < 0 {
			return len(text)
		}
		if at += n + 2; declares(text[at:]) {
			return at
		}
		at--
	}
}

// declares reports whether a source begins with a declaration other than an import, possibly after a comment.
func declares(text string) bool {
	for strings.HasPrefix(text, "//") {
		n := strings.IndexByte(text, '\n')
		if n < 0 {
			return false
		}
		text = text[n+1:]
	}
	return slices.ContainsFunc([]string{"func ", "type ", "var ", "const "},
		func(word string) bool { return strings.HasPrefix(text, word) })
}
