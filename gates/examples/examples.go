// Package examples makes a gate of the examples of a batch: calls that the plan shows with their results, such as
// `slugify("a b")` returns `"a-b"`. It makes the calls on the tree, in the language of the code, and compares.
//
// A call is not decided if it cannot be made here: its function is not in the tree, its file does not load, or it needs
// files or a network. A call that returned the shown result before the batch, and no longer does, is not decided
// either, unless the plan demands the result: it may describe a fault.
package examples

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
)

// Name of the gate.
const Name = "plan:examples"

// Rule is the rule of an example whose call has another result than the plan shows.
const Rule = "plan/example-differs"

// most is the limit of examples that are checked.
const most = 40

// Options sets how examples are checked.
type Options struct {
	Severity gates.Severity  // of an example that differs; "" is error
	Files    func() []string // returns the paths of the tree's files, with slashes
	Base     gates.Room      // makes the tree of the base; nil compares with no base
}

// Gate returns the gate of a batch; ok is false if the batch shows no examples.
func Gate(b *planparse.Batch, o Options) (g gates.Gate, ok bool) {
	o.Severity = cmp.Or(o.Severity, gates.Error)
	more := prepared(b.Text)
	list := append(lists.Filter(Find(b.Text), func(e Example) bool {
		return !slices.ContainsFunc(more, func(m Example) bool { return m.Line == e.Line })
	}), more...)
	if len(list) == 0 {
		return nil, false
	}
	list = list[:min(len(list), most)]
	info := gates.Info{Name: Name, Kind: gates.Static, Cost: gates.Costly, Blocking: true, Compares: true,
		Command: phrase.Count(len(list), "example", "examples") + " of the plan"}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error { return o.look(ctx, l, list) }), true
}

// state tells whether an example holds.
type state string

const (
	holds   state = "holds"
	differs state = "differs"
	unknown state = "unknown"
)

// result is the result of an example: its state, and why.
type result struct {
	State state  `json:"state"`
	What  string `json:"what"`
	Shown string `json:"shown"` // what the call returned, as code
	Text  string `json:"text"`  // and as it prints
}

func (o Options) look(ctx context.Context, l *gates.Look, list []Example) error {
	now, err := o.evaluate(ctx, l, list)
	if err != nil {
		return err
	}
	wrong := []int{}
	for i, r := range now {
		if r.State == differs {
			wrong = append(wrong, i)
		}
	}
	before, err := o.before(ctx, l, lists.Map(wrong, func(i int) Example { return list[i] }))
	if err != nil {
		return err
	}
	for at, i := range wrong {
		e := list[i]
		if before[at].State == holds && !e.Firm {
			now[i] = result{State: unknown,
				What: "the call had this result before the batch, and the plan may only describe a fault"}
			continue
		}
		shown := "returns " + e.Want
		if e.Raises != "" {
			shown = "raises " + e.Raises
		}
		l.Find(gates.Finding{Rule: Rule, Severity: o.Severity,
			Message: fmt.Sprintf("the plan shows that %s %s, but %s", shorten(e.Call), shorten(shown), now[i].What),
			Fix:     "correct the code, not only its tests"})
	}
	count := func(s state) int { return lists.Count(now, func(r result) bool { return r.State == s }) }
	tell := l.Note
	if count(unknown) == len(list) {
		tell = l.Skip // nothing was checked
	}
	tell("%d of %s as shown", count(holds), phrase.Count(len(list), "example", "examples"))
	for i, r := range now {
		if r.State == unknown {
			l.Note("not decided: %s: %s", shorten(list[i].Call), shorten(r.What))
		}
	}
	return nil
}

func shorten(text string) string { return phrase.Fit(strings.ReplaceAll(text, "\n", " "), 200) }

// before evaluates examples on the base of the change.
func (o Options) before(ctx context.Context, l *gates.Look, list []Example) ([]result, error) {
	out := make([]result, len(list))
	s := l.Subject()
	if len(list) == 0 || o.Base == nil || s.Base == "" {
		return out, nil
	}
	s.Tree, s.Changed, s.Diff, s.Before, s.Fresh = "", nil, nil, nil, nil
	dir, _, done, err := o.Base(ctx, s)
	if done != nil {
		defer done()
	}
	if err != nil {
		return nil, fmt.Errorf("make a tree of the base: %w", err)
	}
	s.Dir = dir
	g := gates.New(gates.Info{Name: Name + "-base"}, func(ctx context.Context, l *gates.Look) (err error) {
		out, err = o.evaluate(ctx, l, list)
		return err
	})
	_, err = g.Check(ctx, s)
	return out, err
}

// evaluate makes the calls. If several files have the function of an example, the example holds if it holds for one of
// them. An example that differs is tried again alone, because calls before it may have changed the state of the program.
func (o Options) evaluate(ctx context.Context, l *gates.Look, list []Example) ([]result, error) {
	out := make([]result, len(list))
	for i := range out {
		out[i] = result{State: unknown, What: "no file of Go, Python, JavaScript or Ruby defines " + list[i].leads()[0].root()}
	}
	for _, j := range o.jobs(l.Subject(), list) {
		found, err := j.run(ctx, l)
		if err != nil {
			return nil, err
		}
		for at, r := range found {
			again := j.cases[at]
			if again.Other != "" {
				again.Call = again.Other
			}
			if r.State == differs && (len(found) > 1 || again.Other != "") {
				alone, err := job{j.driver, []call{again}}.run(ctx, l)
				if err != nil {
					return nil, err
				}
				if again.Other == "" || alone[0].State != differs {
					r = alone[0]
				}
			}
			if c := j.cases[at]; r.State == differs && c.Bare != c.Setup {
				c.Setup = c.Bare
				bare, err := job{j.driver, []call{c}}.run(ctx, l)
				if err != nil {
					return nil, err
				}
				if bare[0].State == holds {
					r = result{State: unknown, What: "the call has this result even without the calls before it"}
				}
			}
			if i := j.cases[at].index; out[i].State != holds && (r.State != unknown || out[i].State == unknown) {
				out[i] = r
			}
		}
	}
	return out, nil
}

// jobs finds the files that define the functions of examples, and groups the calls by the program that makes them. Files
// of the change come before others.
func (o Options) jobs(s gates.Subject, list []Example) (out []job) {
	changes := func(f file) bool { return slices.Contains(s.Changed, f.path) }
	leads := lists.Map(list, Example.leads)
	files := source(s.Dir, o.Files(), func(f file) bool {
		found := changes(f) && f.nameless()
		for i := 0; i < len(list) && !found; i++ {
			found = f.isOf(list[i].Lang) && slices.ContainsFunc(leads[i], f.defines)
		}
		return found
	})
	for i, e := range list {
		var lead Example
		var found []file
		for _, lead = range leads[i] {
			if found = lists.Filter(files, func(f file) bool { return f.isOf(e.Lang) && f.defines(lead) }); len(found) > 0 {
				break
			}
		}
		if len(found) == 0 && e.Setup == "" { // code may import what has no name of its own under any name
			found = lists.Filter(files, func(f file) bool { return changes(f) && f.nameless() })
		}
		if changed := lists.Filter(found, changes); len(changed) > 0 {
			found = changed
		}
		slices.SortStableFunc(found, func(a, b file) int { return rank(a, lead) - rank(b, lead) })
		for _, f := range found[:min(len(found), 3)] {
			c := call{Example: e, index: i, File: f.path, Root: lead.root(), Alias: !f.defines(lead)}
			d := ways[path.Ext(f.path)].driver(c, f.text)
			at := slices.IndexFunc(out, func(j job) bool { return j.driver.key == d.key })
			if at < 0 {
				at = len(out)
				out = append(out, job{driver: d})
			}
			out[at].cases = append(out[at].cases, c)
		}
	}
	return out
}

// rank returns the place of a file among those that define a function: a file of its name is first.
func rank(f file, e Example) int {
	if f.named(e.root()) || f.importedAs(e.root()) {
		return 0
	}
	return 1
}
