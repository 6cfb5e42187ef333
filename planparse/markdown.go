package planparse

import (
	"bytes"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/runplan/runplan/internal/lists"
)

// A document is the block tree of a plan, with the fences as their author meant them.
type document struct {
	root    ast.Node
	fences  []*fence
	comment *htmlBlock // the last one, or nil
	aside   []text.Segments
}

// maxReparse limits how often a document is read again because a tolerant fence swallowed its end. Each round costs a
// full parse. After that all fences are read as in CommonMark.
const maxReparse = 8

// readMarkdown builds the block tree of src from the byte offset on. It ignores inline markup, because the grammar of
// plans uses the text of lines.
//
// A fence is first read tolerantly (see [fence]). If that reading reaches the end of the file, the opener is read
// strictly instead, and the document again.
func readMarkdown(src []byte, offset int) document {
	strict := map[int]bool{}
	for round := 0; ; round++ {
		p := readings.Get().(*reading)
		p.treeReader = treeReader{strict: strict, strictAll: round >= maxReparse, noLines: &text.Segments{}}
		r := text.NewReader(src)
		r.Advance(offset)
		root := p.Parse(r)
		b := p.treeReader
		readings.Put(p)
		bad := b.swallowing()
		if bad == nil || b.strictAll {
			return document{root: root, fences: b.fences, comment: b.html, aside: b.aside}
		}
		strict[bad.open] = true
	}
}

// treeReader holds the shared state of the block parsers of one parse.
type treeReader struct {
	strict    map[int]bool // offsets of openers to read as CommonMark does
	strictAll bool
	open      *fence // the fence that is open now, or nil
	fences    []*fence
	html      *htmlBlock
	// the lines of paragraphs and headings; their nodes have the index, as the position -2 - index
	aside   []text.Segments
	noLines *text.Segments

	indent    struct{ stop, text int } // the end of the line that was read last, and its first character that is no space
	emptyItem bool                     // a blank line followed an item without text, which goldmark treats specially
}

// reading is a parser with its state. Making a parser takes as long as parsing a short plan.
type reading struct {
	treeReader
	parser.Parser
}

var readings = sync.Pool{New: func() any {
	p := &reading{}
	p.Parser = p.parser()
	return p
}}

// parser returns a CommonMark block parser with these differences: fences are tolerant, lists don't end
// inside a fence, a line of dashes never makes a heading of the line above it, and of HTML only comments
// and verbatim elements are blocks (tasks inside <details> count, GSD tags are read line by line).
func (b *treeReader) parser() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(&listGuard{parser.NewListParser(), b}, 300),
		util.Prioritized(&listGuard{parser.NewListItemParser(), b}, 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(&asideParser{parser.NewATXHeadingParser(), b}, 600),
		util.Prioritized(&fenceParser{b}, 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(&htmlParser{b}, 900),
		util.Prioritized(&asideParser{parser.NewParagraphParser(), b}, 1000),
	))
}

// asideParser takes the lines of a paragraph or heading out of the tree when it ends. Otherwise goldmark would parse
// their inline markup, which takes half of the time and is not needed.
type asideParser struct {
	parser.BlockParser
	reader *treeReader
}

func (p *asideParser) Close(node ast.Node, _ text.Reader, _ parser.Context) {
	if lines := node.Lines(); lines.Len() > 0 {
		p.reader.aside = append(p.reader.aside, *lines)
		node.SetLines(p.reader.noLines)
		node.SetPos(-1 - len(p.reader.aside))
	}
}

// linesOf returns the lines of a block, wherever they are.
func (d document) linesOf(n ast.Node) *text.Segments {
	pos := n.Pos()
	if p, ok := n.(*ast.Paragraph); ok {
		pos = p.BaseNode.Pos() // otherwise a paragraph would use its lines
	}
	if i := -2 - pos; i >= 0 {
		return &d.aside[i]
	}
	return n.Lines()
}

// wrapper returns the fence around the whole document, as in copies from chats, if there is one.
func (d document) wrapper() *fence {
	f, ok := d.root.FirstChild().(*fence)
	if !ok || f.NextSibling() != nil || f.closed == 0 {
		return nil
	}
	if lang, _ := infoString(f.info); lang != "markdown" && lang != "md" {
		return nil
	}
	return f
}

// swallowing returns the fence that is unclosed in the tolerant reading, if there is one.
func (b *treeReader) swallowing() *fence {
	return lists.First(b.fences,
		func(f *fence) bool { return f.closed == 0 && !f.strict && (f.early > 0 || len(f.stack) > 1) })
}

// htmlBlock is a comment or a verbatim element: nothing in it is part of the plan.
type htmlBlock struct {
	ast.HTMLBlock
	end    []byte
	closed bool
}

type htmlParser struct{ *treeReader }

func (p *htmlParser) Trigger() []byte { return []byte{'<'} }

func (p *htmlParser) Open(_ ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := r.PeekLine()
	pos := pc.BlockOffset()
	if pos < 0 {
		return nil, parser.NoChildren
	}
	end := htmlEnd(line[pos:])
	if end == nil {
		return nil, parser.NoChildren
	}
	n := &htmlBlock{HTMLBlock: *ast.NewHTMLBlock(ast.HTMLBlockType2), end: end}
	n.closed = bytes.Contains(bytes.ToLower(line[pos+1:]), end)
	n.Lines().Append(segment)
	p.html = n
	r.AdvanceToEOL()
	return n, parser.NoChildren
}

// htmlEnd returns what ends the block that line starts, or nil if it starts none.
func htmlEnd(line []byte) []byte {
	if bytes.HasPrefix(line, []byte("<!--")) {
		return []byte("-->")
	}
	for _, name := range []string{"pre", "script", "style", "textarea"} {
		n := len(name) + 1
		if len(line) > n && bytes.EqualFold(line[1:n], []byte(name)) && bytes.IndexByte([]byte(" >\t\r\n"), line[n]) >= 0 {
			return []byte("</" + name)
		}
	}
	return nil
}

func (p *htmlParser) Continue(node ast.Node, r text.Reader, _ parser.Context) parser.State {
	n := node.(*htmlBlock)
	if n.closed {
		return parser.Close
	}
	line, segment := r.PeekLine()
	n.closed = bytes.Contains(bytes.ToLower(line), n.end)
	n.Lines().Append(segment)
	r.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

func (p *htmlParser) Close(ast.Node, text.Reader, parser.Context) {}
func (p *htmlParser) CanInterruptParagraph() bool                 { return true }
func (p *htmlParser) CanAcceptIndentedLine() bool                 { return false }
