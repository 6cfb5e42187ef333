package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/edit"
)

// block is an edit in the making: lines from..to of a file are quoted, and what takes their place.
type block struct {
	from, to int
	search   string
	replace  string
}

// contexts are how many lines around a change are quoted, fewest first: as few as make the quoted text the only one of its
// kind in the file.
func contexts() []int { return []int{1, 2, 3, 5, 8, 13} }

// blocksOf makes edits of the hunks of a file. Quoted lines never overlap.
func blocksOf(before, after []string, hunks []hunk) ([]block, error) {
	text := strings.Join(before, "")
	type span struct{ from, to, first, last int } // lines, and the hunks in them
	var spans []span
	for i, h := range hunks {
		x := span{first: i, last: i}
		for _, n := range contexts() {
			x.from, x.to = max(0, h.from-n), min(len(before), h.to+n)
			quoted := strings.Join(before[x.from:x.to], "")
			if strings.TrimSpace(quoted) != "" && once(text, quoted) {
				break
			}
			if n == contexts()[len(contexts())-1] {
				return nil, errors.New("what changes stands in the file more than once")
			}
		}
		for len(spans) > 0 && spans[len(spans)-1].to >= x.from {
			p := spans[len(spans)-1]
			x = span{min(p.from, x.from), max(p.to, x.to), p.first, x.last}
			spans = spans[:len(spans)-1]
		}
		spans = append(spans, x)
	}
	out := make([]block, len(spans))
	shift := 0 // how much later a line stands in the new text
	for i, s := range spans {
		from := s.from + shift
		for _, h := range hunks[s.first : s.last+1] {
			shift += h.newTo - h.newFrom - (h.to - h.from)
		}
		out[i] = block{s.from, s.to, strings.Join(before[s.from:s.to], ""), strings.Join(after[from:s.to+shift], "")}
	}
	return out, nil
}

// once tells whether a text stands in another one at a single place. Places that overlap are two.
func once(text, part string) bool {
	i := strings.Index(text, part)
	return i >= 0 && !strings.Contains(text[i+1:], part)
}

// written is the answer that makes after of before, in the words that the solver asks for.
type written struct {
	path    string
	text    string
	blocks  []block
	deleted bool
}

// write writes the edits of a file, and has the solver's own parser and the edit engine say that they do what was done.
func write(f *change) (written, error) {
	w := written{path: f.path}
	switch {
	case f.after == nil:
		w.deleted = true
	case f.before == nil:
		w.blocks = []block{{replace: f.after.text}}
	case strings.TrimSpace(f.before.text) == "":
		return w, errors.New("the file was empty")
	default:
		var err error
		if w.blocks, err = blocksOf(f.before.ended, f.after.ended, f.hunks); err != nil {
			return w, err
		}
	}
	for _, width := range []int{7, 9, 12} { // longer marks, where the code has some of its own
		w.text = w.render(width)
		if w.does(f) == nil {
			return w, nil
		}
	}
	return w, w.does(f)
}

func (w written) render(width int) string {
	mark := func(c string, word string) string { return strings.Repeat(c, width) + word + "\n" }
	if w.deleted {
		return w.path + "\n" + mark("<", " DELETE") + mark(">", " DELETE")
	}
	var b strings.Builder
	for i, x := range w.blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(w.path + "\n" + mark("<", " SEARCH") + lineEnd(x.search) + mark("=", "") + lineEnd(x.replace) + mark(">", " REPLACE"))
	}
	return b.String()
}

func lineEnd(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// does checks that the edits, as the solver reads them, make the new text of the old one.
func (w written) does(f *change) error {
	answer, err := solver.ParseAnswer(w.text)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(answer.Edits, func(e edit.Edit) bool { return e.Path != f.path || e.Delete != w.deleted }) || len(answer.Edits) != max(1, len(w.blocks)) {
		return fmt.Errorf("it reads as %d edits of another kind", len(answer.Edits))
	}
	if w.deleted {
		return nil
	}
	text := ""
	if f.before != nil {
		text = f.before.text
	}
	for _, e := range answer.Edits {
		if text, err = edit.Apply(text, e); err != nil {
			return err
		}
	}
	if strings.TrimSuffix(text, "\n") != strings.TrimSuffix(f.after.text, "\n") {
		return errors.New("the edits make another text")
	}
	return nil
}
