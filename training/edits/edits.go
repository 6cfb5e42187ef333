// Package edits writes file changes as the search and replace blocks that models answer with (C-26).
//
// Each block quotes just enough lines to be unique in the file, and no two blocks quote the same line. The result is
// verified: the edit engine that parses such answers applies it, and the outcome must equal the new text. Only the end
// of the last line may differ, because blocks cannot express it.
package edits

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/internal/linediff"
)

// ErrNone reports a change that cannot be written as edits: it is not text, or the edits would not produce it.
var ErrNone = errors.New("the change cannot be written as search and replace edits")

// Change is a file change whose lines are known.
type Change struct {
	Path          string
	Before, After []string // see [Lines]
	Made, Deleted bool     // the file is created or deleted
	Hunks         []linediff.Hunk
}

// Answer is a change in the format of a model's answer.
type Answer struct {
	Text   string
	Blocks []Block // empty for a deleted file
}

// Block is one edit. It quotes the lines From to To of the old text. Positions count from 0, and the end is exclusive.
type Block struct {
	From, To int
	old, now string
}

// Of writes the edits that turn before into after. A nil side is a missing file.
func Of(path string, before, after []byte) (Answer, error) {
	for _, side := range [][]byte{before, after} {
		if bytes.IndexByte(side, 0) >= 0 || !utf8.Valid(side) {
			return Answer{}, fmt.Errorf("%s: %w: it is not text", path, ErrNone)
		}
	}
	if before == nil && after == nil {
		return Answer{}, fmt.Errorf("%s: %w: it is on neither side", path, ErrNone)
	}
	c := Change{Path: path, Before: linediff.Lines(string(before)), After: linediff.Lines(string(after)), Made: before == nil,
		Deleted: after == nil}
	if !c.Made && !c.Deleted {
		c.Hunks = hunksOf(c.Before, c.After)
	}
	return c.Write(string(before), string(after))
}

// Write writes the edits of a change. old and now are the texts of its lines.
func (c Change) Write(old, now string) (Answer, error) {
	var blocks []Block
	switch {
	case c.Deleted:
	case c.Made:
		blocks = []Block{{now: now}}
	case strings.TrimSpace(old) == "":
		return Answer{}, fmt.Errorf("%s: %w: the file was blank", c.Path, ErrNone)
	default:
		var err error
		if blocks, err = c.blocks(old); err != nil {
			return Answer{}, fmt.Errorf("%s: %w", c.Path, err)
		}
	}
	var err error
	for _, width := range []int{7, 9, 12, 16} { // wider marks allow text that contains marks
		text := render(c.Path, blocks, width)
		if err = c.does(text, len(blocks), old, now); err == nil {
			return Answer{text, blocks}, nil
		}
	}
	return Answer{}, fmt.Errorf("%s: %w: %w", c.Path, ErrNone, err)
}

// most is the highest number of context lines above and below a change.
const most = 40

// blocks quotes each hunk with as many surrounding lines as are necessary to make the quote unique.
func (c Change) blocks(old string) ([]Block, error) {
	type span struct{ from, to, first, last int } // lines, and the hunks in them
	var spans []span
	for i, h := range c.Hunks {
		x := span{first: i, last: i}
		for n := 0; ; n++ {
			x.from, x.to = max(0, h.From-n), min(len(c.Before), h.To+n)
			quoted := strings.Join(c.Before[x.from:x.to], "")
			if strings.TrimSpace(quoted) != "" && len(edit.Places(old, quoted)) == 1 {
				break
			}
			if n == most {
				return nil, fmt.Errorf("%w: the changed text occurs more than once in it", ErrNone)
			}
		}
		for len(spans) > 0 && spans[len(spans)-1].to >= x.from { // join overlapping quotes
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
	shift := 0 // offset between old and new line numbers
	for i, s := range spans {
		from := s.from + shift
		for _, h := range c.Hunks[s.first : s.last+1] {
			shift += h.NewTo - h.NewFrom - (h.To - h.From)
		}
		out[i] = Block{s.from, s.to, strings.Join(c.Before[s.from:s.to], ""), strings.Join(c.After[from:s.to+shift], "")}
	}
	return out, nil
}

// render renders the blocks of a file. Without blocks it deletes the file.
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
		b.WriteString(path + "\n" +
			mark("<", " SEARCH") + plainEnds(x.old) + mark("=", "") + plainEnds(x.now) + mark(">", " REPLACE"))
	}
	return b.String()
}

// plainEnds converts line ends to line feeds, as models write them. The edit engine restores the line ends of the file.
func plainEnds(text string) string { return ended(strings.ReplaceAll(text, "\r\n", "\n")) }

// ended adds a missing line end to the last line.
func ended(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// does applies the edits as a reader of the answer would, and compares the result.
func (c Change) does(text string, blocks int, old, now string) error {
	list, err := edit.Parse(text, "")
	if err != nil {
		return err
	}
	if len(list) != max(1, blocks) {
		return fmt.Errorf("it is parsed as %d edits", len(list))
	}
	for _, e := range list {
		if e.Path != c.Path || e.Delete != c.Deleted {
			return fmt.Errorf("it is parsed as an edit of %q", e.Path)
		}
		if c.Deleted {
			return nil
		}
		if old, err = edit.Apply(old, e); err != nil {
			return err
		}
	}
	if strings.TrimRight(old, "\r\n") != strings.TrimRight(now, "\r\n") {
		return errors.New("the edits produce another text")
	}
	return nil
}
