package history

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/training/edits"
)

// source is a version of a file. It is immutable after outlining. The loader computes everything before that,
// including the data that only changed files need.
type source struct {
	path     string
	blob     string
	language outline.Language // "" if only searched for secrets
	text     string           // as stored in git
	ended    []string         // lines with line ends
	lines    []string         // lines as prompts show them
	outlined bool
	findings
	declared []string // see declares
	secret   *bool    // nil: not checked yet
}

// findings holds the results of parsing a version of a file.
type findings struct {
	symbols []symbol
	about   string // first line of the documentation
	top     string // names of the top-level symbols
	broken  bool
	skip    string // could not be outlined
	parsed  bool   // parsed completely, for the fields below
	imports []outline.Import
	faulty  bool // has a parse error, possibly in a function body
}

// size estimates the bytes that findings hold.
func (f findings) size() int {
	n := 500 + len(f.about) + len(f.top)
	for i := range f.symbols {
		s := &f.symbols[i]
		n += 200 + len(s.name) + len(s.signature) + len(s.doc) + len(s.reason)
	}
	for _, i := range f.imports {
		n += 100 + 50*len(i.Names)
	}
	return n
}

// symbol is a definition in a file.
type symbol struct {
	name      string // with its class: Runner.run
	short     string
	kind      outline.Kind
	signature string
	doc       string
	reason    string // it has a comment that gives a reason
	start     int
	end       int
	parent    int
	piece     bool // shown as a separate piece
}

// telling reports whether a symbol name is specific. Names such as get and __init__ are not.
func (s *symbol) telling() bool {
	return len(s.short) >= 5 && !strings.HasPrefix(s.short, "__") || s.parent < 0 && len(s.short) >= 3
}

// unfit returns the reason why a text is not used for examples.
func unfit(text string) Reason {
	switch {
	case len(text) > mostBytes:
		return TooLarge
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return Binary
	case saysGenerated(text):
		return Generated
	}
	return ""
}

func newSource(name, blob, text string) *source {
	return &source{path: name, blob: blob, language: outline.LanguageOf(name), text: text}
}

// split splits the text into lines. Only changed files need that.
func (s *source) split() {
	if s.lines == nil {
		s.ended = edits.Lines(s.text)
		s.lines = make([]string, max(1, len(s.ended))) // an empty text has one empty line
		for i, l := range s.ended {
			if text, windows := strings.CutSuffix(l, "\r\n"); windows {
				s.lines[i] = text
			} else {
				s.lines[i] = strings.TrimSuffix(l, "\n")
			}
		}
	}
}

// span returns the lines from to to, counted from 1.
func (s *source) span(from, to int) string {
	from, to = max(1, from), min(to, len(s.lines))
	if from > to {
		return ""
	}
	return strings.Join(s.lines[from-1:to], "\n")
}

var receiver = lazyre.New(`^func \(\s*(?:\w+\s+)?\*?(\w+)`)

// take stores the outline of the file.
func (s *source) take(o outline.Outline) {
	s.broken = o.Error != nil
	for _, x := range o.Symbols {
		n := symbol{name: x.Name, short: x.Name, kind: x.Kind, signature: x.Signature, start: x.Start, end: x.End,
			parent: x.Parent}
		for up, depth := x.Parent, 0; up >= 0 && depth < 20; up, depth = o.Symbols[up].Parent, depth+1 {
			n.name = o.Symbols[up].Name + "." + n.name
		}
		if m := receiver.FindStringSubmatch(x.Signature); x.Parent < 0 && m != nil {
			n.name = m[1] + "." + n.name
		}
		n.piece = isPiece(o.Symbols, x)
		s.symbols = append(s.symbols, n)
	}
	for _, d := range o.Docs {
		if d.Symbol >= 0 {
			s.symbols[d.Symbol].doc = d.Content
		} else if s.about == "" {
			first, _, _ := strings.Cut(strings.TrimSpace(d.Content), "\n")
			s.about = cut(fence.Line(first), 100)
		}
	}
	for _, c := range o.Comments {
		if c.Rationale && c.Symbol >= 0 && s.symbols[c.Symbol].reason == "" {
			s.symbols[c.Symbol].reason = c.Content
		}
	}
	s.top = topNames(s.symbols, 10)
}

// isPiece applies the rule of retrieval: fields, nested functions and one-line members are shown with their owner.
func isPiece(all []outline.Symbol, s outline.Symbol) bool {
	if s.Parent < 0 {
		return true
	}
	up := all[s.Parent]
	return up.Kind != outline.Function && up.Kind != outline.Method && up.Kind != outline.Interface &&
		s.Kind != outline.Variable && (s.Start != up.Start || s.End != up.End)
}

// topNames lists the top-level symbols of a file, variables last.
func topNames(symbols []symbol, most int) string {
	var names, variables []string
	for _, s := range symbols {
		switch {
		case s.parent >= 0 || slices.Contains(names, s.short) || slices.Contains(variables, s.short):
		case s.kind == outline.Variable:
			variables = append(variables, s.short)
		default:
			names = append(names, s.short)
		}
	}
	names = append(names, variables...)
	if more := len(names) - most; more > 0 {
		names = append(names[:most:most], "and "+itoa(more)+" more")
	}
	return fence.Line(strings.Join(names, ", "))
}

// touched returns the pieces that hunks change: the innermost ones, and of a class only the part outside of its
// methods. side selects the lines of a hunk.
func (s *source) touched(hunks []edits.Hunk, side func(edits.Hunk) (from, to int)) []int {
	var out []int
	for _, h := range hunks {
		from, to := side(h) // from 0, the end is exclusive
		for i := range s.symbols {
			x := &s.symbols[i]
			if !x.piece || slices.Contains(out, i) {
				continue
			}
			hit := from < to && x.start <= to && x.end > from || from == to && x.start <= from && x.end > from
			if hit && !s.insideOfPiece(i, from, to) {
				out = append(out, i)
			}
		}
	}
	slices.Sort(out)
	return out
}

// insideOfPiece reports whether a smaller piece of symbol i contains all changed lines.
func (s *source) insideOfPiece(i, from, to int) bool {
	for j := range s.symbols {
		x := &s.symbols[j]
		if x.parent == i && x.piece && x.start <= from+1 && x.end >= max(to, from+1) {
			return true
		}
	}
	return false
}

// reader outlines files: Go itself, other languages with ast-grep, many at a time.
type reader struct {
	program patterns.Program
	dir     string
	golang  *outline.GoMemory
}

// reads reports whether it supports a language.
func (r reader) reads(l outline.Language) bool { return l == outline.Go || r.program.Found() }

// outline outlines the sources that are not outlined yet.
func (r reader) outline(ctx context.Context, all []*source) error {
	var texts []patterns.Text
	var languages []outline.Language
	by := map[string]*source{}
	size := 0
	var golang []*source
	flush := func() error {
		if len(texts) == 0 {
			return nil
		}
		err := r.ask(ctx, texts, languages, by)
		texts, languages, by, size = nil, nil, map[string]*source{}, 0
		return err
	}
	for _, s := range all {
		switch {
		case s.language == "":
		case s.language == outline.Go:
			golang = append(golang, s)
		case !r.program.Found():
			s.skip = "ast-grep is not installed"
		default:
			text, _, why := outline.Prepare(s.language, []byte(s.text))
			if why != "" {
				s.skip = why
				continue
			}
			// Versions of a file share its path, so each gets a folder of its own.
			key := path.Join(itoa(len(texts)), path.Base(s.path))
			texts, languages = append(texts, patterns.Text{Path: key, Text: text, Copy: true}), append(languages, s.language)
			by[key] = s
			if size += len(text); size > 1<<20 || len(texts) == 400 {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return errors.Join(flush(), parallel(ctx, len(golang), func(i int) error {
		golang[i].take(r.golang.Glance(golang[i].path, golang[i].text))
		return nil
	}))
}

// parse completely parses the changed sources.
func (r reader) parse(ctx context.Context, all []*source) error {
	return parallel(ctx, len(all), func(i int) error {
		if s := all[i]; s.language == outline.Go && !s.parsed {
			o := r.golang.Read(s.path, s.text)
			s.parsed, s.faulty, s.imports = true, o.Error != nil, o.Imports
		}
		return nil
	})
}

func (r reader) ask(ctx context.Context, texts []patterns.Text, languages []outline.Language,
	by map[string]*source) error {
	distinct := slices.Clone(languages)
	slices.Sort(distinct)
	nodes, skipped, err := r.program.Nodes(ctx, r.dir, texts, outline.Rules(slices.Compact(distinct)...), 0)
	if errors.Is(err, patterns.ErrTooMuch) {
		if len(texts) == 1 {
			by[texts[0].Path].skip = "ast-grep's answer about it is too long"
			return nil
		}
		half := len(texts) / 2
		return cmp.Or(r.ask(ctx, texts[:half], languages[:half], by), r.ask(ctx, texts[half:], languages[half:], by))
	}
	if err != nil {
		return err
	}
	for _, k := range skipped {
		if s := by[k.Path]; s != nil {
			s.skip = k.Reason
		}
	}
	for _, t := range texts {
		if s := by[t.Path]; s.skip == "" {
			o := outline.Read(s.language, s.path, t.Text, nodes[t.Path])
			s.parsed, s.faulty, s.imports = true, o.Error != nil, o.Imports
			s.take(o)
		}
	}
	return nil
}
