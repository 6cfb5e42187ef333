package outline

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/recent"
)

// GoMemory reads versions of Go files and caches the result for each declaration, because most declarations do not
// change between versions. It is safe for concurrent use.
type GoMemory struct {
	parts *recent.Shared[goSource, *goPart]
}

// goSource is a piece of a file's source.
type goSource struct {
	text  string
	first bool // first piece of the file, with the package clause
}

// mostRemembered limits the source bytes in the younger half of the cache. The parsed parts take about the same amount
// again.
const mostRemembered = 4 << 20

// NewGoMemory returns an empty cache.
func NewGoMemory() *GoMemory {
	return &GoMemory{recent.NewShared[goSource](mostRemembered, func(p *goPart) int { return p.size })}
}

// Read does what [ReadGo] does.
func (m *GoMemory) Read(name, text string) Outline {
	var pieces []goPiece
	above := 0
	for rest := text; rest != "" || len(pieces) == 0; {
		s := goSource{text: rest[:endOfPiece(rest, len(pieces) == 0)], first: len(pieces) == 0}
		p := m.part(s)
		if p.alone { // the file must be read as a whole
			return ReadGo(name, []byte(text))
		}
		pieces = append(pieces, goPiece{p, above - p.clause})
		above, rest = above+strings.Count(s.text, "\n"), rest[len(s.text):]
	}
	return joinGo(pieces)
}

// part returns the parse result of a piece of source, from the cache if possible.
func (m *GoMemory) part(s goSource) *goPart {
	p, known := m.parts.Get(s)
	if !known {
		p = readPiece(s)
		s.text = strings.Clone(s.text) // a substring would keep the whole file in memory
		m.parts.Put(s, p)
	}
	return p
}

// readPiece reads a piece. If the text between two empty lines parses after a package clause, it parses the same way
// in its file: no string, comment or declaration crosses its ends.
func readPiece(s goSource) *goPart {
	clause := ""
	if !s.first {
		clause = "package p\n\n"
	}
	g, f := readGo("", []byte(clause+s.text))
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
	return language.Begins(text, "func ", "type ", "var ", "const ")
}
