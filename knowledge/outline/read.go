package outline

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/patterns"
)

// Limits of what ast-grep receives. Each of its results repeats the whole line, so a long line with many names would
// give gigabytes of output.
const (
	maxFile = 3_000_000
	maxLine = 10_000
)

//go:embed rules/python.yml
var pythonRules string

//go:embed rules/script.yml
var scriptRules string

//go:embed rules/typescript.yml
var typescriptRules string

// Version is part of the cache key. Change it whenever the same text gets another outline, so that files are read
// again.
const Version = "3"

// Rules returns the ast-grep rules for the given languages. Go needs none.
func Rules(languages ...Language) string {
	return rulesOf(languages, pythonRules, scriptRules, typescriptRules+scriptRules)
}

// rulesOf joins the rules for some languages, in each grammar that a language has.
func rulesOf(languages []Language, python, javascript, typescript string) string {
	var docs []string
	for _, l := range languages {
		switch l {
		case Python:
			docs = append(docs, python)
		case JavaScript:
			docs = append(docs, grammar("javascript", javascript))
		case TypeScript:
			docs = append(docs, grammar("typescript", typescript), grammar("tsx", typescript))
		}
	}
	return strings.Join(docs, "---\n")
}

// grammar replaces the placeholders in capitals.
func grammar(language, rules string) string {
	fill := []string{"LANGUAGE", language, "SIGNATURE", ", {kind: function_signature}",
		"METHODS", ", {kind: method_signature}, {kind: abstract_method_signature}",
		"FIELD", "public_field_definition", "KEY", "name", "AMBIENT", ", {kind: ambient_declaration}",
		"ABSTRACT", ", {kind: abstract_class_declaration}"}
	if language == "javascript" {
		fill = []string{"LANGUAGE", language, "SIGNATURE", "", "METHODS", "",
			"FIELD", "field_definition", "KEY", "property", "AMBIENT", "", "ABSTRACT", ""}
	}
	return strings.NewReplacer(fill...).Replace(rules)
}

// Prepare prepares a file for its parser. Offsets refer to text; copied reports that text differs from the bytes of
// the file. A reason in skip means that the file cannot be parsed.
func Prepare(l Language, raw []byte) (text []byte, copied bool, skip string) {
	if l == Go {
		return raw, false, ""
	}
	if len(raw) > maxFile {
		return nil, false, fmt.Sprintf("too large: %d bytes, the limit is %d", len(raw), maxFile)
	}
	if bytes.IndexByte(raw, 0) >= 0 {
		return nil, false, "binary"
	}
	text = raw
	if l == Python {
		if text, copied, skip = decodePython(raw); skip != "" {
			return nil, false, skip
		}
	}
	if !utf8.Valid(text) {
		return nil, false, "not UTF-8"
	}
	if l == TypeScript {
		if plain := withoutVariance(text); plain != nil {
			text, copied = plain, true
		}
	}
	longest := 0
	for line := range bytes.Lines(text) {
		longest = max(longest, len(line))
	}
	if longest > maxLine {
		return nil, false, fmt.Sprintf("it has a line of %d bytes, and the limit is %d: probably a generated file", longest, maxLine)
	}
	return text, copied, ""
}

var (
	typeList = lazyre.New(`[\w$]<[^<>(){};]*\b(?:in|out)\s+[A-Z_$][^(){};]*>`)
	variance = lazyre.New(`([<,]\s*)((?:\b(?:in|out)\s+)+)([A-Z_$])`)
)

// withoutVariance replaces the variance annotations "in" and "out" of type parameters by white space of the same
// length, because the parser does not know them. It returns nil if there are none. [withVariance] puts them back.
func withoutVariance(text []byte) []byte {
	if !mayVary(text) {
		return nil
	}
	var out []byte
	for _, list := range typeList.Re().FindAllIndex(text, -1) {
		for _, m := range variance.Re().FindAllSubmatchIndex(text[list[0]:list[1]], -1) {
			if out == nil {
				out = slices.Clone(text)
			}
			words := out[list[0]+m[4] : list[0]+m[5]]
			copy(words, bytes.ReplaceAll(bytes.ReplaceAll(words, []byte("out"), varianceOut), []byte("in"), varianceIn))
		}
	}
	return out
}

// The white space for the words of variance, which occurs in no other place.
var varianceIn, varianceOut = []byte("\v\f"), []byte("\v\f\f")

// withVariance puts back what [withoutVariance] replaced, because signatures are shown.
func withVariance(text []byte) []byte {
	if !bytes.Contains(text, varianceIn) {
		return text
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(text, varianceOut, []byte("out")), varianceIn, []byte("in"))
}

// mayVary is a fast check before variance: whether one of its words follows a bracket or a comma.
func mayVary(text []byte) bool {
	for i, c := range text {
		if c != '<' && c != ',' {
			continue
		}
		rest := text[i+1:]
		for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\n' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\f') {
			rest = rest[1:]
		}
		for _, word := range []string{"in", "out"} {
			if n := len(word); len(rest) > n && string(rest[:n]) == word && (rest[n] <= ' ') {
				return true
			}
		}
	}
	return false
}

var (
	codingLine  = lazyre.New(`^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)`)
	commentOnly = lazyre.New(`^[ \t\f]*(#.*)?\r?\n?$`)
)

// decodePython converts a file that declares a single-byte encoding to UTF-8.
func decodePython(raw []byte) (text []byte, copied bool, skip string) {
	name, n := "", 0
	for line := range bytes.Lines(raw) {
		if n++; n > 2 {
			break
		}
		if m := codingLine.FindSubmatch(line); m != nil {
			name = strings.ReplaceAll(strings.ToLower(string(m[1])), "_", "-")
			break
		}
		if !commentOnly.Match(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))) {
			break
		}
	}
	switch name {
	case "", "utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii":
		return raw, false, ""
	}
	if !slices.ContainsFunc(raw, func(c byte) bool { return c > 127 }) {
		return raw, false, "" // ASCII is the same in nearly all encodings
	}
	table := encoding(name)
	if table == nil {
		return nil, false, "its encoding is " + phrase.CutBytes(name, 40) + ", which is not read"
	}
	text, _ = table.NewDecoder().Bytes(raw) // each byte has a character
	return text, true, ""
}

// encoding returns a single-byte encoding that old Python files declare, or nil.
func encoding(name string) *charmap.Charmap {
	switch name {
	case "latin-1", "latin1", "iso-8859-1", "iso8859-1", "iso-latin-1", "l1":
		return charmap.ISO8859_1
	case "iso-8859-15", "iso8859-15", "latin-9", "latin9":
		return charmap.ISO8859_15
	case "cp1251", "windows-1251":
		return charmap.Windows1251
	case "cp1252", "windows-1252":
		return charmap.Windows1252
	case "koi8-r":
		return charmap.KOI8R
	}
	return nil
}

// Read makes an outline from the nodes that ast-grep found in a text.
func Read(l Language, text []byte, nodes []patterns.Node) Outline {
	return read(l, text, nodes, false).out
}

// Glance does what [Read] does, without the fields of docstrings and the kinds of comments.
func Glance(l Language, text []byte, nodes []patterns.Node) Outline {
	return read(l, text, nodes, true).out
}

func read(l Language, text []byte, nodes []patterns.Node, brief bool) *reader {
	// ast-grep returns nodes in varying order. Among those that begin at the same place, the longest comes first.
	slices.SortFunc(nodes, func(a, b patterns.Node) int {
		return cmp.Or(a.Start-b.Start, strings.Compare(a.Rule, b.Rule), b.End-a.End)
	})
	r := &reader{text: text, at: linesOf(text), nodes: nodes, brief: brief}
	if l == Python {
		r.python()
	} else {
		r.text = withVariance(text)
		r.script()
	}
	r.parseError()
	return r
}

type reader struct {
	text  []byte
	at    lines
	nodes []patterns.Node
	all   []extent
	out   Outline
	brief bool // docstrings without their fields, comments without their kinds
	cut   bool // what follows the text may matter
}

func (r *reader) source(from, to int) string { return string(r.text[from:to]) }

// symbol makes an extent of a node. The name is at the node, unless the rule captured it.
func (r *reader) symbol(n patterns.Node, kind Kind, body bool) extent {
	from, to, name := n.From, max(n.To, n.End), patterns.Var{Start: n.Start, End: n.End}
	if v, ok := n.Var("NAME"); ok {
		name = v
	}
	if from < 0 || from > name.Start {
		from = name.Start
	}
	return extent{
		Symbol: Symbol{Name: r.source(name.Start, name.End), Kind: kind, Start: r.at.of(from), End: r.at.of(max(to-1, from))},
		from:   from, to: to, name: name.Start, body: body,
	}
}

// parseError keeps the smallest range that could not be parsed, then the first, because errors spread outwards.
func (r *reader) parseError() {
	best := -1
	for i, n := range r.nodes {
		if (n.Rule == "error" || n.Rule == "torn") && (best < 0 || n.End-n.Start < r.nodes[best].End-r.nodes[best].Start) {
			best = i
		}
	}
	if best < 0 {
		return
	}
	n := r.nodes[best]
	r.out.Error = &ParseError{Line: r.at.of(n.Start), Content: r.at.content(r.text, n.Start), Message: "cannot be parsed"}
}
