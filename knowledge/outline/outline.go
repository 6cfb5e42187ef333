// Package outline tells what stands in a source file: symbols with their extents, docstrings, comments, imports, and
// in Python who refers to whom. It looks at one file at a time and resolves nothing; package knowledge does that.
//
// Go is read by go/parser. Python, TypeScript and JavaScript are read by ast-grep, many files in one process: [Rules]
// are what it is asked, [Read] makes an [Outline] of its answer. All offsets are into the very text that was hashed.
package outline

import (
	"bytes"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
)

// Language is what a file is written in.
type Language string

// The languages of the index.
const (
	Go         Language = "go"
	Python     Language = "python"
	TypeScript Language = "typescript"
	JavaScript Language = "javascript"
)

// Languages lists them in the order in which they are shown.
func Languages() []Language { return []Language{Go, Python, TypeScript, JavaScript} }

// LanguageOf goes by the ending of a file name; "" is a language that is not indexed.
func LanguageOf(name string) Language {
	switch path.Ext(name) {
	case ".go":
		return Go
	case ".py", ".pyi":
		return Python
	case ".ts", ".mts", ".cts", ".tsx":
		return TypeScript
	case ".js", ".mjs", ".cjs", ".jsx":
		return JavaScript
	}
	return ""
}

// Kind is what a symbol is.
type Kind string

// The kinds of symbols. A struct of Go is a class; any other named type of Go that is no interface is a type alias.
const (
	Function  Kind = "function"
	Class     Kind = "class"
	Method    Kind = "method"
	Interface Kind = "interface"
	TypeAlias Kind = "type_alias"
	Enum      Kind = "enum"
	Variable  Kind = "variable"
)

// Outline is what stands in a file. Symbols are in the order of the file; a parent comes before its children.
type Outline struct {
	Symbols  []Symbol
	Docs     []Doc
	Comments []Comment
	Imports  []Import
	Refs     []Ref
	Error    *ParseError // the first place that could not be parsed; the rest of the outline is what could be
}

// Symbol is a definition. Lines count from 1.
type Symbol struct {
	Name      string
	Kind      Kind
	Start     int
	End       int
	Signature string // source of the definition without its body, on one line
	Parent    int    // index of the symbol around it, -1 at the top
}

// Doc is a docstring.
type Doc struct {
	Symbol  int // -1: of the module
	Content string
	Format  Format
	Fields  Fields
}

// Comment is an inline comment, or a block of lines of comments.
type Comment struct {
	Symbol    int // innermost one around it, -1 for none
	Line      int
	Content   string
	Kind      CommentKind
	Rationale bool // it says why
}

// Import is one import statement, as it is written.
type Import struct {
	Path  string // "./a", "net/http", "os.path"; for Python without the leading dots
	Level int    // Python: leading dots
	Names []Name // what is taken from it; none is the module itself
	Alias string // name of the module itself here
	Types bool   // for type checking only
	Line  int
}

// Name is a name that is imported, and what it is called here.
type Name struct{ Name, As string }

// RefKind says how a name is used.
type RefKind string

// The kinds of references.
const (
	Call     RefKind = "call"
	Inherit  RefKind = "inherit"
	Decorate RefKind = "decorate"
	TypeOf   RefKind = "type"
)

// Ref is a use of a name inside of a symbol. Each name is there once for a symbol and kind.
type Ref struct {
	Symbol int
	Kind   RefKind
	Name   string // dotted, as written: "self.close", "os.path.join"
}

// ParseError is a place that could not be parsed.
type ParseError struct {
	Line    int
	Content string // of that line, cut
	Message string
}

// lines finds the line of an offset.
type lines []int

func linesOf(text []byte) lines {
	at := make(lines, 1, 2+bytes.Count(text, []byte{'\n'}))
	for {
		n := bytes.IndexByte(text[at[len(at)-1]:], '\n')
		if n < 0 {
			return at
		}
		at = append(at, at[len(at)-1]+n+1)
	}
}

// of is the line of an offset, from 1.
func (l lines) of(offset int) int {
	return sort.Search(len(l), func(i int) bool { return l[i] > offset })
}

// start is the offset at which the line of an offset begins.
func (l lines) start(offset int) int { return l[l.of(offset)-1] }

// content is the line around an offset, for people.
func (l lines) content(text []byte, offset int) string {
	line := text[l.start(offset):]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	return phrase.CutBytes(strings.TrimSpace(string(line)), 160)
}

// oneLine makes one line of a piece of source.
func oneLine(s string) string { return phrase.CutBytes(strings.Join(strings.Fields(s), " "), 500) }

// extent is a symbol with where it stands.
type extent struct {
	Symbol
	from, to int // of the definition
	name     int // of its name
	body     bool
}

// nest puts symbols in order and gives each its parent: the innermost one around its name that can hold others.
func nest(all []extent) []extent {
	slices.SortStableFunc(all, func(a, b extent) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	var open []int
	for i := range all {
		s := &all[i]
		for len(open) > 0 && all[open[len(open)-1]].to <= s.name {
			open = open[:len(open)-1]
		}
		s.Parent = -1
		if len(open) > 0 {
			s.Parent = open[len(open)-1]
		}
		if s.body {
			open = append(open, i)
		}
	}
	return all
}

// around is the innermost symbol with a body that holds an offset, -1 for none.
func around(all []extent, offset int) int {
	i := sort.Search(len(all), func(i int) bool { return all[i].from > offset }) - 1
	for i >= 0 && !(all[i].body && all[i].to > offset) {
		if i = all[i].Parent; i < 0 {
			return -1
		}
	}
	return i
}

func symbols(all []extent) []Symbol {
	out := make([]Symbol, len(all))
	for i, e := range all {
		out[i] = e.Symbol
	}
	return out
}
