package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/training"
)

// piece is a symbol, or a file without symbols. Precision decides how much of it is needed.
type piece struct {
	symbol *symbol
	at     int    // index of the symbol in its file
	word   string // the answer
	why    []string
}

// Answers for pieces.
const (
	primary     = "primary"
	supporting  = "supporting"
	typeContext = "type_context"
	excluded    = "excluded"
)

// Highest number of pieces in a question: for a file and in total.
const (
	mostOfFile = 24
	mostPieces = 80
)

// precision teaches how much of each symbol is needed (TRAIN-12). Changed symbols are primary, symbols that the
// changed code uses are supporting, their classes are type_context, and all others are excluded. It does not ask about
// symbols that two of these words may fit: those with the name of a used one, unused ones that the task names, tests,
// and those of [work.sure].
func (m *maker) precision(w *work, q query) (lesson, string) {
	type file struct {
		*source
		tier   int
		why    string
		pieces []piece
	}
	var files []file
	for _, c := range w.changes {
		if c.before == nil {
			continue
		}
		f := file{source: c.before, tier: 1,
			why: cmp.Or(q.names(c.before), w.suspects(c.before, c.touched), "the task may need it")}
		f.pieces = m.pieces(q, c.before, func(i int) string { return w.needs(q, c, i) }, mostOfFile)
		files = append(files, f)
	}
	for _, d := range w.deps {
		f := file{source: d.source, tier: d.tier, why: d.why}
		f.pieces = m.pieces(q, d.source, func(i int) string {
			switch x := &d.symbols[i]; {
			case slices.Contains(d.uses, x.short) && w.knows(d.source, x):
				return supporting
			case slices.Contains(d.uses, x.short), q.mentions(x):
				return ""
			}
			return excluded
		}, 8)
		files = append(files, f)
	}
	slices.SortStableFunc(files,
		func(a, b file) int { return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.path, b.path)) })
	var asked []*piece
	for i := range files {
		for j := range files[i].pieces {
			asked = append(asked, &files[i].pieces[j])
		}
	}
	if changed, known := w.sure(asked); 2*known < changed {
		return lesson{}, unmarked
	}
	var lines, answer []string
	var texts []*source
	count := map[string]int{}
	for _, f := range files {
		f.pieces = slices.DeleteFunc(f.pieces, func(x piece) bool { return x.word == "" })
		if len(f.pieces) == 0 || len(answer)+len(f.pieces) > mostPieces {
			continue
		}
		texts = append(texts, f.source)
		lines = append(lines, fmt.Sprintf("%s (tier %d: %s)", fence.Line(f.path), f.tier, fence.Line(f.why)))
		for _, x := range f.pieces {
			id := fmt.Sprintf("s%03d", len(answer)+1)
			lines = append(lines, "  "+x.line(id))
			answer = append(answer, fmt.Sprintf("%q:%q", id, x.word))
			count[x.word]++
		}
	}
	touched := lists.Sum(w.changes, func(c *change) int { return len(c.touched) })
	switch {
	case count[primary] == 0:
		return lesson{}, "no existing symbol changes"
	case count[primary] == len(answer):
		return lesson{}, "there is only one choice"
	}
	prompt, err := m.Retrieval.Render("precision", map[string]string{
		"task": q.fenced, "intent": q.intent, "kind": string(q.kind), "symbols": fenced(strings.Join(lines, "\n")),
	})
	if err != nil {
		return lesson{}, err.Error()
	}
	covered := training.Known("symbols_covered", min(1, float64(count[primary])/float64(max(1, touched))),
		fmt.Sprintf("the prompt asks about %d of %d changed symbols", count[primary], touched))
	return lesson{prompt: prompt, completion: "{" + strings.Join(answer, ",") + "}", texts: texts,
		signals: []training.Signal{covered}}, ""
}

// sure removes the answers of pieces that nobody could find: those to which the task does not point, if they are
// needed, and those to which it points like to a changed one, if they are not. It returns the numbers of changed
// pieces, and of those to which it points.
func (w *work) sure(asked []*piece) (changed, known int) {
	to := w.pointing(lists.Map(asked, func(x *piece) string { return x.line("") }))
	var goals []pointers
	for i, x := range asked {
		if x.word == primary {
			changed++
			if len(to[i]) > 0 {
				goals = append(goals, to[i])
			}
		}
	}
	for i, x := range asked {
		switch x.word {
		case primary, supporting:
			if len(to[i]) == 0 {
				x.word = ""
			}
		case excluded:
			if slices.ContainsFunc(goals, to[i].cover) {
				x.word = ""
			}
		}
	}
	return changed, len(goals)
}

// needs returns how much of a symbol of a changed file is needed, or "" if that is arguable.
func (w *work) needs(q query, c *change, i int) string {
	x := &c.before.symbols[i]
	inside := func(t int) bool { return c.before.symbols[t].parent == i }
	switch {
	case slices.Contains(c.touched, i) && (w.asks(c.path) || w.expected(x.name) != "" || q.mentions(x)):
		return primary
	case slices.ContainsFunc(c.touched, inside) && w.asks(c.path):
		return typeContext
	case slices.Contains(c.touched, i), slices.ContainsFunc(c.touched, inside):
		return "" // which tests change is the author's choice
	case w.words[x.short] && x.telling():
		if len(c.before.find(x.short)) > 1 || !w.knows(c.before, x) && !slices.ContainsFunc(c.touched,
			func(t int) bool { return c.before.symbols[t].parent == x.parent || t == x.parent }) {
			return ""
		}
		return supporting
	case q.mentions(x), !w.asks(c.path) && w.expected(x.name) != "":
		return ""
	}
	return excluded
}

// knows reports whether the changed code has the class of a method, as far as it has one. A name alone may be that of
// another class.
func (w *work) knows(s *source, x *symbol) bool {
	return x.kind != outline.Method && x.parent < 0 || x.parent >= 0 && w.words[s.symbols[x.parent].short]
}

// mentions reports whether a task names a symbol.
func (q query) mentions(x *symbol) bool { return slices.ContainsFunc(q.symbols, x.named) }

// pieces returns the symbols of a file to ask about, in file order: all needed ones, then those that the task names,
// then the first ones.
func (m *maker) pieces(q query, s *source, word func(int) string, most int) []piece {
	out := make([]piece, 0, len(s.symbols))
	for i := range s.symbols {
		if x := word(i); x != "" && (s.symbols[i].piece || x == primary) {
			out = append(out, piece{symbol: &s.symbols[i], at: i, word: x, why: q.why(&s.symbols[i])})
		}
	}
	if len(out) > most {
		slices.SortStableFunc(out, func(a, b piece) int { return cmp.Compare(b.weight(), a.weight()) })
		out = out[:most]
	}
	slices.SortFunc(out, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.symbol.start, b.symbol.start), cmp.Compare(a.at, b.at))
	})
	return out
}

// weight orders pieces by importance for a question.
func (x piece) weight() int {
	switch {
	case x.word == primary:
		return 3
	case x.word == supporting, x.word == typeContext:
		return 2
	case len(x.why) > 0:
		return 1
	}
	return 0
}

// why returns the signals for a symbol, as retrieval does.
func (q query) why(s *symbol) []string {
	var out []string
	if q.mentions(s) {
		out = append(out, "the task names it")
	}
	short := strings.ToLower(s.short)
	for _, k := range q.keywords {
		if strings.Contains(short, k) && slices.Contains(retrieve.Humps(s.short), k) {
			out = append(out, "has the word "+k)
		}
	}
	return out[:min(3, len(out))]
}

// line describes a piece as precision does.
func (x piece) line(id string) string {
	s := x.symbol
	text := fmt.Sprintf("%s  %s  %d-%d", id, phrase.Cut(fence.Line(cmp.Or(s.signature, string(s.kind)+" "+s.short)), 160),
		s.start, s.end)
	if s.name != s.short {
		text += "  of " + strings.TrimSuffix(s.name, "."+s.short)
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(s.doc), "\n"); first != "" {
		text += fmt.Sprintf("  %q", phrase.Cut(fence.Line(first), 100))
	}
	if len(x.why) > 0 {
		text += "  — " + fence.Line(strings.Join(x.why, ", "))
	}
	if s.reason != "" {
		text += fmt.Sprintf("  its comment: %q", phrase.Cut(fence.Line(s.reason), 120))
	}
	return text
}
