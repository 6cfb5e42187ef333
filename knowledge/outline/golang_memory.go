package outline

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/recent"
)

// GoMemory reads versions of files of Go. What it has read of a declaration it does not parse again, as long as it
// remembers it: from one version of a file to the next most are the same. It is for any number of goroutines.
type GoMemory struct {
	mutex sync.Mutex
	parts *recent.Map[goSource, *goPart]
}

// goSource is a piece of a file as it is written.
type goSource struct {
	text  string
	first bool // it is the first one of its file, which has the package clause
	hull  bool // without the bodies of its functions
}

// mostRemembered bounds the source whose parts the younger half of a memory holds; they take about as much again.
const mostRemembered = 4 << 20

// NewGoMemory returns one that remembers nothing yet.
func NewGoMemory() *GoMemory {
	return &GoMemory{parts: recent.New[goSource](mostRemembered, func(p *goPart) int { return p.size })}
}

// Read is [ReadGo].
func (m *GoMemory) Read(name, text string) Outline {
	if pieces := piecesOf(text, m.part); pieces != nil {
		return joinGo(pieces)
	}
	return ReadGo(name, []byte(text))
}

// Glance is [GoMemory.Read] for who wants to know what a file declares, and nothing of what the bodies of its functions do:
// whether they parse it does not tell, nor the names that they use of an import.
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

// piecesOf reads a file piece by piece. It returns nil for one that has to be read as a whole.
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

// find returns what is remembered of a piece.
func (m *GoMemory) find(s goSource) (*goPart, bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.parts.Get(s)
}

// keep remembers what was read of a piece.
func (m *GoMemory) keep(s goSource, p *goPart) {
	s.text = strings.Clone(s.text) // it would hold on to all of its file
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.parts.Put(s, p)
}

// part reads a piece.
func (m *GoMemory) part(s goSource) *goPart {
	p, known := m.find(s)
	if !known {
		p = readPiece(s, s.text)
		m.keep(s, p)
	}
	return p
}

// hull reads a piece without the bodies of its functions. What it says does not depend on what is remembered: of a piece that
// parses it is the same with them.
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

// readPiece reads a piece. Who reads without an error what stands between two empty lines, behind a package clause, reads the
// same of it in its file: no text and no comment goes over its ends, and nothing is begun that its neighbours complete.
// parsed is the text with which it is parsed.
func readPiece(s goSource, parsed string) *goPart {
	clause := ""
	if !s.first {
		clause = "package p\n\n"
	}
	g, f := parseGo("", []byte(clause+s.text), []byte(clause+parsed))
	p := g.part
	p.clause, p.size = strings.Count(clause, "\n"), len(s.text)+500
	p.alone = p.Error != nil || !s.first && slices.ContainsFunc(f.Decls, func(d ast.Decl) bool { // imports stand before all else
		gen, ok := d.(*ast.GenDecl)
		return ok && gen.Tok == token.IMPORT
	})
	if p.alone {
		return &goPart{alone: true, size: p.size}
	}
	return &p
}

// endOfPiece is where the first piece of a source ends: at an empty line behind which a declaration begins, or its comment.
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

// declares tells whether a source begins with a declaration that is no import, maybe behind a comment.
func declares(text string) bool {
	for strings.HasPrefix(text, "//") {
		n := strings.IndexByte(text, '\n')
		if n < 0 {
			return false
		}
		text = text[n+1:]
	}
	for _, word := range []string{"func ", "type ", "var ", "const "} {
		if strings.HasPrefix(text, word) {
			return true
		}
	}
	return false
}
