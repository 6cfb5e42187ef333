package outline

import (
	"bytes"
	"strings"

	"github.com/runplan/runplan/patterns"
)

// ReadPython does what [Read] does, without ast-grep. It reports false for a text that only ast-grep can judge, as
// [GlancePython] does. text comes from [Prepare].
func ReadPython(text []byte) (Outline, bool) {
	g := pythonGlance{text: text, refs: &pythonRefs{primary: -1}}
	if !g.file() {
		return Outline{}, false
	}
	return read(Python, text, g.nodes, false).out, true
}

// pythonRefs finds calls while tokens are read.
type pythonRefs struct {
	primary int  // where the expression that the last token ends begins, such as a.b(c).d; -1: the token ends none
	dotted  bool // it is a name or ends with an attribute
	open    []pythonBracket
}

// pythonBracket is an open bracket.
type pythonBracket struct {
	primary int // of the expression that the bracket will end
	call    int // the node of the call whose arguments it holds; -1: none
}

// see takes the current token of g, and the one before it.
func (r *pythonRefs) see(g *pythonGlance, before pythonToken) {
	trails := r.primary >= 0 && g.value(before, true) // the token may go on with the expression
	switch g.tok.kind {
	case pythonName:
		if r.primary < 0 || before.kind != pythonOperator || g.text[before.start] != '.' {
			r.primary = g.tok.start
		}
		r.dotted = true
		return
	case pythonNumber, pythonText:
		if !trails || before.kind != pythonText {
			r.primary = g.tok.start
		}
		r.dotted = false
		return
	case pythonKeyword:
		if n := len(r.open); n > 0 && g.is("for") && r.open[n-1].call >= 0 {
			g.nodes[r.open[n-1].call].Rule = "" // its argument is a generator
		}
	case pythonOperator:
		switch c := g.text[g.tok.start]; c {
		case '.':
			if trails {
				return
			}
		case '(', '[', '{':
			b := pythonBracket{g.tok.start, -1}
			if c != '{' && g.value(before, true) {
				b.primary = r.primary
			}
			if c == '(' && trails && r.dotted {
				b.call = len(g.nodes)
				g.note("call", r.primary, before.end)
			}
			r.open = append(r.open, b)
		case ')', ']', '}':
			if n := len(r.open); n > 0 {
				r.primary, r.dotted, r.open = r.open[n-1].primary, false, r.open[:n-1]
				return
			}
		}
	}
	r.primary = -1
}

// forget makes the last token part of no expression: it is the name of a definition.
func (r *pythonRefs) forget() {
	if r != nil {
		r.primary = -1
	}
}

// note adds a node if references are wanted.
func (g *pythonGlance) note(rule string, from, to int) {
	if g.refs != nil && from >= 0 && to > from {
		g.nodes = append(g.nodes, patterns.Node{Rule: rule, Start: from, End: to, From: -1, To: -1})
	}
}

// parameters reads up to the bracket that closes the list of parameters, with their types, and returns its end.
func (g *pythonGlance) parameters() int {
	depth, from, lambdas := len(g.open), -1, 0
	begins, valued := false, false
	for g.tok.kind != pythonEnd && len(g.open) >= depth {
		if g.next(); begins {
			from, begins = g.tok.start, false
		}
		if len(g.open) > depth {
			continue
		}
		switch {
		case len(g.open) < depth || g.tok.kind == pythonOperator && (g.is(",") || g.is("=")):
			g.note("type", from, g.last)
			from, valued = -1, g.is("=") || valued && !g.is(",")
		case g.tok.kind == pythonKeyword && g.is("lambda"):
			lambdas++
		case g.tok.kind == pythonOperator && g.is(":"):
			if lambdas > 0 {
				lambdas--
			} else {
				begins = !valued
			}
		}
	}
	end := g.tok.end
	g.next()
	return end
}

// annotation reads the type of a variable, which begins at the current token.
func (g *pythonGlance) annotation() {
	from := g.tok.start
	for g.tok.kind != pythonEnd && g.tok.kind != pythonLine &&
		(len(g.open) > 0 || g.tok.kind != pythonOperator || !g.is("=") && !g.is(";")) {
		g.next()
	}
	g.note("type", from, g.last)
}

// onlyTyping adds a node for the condition of an "if" whose block only type checkers read, and returns its index, or
// -1.
func (g *pythonGlance) onlyTyping(from int) int {
	condition := g.text[from:g.last]
	if g.refs == nil || !bytes.HasSuffix(condition, []byte("TYPE_CHECKING")) || !isDotted(string(condition)) {
		return -1
	}
	g.note("typing", from, g.last)
	return len(g.nodes) - 1
}

// formatted reads the expressions in a formatted string. Its prefix and quotes are in the text.
func (g *pythonGlance) formatted(from, to int) {
	prefix := strings.IndexAny(string(g.text[from:min(to, from+3)]), `'"`)
	if g.refs == nil || !bytes.ContainsAny(g.text[from:from+max(0, prefix)], "fF") {
		return
	}
	for at := from; at < to && g.sound; at++ {
		switch {
		case g.text[at] != '{':
		case at+1 < to && g.text[at+1] == '{':
			at++
		default:
			at = g.replacement(at+1, to)
		}
	}
}

// replacement reads one replacement field of a formatted string, an expression and its format, and returns where its
// bracket closes.
func (g *pythonGlance) replacement(from, to int) int {
	in := pythonGlance{text: g.text[:to], at: from, sound: true, refs: &pythonRefs{primary: -1},
		tok: pythonToken{kind: pythonLine}, field: true}
	for in.sound && in.tok.kind != pythonEnd {
		in.next()
	}
	if g.sound = in.sound; !g.sound {
		return to
	}
	g.nodes = append(g.nodes, in.nodes...)
	at := in.at
	for at < to && g.text[at] != ':' && g.text[at] != '}' { // "=" and "!r"
		at++
	}
	if at < to && g.text[at] == ':' {
		for at++; at < to && g.text[at] != '}' && g.sound; at++ {
			if g.text[at] == '{' {
				at = g.replacement(at+1, to)
			}
		}
	}
	g.sound = g.sound && at < to
	return at
}

// endsField reports whether the next byte ends an expression in a formatted string.
func (g *pythonGlance) endsField() bool {
	rest := bytes.TrimLeft(g.text[g.at+1:], " ")
	switch g.text[g.at] {
	case '}', ':':
		return true
	case '!':
		return !bytes.HasPrefix(g.text[g.at:], []byte("!="))
	case '=':
		return len(rest) > 0 && strings.IndexByte("}:!", rest[0]) >= 0 && !bytes.HasPrefix(rest, []byte("!="))
	}
	return false
}
