package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
)

// lesson is what a stage is asked, and what it should say.
type lesson struct {
	system     string
	prompt     string
	completion string
	texts      []*source // whose text, or what stands in them, is in the prompt
	signals    []signal
}

type signal struct {
	name  string
	value float64
	note  string
}

// analysed is the answer to the analysis of a task, field by field as that stage reads it.
type analysed struct {
	Intent   string   `json:"intent"`
	Kind     string   `json:"task_type"`
	Concepts []string `json:"concepts"`
	Symbols  []string `json:"symbols"`
	Domain   string   `json:"domain"`
	Module   string   `json:"module"`
}

// analysis teaches what a task is about: the message is the task, and what the commit changed is the answer (TRAIN-12).
func (m *maker) analysis(w *work, q query) (lesson, string) {
	a := analysed{Intent: q.intent, Kind: string(q.kind), Concepts: []string{}, Symbols: w.suggested(q), Module: w.module()}
	for _, k := range q.keywords {
		if len(a.Concepts) < 5 && len(k) > 3 && !slices.ContainsFunc(q.symbols, func(s string) bool { return slices.Contains(humps(s), k) }) {
			a.Concepts = append(a.Concepts, cut(k, 60))
		}
	}
	prompt, err := m.Retrieval.Render("task_analysis", map[string]string{
		"overview": w.tree.overview(), "task": fenced(q.text), "files": listed(q.files, 30), "symbols": listed(q.symbols, 30),
	})
	if err != nil {
		return lesson{}, err.Error()
	}
	var texts []*source
	for _, c := range w.changes {
		if c.before != nil {
			texts = append(texts, c.before)
		}
	}
	known := 0
	for _, c := range w.changes {
		if c.before != nil {
			known++
		}
	}
	return lesson{prompt: prompt, completion: marshal(a), texts: texts, signals: []signal{
		{"files_known_before", float64(known) / float64(len(w.changes)), fmt.Sprintf("%d of %d changed files were there", known, len(w.changes))},
	}}, ""
}

// fenced is a task as prompts of retrieval have it.
func fenced(task string) string {
	return strings.TrimSpace(fence.Foreign("", strings.TrimSpace(task)))
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of types of our own, that cannot fail
	}
	return string(b)
}

// suggested are symbols that the task does not name and the change needs: those that it changes, then those that it uses.
func (w *work) suggested(q query) []string {
	out := []string{}
	add := func(name string) {
		if len(out) < 8 && len(name) <= 80 && !slices.Contains(out, name) && !slices.Contains(q.symbols, name) {
			out = append(out, name)
		}
	}
	for _, c := range w.changes {
		for _, i := range c.touched {
			add(c.before.symbols[i].name)
		}
	}
	for _, d := range w.deps {
		for _, u := range d.uses {
			add(u)
		}
	}
	return out
}

// module is the folder that most of a change is in.
func (w *work) module() string {
	count := map[string]int{}
	best := ""
	for _, c := range w.changes {
		d := path.Base(path.Dir(c.path))
		count[d]++
		if best == "" || count[d] > count[best] {
			best = d
		}
	}
	if best == "." || len(best) > 60 {
		return ""
	}
	return best
}

// candidate is a file that scope is asked about.
type candidate struct {
	*source
	why      string
	tier     int
	relevant bool
	reason   string
}

// scope teaches which files matter (TRAIN-12): those that change do, those that the changed code uses do, and others,
// which have to do with the task by their looks, do not.
func (m *maker) scope(w *work, q query) (lesson, string) {
	var sure []string
	var all []candidate
	changed := 0
	suggested := w.suggested(q)
	for _, c := range w.changes {
		if c.before == nil {
			continue
		}
		if _, named := q.names(c.before); named {
			sure = append(sure, c.path)
			continue
		}
		x := candidate{source: c.before, tier: 1, relevant: true, reason: "it has to be changed"}
		if words := q.has(c.path); len(words) > 0 {
			x.why = "it has words of the task: " + strings.Join(words, ", ")
		} else if name := firstOf(c, suggested); name != "" {
			x.why = "the task does not name `" + name + "`, but may need it"
		} else {
			continue // nothing would offer it
		}
		changed++
		all = append(all, x)
	}
	for _, list := range [][]related{w.deps, w.others} {
		for _, r := range list {
			if _, named := q.names(r.source); named {
				sure = append(sure, r.path)
				continue
			}
			x := candidate{source: r.source, why: r.why, tier: r.tier, relevant: len(r.uses) > 0, reason: "nothing of it is part of the change"}
			if x.relevant {
				x.reason = cut("the change uses "+r.uses[0]+" of it", 80)
			}
			all = append(all, x)
		}
	}
	if changed == 0 && len(w.deps) == 0 {
		return lesson{}, "no relevant file would be offered"
	}
	if !slices.ContainsFunc(all, func(c candidate) bool { return !c.relevant }) || !slices.ContainsFunc(all, func(c candidate) bool { return c.relevant }) {
		return lesson{}, "there is nothing to choose between"
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.path, b.path)) })
	var lines, answer []string
	var texts []*source
	relevant := 0
	for i, c := range all {
		id := fmt.Sprintf("f%02d", i+1)
		lines = append(lines, c.line(id))
		answer = append(answer, fmt.Sprintf("%q:%s", id, marshal(verdict{c.relevant, c.reason})))
		texts = append(texts, c.source)
		if c.relevant {
			relevant++
		}
	}
	slices.Sort(sure)
	prompt, err := m.Retrieval.Render("scope", map[string]string{
		"task": fenced(q.text), "intent": q.intent, "kind": string(q.kind), "seeds": listed(slices.Compact(sure), 40), "candidates": fenced(strings.Join(lines, "\n")),
	})
	if err != nil {
		return lesson{}, err.Error()
	}
	return lesson{prompt: prompt, completion: "{" + strings.Join(answer, ",") + "}", texts: texts, signals: []signal{
		{"files_needed", float64(changed+len(sure)) / float64(changed+len(sure)+relevant-changed), fmt.Sprintf("%d of the relevant files are changed", changed+len(sure))},
	}}, ""
}

// verdict is what scope says of a file.
type verdict struct {
	Relevant bool   `json:"relevant"`
	Reason   string `json:"reason"`
}

// line describes a candidate as scope does.
func (c candidate) line(id string) string {
	var parts []string
	if c.about != "" {
		parts = append(parts, c.about)
	}
	if c.top != "" {
		parts = append(parts, c.top)
	}
	about := ""
	if len(parts) > 0 {
		about = ": " + strings.Join(parts, "; ")
	}
	return fmt.Sprintf("%s  %s  (%s)%s", id, fence.Line(c.path), c.why, about)
}

// firstOf is the first of the names that is a symbol which a change touches.
func firstOf(c *change, names []string) string {
	for _, n := range names {
		if slices.ContainsFunc(c.touched, func(i int) bool { return c.before.symbols[i].name == n }) {
			return n
		}
	}
	return ""
}

// piece is a symbol, or a file without any, of which precision says how much is needed.
type piece struct {
	symbol *symbol
	word   string // the answer
	why    []string
}

// The words for pieces.
const (
	primary    = "primary"
	supporting = "supporting"
	excluded   = "excluded"
)

// The most pieces that one question has: of a file, and at all.
const (
	mostOfFile = 24
	mostPieces = 80
)

// precision teaches how much of each symbol is needed (TRAIN-12): what changes is primary, what the changed code uses is
// supporting, all else is excluded.
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
		f := file{source: c.before, tier: 1}
		why, named := q.names(c.before)
		switch words := q.has(c.path); {
		case named:
			f.why = why
		case len(words) > 0:
			f.why = "it has words of the task: " + strings.Join(words, ", ")
		default:
			f.why = "the task may need it"
			if name := firstOf(c, w.suggested(q)); name != "" {
				f.why = "the task does not name `" + name + "`, but may need it"
			}
		}
		f.pieces = m.pieces(w, q, c.before, func(i int) string {
			x := &c.before.symbols[i]
			switch {
			case slices.Contains(c.touched, i):
				return primary
			case w.words[x.short] && x.telling():
				return supporting
			}
			return excluded
		}, mostOfFile)
		files = append(files, f)
	}
	for _, d := range w.deps {
		f := file{source: d.source, tier: d.tier, why: d.why}
		f.pieces = m.pieces(w, q, d.source, func(i int) string {
			if slices.Contains(d.uses, d.symbols[i].short) {
				return supporting
			}
			return excluded
		}, 8)
		files = append(files, f)
	}
	slices.SortStableFunc(files, func(a, b file) int { return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.path, b.path)) })
	var lines, answer []string
	var texts []*source
	count := map[string]int{}
	for _, f := range files {
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
	touched := 0
	for _, c := range w.changes {
		touched += len(c.touched)
	}
	switch {
	case count[primary] == 0:
		return lesson{}, "no symbol that was there changes"
	case count[supporting]+count[excluded] == 0:
		return lesson{}, "there is nothing to choose between"
	}
	prompt, err := m.Retrieval.Render("precision", map[string]string{
		"task": fenced(q.text), "intent": q.intent, "kind": string(q.kind), "symbols": fenced(strings.Join(lines, "\n")),
	})
	if err != nil {
		return lesson{}, err.Error()
	}
	return lesson{prompt: prompt, completion: "{" + strings.Join(answer, ",") + "}", texts: texts, signals: []signal{
		{"symbols_covered", min(1, float64(count[primary])/float64(max(1, touched))), fmt.Sprintf("%d of %d changed symbols are asked about", count[primary], touched)},
	}}, ""
}

// pieces are the symbols of a file that are asked about, in the order of the file: all that are needed, and of the others
// those that the task speaks of, then the first ones.
func (m *maker) pieces(w *work, q query, s *source, word func(int) string, most int) []piece {
	var out []piece
	var order []int
	for i := range s.symbols {
		if s.symbols[i].piece || word(i) == primary {
			order = append(order, i)
		}
	}
	weight := func(i int) int {
		switch word(i) {
		case primary:
			return 3
		case supporting:
			return 2
		}
		if len(q.why(&s.symbols[i])) > 0 {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	order = order[:min(most, len(order))]
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.symbols[a].start, s.symbols[b].start), cmp.Compare(a, b))
	})
	for _, i := range order {
		out = append(out, piece{symbol: &s.symbols[i], word: word(i), why: q.why(&s.symbols[i])})
	}
	return out
}

// why says what speaks for a symbol, as retrieval does.
func (q query) why(s *symbol) []string {
	var out []string
	for _, as := range q.symbols {
		if s.name == as || s.short == as || strings.HasSuffix(s.name, "."+as) {
			out = append(out, "the task names it")
			break
		}
	}
	have := humps(s.short)
	for _, k := range q.keywords {
		if slices.Contains(have, k) {
			out = append(out, "has the word "+k)
		}
	}
	return out[:min(3, len(out))]
}

// line describes a piece as precision does.
func (x piece) line(id string) string {
	s := x.symbol
	text := fmt.Sprintf("%s  %s  %d-%d", id, cut(fence.Line(cmp.Or(s.signature, string(s.kind)+" "+s.short)), 160), s.start, s.end)
	if s.name != s.short {
		text += "  of " + strings.TrimSuffix(s.name, "."+s.short)
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(s.doc), "\n"); first != "" {
		text += fmt.Sprintf("  %q", cut(fence.Line(first), 100))
	}
	if len(x.why) > 0 {
		text += "  — " + fence.Line(strings.Join(x.why, ", "))
	}
	if s.reason != "" {
		text += fmt.Sprintf("  its comment: %q", cut(fence.Line(s.reason), 120))
	}
	return text
}
