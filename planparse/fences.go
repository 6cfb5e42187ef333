package planparse

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A fence is a fenced code block, read tolerantly: inside it, a fence line with an info string opens another fence, and
// a line without one ends the innermost matching fence. CommonMark has no nesting, but people use it: a
// ```markdown block that holds ```bash … ``` ends for CommonMark at the inner closer, and text and code of the rest of
// the plan are swapped.
type fence struct {
	ast.FencedCodeBlock
	open, closed int // offsets of the opening and of the closing line; closed is 0 without one
	early        int // offset of the line at which CommonMark ends the block, 0 if both readings agree
	last         int // offset of the last line read
	info         []byte
	indent       int
	stack        []fenceLevel
	strict       bool
}

type fenceLevel struct {
	char   byte
	length int
}

// fenceLine recognizes a line that begins with three or more backticks or tildes and returns the rest.
func fenceLine(line []byte) (level fenceLevel, info []byte, ok bool) {
	if len(line) < 3 || (line[0] != '`' && line[0] != '~') {
		return fenceLevel{}, nil, false
	}
	n := 1
	for n < len(line) && line[n] == line[0] {
		n++
	}
	info = bytes.TrimSpace(line[n:])
	if n < 3 || (line[0] == '`' && bytes.IndexByte(info, '`') >= 0) {
		return fenceLevel{}, nil, false
	}
	return fenceLevel{line[0], n}, info, true
}

// nest adds a fence line to the stack of open fences. A line without an info string closes one. A fence of equal length
// has priority: four backticks close with four, despite anything in between.
func nest(stack []fenceLevel, level fenceLevel, info []byte) []fenceLevel {
	if len(stack) == 0 || len(info) > 0 {
		return append(stack, level)
	}
	for i, l := range slices.Backward(stack) {
		if l == level {
			return stack[:i]
		}
	}
	if top := stack[len(stack)-1]; top.char == level.char && top.length <= level.length {
		return stack[:len(stack)-1]
	}
	return stack
}

type fenceParser struct{ *treeReader }

func (p *fenceParser) Trigger() []byte             { return []byte{'~', '`'} }
func (p *fenceParser) CanInterruptParagraph() bool { return true }
func (p *fenceParser) CanAcceptIndentedLine() bool { return false }

func (p *fenceParser) Open(_ ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := r.PeekLine()
	pos := pc.BlockOffset()
	if pos < 0 {
		return nil, parser.NoChildren
	}
	level, info, ok := fenceLine(line[pos:])
	if !ok {
		return nil, parser.NoChildren
	}
	f := &fence{open: segment.Start, last: segment.Start, info: info, indent: pos, stack: []fenceLevel{level}}
	f.strict = p.strictAll || p.strict[f.open]
	p.treeReader.open = f
	p.fences = append(p.fences, f)
	return f, parser.NoChildren
}

func (p *fenceParser) Continue(node ast.Node, r text.Reader, _ parser.Context) parser.State {
	f := node.(*fence)
	line, segment := r.PeekLine()
	width, pos := util.IndentWidth(line, r.LineOffset())
	f.last = segment.Start
	if pos < len(line) && (line[pos] == '`' || line[pos] == '~') && f.ends(line[pos:], width, segment.Start) {
		f.closed = segment.Start
		r.AdvanceToEOL()
		return parser.Close
	}
	pos, padding := util.IndentPositionPadding(line, r.LineOffset(), segment.Padding, f.indent)
	if pos < 0 {
		pos = max(0, util.FirstNonSpacePosition(line)) - segment.Padding
		padding = 0
	}
	seg := text.NewSegmentPadding(segment.Start+pos, segment.Stop, padding)
	seg.ForceNewline = true
	f.Lines().Append(seg)
	r.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

// ends reports whether the line closes the block, and keeps track of the fences inside it.
func (f *fence) ends(line []byte, width, offset int) bool {
	level, info, ok := fenceLine(line)
	if !ok {
		return false
	}
	outer := f.stack[0]
	commonMark := width < 4 && len(info) == 0 && level.char == outer.char && level.length >= outer.length
	if f.strict {
		return commonMark
	}
	if len(info) > 0 || len(f.stack) > 1 || commonMark {
		f.stack = nest(f.stack, level, info)
	}
	if commonMark && len(f.stack) > 0 && f.early == 0 {
		f.early = offset
	}
	return len(f.stack) == 0
}

func (p *fenceParser) Close(node ast.Node, _ text.Reader, _ parser.Context) {
	if p.treeReader.open == node.(*fence) {
		p.treeReader.open = nil
	}
}

// listGuard keeps a list, or an item of it, open while a fence inside it is open. CommonMark ends them at
// a line that is not indented enough, and with them the fence; people (and the bots that append trailers
// to here-documents) forget to indent.
type listGuard struct {
	parser.BlockParser
	reader *treeReader
}

func (g *listGuard) Continue(node ast.Node, r text.Reader, pc parser.Context) parser.State {
	if g.inside(node, r) {
		return parser.Continue | parser.HasChildren
	}
	f := g.reader.open
	if f == nil || f.strict {
		return g.BlockParser.Continue(node, r, pc)
	}
	line, segment := r.PeekLine()
	if util.IsBlank(line) {
		return g.BlockParser.Continue(node, r, pc)
	}
	list := node
	if node.Kind() == ast.KindListItem {
		list = node.Parent()
	}
	need := list.LastChild().(*ast.ListItem).Offset
	if width, pos := util.IndentWidth(line, r.LineOffset()); width < need {
		if opensUnit(line[pos:]) {
			return g.BlockParser.Continue(node, r, pc)
		}
		f.early = cmp.Or(f.early, segment.Start)
		return parser.Continue | parser.HasChildren
	}
	return g.BlockParser.Continue(node, r, pc)
}

// inside reports whether a line belongs to a list or an item because spaces indent it as far as its text, and skips
// these spaces. goldmark would read all spaces of the line again for each open list.
func (g *listGuard) inside(node ast.Node, r text.Reader) bool {
	b, isItem := g.reader, node.Kind() == ast.KindListItem
	line, segment := r.PeekLine()
	if b.indent.stop != segment.Stop {
		b.indent.stop = segment.Stop
		b.indent.text = segment.Start + len(line) - len(bytes.TrimLeft(line, " "))
	}
	at := b.indent.text - segment.Start
	if at < 0 || at >= len(line) || segment.Padding > 0 {
		return false
	}
	list := node
	if isItem {
		list = node.Parent()
	}
	last := list.LastChild().(*ast.ListItem)
	if util.IsSpace(line[at]) {
		b.emptyItem = b.emptyItem || last.ChildCount() == 0
		return false
	}
	if at < last.Offset || b.emptyItem || last.ChildCount() == 0 {
		return false
	}
	if isItem {
		r.AdvanceAndSetPadding(last.Offset, 0)
	}
	return true
}

// Close does nothing: whether a list is tight matters only for HTML.
func (*listGuard) Close(ast.Node, text.Reader, parser.Context) {}

// opensUnit reports whether the line is the heading of a task or batch: an unclosed fence in a list item ends there
// at the latest.
func opensUnit(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("##")) {
		return false
	}
	u := parseUnit(bytes.TrimLeft(line, "# "))
	return u.kind != unitNone && u.kind != unitStep && u.kind != unitNumbered && u.ok
}
