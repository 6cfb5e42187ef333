package prepare

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
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
		changes: planparse.Compare(then, plan), was: map[string]runner.BatchInfo{}, states: map[string]string{},
		gone: map[string]runner.BatchInfo{},
		of:   map[*planparse.Batch]runner.BatchInfo{}, keys: map[string]string{},
		runKey: func(b *planparse.Batch) string { return cmp.Or(info.Keys[b.Key], b.Key) },
	}
	for _, b := range info.Batches {
		m.was[b.Key] = b
	}
	for _, b := range sum.Batches {
		m.states[b.Key] = b.State
	}
	maps.Copy(m.gone, m.was)
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
		if m.of[c.New].Digest == local.BatchDigest(c.New) {
			c.Kind, c.What = planparse.Unchanged, nil
		}
	} else {
		for _, b := range m.gone {
			if b.Digest == local.BatchDigest(c.New) || b.Title == redact.Clean(c.New.Title) {
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
