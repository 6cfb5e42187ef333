package outline

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/patterns"
)

// ScriptMemory reads versions of JavaScript and TypeScript files and caches what ast-grep found in each statement and
// in each member of a class, because most of them do not change between versions. It is for one goroutine.
type ScriptMemory struct {
	units *recent.Map[scriptSource, *scriptFound]
	seed  maphash.Seed
	round int
}

// scriptSource is a piece of a file's source.
type scriptSource struct {
	around uint64 // hash of the grammar and of the blocks that hold it
	text   string
}

// scriptFound holds the answer of ast-grep about a piece.
type scriptFound struct {
	nodes []patterns.Node
	known bool
	round int // in which ast-grep was asked
	size  int
}

// NewScriptMemory returns an empty cache.
func NewScriptMemory() *ScriptMemory {
	return &ScriptMemory{units: recent.New[scriptSource](4*mostRemembered, func(f *scriptFound) int { return f.size }),
		seed: maphash.MakeSeed()}
}

// scriptUnit is a piece of a version: statements between empty lines, or the first and the last line of a block, which
// holds more units.
type scriptUnit struct {
	from, to  int // the statements, or what precedes the block
	tail, end int // what follows the block
	inner     []*scriptUnit
	fresh     bool // no version before had it
	*scriptFound
}

// ScriptVersion is a version of a file that is read.
type ScriptVersion struct {
	units []*scriptUnit
	loose bool // it is only read as a whole
}

// ScriptQuestion is a text to ask ast-grep about: the pieces of versions in one grammar that no version before had.
type ScriptQuestion struct {
	text   []byte
	parts  []scriptPart
	starts []int // first part of each version
}

// scriptPart is a part of a question.
type scriptPart struct {
	at    int // in its text
	unit  *scriptUnit
	after int // offset in the unit
}

// Begin starts a round: versions that are split, then asked about together, then read.
func (m *ScriptMemory) Begin() { m.round++ }

// Version splits a version of a file, and adds the pieces that are new to the question. The text comes from [Prepare].
func (m *ScriptMemory) Version(grammar string, text []byte, ask *ScriptQuestion) *ScriptVersion {
	if loose(text) {
		return &ScriptVersion{loose: true}
	}
	s := scriptSplitter{m: m, text: text}
	v := &ScriptVersion{units: s.units(0, len(text), "", maphash.String(m.seed, grammar), 0)}
	first := len(ask.parts)
	for _, u := range v.units {
		ask.want(text, u)
	}
	if len(ask.parts) > first {
		ask.starts = append(ask.starts, first)
		ask.text = append(ask.text, between...)
	}
	return v
}

// between is a statement between two versions. Without it, a version that begins with a bracket would be the arguments of
// a call of the function at the end of the version before.
const between = "\ndebugger;\n"

// want adds a unit to the question if anything of it is fresh.
func (q *ScriptQuestion) want(text []byte, u *scriptUnit) {
	if !u.wanted() {
		return
	}
	q.add(u, text[u.from:u.to], 0)
	for _, x := range u.inner {
		q.want(text, x)
	}
	if u.tail < u.end {
		q.add(u, text[u.tail:u.end], u.to-u.from)
	}
}

func (q *ScriptQuestion) add(u *scriptUnit, text []byte, after int) {
	q.parts = append(q.parts, scriptPart{len(q.text), u, after})
	q.text = append(q.text, text...)
}

func (u *scriptUnit) wanted() bool {
	return u.fresh || slices.ContainsFunc(u.inner, (*scriptUnit).wanted)
}

// Len returns the number of bytes to ask about.
func (q *ScriptQuestion) Len() int { return len(q.text) }

// Text returns the text to ask about. It ends with a comment, as a text without any node would be asked about again.
func (q *ScriptQuestion) Text() []byte { return append(slices.Clip(q.text), "//\n"...) }

// Apart returns a question for each of the versions.
func (q *ScriptQuestion) Apart() []*ScriptQuestion {
	var out []*ScriptQuestion
	for i, first := range q.starts {
		to, end := len(q.parts), len(q.text)
		if i+1 < len(q.starts) {
			to = q.starts[i+1]
			end = q.parts[to].at
		}
		x := &ScriptQuestion{text: q.text[q.parts[first].at:end], parts: slices.Clone(q.parts[first:to]), starts: []int{0}}
		for k := range x.parts {
			x.parts[k].at -= q.parts[first].at
		}
		out = append(out, x)
	}
	return out
}

// Take takes what ast-grep found in the text. It reports false, and takes nothing, if a piece cannot be read on its
// own.
func (q *ScriptQuestion) Take(nodes []patterns.Node) bool {
	found := map[*scriptUnit][]patterns.Node{}
	for _, n := range nodes {
		if n.Start >= len(q.text) {
			continue
		}
		u, ok := q.parts[q.part(n.Start)].unit, true
		move := func(x int, end bool) int {
			in := x
			if end {
				in = max(0, x-1)
			}
			p := q.parts[q.part(in)]
			ok = ok && p.unit == u
			return x - p.at + p.after
		}
		if n = moved(n, move); !ok || n.Rule == "error" || n.Rule == "torn" {
			return false
		}
		found[u] = append(found[u], n)
	}
	for _, p := range q.parts {
		if u := p.unit; u.fresh && !u.known {
			u.nodes, u.known = found[u], true
		}
	}
	return true
}

// moved returns a node with other offsets. end is true for those that end a range.
func moved(n patterns.Node, move func(x int, end bool) int) patterns.Node {
	n.Start, n.End = move(n.Start, false), move(n.End, true)
	if n.From >= 0 {
		n.From, n.To = move(n.From, false), move(n.To, true)
	}
	n.Vars = slices.Clone(n.Vars)
	for i, v := range n.Vars {
		n.Vars[i].Start, n.Vars[i].End = move(v.Start, false), move(v.End, true)
	}
	return n
}

// part returns the part of the question that has an offset.
func (q *ScriptQuestion) part(at int) int {
	return sort.Search(len(q.parts), func(i int) bool { return q.parts[i].at > at }) - 1
}

// Nodes returns what ast-grep would find in the version. It reports false if the version has to be read as a whole.
func (v *ScriptVersion) Nodes() ([]patterns.Node, bool) {
	var out []patterns.Node
	ok := !v.loose
	var walk func(u *scriptUnit)
	walk = func(u *scriptUnit) {
		ok = ok && u.known
		move := func(x int, _ bool) int {
			if x <= u.to-u.from {
				return x + u.from
			}
			return x - (u.to - u.from) + u.tail
		}
		for _, n := range u.nodes {
			out = append(out, moved(n, move))
		}
		for _, x := range u.inner {
			walk(x)
		}
	}
	for _, u := range v.units {
		walk(u)
	}
	return out, ok
}

type scriptSplitter struct {
	m    *ScriptMemory
	text []byte
}

// Limits of the blocks that are split.
const (
	deepestBlock  = 4
	shortestBlock = 600 // bytes
)

// units splits statements of one indentation at the empty lines between them.
func (s *scriptSplitter) units(from, to int, indent string, around uint64, depth int) []*scriptUnit {
	var out []*scriptUnit
	start, blank := from, false
	var b scriptBalance
	checked := from
	for at := from; at < to; {
		next := to
		if n := bytes.IndexByte(s.text[at:to], '\n'); n >= 0 {
			next = at + n + 1
		}
		line := s.text[at:next]
		if len(bytes.TrimSpace(line)) == 0 {
			blank = true
		} else {
			if blank && beginsStatement(s.text[at:to], indent) {
				b.add(s.text[checked:at])
				checked = at
				if b.even() {
					out = append(out, s.unit(start, at, indent, around, depth))
					start, b = at, scriptBalance{}
				}
			}
			blank = false
		}
		at = next
	}
	if start < to {
		out = append(out, s.unit(start, to, indent, around, depth))
	}
	return out
}

// scriptBalance counts what has to be closed before a statement ends. Brackets in strings, comments and
// regular expressions do not count.
type scriptBalance struct {
	brackets int
	ticks    int
	comment  bool
	loose    bool // see [loose]
}

func (b *scriptBalance) add(text []byte) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case b.comment:
			n := bytes.Index(text[i:], []byte("*/"))
			if n < 0 {
				return
			}
			b.comment, i = false, i+n+1
		case c == '`':
			b.ticks++
		case c == '(' || c == '[' || c == '{':
			b.brackets++
		case c == ')' || c == ']' || c == '}':
			b.brackets--
		case b.ticks%2 == 1: // in a template are neither strings nor comments
		case c == '\'' || c == '"':
			b.loose = b.loose || followsWord(text[:i])
			i += quotedLength(text[i:])
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			b.comment = true
			i++
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			n := bytes.IndexByte(text[i:], '\n')
			if n < 0 {
				return
			}
			i += n
		case c == '/' && beforeRegexp(text[:i]):
			i += regexpLength(text[i:])
		}
	}
}

// beforeRegexp reports whether a regular expression can follow a text, rather than a division.
func beforeRegexp(text []byte) bool {
	rest := bytes.TrimRight(text, " \t")
	return len(rest) == 0 || bytes.IndexByte([]byte("\n(,=:[!&|?;{+~"), rest[len(rest)-1]) >= 0 ||
		bytes.HasSuffix(rest, []byte("return"))
}

// regexpLength returns the length of the regular expression at the beginning of a text without its last slash, or 0 if
// it does not end on its line.
func regexpLength(text []byte) int {
	class := false
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				return i
			}
		}
	}
	return 0
}

// loose reports whether a text has a word and a string with nothing between them, as languages have that are written
// without brackets. Whether ast-grep finds a fault in such a text depends on what is around it, so its pieces say
// nothing about the whole.
func loose(text []byte) bool {
	var b scriptBalance
	b.add(text)
	return b.loose
}

// beforeString holds the words that may precede a string.
var beforeString = strings.Fields("return case typeof in of default else throw new delete void import from export yield " +
	"await as instanceof do extends implements keyof is module declare get set async static readonly public private " +
	"protected override abstract type satisfies require assert with unique infer asserts accessor namespace out const let")

// followsWord reports whether a text ends with a word and a blank after it, and the word cannot precede a string.
func followsWord(text []byte) bool {
	rest := bytes.TrimRight(text, " \t")
	word := rest[len(bytes.TrimRightFunc(rest, func(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) })):]
	return len(rest) < len(text) && len(word) > 0 && !slices.Contains(beforeString, string(word))
}

// quotedLength returns the length of the string at the beginning of a text without its last quote, or 0 if the string
// does not end on its line.
func quotedLength(text []byte) int {
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i
		}
	}
	return 0
}

func (b *scriptBalance) even() bool { return b.brackets == 0 && b.ticks%2 == 0 && !b.comment }

// beginsStatement reports whether a text begins with a line of an indentation that can begin a statement or a member,
// possibly after comments.
func beginsStatement(text []byte, indent string) bool {
	rest, ok := bytes.CutPrefix(text, []byte(indent))
	if !ok || len(rest) == 0 || rest[0] <= ' ' {
		return false
	}
	for {
		n := -1
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
			n = bytes.IndexByte(rest, '\n')
		case bytes.HasPrefix(rest, []byte("/*")):
			if n = bytes.Index(rest, []byte("*/")); n >= 0 {
				n++
			}
		default:
			c := byte('_')
			if len(rest) > 0 {
				c = rest[0]
			}
			return c|0x20 >= 'a' && c|0x20 <= 'z' || bytes.IndexByte([]byte("_$@#'\""), c) >= 0
		}
		if n < 0 {
			return true
		}
		rest = bytes.TrimLeft(rest[n+1:], " \t\r\n")
	}
}

// unit makes a unit, with units of its own if it is a long block.
func (s *scriptSplitter) unit(from, to int, indent string, around uint64, depth int) *scriptUnit {
	u := &scriptUnit{from: from, to: to}
	text := s.text[from:to]
	if len(text) > shortestBlock && depth < deepestBlock {
		if head, tail, inside := blockOf(text, indent); head > 0 {
			var h maphash.Hash
			h.SetSeed(s.m.seed)
			_, _ = h.Write(text[:head])
			_, _ = h.Write(text[tail:])
			inner := s.units(from+head, from+tail, inside, h.Sum64()*31+around, depth+1)
			if len(inner) > 1 || len(inner) == 1 && inner[0].inner != nil {
				u.to, u.tail, u.end, u.inner = from+head, from+tail, to, inner
				text = slices.Concat(text[:head], text[tail:])
			}
		}
	}
	key := scriptSource{around, string(text)}
	found, have := s.m.units.Get(key)
	if !have {
		found = &scriptFound{size: 2*len(text) + 500}
		s.m.units.Put(key, found)
	}
	if u.scriptFound = found; !found.known && found.round != s.m.round {
		found.round, u.fresh = s.m.round, true
	}
	return u
}

// blockOf finds the block of a statement that has all other lines in it: the length of what precedes it, where what
// follows it begins, and its indentation. Without such a block the length is 0.
func blockOf(text []byte, indent string) (head, tail int, inside string) {
	at := 0
	for line := range bytes.Lines(text) {
		at += len(line)
		code, _, _ := bytes.Cut(line, []byte(" // "))
		if bytes.HasSuffix(bytes.TrimRight(code, " \t\r\n"), []byte("{")) {
			head = at
			break
		}
	}
	body := bytes.TrimRight(text, " \t\r\n")
	tail = bytes.LastIndexByte(body, '\n') + 1
	if head == 0 || tail <= head || !strings.HasPrefix(string(body[tail:]), indent+"}") {
		return 0, 0, ""
	}
	for line := range bytes.Lines(text[head:tail]) {
		code := bytes.TrimLeft(line, " \t")
		if len(bytes.TrimSpace(code)) == 0 {
			continue
		}
		if inside == "" {
			inside = string(line[:len(line)-len(code)])
			if len(inside) <= len(indent) || !strings.HasPrefix(inside, indent) {
				return 0, 0, ""
			}
		}
		if !bytes.HasPrefix(line, []byte(inside)) {
			return 0, 0, ""
		}
	}
	if inside == "" {
		return 0, 0, ""
	}
	return head, tail, inside
}
