package prepare

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// replanned compares a plan that was changed between two sessions with the plan of the run.
type replanned struct {
	rows  []planRow
	same  int  // number of unchanged batches
	moved bool // batches were added, removed or got other keys
	again []string
	note  string // changes outside of batches; "" for none
	info  runner.Info
}

// matching relates the batches of a changed plan to those of the run.
type matching struct {
	changes []planparse.Change
	was     map[string]runner.BatchInfo           // batches of the run by key
	states  map[string]string                     // their states by key
	of      map[*planparse.Batch]runner.BatchInfo // batch of the run for each batch of the plan
	gone    map[string]runner.BatchInfo           // batches of the run that are missing in the plan
	keys    map[string]string                     // keys of the plan by keys of the run
	runKey  func(*planparse.Batch) string         // key that the run used before
}

// planRow describes the change of one batch and what the run will do with it.
type planRow struct {
	rule, number, title, what, then string
	line                            int
	open                            bool // a person may want something other than the default
	batches                         bool // the run then has other batches
}

// replan matches the batches of a changed plan with those of the run, and decides what happens to each. Matched
// batches get the keys that the run uses.
func (x *Prepared) replan(ctx context.Context, then, plan *planparse.Plan, sum runner.Summary) (replanned, error) {
	info := x.Info
	r := replanned{info: info}
	m := matchBatches(then, plan, sum, info)
	r.info.Keys = map[string]string{}
	for from, to := range m.keys {
		if from != to {
			r.info.Keys[from], r.moved = to, true
		}
	}
	plan.Rename(r.info.Keys)
	list, err := x.routedAgain(ctx, plan)
	if err != nil {
		return r, err
	}
	redo, err := redoOf(x.Options.Redo, plan)
	if err != nil {
		return r, err
	}
	for _, c := range m.changes {
		r.row(c, m, list, redo)
	}
	for _, b := range info.Batches { // in the order of the run
		if b, ok := m.gone[b.Key]; ok {
			if m.states[b.Key] != string(runner.Passed) {
				b.Skip = removedFromPlan
			}
			b.Needs, b.Early = nil, nil
			list = append(list, b)
		}
	}
	if then.Preamble != plan.Preamble {
		r.note = "the text above the first batch changed: batches that start now get the new text"
	}
	r.info.Batches, r.info.PlanDigest, r.info.Title = list, plan.Digest, cmp.Or(redact.Clean(plan.Title), info.Title)
	return r, nil
}

// matchBatches finds the batch of the run for each batch of the plan, and gives new batches a key. A batch that an
// earlier change removed may return.
func matchBatches(then, plan *planparse.Plan, sum runner.Summary, info runner.Info) matching {
	m := matching{
		changes: planparse.Compare(then, plan), states: map[string]string{},
		was: lists.By(info.Batches, func(b runner.BatchInfo) string { return b.Key }),
		of:  map[*planparse.Batch]runner.BatchInfo{}, keys: map[string]string{},
		runKey: func(b *planparse.Batch) string { return cmp.Or(info.Keys[b.Key], b.Key) },
	}
	for _, b := range sum.Batches {
		m.states[b.Key] = b.State
	}
	m.gone = maps.Clone(m.was)
	for i := range then.Batches {
		delete(m.gone, m.runKey(&then.Batches[i]))
	}
	for i := range m.changes {
		if c := &m.changes[i]; c.New != nil {
			m.match(c)
		}
	}
	for _, c := range m.changes {
		if c.New == nil {
			b := m.was[m.runKey(c.Old)]
			m.gone[b.Key] = b
		}
	}
	return m
}

// match finds the batch of the run for a batch of the plan, and its key.
func (m *matching) match(c *planparse.Change) {
	if c.Old != nil {
		m.of[c.New] = m.was[m.runKey(c.Old)]
		if m.of[c.New].Digest == journal.BatchDigest(c.New) {
			c.Kind, c.What = planparse.Unchanged, nil
		}
	} else {
		for _, b := range m.gone {
			if b.Digest == journal.BatchDigest(c.New) || b.Title == redact.Clean(c.New.Title) {
				m.of[c.New], c.Kind, c.What = b, planparse.ChangedWork, []string{"it is in the plan again"}
			}
		}
	}
	key := m.of[c.New].Key
	if key == "" {
		key = freeKey(c.New.Key, m.was, m.keys)
	}
	delete(m.gone, key)
	m.keys[c.New.Key] = key
}

// row adds the row of one change. list has the batches of the changed plan in the order of the run.
func (r *replanned) row(c planparse.Change, m matching, list []runner.BatchInfo, redo map[string]bool) {
	if c.New == nil {
		b := m.was[m.runKey(c.Old)]
		r.moved = true
		r.removed(b, m.states[b.Key], c.Old.StartLine)
		return
	}
	i := slices.IndexFunc(list, func(b runner.BatchInfo) bool { return b.Key == c.New.Key })
	old, ok := m.of[c.New]
	if !ok {
		r.moved = true
		r.added(c, &list[i], func(b *planparse.Batch) string { return m.states[m.runKey(b)] }, redo)
		return
	}
	list[i].Sample = old.Sample
	r.kept(c, &list[i], m.states[old.Key], redo)
}

// removedFromPlan is the reason why an unmerged batch is skipped after a change of the plan.
const removedFromPlan = "it is no longer in the plan"

// freeKey returns a key that the run does not use yet. After renumbering, the batch's own key may belong to another
// batch.
func freeKey(key string, was map[string]runner.BatchInfo, given map[string]string) string {
	taken := func(k string) bool {
		_, ok := was[k]
		return ok || slices.Contains(slices.Collect(maps.Values(given)), k)
	}
	out := key
	for n := 1; taken(out); n++ {
		out = key + "-new"
		if n > 1 {
			out += strconv.Itoa(n)
		}
	}
	return out
}

// routedAgain recomputes dependencies, agent and skipping for each batch of a changed plan. The mode and the number of
// workers stay.
func (x *Prepared) routedAgain(ctx context.Context, plan *planparse.Plan) ([]runner.BatchInfo, error) {
	info, flags := x.Info, x.Options.Route
	flags.From, flags.To, flags.Mode = info.Flags["from"], info.Flags["to"], info.Mode
	again := Prepared{App: x.App, Project: x.Project, Plan: plan, File: info.Plan}
	how, err := again.routeOptions(ctx, flags, cmp.Or(x.Options.Agent, info.Agent))
	if err != nil {
		return nil, err
	}
	decision, err := routing.Decide(plan, how)
	if err != nil {
		return nil, planError(info.Plan, err)
	}
	return batchInfos(plan, decision, info.Models), nil
}

// removed adds the row of a batch that the plan no longer has.
func (r *replanned) removed(b runner.BatchInfo, state string, line int) {
	row := planRow{rule: "plan-batch-removed", number: b.Number, title: b.Title, what: "removed", line: line,
		batches: true}
	switch runner.Status(state) {
	case runner.Passed:
		row.then = "its work stays merged"
		row.open = true
	case runner.Waiting, runner.Failed, runner.Skipped:
		row.then = "is not run"
	default:
		row.then = "is stopped; the work of its agent is not merged"
	}
	r.rows = append(r.rows, row)
}

// added adds the row of a batch that the run does not know.
func (r *replanned) added(c planparse.Change, b *runner.BatchInfo, state func(*planparse.Batch) string,
	redo map[string]bool) {
	row := planRow{rule: "plan-batch-new", number: c.New.Called(), title: b.Title, what: "new", line: c.New.StartLine,
		then: "will run", batches: true}
	merged := func(b *planparse.Batch) bool { return state(b) == string(runner.Passed) }
	names := func(list []*planparse.Batch) string {
		return phrase.Join(list, ", ", (*planparse.Batch).Called)
	}
	done := slices.DeleteFunc(slices.Clone(c.Partly), func(b *planparse.Batch) bool { return !merged(b) })
	switch {
	case b.Skip != "":
		row.then = "is not run: " + b.Skip
	case redo[b.Key]:
		row.then = "will run (--redo)"
	case len(c.From) > 0 && len(done) == len(c.From):
		b.Skip = "its tasks were merged with batch " + names(done)
		row.what = "split or merged batches: all its tasks were in batch " + names(c.From)
		row.then, row.open = "is not run: "+b.Skip+"; to run it: --redo "+c.New.Called(), true
	case len(done) > 0:
		row.what = "new; some of its tasks were in batch " + names(done) + ", which is merged"
		row.open = true
	}
	r.rows = append(r.rows, row)
}

// kept adds the row of a batch that the run knows, unless it is unchanged.
func (r *replanned) kept(c planparse.Change, b *runner.BatchInfo, state string, redo map[string]bool) {
	if redo[b.Key] && state == string(runner.Skipped) {
		b.Skip, state = "", string(runner.Waiting)
	}
	row := planRow{number: c.New.Called(), title: b.Title, line: c.New.StartLine}
	if c.Old != nil && c.Old.Number != c.New.Number {
		row.what, row.batches = fmt.Sprintf("was batch %s", c.Old.Called()), true
	}
	says := func(text string) { row.what = strings.TrimPrefix(row.what+"; "+text, "; ") }
	switch c.Kind {
	case planparse.ChangedText:
		row.rule = "plan-batch-reworded"
		says("only its wording was changed")
	case planparse.ChangedWork:
		row.rule = "plan-batch-changed"
		says(redact.Clean(phrase.Few(c.What, mostDifferences)))
	case planparse.Unchanged:
		if row.what == "" {
			r.same++
		}
		row.rule = "plan-batch-moved"
	}
	if c.Unsure {
		says("title and text differ so much that it may be different work")
	}
	work := c.Kind == planparse.ChangedWork
	switch {
	case runner.Status(state) == runner.Passed:
		b.Skip, row.then = "", "stays merged"
		if redo[b.Key] {
			row.then = "is run again (--redo)"
			row.what = cmp.Or(row.what, "unchanged")
		} else if work {
			row.rule = "plan-batch-changed-after-merge"
			row.then, row.open = "stays merged unchanged; to run it again: --redo "+c.New.Called(), true
		}
	case b.Skip != "":
		row.then = "is not run: " + b.Skip
	case runner.Status(state) == runner.Waiting, runner.Status(state) == runner.Skipped:
		row.then = "will run with the new text"
	case runner.Status(state) == runner.Failed:
		row.then = "is tried again with the new text"
	case work:
		r.again = append(r.again, b.Key)
		row.then = "starts again: its candidate was made from the old text"
	default:
		row.then = "continues; further attempts get the new text"
	}
	if row.what != "" {
		r.rows = append(r.rows, row)
	}
}

// mostDifferences is the highest number of differences listed for a batch.
const mostDifferences = 5

func (r replanned) summary() string {
	count := lists.Counts(r.rows, func(row planRow) string { return row.rule })
	var out []string
	for _, k := range []struct{ rule, word string }{
		{"plan-batch-changed-after-merge", "changed after merge"}, {"plan-batch-changed", "changed"},
		{"plan-batch-reworded", "reworded"},
		{"plan-batch-moved", "renumbered"}, {"plan-batch-new", "new"}, {"plan-batch-removed", "removed"},
	} {
		if n := count[k.rule]; n > 0 {
			out = append(out, phrase.Count(n, "batch")+" "+k.word)
		}
	}
	if r.note != "" {
		out = append(out, "text outside of its batches")
	}
	if len(out) == 0 {
		out = append(out, "no batch differs")
	}
	return strings.Join(out, ", ")
}

// report returns the change as a report for the journal and the report of the run.
func (r replanned) report(path string) gates.Report {
	out := gates.Report{Gate: "plan", Status: gates.Pass, Note: r.summary()}
	for _, row := range r.rows {
		f := gates.Finding{Rule: row.rule, Path: path, Line: row.line, Severity: gates.Note,
			Message: fmt.Sprintf("batch %s (%s): %s: %s", row.number, row.title, row.what, row.then)}
		if row.rule == "plan-batch-removed" {
			f.Line = 0 // the new plan does not have the lines of the old one
		}
		if row.open {
			f.Severity, out.Status = gates.Warning, gates.Warn
		}
		out.Findings = append(out.Findings, f)
	}
	if r.note != "" {
		out.Findings = append(out.Findings,
			gates.Finding{Rule: "plan-preamble", Path: path, Severity: gates.Note, Message: r.note})
	}
	return out
}

// showReplanned prints what happens to each batch: as a table, or with --json as a report.
func showReplanned(a *cli.App, r replanned, path string, o *RunOptions) error {
	if o.JSON {
		return cli.AsJSON(a.Hiding(), r.report(path))
	}
	var w io.Writer = a.Stderr
	if o.DryRun {
		w = a.Stdout
	}
	var rows ui.Rows
	for _, row := range r.rows {
		rows.Add(row.number, ui.Brief(row.title, 40), row.what, row.then)
	}
	if len(rows) > 0 {
		ui.Table(w, []string{"batch", "title", "change", "effect"}, rows)
	}
	if r.note != "" {
		fmt.Fprintln(w, r.note)
	}
	_, err := fmt.Fprintf(w, "%s as before\n", phrase.Count(r.same, "batch"))
	return err
}
