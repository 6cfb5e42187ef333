package chunks

import (
	"bytes"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/wordset"
)

// Span is a range of lines, counted from 1, both ends included.
type Span struct{ Start, End int }

// The sizes of chunks in lines.
const (
	chunkLines = 40 // a longer block is split at the blocks inside of it
	topLines   = 10 // shorter neighbouring top-level blocks are joined up to this size
	innerLines = 28 // the same for nested blocks
)

// Chunks splits a text along its syntax into blocks of lines at one indentation. Functions, classes, multi-line
// values, test cases, import lists and paragraphs are such blocks. A comment or decorator directly above a block
// belongs to it. It works for any language, because it uses only indentation, blank lines and closing brackets; name
// is the name of the file, and tells where strings and comments begin. Chunks do not begin or end with blank lines.
func Chunks(name string, lines []string) []Span { return LayOut(name, lines).Chunks() }

// Layout knows the blocks of a text.
type Layout struct{ chunker }

// LayOut reads the blocks of a file.
func LayOut(name string, lines []string) *Layout {
	n := len(lines)
	c := chunker{lines: lines, indent: make([]int, n), joined: make([]bool, n), lead: make([]bool, n)}
	for i, l := range lines {
		c.indent[i] = indentOf(l)
	}
	c.read(name)
	return &Layout{c}
}

// Chunks returns the chunks of the text, see [Chunks].
func (l *Layout) Chunks() []Span {
	l.out = nil
	l.split(0, len(l.lines), 0)
	return l.out
}

// Whole returns a span with the end of the block that it opens, if the result is not longer than a chunk: an opening
// bracket with what it holds and its end, an "if" with its "else". It reports whether the span is whole.
func (l *Layout) Whole(s Span) (Span, bool) {
	level, end := -1, s.End
	for i := max(s.Start-1, 0); i < min(s.End, len(l.lines)); i++ {
		if n := l.indent[i]; n >= 0 && (level < 0 || n < level) && !l.joined[i] {
			level = n
		}
	}
	if level < 0 {
		return s, true
	}
	for i := s.End; i < len(l.lines); i++ {
		n := l.indent[i]
		if n < 0 {
			continue
		}
		if n <= level && !l.joined[i] && (end == s.End || n < level || !continues(l.lines[i])) {
			break
		}
		end = i + 1
	}
	if end-s.Start >= chunkLines {
		return s, end == s.End
	}
	return Span{s.Start, end}, true
}

// Lead reports whether a line has only comments and decorators, as far as the language is known.
func (l *Layout) Lead(line int) bool { return l.lead[line-1] }

type chunker struct {
	lines  []string
	indent []int  // -1: a blank line
	joined []bool // the line is part of a string, comment or decorator that began above
	lead   []bool // the line has only comments and decorators
	out    []Span
}

// read finds the strings, comments and decorators of the text. Those over several lines are not split, unless they are
// longer than a chunk.
func (c *chunker) read(name string) {
	lang := language.OfSource(name)
	if lang == "" {
		return
	}
	joined := strings.Join(c.lines, "\n")
	parts := language.Parts(joined, lang)
	if n := len(parts); n > 0 && parts[n-1].Open() && parts[n-1].End == len(joined) {
		return // its beginning is wrong, and so may be that of others
	}
	text := []byte(joined)
	line, at := 0, 0
	lineOf := func(offset int) int { // offsets only grow
		line, at = line+bytes.Count(text[at:offset], []byte{'\n'}), offset
		return line
	}
	for _, p := range parts {
		first, last := lineOf(p.Start), lineOf(p.End-1)
		blank := byte('"')
		if p.Comment {
			blank = ' '
		}
		for i, c := range text[p.Start:p.End] { // only code remains
			if c != '\n' {
				text[p.Start+i] = blank
			}
		}
		if last > first {
			c.hold(first, last)
		}
	}
	code := strings.Split(string(text), "\n")
	ext := path.Ext(name)
	ends := blocksEnd.Has(ext)
	for i := 0; i < len(code); i++ {
		switch line := strings.TrimSpace(code[i]); {
		case c.indent[i] < 0:
		case line == "":
			c.lead[i] = true
		case ends && language.Begins(line, "end.", "end,"):
			c.joined[i] = true
		case decorates(line, ext):
			end := bracketed(code, i)
			for k := i; k <= end; k++ {
				c.lead[k] = true
			}
			if end > i && end-i < chunkLines {
				c.join(i, end+1)
			}
			i = end
		}
	}
}

// hold keeps the lines of a string or comment together.
func (c *chunker) hold(first, last int) {
	least := c.indent[first]
	for _, n := range c.indent[first+1 : last+1] {
		if n >= 0 {
			least = min(least, n)
		}
	}
	short := last-first < chunkLines
	for i := first + 1; i <= last; i++ {
		// Lines that stand further left than the line above them do not end its block.
		if c.indent[i] >= 0 && (!short || least < c.indent[first]) {
			c.indent[i] += c.indent[first] + 1
		}
	}
	if !short {
		first = last - 1 // only its end is not separated
	}
	c.join(first, last)
}

// join keeps the lines of a range together.
func (c *chunker) join(first, last int) {
	for i := first + 1; i <= min(last, len(c.joined)-1); i++ {
		c.joined[i] = true
	}
}

// decorates reports whether a line of code begins a decorator, attribute or annotation.
func decorates(line, ext string) bool {
	if strings.HasPrefix(line, "#[") || strings.HasPrefix(line, "#![") {
		return true
	}
	if ext == ".cs" {
		return len(line) > 1 && line[0] == '[' && language.WordByte(line[1])
	}
	switch ext {
	case ".rb", ".rake", ".pl", ".pm": // a variable
		return false
	}
	return len(line) > 1 && line[0] == '@' && language.WordByte(line[1])
}

// bracketed returns the line on which the round and square brackets close that are opened on a line of code.
func bracketed(code []string, at int) int {
	depth := 0
	for i := at; i < min(len(code), at+2*chunkLines); i++ {
		for _, r := range code[i] {
			switch r {
			case '(', '[':
				depth++
			case ')', ']':
				if depth--; depth == 0 {
					return i
				}
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return at
}

// indentOf returns the indentation of a line, or -1 for a blank line. A tab counts as four spaces.
func indentOf(line string) int {
	n := 0
	for _, r := range line {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 4
		case '\r', '\f':
		default:
			return n
		}
	}
	return -1
}

// trim removes blank lines at both ends.
func (c *chunker) trim(from, to int) (int, int) {
	for from < to && c.indent[from] < 0 {
		from++
	}
	for from < to && c.indent[to-1] < 0 {
		to--
	}
	return from, to
}

// split emits the chunks of the lines from (inclusive) to to (exclusive).
func (c *chunker) split(from, to, depth int) {
	from, to = c.trim(from, to)
	if from >= to {
		return
	}
	if depth > 0 && to-from <= chunkLines {
		c.out = append(c.out, Span{from + 1, to})
		return
	}
	level := c.level(from, to, -1)
	starts := c.blocks(from, to, level)
	for tries := 0; len(starts) == 1 && tries < 6; tries++ {
		if level = c.level(from, to, level); level < 0 {
			break
		}
		starts = c.blocks(from, to, level)
	}
	if len(starts) == 1 {
		c.cut(from, to)
		return
	}
	small := innerLines
	if depth == 0 {
		small = topLines
	}
	begin := from
	for i := 1; i <= len(starts); i++ {
		end := to
		if i < len(starts) {
			end = starts[i]
			next := to
			if i+1 < len(starts) {
				next = starts[i+1]
			}
			if next-begin <= small {
				continue // both together are short
			}
		}
		c.split(begin, end, depth+1)
		begin = end
	}
}

// level returns the smallest indentation greater than above, or -1.
func (c *chunker) level(from, to, above int) int {
	best := -1
	for i, n := range c.indent[from:to] {
		if n > above && (best < 0 || n < best) && !c.joined[from+i] {
			best = n
		}
	}
	return best
}

// blocks returns the first lines of the blocks at an indentation. The first is always from, because the head of a
// block belongs to the block after it.
func (c *chunker) blocks(from, to, level int) []int {
	starts := []int{from}
	seen, last := false, -1 // whether a line of this level was seen; the last line that is not blank
	for i := from; i < to; i++ {
		n := c.indent[i]
		if n < 0 {
			continue
		}
		if n <= level && !c.joined[i] && !continues(c.lines[i]) {
			gap := last >= 0 && last < i-1
			deeper := last >= 0 && !c.lead[last] &&
				(c.indent[last] > level || c.indent[last] == level && closes(c.lines[last]))
			if seen && (gap || deeper) {
				starts = append(starts, i)
			}
		}
		seen = seen || n == level
		last = i
	}
	return starts
}

// cut splits lines without structure, preferably at a blank line near the end of each chunk.
func (c *chunker) cut(from, to int) {
	for to-from > chunkLines {
		at := from + chunkLines
		for i := at; i > from+chunkLines/2; i-- {
			if c.indent[i] < 0 {
				at = i
				break
			}
		}
		at = c.between(from, at, to)
		a, b := c.trim(from, at)
		if a < b {
			c.out = append(c.out, Span{a + 1, b})
		}
		from = at
	}
	if a, b := c.trim(from, to); a < b {
		c.out = append(c.out, Span{a + 1, b})
	}
}

// between returns a line near at that neither continues a string nor ends a block.
func (c *chunker) between(from, at, to int) int {
	inside := func(i int) bool { return c.joined[i] || closes(c.lines[i]) }
	back := at
	for back > from && inside(back) {
		back--
	}
	if back > from {
		return back
	}
	for at < to && inside(at) {
		at++
	}
	return at
}

// closes reports whether a line begins with a closing bracket or a word such as "end".
func closes(line string) bool {
	line = strings.TrimSpace(line)
	if language.Begins(line, ")", "]", "}", "*/", "#endif") {
		return true
	}
	word := firstWord(line)
	rest := strings.TrimLeft(line[len(word):], " ")
	return closing.Has(word) && (rest == "" || strings.IndexByte(";)]}|<>&", rest[0]) >= 0) // not the call of done()
}

// firstWord returns the letters at the beginning of a line.
func firstWord(line string) string {
	if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsLetter(r) }); i >= 0 {
		return line[:i]
	}
	return line
}

// continues reports whether a line continues the block before it.
func continues(line string) bool {
	if closes(line) {
		return true
	}
	line = strings.TrimSpace(line)
	word := firstWord(line)
	if word == "case" && (strings.HasSuffix(line, " in") || !strings.ContainsAny(line, ":=")) {
		return false // the head of the whole, in shell and Ruby
	}
	return continuing.Has(word) || strings.HasPrefix(line, "{")
}

var (
	continuing = wordset.New("else elif except finally catch elsif rescue ensure then do case default")
	blocksEnd  = wordset.New(".rb .rake .ex .exs .lua .jl") // with the word "end"
	closing    = wordset.New("end END fi done esac endif endfor endwhile endforeach endfunction endcase")
)

// repeats limits how often a word of a chunk counts.
const repeats = 3

// Words returns the search terms of a text: lower-case words, and names both as a whole and in parts. It removes
// grammatical endings. Each word occurs at most three times.
func Words(text string) string {
	var b strings.Builder
	b.Grow(len(text) / 2)
	seen := make(map[string]uint8, len(text)/16+8)
	EachWord(text, func(w string) {
		if n := seen[w]; n < repeats {
			seen[w] = n + 1
			b.WriteString(w)
			b.WriteByte(' ')
		}
	})
	return strings.TrimSuffix(b.String(), " ")
}

// EachWord calls take with each search term of a text, in order. See [Words].
func EachWord(text string, take func(string)) {
	var parts []string
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf && !language.WordByte(c) {
			i++
			continue
		}
		j, plain := i, true // plain: one part, in lower case
		for j < len(text) {
			if c := text[j]; c < utf8.RuneSelf {
				if !language.WordByte(c) {
					break
				}
				plain = plain && (c >= 'a' || c <= '9')
				j++
				continue
			}
			plain = false
			r, n := utf8.DecodeRuneInString(text[j:])
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				break
			}
			j += n
		}
		if j == i { // not part of a word
			_, n := utf8.DecodeRuneInString(text[i:])
			i += n
			continue
		}
		if plain && j-i <= maxWord {
			if w := stem(text[i:j]); len(w) > 1 {
				take(w)
			}
		} else if j-i <= maxWord {
			parts = partsOf(text[i:j], parts[:0])
			for _, p := range parts {
				if w := stem(p); len(w) > 1 {
					take(w)
				}
			}
			if len(parts) > 1 {
				take(strings.Join(parts, ""))
			}
		}
		i = j
	}
}

// maxWord is the highest length of a word in bytes. Longer ones are data.
const maxWord = 80

// partsOf splits a name into lower-case parts: loadHTTPConfig gives load, http and config.
func partsOf(name string, parts []string) []string {
	start := 0
	cut := func(end int) {
		if end > start {
			parts = append(parts, strings.ToLower(name[start:end]))
		}
		start = end
	}
	upper := func(c byte) bool { return c >= 'A' && c <= 'Z' }
	lower := func(c byte) bool { return c >= 'a' && c <= 'z' }
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '_':
			cut(i)
			start = i + 1
		case i > 0 && upper(c) && (!upper(name[i-1]) || i+1 < len(name) && lower(name[i+1])):
			cut(i)
		}
	}
	cut(len(name))
	return parts
}

// stem removes endings of an English word where that is safe: parses, parsed and parsing give the same stem.
func stem(w string) string {
	if len(w) < 4 || w[0] >= utf8.RuneSelf {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") &&
		!strings.HasSuffix(w, "is"):
		w = w[:len(w)-1]
	}
	switch {
	case strings.HasSuffix(w, "ing") && len(w) > 6:
		w = double(w[:len(w)-3])
	case strings.HasSuffix(w, "ed") && len(w) > 5:
		w = double(w[:len(w)-2])
	}
	if len(w) > 4 && strings.HasSuffix(w, "e") {
		w = w[:len(w)-1]
	}
	return w
}

// double removes a doubled final letter, as in stopping.
func double(w string) string {
	if n := len(w); n > 3 && w[n-1] == w[n-2] && strings.IndexByte("aeiouls", w[n-1]) < 0 {
		return w[:n-1]
	}
	return w
}

// headLines is the highest number of lines of a file's head.
const headLines = 60

// Head returns the lines with a file's imports, after license and documentation. The zero Span means none.
func Head(lines []string) Span {
	first, last, depth := 0, 0, 0
	quote := "" // delimiter of an open documentation string
	for i, l := range lines[:min(len(lines), headLines)] {
		t := strings.TrimSpace(l)
		switch {
		case quote != "":
			if strings.Contains(t, quote) {
				quote = ""
			}
			continue
		case depth > 0 || t == "":
		case language.Begins(t, `"""`, "'''"):
			if quote = t[:3]; strings.Contains(t[3:], quote) {
				quote = ""
			}
			continue
		case language.Begins(t, "/*", "*", "//", "#") && !language.Begins(t, "#include", "#["):
			continue
		case language.Begins(t, "package ", "namespace ", `"use `, "'use "):
		case importLine(t):
			if last = i + 1; first == 0 {
				first = last
			}
		default:
			return Span{first, last}
		}
		depth += strings.Count(t, "(") + strings.Count(t, "{") - strings.Count(t, ")") - strings.Count(t, "}")
		depth = max(depth, 0)
		if t != "" && last > 0 && (depth > 0 || language.Begins(t, ")", "}")) {
			last = i + 1
		}
	}
	return Span{first, last}
}

// importLine reports whether a line begins an import in a common language.
func importLine(t string) bool {
	return language.Begins(t, "import ", "import(", "import{", "import\"", "import'", "from ", "use ", "using ",
		"require ",
		"require(", "require_relative ", "include ", "#include", "extern crate ", "mod ") ||
		language.Begins(t, "const ", "var ", "let ") && strings.Contains(t, "require(") ||
		strings.HasPrefix(t, "export ") && strings.Contains(t, " from ")
}

// Above returns the first line of the comments and decorators directly above a line, or the line itself. Lines count
// from 1.
func Above(lines []string, line int) int {
	for line > 1 && line <= len(lines) {
		first := line - 2
		for first > 0 && (indentOf(lines[first]) > indentOf(lines[line-1]) || closes(lines[first])) {
			first-- // of a decorator over several lines
		}
		switch text := strings.TrimSpace(lines[first]); {
		case language.Begins(text, "@", "#[") && (first == line-2 || opens(text)):
			line = first + 1
		case language.Begins(strings.TrimSpace(lines[line-2]), "//", "#", "/*", "*"):
			line--
		default:
			return line
		}
	}
	return line
}

// opens reports whether a round or square bracket stays open on a line.
func opens(text string) bool {
	return strings.Count(text, "(") > strings.Count(text, ")") || strings.Count(text, "[") > strings.Count(text, "]")
}
