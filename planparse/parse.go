package planparse

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/checksum"
)

// MaxSize is the largest plan that [Parse] reads.
const MaxSize = 16 << 20

// Errors for input that is not text. Any other input gives a [Plan], with diagnostics.
var (
	ErrEmpty  = errors.New("the plan is empty")
	ErrBinary = errors.New("the plan is not text")
	ErrTooBig = errors.New("the plan is too big")
)

const noUnits = "no unit of work found: write batches (## Batch 1: Title), tasks (### Task 1: Title), " +
	"numbered boxes (- [ ] 1. Title), boxes below phase headings, or a numbered list below \"## Steps\""

// Parse parses a plan. The name (usually a path) is only for messages.
//
// It returns an error only for input that is not a text plan: [ErrEmpty], [ErrBinary] or [ErrTooBig].
// [Plan.Errors] says whether the plan is valid.
func Parse(name string, src []byte) (*Plan, error) {
	if err := readable(src); err != nil {
		return nil, fmt.Errorf("read plan %s: %w", name, err)
	}
	b := newBuilder(name, src)
	b.plan.Digest = checksum.SHA256(src)
	b.prepare()
	b.build()
	b.fill()
	b.finish()
	return b.plan, nil
}

func readable(src []byte) error {
	switch {
	case len(src) > MaxSize:
		return fmt.Errorf("%w: %d bytes, the limit is %d; split it into several plans", ErrTooBig, len(src), MaxSize)
	case len(bytes.TrimSpace(bytes.TrimPrefix(src, []byte("\uFEFF")))) == 0:
		return fmt.Errorf("%w: write at least one task, for example \"### Task 1: Title\"", ErrEmpty)
	case bytes.IndexByte(src, 0) >= 0:
		return fmt.Errorf("%w: it contains NUL bytes; save it as UTF-8 (UTF-16 is not supported)", ErrBinary)
	case !utf8.Valid(src) && garbled(src):
		return fmt.Errorf("%w: it is not UTF-8; save it as UTF-8", ErrBinary)
	}
	return nil
}

// garbled reports whether more than one rune in twenty is invalid. A few stray bytes don't keep a plan
// from being read.
func garbled(src []byte) bool {
	bad := len(src) - len(bytes.ToValidUTF8(src, nil))
	return bad*20 > utf8.RuneCount(src)
}

// builder takes a plan through the stages of Parse: read the marks, choose a format, assign the marks to tasks by its
// rules, and fill in the data of the marks.
type builder struct {
	plan  *Plan
	src   []byte
	front frontMatter
	outline
	wanted []want             // dependencies, resolved when all batches are known
	listed map[listedKey]bool // the paths in the lists of files
	named  []namedFile        // files that the tasks name, in document order
	said   map[saidKey]bool   // flags that a batch sets itself; the header does not override them
	title  *mark              // nil without one

	wrapped int // offset of the line that opens the fence around the whole plan, -1 without one

	nestedTold bool // nested tasks were already reported

	fromList bool     // the batches are the items of a numbered list
	repeated []repeat // boxes that only repeat others

	titleUnit unit // the unit that the title would open otherwise
}

type saidKey struct {
	batch int
	flag  string
}

// listedKey keeps a path from being listed twice.
type listedKey struct {
	batchLine  int
	verb, path string
}

// namedFile is a path that a task says it changes.
type namedFile struct {
	batch, task, line int
	verb, path        string
}

// owner is the batch and task of a mark; -1 is none.
type owner struct {
	batch, task int32
	self        bool // the mark is the box of the task itself
}

func newBuilder(name string, src []byte) *builder {
	b := &builder{plan: &Plan{}, src: src, listed: map[listedKey]bool{}, wrapped: -1, said: map[saidKey]bool{}}
	if bytes.IndexByte(src, '\r') >= 0 && bytes.IndexByte(src, '\n') < 0 {
		src = bytes.ReplaceAll(src, []byte{'\r'}, []byte{'\n'}) // of equal length, so positions stay valid
	}
	b.src = src
	b.front = cutFrontMatter(src)
	doc := readMarkdown(src, b.front.end)
	if f := doc.wrapper(); f != nil {
		b.src, src = src[:f.closed], src[:f.closed]
		b.wrapped = f.open
		b.front = frontMatter{end: f.open + bytes.IndexByte(src[f.open:], '\n') + 1}
		doc = readMarkdown(src, b.front.end)
	}
	b.outline = outline{src: src, doc: doc, lines: lineOffsets(src)}
	b.walk(b.doc.root.FirstChild(), nil)
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	b.plan.Title = strings.TrimSuffix(base, path.Ext(base))
	return b
}

func (b *builder) report(severity Severity, line int, code, format string, args ...any) {
	d := Diagnostic{Severity: severity, Line: line, Code: code, Message: fmt.Sprintf(format, args...)}
	b.plan.Diagnostics = append(b.plan.Diagnostics, d)
}

func (b *builder) warn(line int, code, format string, args ...any) {
	b.report(SeverityWarning, line, code, format, args...)
}

// lineText returns the source of a 1-based line without its end.
func (b *builder) lineText(line int) []byte {
	return bytes.TrimRight(b.between(line, line), "\r\n")
}

// between returns the source of the lines first..last.
func (b *builder) between(first, last int) []byte {
	start, stop := b.span(first, last)
	return b.src[start:stop]
}

// span returns the offsets of the lines first..last, an empty range if there are none.
func (b *builder) span(first, last int) (start, stop int) {
	if first > last || first > len(b.lines) {
		return len(b.src), len(b.src)
	}
	stop = len(b.src)
	if last < len(b.lines) {
		stop = b.lines[last]
	}
	return b.lines[first-1], stop
}
