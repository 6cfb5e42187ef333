package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/planparse/draft"
	"github.com/runplan/runplan/runner/briefing"
	"github.com/runplan/runplan/training"
)

// order sorts changed files: used files first, tests last.
func (w *work) order() []int {
	if len(w.changes) == 1 {
		return []int{0}
	}
	var out []int
	comes := make([]map[string]bool, len(w.changes)) // words that a change adds
	for i, c := range w.changes {
		out = append(out, i)
		comes[i] = map[string]bool{}
		for _, h := range c.hunks {
			maps.Copy(comes[i], words(c.now(h)))
		}
	}
	uses := func(a, b int) bool { // a names what b adds or changes
		y := w.changes[b]
		return a != b && y.after != nil &&
			slices.ContainsFunc(y.made, func(i int) bool { s := &y.after.symbols[i]; return s.telling() && comes[a][s.short] })
	}
	rank := make([]int, len(w.changes))
	for i, c := range w.changes {
		if language.IsTest(c.path) {
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

// code teaches the edits: the answer is the commit, and the context is the code before it (TRAIN-12).
func (m *maker) code(w *work, q query, s shared) (lesson, string) {
	if s.bad != "" {
		return lesson{}, s.bad
	}
	first, _, _ := strings.Cut(q.text, "\n")
	plan, _, err := draft.OfTask(phrase.Cut(first, 80), s.task)
	if err != nil {
		return lesson{}, "its message is not a task that a plan can contain"
	}
	brief := briefing.Compose(
		briefing.Input{PlanTitle: plan.Title, Preamble: plan.Preamble, Batch: plan.Batches[0], Attempt: 1})
	l, bad := m.solver("execute_code", map[string]string{"context": s.context, "brief": brief.Text()})
	if bad != "" {
		return l, bad
	}
	l.completion = phrase.Join(s.order, "\n", func(i int) string { return s.answers[i].Text })
	l.texts = slices.Clone(s.texts)
	for _, c := range w.changes {
		if c.after != nil {
			l.texts = append(l.texts, c.after)
		}
	}
	if bad := w.invented(l.prompt); bad != "" {
		return l, bad
	}
	l.signals = []training.Signal{training.Known("edits_match", 1,
		fmt.Sprintf("the edits of %d files were applied, and make the lines of the commit", len(w.changes))),
		w.derivable(l.prompt), s.receipt, w.toldSignal()}
	return l, ""
}

// plan teaches the plan: the files of the commit, the change of each, and their order (TRAIN-12).
func (m *maker) plan(w *work, q query, s shared) (lesson, string) {
	if s.bad != "" {
		return lesson{}, s.bad
	}
	l, bad := m.solver("execute_plan", map[string]string{"context": s.context, "brief": fence.Clean(s.task)})
	if bad != "" {
		return l, bad
	}
	subject, body, _ := strings.Cut(q.text, "\n")
	b := draft.Batch{Title: draft.Title(withoutPrefix(subject), "Change the code"),
		Rationale: phrase.Cut(strings.TrimSpace(body), 1000), DependsOn: []int{}}
	b.Files = draft.Files{Create: []string{}, Modify: []string{}, Test: []string{}, Delete: []string{}}
	for _, i := range s.order {
		c := w.changes[i]
		to := &b.Files.Modify
		switch {
		case c.after == nil:
			to = &b.Files.Delete
		case language.IsTest(c.path):
			to = &b.Files.Test
		case c.before == nil:
			to = &b.Files.Create
		}
		*to = append(*to, c.path)
		b.Tasks = append(b.Tasks, c.task())
	}
	a := draft.Plan{Title: b.Title, Goal: q.intent, Batches: []draft.Batch{b}}
	if readable(a) != nil {
		// If a plan cannot contain the message as its rationale, use the subject line.
		a.Batches[0].Rationale = ""
		if readable(a) != nil {
			return l, "its plan would not be read as one"
		}
	}
	l.completion, l.texts = marshal(a), s.texts
	l.signals = []training.Signal{training.Known("plan_reads", 1, "the parser reads the plan as intended")}
	return l, ""
}

// task briefly describes the change of a file.
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
		return phrase.Cut(joined("Create "+c.path, " with ", names(c.after, c.made, func(string) bool { return false })),
			2000)
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
		text += " change code outside of functions and types"
	}
	return phrase.Cut(text, 2000)
}

func joined(text, verb string, names []string) string {
	if len(names) == 0 {
		return text
	}
	return text + verb + phrase.Few(names, 6)
}

// readable reports whether the parser accepts an artifact as a plan.
func readable(a draft.Plan) error {
	n, err := a.Normal()
	if err == nil {
		err = n.Readable()
	}
	return err
}

// solver renders a prompt of the solver.
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

// fits returns an error if a lesson is too long.
func (m *maker) fits(l lesson) string {
	if m.Budget.Of(l.system, l.prompt)+tokens.Estimate(l.completion) > m.Budget.Window {
		return "question and answer have no room in the window"
	}
	return ""
}
