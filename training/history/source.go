package history

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/linediff"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/patterns"
)

// source is a version of a file. It is immutable after outlining, except for its chunks. The loader computes everything
// before that, including the data that only changed files need.
type source struct {
	path     string
	blob     string
	language outline.Language // "" if only searched for secrets
	text     string           // as stored in git
	ended    []string         // lines with line ends
	outlined chan struct{}    // see [versionCache.once]
	findings
	searched chan struct{} // as outlined
	secret   bool

	chunkOnce sync.Once // examples are made at the same time
	shown     string    // with line feeds alone
	plain     []string  // lines of that, without line ends
	starts    []int     // where they begin in it
	chunks    []chunks.Span
}

// sound reports whether an outlined file may be shown.
func (s *source) sound() bool { return !s.broken && s.skip == "" && !s.secret }

// findings holds the results of parsing a version of a file.
type findings struct {
	symbols []symbol
	about   string // first line of the documentation
	top     string // names of the top-level symbols
	broken  bool   // has a parse error, possibly in a function body
	skip    string // could not be outlined
	parsed  bool   // parsed completely
	imports []outline.Import
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

// unfit returns the reason why a file is not used for examples.
func unfit(name, text string) Reason {
	switch {
	case len(text) > mostBytes:
		return TooLarge
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return Binary
	case language.OfSource(name) == language.Node && language.Bundle(text):
		return bundle
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
	if s.ended == nil {
		s.ended = linediff.Lines(s.text)
	}
}

// chunked returns the chunks of the text. Several commits show the same version of a file.
func (s *source) chunked() []chunks.Span {
	s.chunkOnce.Do(func() {
		s.shown = strings.TrimSuffix(strings.ReplaceAll(s.text, "\r\n", "\n"), "\n")
		s.plain = strings.Split(s.shown, "\n")
		s.starts = make([]int, len(s.plain))
		for i, l := range s.plain[:len(s.plain)-1] {
			s.starts[i+1] = s.starts[i] + len(l) + 1
		}
		s.chunks = chunks.Chunks(s.path, s.plain)
	})
	return s.chunks
}

// span returns the lines from to to as prompts show them, counted from 1. A missing file has no lines.
func (s *source) span(from, to int) string {
	if s == nil {
		return ""
	}
	from, to = max(1, from), min(to, len(s.ended))
	if from > to {
		return ""
	}
	return strings.TrimSuffix(strings.ReplaceAll(strings.Join(s.ended[from-1:to], ""), "\r\n", "\n"), "\n")
}

var receiver = lazyre.New(`^func \(\s*(?:\w+\s+)?\*?(\w+)`)

// take stores the outline of the file.
func (s *source) take(o outline.Outline) {
	s.parsed, s.broken, s.imports = true, o.Error != nil, o.Imports
	s.symbols = make([]symbol, 0, len(o.Symbols))
	for _, x := range o.Symbols {
		n := symbol{name: x.Name, short: x.Name, kind: x.Kind, signature: x.Signature, start: x.Start, end: x.End,
			parent: x.Parent}
		for up, depth := x.Parent, 0; up >= 0 && depth < 20; up, depth = o.Symbols[up].Parent, depth+1 {
			n.name = o.Symbols[up].Name + "." + n.name
		}
		if x.Parent < 0 && strings.HasPrefix(x.Signature, "func (") {
			if m := receiver.FindStringSubmatch(x.Signature); m != nil {
				n.name = m[1] + "." + n.name
			}
		}
		n.piece = isPiece(o.Symbols, x)
		s.symbols = append(s.symbols, n)
	}
	for _, d := range o.Docs {
		if d.Symbol >= 0 {
			s.symbols[d.Symbol].doc = d.Content
		} else if s.about == "" {
			first, _, _ := strings.Cut(strings.TrimSpace(d.Content), "\n")
			s.about = phrase.Cut(fence.Line(first), 100)
		}
	}
	for _, c := range o.Comments {
		if c.Rationale && c.Symbol >= 0 && s.symbols[c.Symbol].reason == "" {
			s.symbols[c.Symbol].reason = c.Content
		}
	}
	var top []store.Symbol
	for _, x := range s.symbols {
		if x.parent < 0 {
			top = append(top, store.Symbol{Name: x.short, Kind: string(x.kind)})
		}
	}
	s.top = retrieve.TopNames(top, 10)
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

// touched returns the pieces that hunks change: the innermost ones, and of a class only the part outside of its
// methods. side selects the lines of a hunk.
func (s *source) touched(hunks []linediff.Hunk, side func(linediff.Hunk) (from, to int)) []int {
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

// reader outlines files: Go and Python itself, other languages with ast-grep, many at a time. It asks ast-grep about
// what changed in them, and about Python that is not plain.
type reader struct {
	program patterns.Program
	dir     string
	golang  *outline.GoMemory
	python  *outline.PythonMemory
	scripts *sync.Mutex // guards the fields below
	script  *outline.ScriptMemory
	faulty  map[string]bool // by path: whether the last version that was read as a whole has a parse error
}

func newReader(p patterns.Program, dir string) reader {
	return reader{p, dir, outline.NewGoMemory(), outline.NewPythonMemory(), &sync.Mutex{}, outline.NewScriptMemory(),
		map[string]bool{}}
}

// reads reports whether it supports a language, at least for most files.
func (r reader) reads(l outline.Language) bool {
	return l == outline.Go || l == outline.Python || r.program.Found()
}

// notInstalled is why a file is skipped that only ast-grep can read.
const notInstalled = "ast-grep is not installed"

// question is a text for ast-grep.
type question struct {
	*source
	text   []byte
	pieces *outline.ScriptQuestion // of several files; nil: the text is the whole file
}

// mostTogether limits the bytes of a question about pieces. Each question is a file, and ast-grep reads several at a
// time.
const mostTogether = 8 << 10

// outline outlines the sources that are not outlined yet.
func (r reader) outline(ctx context.Context, all []*source) error {
	whole := make([]*question, len(all))
	err := parallel(ctx, len(all), func(i int) error {
		whole[i] = r.alone(all[i])
		return nil
	})
	whole = slices.DeleteFunc(whole, func(q *question) bool { return q == nil })
	if err != nil || len(whole) == 0 {
		return err
	}
	r.scripts.Lock()
	defer r.scripts.Unlock()
	r.script.Begin()
	type script struct {
		*question
		*outline.ScriptVersion
	}
	var scripts []script
	var asked []*question
	open := map[string]*outline.ScriptQuestion{}
	for _, q := range whole {
		if q.language == outline.Python || r.faulty[q.path] { // pieces of a faulty version are not read on their own
			continue
		}
		grammar := path.Ext(q.path)
		if open[grammar] == nil || open[grammar].Len() > mostTogether {
			open[grammar] = &outline.ScriptQuestion{}
			asked = append(asked, &question{source: q.source, pieces: open[grammar]})
		}
		scripts = append(scripts, script{q, r.script.Version(grammar, q.text, open[grammar])})
	}
	refused, err := r.askPieces(ctx, asked)
	if err != nil {
		return err
	}
	var apart []*question
	for _, q := range refused {
		if all := q.pieces.Apart(); len(all) > 1 {
			for _, x := range all {
				apart = append(apart, &question{source: q.source, pieces: x})
			}
		}
	}
	if _, err := r.askPieces(ctx, apart); err != nil {
		return err
	}
	if err := parallel(ctx, len(scripts), func(i int) error {
		if nodes, ok := scripts[i].Nodes(); ok {
			scripts[i].read(nodes)
		}
		return nil
	}); err != nil {
		return err
	}
	return r.askAll(ctx, slices.DeleteFunc(whole, func(q *question) bool { return q.parsed }),
		func(q *question, nodes []patterns.Node, skip string) {
			if q.skip = skip; skip == "" {
				q.read(nodes)
			}
			r.faulty[q.path] = q.broken
		})
}

// askPieces asks about pieces, and returns the questions that have no answer.
func (r reader) askPieces(ctx context.Context, all []*question) (refused []*question, err error) {
	all = slices.DeleteFunc(all, func(q *question) bool { return q.pieces.Len() == 0 })
	for _, q := range all {
		q.text = q.pieces.Text()
	}
	if err := r.askAll(ctx, all, func(q *question, nodes []patterns.Node, skip string) {
		if skip != "" || !q.pieces.Take(nodes) {
			refused = append(refused, q)
		}
	}); err != nil {
		return nil, err
	}
	return refused, nil
}

// alone outlines a source without ast-grep, or returns the question about it.
func (r reader) alone(s *source) *question {
	switch {
	case s.language == "":
	case s.language == outline.Go:
		s.take(r.golang.Read(s.path, s.text))
	default:
		text, copied, why := outline.Prepare(s.language, []byte(s.text))
		if why != "" {
			s.skip = why
			return nil
		}
		if s.language == outline.Python {
			same := s.text
			if copied {
				same = string(text)
			}
			if o, ok := r.python.Glance(same); ok {
				s.take(o)
				return nil
			}
		}
		if r.program.Found() {
			return &question{source: s, text: text}
		}
		s.skip = notInstalled
	}
	return nil
}

// read outlines the source with what ast-grep found in it.
func (q *question) read(nodes []patterns.Node) {
	q.take(outline.Glance(q.language, q.text, nodes))
}

// Limits of what ast-grep is asked about at once.
const (
	mostTexts = 400
	mostAsked = 1 << 20 // bytes
)

// answered receives what ast-grep found in the text of a question, or why it did not look.
type answered func(q *question, nodes []patterns.Node, skip string)

// askAll asks ast-grep, as many questions as it takes at once.
func (r reader) askAll(ctx context.Context, all []*question, to answered) error {
	for len(all) > 0 {
		n, size := 0, 0
		for n < len(all) && n < mostTexts && (n == 0 || size < mostAsked) {
			size += len(all[n].text)
			n++
		}
		if err := r.ask(ctx, all[:n], to); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

func (r reader) ask(ctx context.Context, all []*question, to answered) error {
	texts := make([]patterns.Text, len(all))
	var languages []outline.Language
	for i, q := range all {
		// Versions of a file have the same path, so each gets a separate folder.
		texts[i] = patterns.Text{Path: path.Join(strconv.Itoa(i), path.Base(q.path)), Text: q.text, Copy: true}
		languages = append(languages, q.language)
	}
	slices.Sort(languages)
	nodes, skipped, err := r.program.Nodes(ctx, r.dir, texts, outline.Rules(slices.Compact(languages)...), 0)
	if errors.Is(err, patterns.ErrTooMuch) {
		if len(all) > 1 {
			half := len(all) / 2
			return cmp.Or(r.ask(ctx, all[:half], to), r.ask(ctx, all[half:], to))
		}
		skipped, err = []patterns.Skip{{Path: texts[0].Path, Reason: "ast-grep's answer about it is too long"}}, nil
	}
	if err != nil {
		return err
	}
	skips := map[string]string{}
	for _, k := range skipped {
		skips[k.Path] = k.Reason
	}
	for i, q := range all {
		to(q, nodes[texts[i].Path], skips[texts[i].Path])
	}
	return nil
}
