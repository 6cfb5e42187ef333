package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner/briefing"
	"github.com/runplan/runplan/training/edits"
)

// What is shown of a changed file.
const (
	wholeLines  = 250 // so short a file is shown as a whole
	symbolLines = 120 // so short a symbol is
	beside      = 3   // lines above and below a quote
)

// context is what retrieval would have found, had it found all that the change needs: the places that change, line by
// line, and what the changed code uses by its signatures.
func (m *maker) context(w *work, answers []edits.Answer) (retrieve.Package, []*source, string) {
	p := retrieve.Package{Task: w.Hash, Budget: m.Budget.Retrieval()}
	var texts []*source
	for i, c := range w.changes {
		if c.before == nil {
			continue
		}
		texts = append(texts, c.before)
		for _, part := range m.shown(c, answers[i]) {
			if part.Altered {
				return p, nil, "a file has characters that no prompt shows"
			}
			p.Parts = append(p.Parts, part)
		}
	}
	must := len(p.Parts)
	for _, d := range w.deps {
		texts = append(texts, d.source)
		for _, u := range d.uses {
			for _, i := range d.find(u) {
				if x := &d.symbols[i]; x.short == u && x.piece {
					p.Parts = append(p.Parts, m.described(d.source, x, d.tier))
				}
			}
		}
	}
	p = p.Trimmed(p.Budget, m.Budget)
	kept := 0
	for _, part := range p.Parts {
		if part.Detail == retrieve.Primary {
			kept++
		}
	}
	if kept < must {
		return p, nil, "what changes has no room in the context"
	}
	paths := p.Paths()
	texts = slices.DeleteFunc(texts, func(s *source) bool { return !slices.Contains(paths, s.path) })
	return p, texts, ""
}

// edits are what a model has to answer to make the change.
func (c *change) edits() (edits.Answer, error) {
	e := edits.Change{Path: c.path, Made: c.before == nil, Deleted: c.after == nil, Hunks: c.hunks}
	if c.before != nil {
		e.Before = c.before.ended
	}
	if c.after != nil {
		e.After = c.after.ended
	}
	return e.Write()
}

// lineSpan is a run of lines, counted from 1.
type lineSpan struct {
	from, to int
	symbol   *symbol // that it is
}

// shown are the parts of a file that change, and all lines that the edits quote, with a few around them.
func (m *maker) shown(c *change, answer edits.Answer) []retrieve.Part {
	s := c.before
	if len(s.lines) <= wholeLines {
		return []retrieve.Part{m.whole(s, lineSpan{1, len(s.lines), nil})}
	}
	var spans []lineSpan
	for _, b := range answer.Blocks {
		spans = append(spans, lineSpan{max(1, b.From+1-beside), min(len(s.lines), b.To+beside), nil})
	}
	for _, i := range c.touched {
		if x := &s.symbols[i]; x.end-x.start < symbolLines {
			spans = append(spans, lineSpan{s.above(x.start), x.end, x})
		}
	}
	if len(spans) == 0 { // it is deleted
		spans = append(spans, lineSpan{1, 40, nil})
	}
	slices.SortStableFunc(spans, func(a, b lineSpan) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	merged := spans[:1]
	for _, x := range spans[1:] {
		last := &merged[len(merged)-1]
		switch {
		case x.from > last.to+2:
			merged = append(merged, x)
		case x.to > last.to || x.from == last.from && x.to == last.to && last.symbol == nil:
			same := x.from == last.from && x.to == last.to
			if last.to = max(last.to, x.to); same || last.from == x.from {
				last.symbol = x.symbol
			} else {
				last.symbol = nil
			}
		}
	}
	var out []retrieve.Part
	for _, x := range merged {
		out = append(out, m.whole(s, x))
	}
	return out
}

// whole shows lines as they stand in a file.
func (m *maker) whole(s *source, x lineSpan) retrieve.Part {
	raw := s.span(x.from, x.to)
	p := retrieve.Part{Path: s.path, Kind: "file", Start: x.from, End: min(x.to, len(s.lines)), Tier: 1, Detail: retrieve.Primary, Whole: true, Why: "it changes"}
	if x.symbol != nil {
		p.Symbol, p.Kind = x.symbol.name, string(x.symbol.kind)
	}
	if p.Text = fence.Clean(raw); p.Text != raw { // the file as it is was looked at
		p.Text = m.sentry.hide(p.Text)
	}
	p.Altered = p.Text != raw
	p.Tokens = m.Budget.Of(p.String())
	return p
}

// described shows a symbol by its signature and its documentation, and a class with the signatures of what is in it.
func (m *maker) described(s *source, x *symbol, tier int) retrieve.Part {
	text := cmp.Or(x.signature, string(x.kind)+" "+x.name)
	if doc := strings.TrimSpace(x.doc); doc != "" {
		text += "\n" + indented(doc)
	}
	if x.kind == outline.Class {
		var members []string
		for i := range s.symbols {
			if y := &s.symbols[i]; y.start > x.start && y.end <= x.end {
				members = append(members, fmt.Sprintf("%s  (line %d)", cut(cmp.Or(y.signature, string(y.kind)+" "+y.short), 200), y.start))
			}
		}
		if len(members) > 0 {
			text += "\n" + indented(strings.Join(members, "\n"))
		}
	}
	p := retrieve.Part{
		Path: s.path, Symbol: x.name, Kind: string(x.kind), Start: x.start, End: x.end, Tier: tier, Detail: retrieve.Supporting, Why: "the change uses it",
		Text: m.sentry.hide(fence.Clean(text)),
	}
	p.Tokens = m.Budget.Of(p.String())
	return p
}

func indented(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = "    " + l
		}
	}
	return strings.Join(lines, "\n")
}

// order is the order in which files are changed: what others use first, tests last.
func (w *work) order() []int {
	var out []int
	for i := range w.changes {
		out = append(out, i)
	}
	uses := func(a, b int) bool { // a names what b makes or changes
		x, y := w.changes[a], w.changes[b]
		if x.after == nil || y.after == nil || x == y {
			return false
		}
		text := map[string]bool{}
		for _, h := range x.hunks {
			for word := range words(x.after.span(h.NewFrom+1, h.NewTo)) {
				text[word] = true
			}
		}
		return slices.ContainsFunc(y.made, func(i int) bool { s := &y.after.symbols[i]; return s.telling() && text[s.short] })
	}
	rank := make([]int, len(w.changes))
	for i, c := range w.changes {
		if isTest(c.path) {
			rank[i] = 100
		}
		for j := range w.changes {
			if uses(i, j) && !uses(j, i) {
				rank[i]++
			}
		}
	}
	slices.SortStableFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(w.changes[a].path, w.changes[b].path))
	})
	return out
}

// code teaches the edits: they are the commit, and the context is the code before it (TRAIN-12).
func (m *maker) code(w *work, q query, s shared) (lesson, string) {
	if s.bad != "" {
		return lesson{}, s.bad
	}
	plan, err := taskPlan(q.text)
	if err != nil {
		return lesson{}, "its message is no task that a plan can hold"
	}
	brief := briefing.Compose(briefing.Input{PlanTitle: plan.Title, Preamble: plan.Preamble, Batch: plan.Batches[0], Attempt: 1})
	l, bad := m.solver("execute_code", map[string]string{"context": s.context.Text(), "brief": brief.Text})
	if bad != "" {
		return l, bad
	}
	var blocks []string
	for _, i := range w.order() {
		blocks = append(blocks, s.answers[i].Text)
	}
	l.completion, l.texts = strings.Join(blocks, "\n"), slices.Clone(s.texts)
	for _, c := range w.changes {
		if c.after != nil {
			l.texts = append(l.texts, c.after)
		}
	}
	l.signals = []signal{{"edits_match", 1, fmt.Sprintf("the edits of %d files were carried out, and make what was committed", len(w.changes))}}
	return l, m.fits(l)
}

// plan teaches the plan: the files of the commit, what is done to each, and in which order (TRAIN-12).
func (m *maker) plan(w *work, q query, s shared) (lesson, string) {
	if s.bad != "" {
		return lesson{}, s.bad
	}
	l, bad := m.solver("execute_plan", map[string]string{"context": s.context.Text(), "brief": fence.Clean(q.text)})
	if bad != "" {
		return l, bad
	}
	subject, body, _ := strings.Cut(q.text, "\n")
	b := solver.ArtifactBatch{Title: solver.Title(conventional.ReplaceAllString(subject, ""), "Change the code"), Rationale: cut(strings.TrimSpace(body), 1000), DependsOn: []int{}}
	b.Files = solver.ArtifactFiles{Create: []string{}, Modify: []string{}, Test: []string{}, Delete: []string{}}
	for _, i := range w.order() {
		c := w.changes[i]
		to := &b.Files.Modify
		switch {
		case c.after == nil:
			to = &b.Files.Delete
		case isTest(c.path):
			to = &b.Files.Test
		case c.before == nil:
			to = &b.Files.Create
		}
		*to = append(*to, c.path)
		b.Tasks = append(b.Tasks, c.task())
	}
	a := solver.Artifact{Title: b.Title, Goal: q.intent, Batches: []solver.ArtifactBatch{b}}
	if err := m.paths.readable(a); err != nil {
		// A message that no plan can hold in its rationale is said in its first line.
		a.Batches[0].Rationale = ""
		if err := m.paths.readable(a); err != nil {
			return l, "its plan would not be read as one"
		}
	}
	l.completion, l.texts = marshal(a), s.texts
	l.signals = []signal{{"plan_reads", 1, "the plan is read as what it says"}}
	return l, m.fits(l)
}

// task says in a few words what is done to a file.
func (c *change) task() string {
	names := func(s *source, which []int, but func(string) bool) []string {
		var out []string
		for _, i := range which {
			if n := s.symbols[i].name; !but(n) && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
		return out
	}
	has := func(s *source, name string) bool {
		return s != nil && slices.ContainsFunc(s.symbols, func(x symbol) bool { return x.name == name })
	}
	switch {
	case c.after == nil:
		return "Delete " + c.path
	case c.before == nil:
		return cut(joined("Create "+c.path, " with ", names(c.after, c.made, func(string) bool { return false })), 2000)
	}
	changed := names(c.before, c.touched, func(n string) bool { return !has(c.after, n) })
	added := names(c.after, c.made, func(n string) bool { return has(c.before, n) })
	gone := names(c.before, c.touched, func(n string) bool { return has(c.after, n) })
	text := "In " + c.path
	for _, x := range []struct {
		verb  string
		names []string
	}{{" change ", changed}, {" add ", added}, {" remove ", gone}} {
		if len(x.names) > 0 {
			if !strings.HasSuffix(text, c.path) {
				text += ","
			}
			text = joined(text, x.verb, x.names)
		}
	}
	if text == "In "+c.path {
		text += " change what stands outside of its functions and types"
	}
	return cut(text, 2000)
}

func joined(text, verb string, names []string) string {
	if len(names) == 0 {
		return text
	}
	more := ""
	if len(names) > 6 {
		more, names = fmt.Sprintf(" and %d more", len(names)-6), names[:6]
	}
	return text + verb + strings.Join(names, ", ") + more
}

// parsedPlan is the plan of a task, as the parser reads it.
func parsedPlan(title, task string) (*planparse.Plan, error) {
	var err error
	for _, body := range []string{strings.TrimRight(task, "\n") + "\n", fence.Around("text", task)} {
		var p *planparse.Plan
		p, err = planparse.Parse("task", []byte(fmt.Sprintf("# %s\n\n## Batch 1: %s\n\n%s", title, title, body)))
		if err == nil && len(p.Errors()) == 0 && p.Format == planparse.FormatRunPlan && len(p.Batches) == 1 && p.Batches[0].Title == title &&
			p.Batches[0].When == "" && len(p.Batches[0].DependsOn) == 0 && !p.Batches[0].Done() && strings.TrimSpace(p.Batches[0].Text) == strings.TrimSpace(body) {
			return p, nil
		}
	}
	return nil, cmp.Or(err, fmt.Errorf("it reads as more than one batch"))
}

// solver fills in a prompt of the solver.
func (m *maker) solver(name string, values map[string]string) (lesson, string) {
	system, err := m.Solver.Render(name+"_system", nil)
	if err != nil {
		return lesson{}, err.Error()
	}
	prompt, err := m.Solver.Render(name, values)
	if err != nil {
		return lesson{}, err.Error()
	}
	return lesson{system: system, prompt: prompt}, ""
}

// fits tells what is wrong with the length of a lesson.
func (m *maker) fits(l lesson) string {
	if m.Budget.Of(l.system+l.prompt)+tokens.Estimate(l.completion) > m.Budget.Window {
		return "question and answer have no room in the window"
	}
	return ""
}
