package planparse

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A document is the block tree of a plan, with the fences as their author meant them.
type document struct {
	root    ast.Node
	fences  []*fence
	comment *htmlBlock // the one that never ends, or nil
}

// maxReparse bounds how often a document is read again because a tolerant fence swallowed its end.
// Each round costs a full parse; past the bound all fences are read as CommonMark does.
const maxReparse = 8

// readMarkdown builds the block tree of src from the byte offset on. Inline markup is left alone:
// the grammar of plans looks at the text of lines.
//
// A fence is first read tolerantly (see [fence]). Where that reading runs into the end of the file, the
// opener is read strictly instead, and the document once more.
func readMarkdown(src []byte, offset int) document {
	strict := map[int]bool{}
	for round := 0; ; round++ {
		b := &treeReader{strict: strict, strictAll: round >= maxReparse}
		root := b.parser().Parse(reader(src, offset))
		bad := b.swallowing()
		if bad == nil || b.strictAll {
			return document{root: root, fences: b.fences, comment: b.unclosed()}
		}
		strict[bad.open] = true
	}
}

func reader(src []byte, offset int) text.Reader {
	r := text.NewReader(src)
	if offset > 0 {
		r.Advance(offset)
	}
	return r
}

// treeReader holds what the block parsers of one parse share.
type treeReader struct {
	strict    map[int]bool // offsets of openers to read as CommonMark does
	strictAll bool
	open      *fence // the fence that is open now, or nil
	fences    []*fence
	html      *htmlBlock
}

// parser returns a CommonMark block parser with these differences: fences are tolerant, lists don't end
// inside a fence, a line of dashes never makes a heading of the line above it, and of HTML only comments
// and verbatim elements are blocks (tasks inside <details> count, GSD tags are read line by line).
func (b *treeReader) parser() parser.Parser {
	return parser.NewParser(parser.WithParagraphTransformers(util.Prioritized(rawLines{}, 100)), parser.WithBlockParsers(
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(&listGuard{parser.NewListParser(), b}, 300),
		util.Prioritized(&listGuard{parser.NewListItemParser(), b}, 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(&fenceParser{b}, 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(&htmlParser{b}, 900),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	))
}

// textLines is a paragraph of which only the lines matter.
type textLines struct{ ast.Paragraph }

// IsRaw keeps goldmark from looking for inline markup, which is half the time of a parse.
func (*textLines) IsRaw() bool { return true }

// rawLines turns paragraphs into textLines.
type rawLines struct{}

func (rawLines) Transform(node *ast.Paragraph, _ text.Reader, _ parser.Context) {
	raw := &textLines{}
	raw.SetLines(node.Lines())
	parent := node.Parent()
	parent.ReplaceChild(parent, node, raw)
}

// swallowing returns the fence whose tolerant reading was never closed, if there is one.
func (b *treeReader) swallowing() *fence {
	for _, f := range b.fences {
		if f.closed == 0 && !f.strict && (f.early > 0 || len(f.stack) > 1) {
			return f
		}
	}
	return nil
}

func (b *treeReader) unclosed() *htmlBlock {
	if b.html != nil && !b.html.closed {
		return b.html
	}
	return nil
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

// htmlEnd returns what ends the block that line starts, or nil where it starts none.
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
