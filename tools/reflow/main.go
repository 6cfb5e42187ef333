// Command reflow breaks the lines of Go files that are longer than 120 columns: comments between words, code after
// commas, operators and opening brackets, and strings between words. The tokens of a file do not change, except for
// strings that are split in two. Raw strings do not change.
//
// Usage: go run ./tools/reflow file ...
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const width = 120

func main() {
	for _, name := range os.Args[1:] {
		if err := reflow(name); err != nil {
			fmt.Fprintf(os.Stderr, "reflow: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func reflow(name string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if bytes.Contains(src, []byte("// Code generated ")) {
		return nil
	}
	now := src
	for range 6 { // gofmt aligns broken lines, which may make them long again
		next, err := format.Source([]byte(breakLines(string(now))))
		if err != nil {
			return err
		}
		if bytes.Equal(next, now) {
			break
		}
		now = next
	}
	if bytes.Equal(now, src) {
		return nil
	}
	if !slices.Equal(meaning(src), meaning(now)) {
		return fmt.Errorf("the meaning would change")
	}
	return os.WriteFile(name, now, 0o644)
}

// meaning lists the tokens of a file without comments, and joins concatenated strings.
func meaning(src []byte) []string {
	var out []string
	for _, t := range tokens(string(src)) {
		if t.tok == token.COMMENT {
			continue
		}
		n := len(out)
		if (t.tok == token.RBRACE || t.tok == token.RPAREN) && n > 0 && out[n-1] == ";" {
			out, n = out[:n-1], n-1 // a block of one line may end without a semicolon
		}
		if t.tok == token.STRING && n > 1 && out[n-1] == "+" && strings.HasPrefix(out[n-2], "\x00") {
			s, _ := strconv.Unquote(t.lit)
			out = append(out[:n-2], out[n-2]+s)
			continue
		}
		switch {
		case t.tok == token.STRING:
			s, _ := strconv.Unquote(t.lit)
			out = append(out, "\x00"+s)
		case t.tok == token.SEMICOLON:
			out = append(out, ";")
		case t.lit != "":
			out = append(out, t.lit)
		default:
			out = append(out, t.tok.String())
		}
	}
	return out
}

// tok is a token with its position: the offset, and the offset after it.
type tok struct {
	tok      token.Token
	lit      string
	from, to int
}

func tokens(src string) []tok {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, []byte(src), nil, scanner.ScanComments)
	var out []tok
	for {
		pos, t, lit := s.Scan()
		if t == token.EOF {
			return out
		}
		from := file.Offset(pos)
		to := from + len(lit)
		if lit == "" {
			to = from + len(t.String())
		}
		if t == token.SEMICOLON && lit == "\n" {
			to = from
		}
		out = append(out, tok{t, lit, from, to})
	}
}

// line is a line of the file with the tokens that begin in it.
type line struct {
	text string
	toks []tok // offsets are relative to the line
	raw  bool  // a part of it is inside a raw string or a comment of several lines
}

func breakLines(src string) string {
	texts := strings.Split(src, "\n")
	lines := make([]line, len(texts))
	starts := make([]int, len(texts))
	at := 0
	for i, t := range texts {
		lines[i].text, starts[i] = t, at
		at += len(t) + 1
	}
	i := 0
	for _, t := range tokens(src) {
		for i+1 < len(starts) && starts[i+1] <= t.from {
			i++
		}
		lines[i].toks = append(lines[i].toks, tok{t.tok, t.lit, t.from - starts[i], t.to - starts[i]})
		for n := i; n+1 < len(starts) && starts[n+1] <= t.to; n++ {
			lines[n].raw, lines[n+1].raw = true, true
		}
	}
	var out []string
	for n := 0; n < len(lines); n++ {
		l := lines[n]
		switch {
		case utf8.RuneCountInString(l.text) <= width || l.raw || strings.HasPrefix(l.text, "import "):
			out = append(out, l.text)
		case strings.HasPrefix(strings.TrimSpace(l.text), "//"):
			var rest string
			l.text, rest = comment(l.text)
			out = append(out, l.text)
			for rest != "" && n+1 < len(lines) && continues(l.text, lines[n+1].text) {
				n++
				indent, _, _ := strings.Cut(lines[n].text, "//")
				next := strings.TrimPrefix(strings.TrimSpace(lines[n].text), "// ")
				l.text, rest = comment(indent + "// " + rest + " " + next)
				out = append(out, l.text)
			}
			for rest != "" {
				indent, _, _ := strings.Cut(l.text, "//")
				l.text, rest = comment(indent + "// " + rest)
				out = append(out, l.text)
			}
		default:
			out = append(out, code(l)...)
		}
	}
	return strings.Join(out, "\n")
}

// comment cuts a comment at the last space within the width.
func comment(text string) (line, rest string) {
	if utf8.RuneCountInString(text) <= width || strings.Contains(text, "//go:") || strings.Contains(text, "//nolint") {
		return text, ""
	}
	lead := strings.Index(text, "// ") + 3
	if lead < 3 || strings.HasPrefix(text[lead:], " ") || strings.HasPrefix(text[lead:], "\t") || strings.HasPrefix(text[lead:], "|") {
		return text, ""
	}
	cut, columns := -1, 0
	for i, r := range text {
		if columns++; columns > width+1 {
			break
		}
		if r == ' ' && i > lead {
			cut = i
		}
	}
	if cut < 0 {
		return text, ""
	}
	return text[:cut], strings.TrimSpace(text[cut:])
}

var plain = regexp.MustCompile(`^// [^\s#|*\-\[]`)

// continues reports whether the comment line next belongs to the paragraph of the one before it.
func continues(before, next string) bool {
	indent, _, _ := strings.Cut(before, "//")
	return strings.HasPrefix(next, indent+"//") && plain.MatchString(strings.TrimSpace(next))
}

// code breaks a line of code.
func code(l line) []string {
	indent := l.text[:len(l.text)-len(strings.TrimLeft(l.text, "\t"))]
	if n := len(l.toks); n > 1 && l.toks[n-1].tok == token.COMMENT || n > 2 && l.toks[n-2].tok == token.COMMENT {
		c := l.toks[n-1]
		if c.tok != token.COMMENT {
			c = l.toks[n-2]
		}
		if strings.HasPrefix(c.lit, "//") && !strings.HasPrefix(c.lit, "//nolint") && !strings.Contains(c.lit, "// want") {
			return []string{indent + c.lit, strings.TrimRight(l.text[:c.from], " \t")}
		}
		return []string{l.text}
	}
	best, bestCost := -1, 0
	depth, assigned := 0, 0
	for _, t := range l.toks {
		if t.tok.IsOperator() && (t.tok == token.DEFINE || t.tok == token.ASSIGN || t.tok == token.ADD_ASSIGN) && depth == 0 {
			assigned = t.to
		}
		switch t.tok {
		case token.LPAREN, token.LBRACE, token.LBRACK:
			depth++
		case token.RPAREN, token.RBRACE, token.RBRACK:
			depth--
		}
	}
	depth = 0
	low := 0
	for k, t := range l.toks {
		cost := -1
		switch t.tok {
		case token.LPAREN, token.LBRACE, token.LBRACK:
			depth++
			if next := k + 1; t.tok == token.LPAREN && next < len(l.toks) && l.toks[next].tok != token.RPAREN &&
				!strings.HasPrefix(l.toks[next].lit, "`") {
				cost = 10*(depth-low) + 7
			}
		case token.RPAREN, token.RBRACE, token.RBRACK:
			depth--
			low = min(low, depth)
		case token.COMMA:
			cost = 10*(depth-low) + 2
			if depth == 0 && t.to < assigned {
				cost = -1
			}
		case token.LAND, token.LOR:
			cost = 10 * (depth - low)
		case token.ADD:
			cost = 10*(depth-low) + 4
			if k > 0 && (l.toks[k-1].tok == token.STRING || k+1 < len(l.toks) && l.toks[k+1].tok == token.STRING) {
				cost -= 2
			}
		}
		columns := utf8.RuneCountInString(l.text[:t.to])
		if cost < 0 || columns > width || t.to < assigned || strings.TrimSpace(l.text[t.to:]) == "" {
			continue
		}
		if columns < len(indent)+24 { // almost nothing would be before the break
			cost += 15
		}
		if best < 0 || cost <= bestCost {
			best, bestCost = t.to, cost
		}
	}
	if best >= 0 {
		return []string{l.text[:best], indent + "\t" + strings.TrimLeft(l.text[best:], " \t")}
	}
	for k, t := range l.toks { // a string that is longer than a line
		if t.tok != token.STRING || t.lit[0] != '"' || utf8.RuneCountInString(l.text[:t.to]) <= width {
			continue
		}
		if k+1 < len(l.toks) && l.toks[k+1].tok == token.COLON { // a key
			return []string{l.text}
		}
		if k > 0 && slices.Contains([]token.Token{token.IDENT, token.CASE, token.IMPORT}, l.toks[k-1].tok) {
			return []string{l.text}
		}
		cut, columns := -1, utf8.RuneCountInString(l.text[:t.from])
		for i, r := range t.lit {
			if columns++; columns > width-3 {
				break
			}
			if r == ' ' && i > 20 {
				cut = i + 1
			}
		}
		if cut > 0 && cut < len(t.lit)-2 {
			return []string{l.text[:t.from] + t.lit[:cut] + `" +`, indent + "\t" + `"` + t.lit[cut:] + l.text[t.to:]}
		}
	}
	return []string{l.text}
}
