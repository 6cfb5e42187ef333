// Package outline lists the contents of a source file: symbols with their extents, docstrings, comments, imports, and
// in Python references. It reads one file at a time and resolves nothing; package knowledge does that.
//
// go/parser reads Go, and [ReadPython] most files of Python. ast-grep reads the others, TypeScript and JavaScript, many
// files in one process: [Rules] returns the rules, and [Read] makes an [Outline] of the result. All offsets refer to the
// text that was hashed.
package outline

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// Language is the language of a file.
type Language string

// The languages of the index.
const (
	Go         Language = "go"
	Python     Language = "python"
	TypeScript Language = "typescript"
	JavaScript Language = "javascript"
)

// Languages lists the languages in display order.
func Languages() []Language { return []Language{Go, Python, TypeScript, JavaScript} }

// LanguageOf returns the language for the extension of a file name, or "" if it is not indexed.
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

// Kind is the kind of a symbol.
type Kind string

// The kinds of symbols. A Go struct is a class. Any other named Go type that is not an interface is a type alias.
const (
	Function  Kind = "function"
	Class     Kind = "class"
	Method    Kind = "method"
	Interface Kind = "interface"
	TypeAlias Kind = "type_alias"
	Enum      Kind = "enum"
	Variable  Kind = "variable"
)

// Outline lists the contents of a file. Symbols are in file order; a parent precedes its children.
type Outline struct {
	Symbols  []Symbol
	Docs     []Doc
	Comments []Comment
	Imports  []Import
	Refs     []Ref
	Error    *ParseError // the first parse error; the outline then has only the readable parts
}

// Symbol is a definition. Lines count from 1.
type Symbol struct {
	Name      string
	Kind      Kind
	Start     int
	End       int
	Signature string // source of the definition without its body, on one line
	Parent    int    // index of the enclosing symbol; -1 at the top
}

// Doc is a docstring.
type Doc struct {
	Symbol  int // -1: documents the module
	Content string
	Format  Format
	Fields  Fields
}

// Comment is an inline comment, or a block of lines of comments.
type Comment struct {
	Symbol    int // innermost enclosing symbol; -1 for none
	Line      int
	Content   string
	Kind      CommentKind
	Rationale bool // it gives a reason
}

// Import is one import statement as written.
type Import struct {
	Path  string // "./a", "net/http", "os.path"; for Python without the leading dots
	Level int    // Python: leading dots
	Names []Name // imported names; none means the module itself
	Alias string // local name of the module
	Types bool   // only for type checking
	Line  int
}

// Name is an imported name and its local name.
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

// Ref is a use of a name inside of a symbol. Each name occurs once for each symbol and kind.
type Ref struct {
	Symbol int
	Kind   RefKind
	Name   string // dotted, as written: "self.close", "os.path.join"
}

// ParseError is a position that could not be parsed.
type ParseError struct {
	Line    int
	Content string // of that line, shortened
	Message string
}

// lines maps offsets to lines.
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

// of returns the line of an offset, from 1.
func (l lines) of(offset int) int {
	return sort.Search(len(l), func(i int) bool { return l[i] > offset })
}

// start returns the offset of the first byte of the line.
func (l lines) start(offset int) int { return l[l.of(offset)-1] }

// content returns the line at an offset, for messages.
func (l lines) content(text []byte, offset int) string {
	line := text[l.start(offset):]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	return phrase.CutBytes(strings.TrimSpace(string(line)), 160)
}

// oneLine joins source into one line of at most 500 bytes.
func oneLine(s string) string { return phrase.CutBytes(phrase.Line(s), 500) }

// extent is a symbol and its position.
type extent struct {
	Symbol
	from, to int // of the definition
	name     int // of its name
	body     bool
}

// nest sorts symbols and sets their parents. The parent is the innermost symbol around the name that can hold others.
func nest(all []extent) []extent {
	slices.SortStableFunc(all, func(a, b extent) int { return cmp.Or(a.from-b.from, b.to-a.to) })
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

// around returns the innermost symbol with a body around an offset, or -1.
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
	return lists.Map(all, func(e extent) Symbol { return e.Symbol })
}
