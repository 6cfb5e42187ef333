// Package edits writes what was done to a file as the search and replace blocks that models answer in (C-26).
//
// Each block quotes as few lines as make it the only one of its kind in the file, and no two quote the same line. What
// comes out was read and carried out by the engine that reads such answers, and made the text that was to be made; but for
// the end of the last line, which blocks cannot say.
package edits

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/edit"
)

// ErrNone says that a change cannot be written as edits: it is not about text, or the edits would not make it.
var ErrNone = errors.New("the change cannot be written as search and replace edits")

// Change is what was done to a file whose lines are known.
type Change struct {
	Path          string
	Before, After []string // see [Lines]
	Made, Deleted bool     // it was not there before, it is not there after
	Hunks         []Hunk
}

// Answer is a change in the words of a model.
type Answer struct {
	Text   string
	Blocks []Block // none of a file that is deleted
}

// Block is one edit. Its quote is lines From..To of the text before; places count from 0, and the end is not part of it.
type Block struct {
	From, To int
	old, now string
}

// Of writes the edits that make after of before. A nil side is a file that is not there.
func Of(path string, before, after []byte) (Answer, error) {
	for _, side := range [][]byte{before, after} {
		if bytes.IndexByte(side, 0) >= 0 || !utf8.Valid(side) {
			return Answer{}, fmt.Errorf("%s: %w: it is no text", path, ErrNone)
		}
	}
	if before == nil && after == nil {
		return Answer{}, fmt.Errorf("%s: %w: it is on neither side", path, ErrNone)
	}
	c := Change{Path: path, Before: Lines(string(before)), After: Lines(string(after)), Made: before == nil, Deleted: after == nil}
	if !c.Made && !c.Deleted {
		c.Hunks = hunksOf(c.Before, c.After)
	}
	return c.Write()
}

// Write writes the edits of a change.
func (c Change) Write() (Answer, error) {
	var blocks []Block
	old, now := strings.Join(c.Before, ""), strings.Join(c.After, "")
	switch {
	case c.Deleted:
	case c.Made:
		blocks = []Block{{now: now}}
	case strings.TrimSpace(old) == "":
		return Answer{}, fmt.Errorf("%s: %w: it was blank", c.Path, ErrNone)
	default:
		var err error
		if blocks, err = c.blocks(old); err != nil {
			return Answer{}, fmt.Errorf("%s: %w", c.Path, err)
		}
	}
	var err error
	for _, width := range []int{7, 9, 12, 16} { // wider marks hold text that has marks of its own
		text := render(c.Path, blocks, width)
		if err = c.does(text, len(blocks), old, now); err == nil {
			return Answer{text, blocks}, nil
		}
	}
	return Answer{}, fmt.Errorf("%s: %w: %w", c.Path, ErrNone, err)
}

// most bounds how many lines a block quotes above and below what changes.
const most = 40

// blocks quotes around each hunk as many lines as make the quote the only one of its kind.
func (c Change) blocks(old string) ([]Block, error) {
	type span struct{ from, to, first, last int } // lines, and the hunks in them
	var spans []span
	for i, h := range c.Hunks {
		x := span{first: i, last: i}
		for n := 0; ; n++ {
			x.from, x.to = max(0, h.From-n), min(len(c.Before), h.To+n)
			quoted := strings.Join(c.Before[x.from:x.to], "")
			if strings.TrimSpace(quoted) != "" && once(old, quoted) {
				break
			}
			if n == most {
				return nil, fmt.Errorf("%w: what changes stands in it more than once", ErrNone)
			}
		}
		for len(spans) > 0 && spans[len(spans)-1].to >= x.from { // two quotes that meet are one
			p := spans[len(spans)-1]
			x = span{min(p.from, x.from), max(p.to, x.to), p.first, x.last}
			spans = spans[:len(spans)-1]
		}
		spans = append(spans, x)
	}
	if len(spans) == 0 {
		return nil, fmt.Errorf("%w: no line differs", ErrNone)
	}
	out := make([]Block, len(spans))
	shift := 0 // how much later a line stands in the new text
	for i, s := range spans {
		from := s.from + shift
		for _, h := range c.Hunks[s.first : s.last+1] {
			shift += h.NewTo - h.NewFrom - (h.To - h.From)
		}
		out[i] = Block{s.from, s.to, strings.Join(c.Before[s.from:s.to], ""), strings.Join(c.After[from:s.to+shift], "")}
	}
	return out, nil
}

// once tells whether a text stands in another one at a single place. Places that overlap are two.
func once(text, part string) bool {
	i := strings.Index(text, part)
	return i >= 0 && !strings.Contains(text[i+1:], part)
}

// render writes the blocks of a file; none deletes it.
func render(path string, blocks []Block, width int) string {
	mark := func(c, word string) string { return strings.Repeat(c, width) + word + "\n" }
	if blocks == nil {
		return path + "\n" + mark("<", " DELETE") + mark(">", " DELETE")
	}
	var b strings.Builder
	for i, x := range blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(path + "\n" + mark("<", " SEARCH") + plainEnds(x.old) + mark("=", "") + plainEnds(x.now) + mark(">", " REPLACE"))
	}
	return b.String()
}

// plainEnds gives lines the ends that models write. The edit engine gives them those of the file.
func plainEnds(text string) string { return ended(strings.ReplaceAll(text, "\r\n", "\n")) }

// ended gives a text an end of its last line.
func ended(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// does carries the edits out as a reader of the answer would, and compares.
func (c Change) does(text string, blocks int, old, now string) error {
	list, err := edit.Parse(text, "")
	if err != nil {
		return err
	}
	if len(list) != max(1, blocks) {
		return fmt.Errorf("it reads as %d edits", len(list))
	}
	for _, e := range list {
		if e.Path != c.Path || e.Delete != c.Deleted {
			return fmt.Errorf("it reads as an edit of %q", e.Path)
		}
		if c.Deleted {
			return nil
		}
		if old, err = edit.Apply(old, e); err != nil {
			return err
		}
	}
	if strings.TrimRight(old, "\r\n") != strings.TrimRight(now, "\r\n") {
		return errors.New("the edits make another text")
	}
	return nil
}
