package training

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/runplan/runplan/internal/edit"
)

// ErrNoEdits says that a change cannot be written as edits: it is not about text, or the edits would not make it.
var ErrNoEdits = errors.New("the change cannot be written as search and replace edits")

// Edits writes what makes after of before as blocks that [edit.Parse] reads: the form in which models answer (C-26). A nil
// side is a file that is not there. What it returns was carried out and compared, but for the end of the last line,
// which such edits cannot say.
func Edits(path string, before, after []byte) (string, error) {
	for _, side := range [][]byte{before, after} {
		if bytes.IndexByte(side, 0) >= 0 || !utf8.Valid(side) {
			return "", fmt.Errorf("%s: %w: it is no text", path, ErrNoEdits)
		}
	}
	var blocks []span
	old, now := string(before), string(after)
	switch {
	case before == nil && after == nil:
		return "", fmt.Errorf("%s: %w: it is on neither side", path, ErrNoEdits)
	case after == nil:
		blocks = nil
	case strings.TrimSpace(old) == "":
		if before != nil && old != "" {
			return "", fmt.Errorf("%s: %w: it was blank", path, ErrNoEdits)
		}
		blocks = []span{{now: now}}
	default:
		var err error
		if blocks, err = spans(old, now); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
	}
	var err error
	for _, width := range []int{7, 9, 12, 16} { // wider marks hold text that has marks of its own
		text := render(path, blocks, width)
		if err = does(path, text, old, now, after == nil); err == nil {
			return text, nil
		}
	}
	return "", fmt.Errorf("%s: %w: %w", path, ErrNoEdits, err)
}

// span is a run of lines, and what takes its place.
type span struct{ old, now string }

// most bounds how many lines a block quotes above and below what changes.
const most = 40

// spans quotes around each change as many lines as make the quoted text the only one of its kind.
func spans(old, now string) ([]span, error) {
	was, is := splitLines(old), splitLines(now)
	var out []span
	end := -1 // of the last span, in lines of old
	var last hunk
	for _, h := range hunks(string(diff.Diff("a", []byte(ended(old)), "b", []byte(ended(now))))) {
		for n := 0; ; n++ {
			wide := h.wider(n, len(was))
			quoted := strings.Join(was[wide.from:wide.to], "")
			if strings.TrimSpace(quoted) != "" && strings.Count(old, quoted) == 1 {
				h = wide
				break
			}
			if n == most {
				return nil, fmt.Errorf("%w: what changes stands in it more than once", ErrNoEdits)
			}
		}
		if h.from <= end { // two quotes that meet are one
			h.from, h.newFrom = last.from, last.newFrom
			out = out[:len(out)-1]
		}
		out = append(out, span{strings.Join(was[h.from:h.to], ""), strings.Join(is[h.newFrom:h.newTo], "")})
		last, end = h, h.to
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: no line differs", ErrNoEdits)
	}
	return out, nil
}

// hunk is a run of lines that changes. Places count from 0, and the end is not part of it.
type hunk struct{ from, to, newFrom, newTo int }

func (h hunk) wider(n, lines int) hunk {
	above, below := min(n, h.from), min(n, lines-h.to)
	return hunk{h.from - above, h.to + below, h.newFrom - above, h.newTo + below}
}

// hunks reads the places of a unified diff, less the lines that stay around them but for one.
func hunks(text string) []hunk {
	var out []hunk
	var h hunk
	var a, b int // next line of each side
	open, body := false, false
	flush := func() {
		if open {
			h.to, h.newTo = a, b
			out = append(out, h)
			open = false
		}
	}
	for line := range strings.Lines(text) {
		if !body && line[0] != '@' {
			continue // the head of the diff
		}
		switch line[0] {
		case '@':
			body = true
			flush()
			var n, m int
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &a, &n, &b, &m); err != nil {
				return nil
			}
			if n > 0 {
				a-- // the place of an empty side is that of the line above
			}
			if m > 0 {
				b--
			}
		case ' ':
			flush()
			a, b = a+1, b+1
		case '-', '+':
			if !open {
				h, open = hunk{from: a, newFrom: b}, true
			}
			if line[0] == '-' {
				a++
			} else {
				b++
			}
		}
	}
	flush()
	return out
}

// ended gives a text an end of its last line, without which a diff says so in a line of its own.
func ended(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// render writes the blocks of a file; none deletes it.
func render(path string, blocks []span, width int) string {
	mark := func(c, word string) string { return strings.Repeat(c, width) + word + "\n" }
	if blocks == nil {
		return path + "\n" + mark("<", " DELETE") + mark(">", " DELETE")
	}
	var b strings.Builder
	for i, s := range blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(path + "\n" + mark("<", " SEARCH") + plainEnds(s.old) + mark("=", "") + plainEnds(s.now) + mark(">", " REPLACE"))
	}
	return b.String()
}

// plainEnds gives lines the ends that models write. The edit engine gives them those of the file.
func plainEnds(text string) string { return ended(strings.ReplaceAll(text, "\r\n", "\n")) }

// does carries the edits out as a reader of the answer would, and compares.
func does(path, text, old, now string, deleted bool) error {
	edits, err := edit.Parse(text, "")
	if err != nil {
		return err
	}
	for _, e := range edits {
		if e.Path != path || e.Delete != deleted {
			return fmt.Errorf("it reads as an edit of %q", e.Path)
		}
		if deleted {
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
