package outline

import (
	"strings"

	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/patterns"
)

// GlancePython outlines a Python file without ast-grep: its symbols, docstrings, comments and imports as [Read] finds
// them, without references, the fields of docstrings and the kinds of comments. It reports false for a text that only
// ast-grep can judge, such as one with a syntax error. text comes from [Prepare].
func GlancePython(text []byte) (Outline, bool) {
	g := pythonGlance{text: text}
	if !g.file() {
		return Outline{}, false
	}
	return Glance(Python, text, g.nodes), true
}

// pythonGlance finds the nodes that the rules for Python match in a definition, an import, a variable, a docstring and
// a comment. It knows tokens, brackets, indentation and the beginnings of statements, and gives up where two tokens
// cannot follow each other.
type pythonGlance struct {
	text   []byte
	at     int // of the next byte
	nodes  []patterns.Node
	blocks []pythonBlock
	notes  []pythonNote // comments since the last token that have a line of their own
	tok    pythonToken  // the current token
	last   int          // end of the token before it; line ends do not count
	remark int          // end of the last comment after a statement on the same line
	open   []byte       // closing brackets that are missing
	sound  bool
	goesOn bool        // a member of its last class follows the text
	refs   *pythonRefs // nil: no references are wanted
	field  bool        // the text is an expression in a formatted string
}

// pythonBlock is a block of statements that is read.
type pythonBlock struct {
	indent int
	node   int  // of the definition; -1: none
	holds  bool // its variables are symbols
	doc    bool // its first statement may be a docstring
}

// pythonNote is a comment on a separate line.
type pythonNote struct{ indent, end int }

type pythonKind byte

const (
	pythonEnd     pythonKind = iota // of the file
	pythonLine                      // end of a logical line
	pythonName                      // not a keyword
	pythonKeyword                   // a keyword other than None, True and False
	pythonNumber
	pythonText
	pythonOperator // or punctuation
)

type pythonToken struct {
	kind       pythonKind
	start, end int
}

var pythonKeywords = wordset.New("and as assert async await break class continue def del elif else except finally for " +
	"from global if import in is lambda nonlocal not or pass raise return try while with yield")

// pythonHeads begin statements that hold a block.
var pythonHeads = wordset.New("if elif else for while try except finally with")

// pythonBinary are operators that need a value on both sides.
var pythonBinary = wordset.New("< > << >> <= >= == != <> = / // % | ^ & += -= *= /= //= %= |= ^= &= <<= >>= **= @= := ->")

// Three groups of keywords: those that may follow a value, those that may begin a value, and those that a value must
// follow.
var (
	pythonInfix  = wordset.New("and or not in is if else for as import from async")
	pythonPrefix = wordset.New("not lambda await yield")
	pythonNeeds  = wordset.New("and or not in is if elif while for assert del import as with global nonlocal class def")
)

func (g *pythonGlance) word() string { return string(g.text[g.tok.start:g.tok.end]) }

func (g *pythonGlance) is(word string) bool { return string(g.text[g.tok.start:g.tok.end]) == word }

// file reads the whole text. It reports whether all of it was understood.
func (g *pythonGlance) file() bool {
	g.sound = true
	if strings.HasPrefix(string(g.text[:min(3, len(g.text))]), "\xef\xbb\xbf") {
		g.at = 3
	}
	g.blocks = []pythonBlock{{node: -1, holds: true, doc: true}}
	for g.sound {
		indent, ok := g.margin()
		if !ok && g.goesOn {
			g.leave(len(pythonMember))
			b := g.blocks[len(g.blocks)-1]
			if len(g.blocks) != 2 || !b.holds || b.indent != len(pythonMember) {
				return false
			}
			g.nodes[b.node].To = len(g.text)
			break
		}
		g.leave(indent)
		if !ok {
			break
		}
		if indent != g.blocks[len(g.blocks)-1].indent {
			return false
		}
		g.next()
		g.statements()
	}
	return g.sound
}

// margin steps to the first token of a line and returns its indentation. It reports false at the end of the text.
func (g *pythonGlance) margin() (indent int, ok bool) {
	g.notes = g.notes[:0]
	for ; g.at < len(g.text); g.at++ {
		switch g.text[g.at] {
		case ' ':
			indent++
		case '\t':
			indent += 8
		case '\n', '\r', '\f':
			indent = 0
		case '#':
			g.comment()
			g.notes = append(g.notes, pythonNote{indent, g.at})
			indent = 0
		case '\\':
			g.sound = false
			return 0, false
		default:
			return indent, true
		}
	}
	return 0, false
}

// comment reads a comment up to the end of its line.
func (g *pythonGlance) comment() {
	from := g.at
	for g.at < len(g.text) && g.text[g.at] != '\n' {
		g.at++
	}
	g.nodes = append(g.nodes, patterns.Node{Rule: "comment", Start: from, End: g.at, From: -1, To: -1})
	g.at-- // margin and next step over one byte
}

// leave ends the blocks that are indented deeper than a line. Comments after the last statement of a block belong to it
// as long as they are indented as far.
func (g *pythonGlance) leave(indent int) {
	notes := g.notes
	for {
		b := g.blocks[len(g.blocks)-1]
		if indent >= b.indent {
			return
		}
		for len(notes) > 0 && notes[0].indent >= b.indent {
			g.last, notes = notes[0].end+1, notes[1:]
		}
		g.close(b)
		g.blocks = g.blocks[:len(g.blocks)-1]
	}
}

func (g *pythonGlance) close(b pythonBlock) {
	if b.node >= 0 {
		g.nodes[b.node].To = max(g.last, g.remark)
	}
}

// fail gives up.
func (g *pythonGlance) fail() {
	g.sound, g.tok = false, pythonToken{kind: pythonEnd}
}

// statements reads the statements of a logical line, up to and with its end.
func (g *pythonGlance) statements() {
	for {
		g.statement()
		if g.tok.kind == pythonOperator && g.is(";") {
			if g.next(); g.tok.kind != pythonLine && g.tok.kind != pythonEnd {
				continue
			}
		}
		if g.tok.kind != pythonLine && g.tok.kind != pythonEnd {
			g.fail()
		}
		return
	}
}

// statement reads one statement. The token after it is a semicolon or the end of the line.
func (g *pythonGlance) statement() {
	first := g.tok
	word := g.word()
	block := &g.blocks[len(g.blocks)-1]
	doc := block.doc
	block.doc = false
	switch {
	case first.kind == pythonKeyword && (word == "def" || word == "class"):
		g.definition(first.start, word == "class")
		return
	case first.kind == pythonKeyword && word == "async":
		g.next()
		switch {
		case g.tok.kind == pythonKeyword && g.is("def"):
			g.definition(first.start, false)
		case g.tok.kind == pythonKeyword && (g.is("for") || g.is("with")):
			g.head()
		default:
			g.fail()
		}
		return
	case first.kind == pythonKeyword && pythonHeads.Has(word):
		g.head()
		return
	case first.kind == pythonKeyword && (word == "import" || word == "from"):
		g.next()
		future := word == "from" && g.is("__future__")
		g.rest()
		if !future {
			g.nodes = append(g.nodes, patterns.Node{Rule: "import", Start: first.start, End: g.last, From: -1, To: -1})
		}
		return
	case first.kind == pythonText && doc:
		end := 0
		for g.tok.kind == pythonText {
			end = g.tok.end
			g.next()
		}
		if g.tok.kind == pythonLine || g.tok.kind == pythonEnd || g.tok.kind == pythonOperator && g.is(";") {
			g.nodes = append(g.nodes, patterns.Node{Rule: "doc", Start: first.start, End: end, From: -1, To: -1})
			return
		}
		g.rest()
		return
	case first.kind == pythonName:
		g.named(first, word, block.holds)
		return
	}
	g.rest()
	if word == "@" {
		g.note("decorator", first.start, g.last)
	}
}

// named reads a statement that begins with a name.
func (g *pythonGlance) named(first pythonToken, word string, holds bool) {
	g.next()
	switch {
	case g.tok.kind == pythonOperator && (g.is("=") || g.is(":")):
		at := len(g.nodes)
		if holds {
			g.nodes = append(g.nodes, patterns.Node{Rule: "variable", Start: first.start, End: first.end, From: -1})
		}
		if g.is(":") {
			if g.next(); g.tok.kind == pythonLine {
				g.fail()
			}
			g.annotation()
		}
		g.rest()
		if holds {
			g.nodes[at].To = g.last
		}
	case g.tok.kind == pythonName || g.tok.kind == pythonNumber || g.tok.kind == pythonText:
		switch word {
		case "print", "exec": // statements of Python 2
			g.rest()
		default: // type X = …, match x: and what is wrong
			g.fail()
		}
	default: // an annotation needs a name or a subscript
		if g.colon() {
			before := g.text[g.last-1]
			if g.next(); before == ')' || before == '}' || g.tok.kind == pythonLine {
				g.fail()
			}
			g.annotation()
			g.rest()
		}
	}
}

// rest reads the tokens of a simple statement. A colon that belongs to no lambda and to no bracket is wrong.
func (g *pythonGlance) rest() {
	if g.colon() {
		g.fail()
	}
}

// colon reads up to the end of a statement, or up to the colon that opens a block. It reports whether there is one.
func (g *pythonGlance) colon() bool {
	lambdas := 0
	for {
		switch g.tok.kind {
		case pythonEnd, pythonLine:
			return false
		case pythonKeyword:
			if len(g.open) == 0 && g.is("lambda") {
				lambdas++
			}
		case pythonOperator:
			if len(g.open) > 0 {
				break
			}
			switch g.text[g.tok.start] {
			case ';':
				return false
			case ':':
				if g.tok.end-g.tok.start > 1 { // :=
					break
				}
				if lambdas == 0 {
					return true
				}
				lambdas--
			}
		}
		g.next()
	}
}

// head reads the head of a statement with a block, and the block if it is in the same line.
func (g *pythonGlance) head() {
	condition := g.is("if")
	g.next()
	b, from := pythonBlock{node: -1}, g.tok.start
	if !g.colon() {
		g.fail()
		return
	}
	if condition {
		b.node = g.onlyTyping(from)
	}
	g.suite(b)
}

// definition reads the head of a function or a class.
func (g *pythonGlance) definition(from int, class bool) {
	g.next()
	name := g.tok
	if name.kind != pythonName {
		g.fail()
		return
	}
	g.refs.forget()
	g.next()
	if g.tok.kind == pythonOperator && g.is("[") {
		if g.bracket(); g.refs != nil { // its types are references
			g.fail()
			return
		}
	}
	var list pythonToken
	if g.tok.kind == pythonOperator && g.is("(") {
		list.start = g.tok.start
		if class {
			list.end = g.bracket()
		} else {
			list.end = g.parameters()
		}
	}
	result := -1
	if g.tok.kind == pythonOperator && g.is("->") {
		g.next()
		result = g.tok.start
	}
	if list.end == 0 && !class || !g.colon() {
		g.fail()
		return
	}
	g.note("type", result, g.last)
	as := patterns.Var{Name: "NAME", Start: name.start, End: name.end}
	n := patterns.Node{Rule: "def", Start: list.start, End: list.end, From: from, Vars: []patterns.Var{as}}
	if class {
		n = patterns.Node{Rule: "class", Start: name.start, End: name.end, From: from}
		if list.end > 0 {
			n.Vars = []patterns.Var{{Name: "BASES", Start: list.start, End: list.end}}
		}
	}
	g.nodes = append(g.nodes, n)
	g.suite(pythonBlock{node: len(g.nodes) - 1, holds: class, doc: true})
}

// bracket reads up to the bracket that closes the current one, and returns its end.
func (g *pythonGlance) bracket() int {
	for depth := len(g.open); g.tok.kind != pythonEnd && len(g.open) >= depth; {
		g.next()
	}
	end := g.tok.end
	g.next()
	return end
}

// suite reads the statements of a block after its colon, or enters the block in the lines below.
func (g *pythonGlance) suite(b pythonBlock) {
	g.next()
	outer := g.blocks[len(g.blocks)-1].indent
	if g.tok.kind != pythonLine {
		if g.tok.kind == pythonEnd {
			g.fail()
			return
		}
		b.indent = outer
		g.blocks = append(g.blocks, b)
		for {
			if g.tok.kind == pythonKeyword && (pythonHeads.Has(g.word()) || g.is("def") || g.is("class") || g.is("async")) {
				g.fail() // a block needs a separate line
				return
			}
			g.statement()
			if g.tok.kind != pythonOperator || !g.is(";") {
				break
			}
			if g.next(); g.tok.kind == pythonLine || g.tok.kind == pythonEnd {
				break
			}
		}
		if !g.sound {
			return
		}
		g.close(b)
		g.blocks = g.blocks[:len(g.blocks)-1]
		return
	}
	var ok bool
	if b.indent, ok = g.margin(); !ok || b.indent <= outer {
		g.fail()
		return
	}
	g.blocks = append(g.blocks, b)
	g.next()
	g.statements()
	g.tok = pythonToken{kind: pythonLine, start: g.last, end: g.last}
}

// next reads a token and checks that it may follow the one before.
func (g *pythonGlance) next() {
	before := g.tok
	if before.kind == pythonEnd && before.end > 0 || !g.sound {
		return
	}
	g.scan()
	if !g.sound {
		g.fail()
		return
	}
	if before.kind != pythonLine && before.kind != pythonEnd {
		g.last = before.end
	}
	if g.refs != nil {
		g.refs.see(g, before)
	}
	if g.tok.kind == pythonLine || g.tok.kind == pythonEnd {
		if before.kind == pythonOperator && pythonBinary.Has(string(g.text[before.start:before.end])) {
			g.fail()
		}
		return
	}
	switch value := g.value(before, true); {
	case g.tok.kind == pythonKeyword:
		word, was := g.word(), string(g.text[before.start:before.end])
		printed := before.kind == pythonName && (was == "print" || was == "exec")
		needed := before.kind == pythonKeyword && pythonNeeds.Has(was) && !(was == "not" && word == "in") ||
			before.kind == pythonOperator && (pythonBinary.Has(was) || was == "(" || was == "[")
		if value && !printed && !pythonInfix.Has(word) || needed && !pythonPrefix.Has(word) {
			g.fail()
		}
	case g.tok.kind == pythonOperator:
		op := g.word()
		if pythonBinary.Has(op) && (before.kind == pythonLine ||
			before.kind == pythonOperator && pythonBinary.Has(string(g.text[before.start:before.end]))) || op == "{" && value {
			g.fail()
		}
	case value && g.value(g.tok, false) && !(before.kind == pythonText && g.tok.kind == pythonText):
		if w := string(g.text[before.start:before.end]); before.kind != pythonName || w != "print" && w != "exec" {
			g.fail()
		}
	}
}

// value reports whether a token ends a value, or begins one.
func (g *pythonGlance) value(t pythonToken, ends bool) bool {
	switch t.kind {
	case pythonName, pythonNumber, pythonText:
		return true
	case pythonOperator:
		c := g.text[t.start]
		return ends && (c == ')' || c == ']' || c == '}')
	}
	return false
}

// scan reads a token.
func (g *pythonGlance) scan() {
	for ; g.at < len(g.text); g.at++ {
		c := g.text[g.at]
		switch {
		case c == ' ' || c == '\t' || c == '\f' || c == '\r':
		case c == '\\':
			if g.at+2 < len(g.text) && g.text[g.at+1] == '\r' {
				g.at++
			}
			if g.at++; g.at >= len(g.text) || g.text[g.at] != '\n' {
				g.sound = false
				return
			}
		case c == '#':
			if g.comment(); len(g.open) == 0 {
				g.remark = g.at + 1
			}
		case g.field && len(g.open) == 0 && g.endsField():
			g.tok = pythonToken{pythonEnd, g.at, g.at}
			return
		case c == '\n':
			if len(g.open) > 0 || g.field {
				continue
			}
			g.tok = pythonToken{pythonLine, g.at, g.at + 1}
			g.at++
			return
		case isPythonName(c):
			g.name()
			return
		case c >= '0' && c <= '9', c == '.' && g.at+1 < len(g.text) && g.text[g.at+1] >= '0' && g.text[g.at+1] <= '9':
			g.number()
			return
		case c == '"' || c == '\'':
			g.string(g.at)
			return
		default:
			g.operator(c)
			return
		}
	}
	g.tok = pythonToken{pythonEnd, len(g.text), len(g.text)}
	g.sound = g.sound && len(g.open) == 0
}

func isPythonName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func (g *pythonGlance) name() {
	from := g.at
	for g.at < len(g.text) && (isPythonName(g.text[g.at]) || g.text[g.at] >= '0' && g.text[g.at] <= '9') {
		g.at++
	}
	word := string(g.text[from:g.at])
	if g.at < len(g.text) && (g.text[g.at] == '"' || g.text[g.at] == '\'') && len(word) <= 2 &&
		strings.Trim(word, "rRbBuUfF") == "" {
		g.string(from)
		return
	}
	g.tok = pythonToken{pythonName, from, g.at}
	if pythonKeywords.Has(word) {
		g.tok.kind = pythonKeyword
	}
}

func (g *pythonGlance) number() {
	from := g.at
	for ; g.at < len(g.text); g.at++ {
		c := g.text[g.at]
		sign := (c == '+' || c == '-') && g.text[g.at-1]|' ' == 'e' && (g.at-from < 2 || g.text[from+1]|' ' != 'x')
		if !sign && c != '.' && !(c >= '0' && c <= '9') && (!isPythonName(c) || c >= 0x80) {
			break
		}
	}
	g.tok = pythonToken{pythonNumber, from, g.at}
}

// string reads a string literal that begins at from; its quote is the next byte.
func (g *pythonGlance) string(from int) {
	quote := g.text[g.at]
	long := g.tripled(quote)
	if g.at++; long {
		g.at += 2
	}
	for ; g.at < len(g.text); g.at++ {
		switch c := g.text[g.at]; {
		case c == '\\':
			if g.at++; g.at+1 < len(g.text) && g.text[g.at] == '\r' && g.text[g.at+1] == '\n' {
				g.at++
			}
		case c == '\n' && !long:
			g.sound = false
			return
		case c == quote && (!long || g.tripled(quote)):
			if g.at++; long {
				g.at += 2
			}
			g.tok = pythonToken{pythonText, from, g.at}
			g.formatted(from, g.at)
			return
		}
	}
	g.sound = false
}

// tripled reports whether the next byte and the two after it are a quote.
func (g *pythonGlance) tripled(quote byte) bool {
	return g.at+2 < len(g.text) && g.text[g.at+1] == quote && g.text[g.at+2] == quote
}

// operator reads an operator or a bracket.
func (g *pythonGlance) operator(c byte) {
	from := g.at
	g.at++
	switch c {
	case '(':
		g.open = append(g.open, ')')
	case '[':
		g.open = append(g.open, ']')
	case '{':
		g.open = append(g.open, '}')
	case ')', ']', '}':
		n := len(g.open)
		if n == 0 || g.open[n-1] != c {
			g.sound = false
			return
		}
		g.open = g.open[:n-1]
	case ',', ';', '.', '~':
	case '@', '+', '-', '*', '/', '%', '&', '|', '^', '<', '>', '=', '!', ':':
		for g.at < len(g.text) && g.at-from < 3 && pythonOperators.Has(string(g.text[from:g.at+1])) {
			g.at++
		}
		g.sound = c != '!' || g.at-from == 2
	default:
		g.sound = false
	}
	g.tok = pythonToken{pythonOperator, from, g.at}
}

// pythonOperators are the operators of more than one character, and what they begin with.
var pythonOperators = wordset.New("@= += -= -> ** **= *= // //= /= %= &= |= ^= << <<= <= <> >> >>= >= == != :=")
