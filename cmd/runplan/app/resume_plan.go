package app

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
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
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

// planRow describes the change of one batch and what the run will do with it.
type planRow struct {
	rule, number, title, what, then string
	line                            int
	open                            bool // a person may want something other than the default
}

// planOfResume returns the plan for a resumed run: the file, if it is the plan that the run started with. A changed
// plan is rejected unless the user accepts it.
func planOfResume(ctx context.Context, a *cli.App, p *cli.Project, file string, sum runner.Summary, info *runner.Info, o *runOptions) (*planparse.Plan, []byte, *local.Change, error) {
	stored, fresh, err := lastPlan(ctx, p, sum.Run)
	if err != nil {
		return nil, nil, nil, err
	}
	then, err := planparse.Parse(info.Plan, stored)
	if err != nil {
		return nil, nil, nil, err
	}
	a.HideTitles(p, then)
	known := func(plan *planparse.Plan, text []byte) (*planparse.Plan, []byte, *local.Change, error) {
		plan.Rename(info.Keys)
		return plan, text, nil, nil
	}
	plan, text, err := cli.ReadPlan(file)
	if err != nil {
		if then.Digest != info.PlanDigest {
			return nil, nil, nil, cli.Fail(cli.ExitCannotRun, fmt.Errorf("%s is missing, and the copy in the journal is not complete: secrets were removed from it", info.Plan), "restore the plan file")
		}
		fmt.Fprintf(a.Stderr, "runplan: %s was deleted; the run continues with the copy in the journal\n", info.Plan)
		return known(then, stored)
	}
	a.HideTitles(p, plan)
	if plan.Digest == info.PlanDigest {
		return known(plan, text)
	}
	if planparse.SameButTicks(stored, []byte(a.Redactor(p).String(string(text)))) && fresh { // ticks of the run
		if then.Digest == info.PlanDigest {
			return known(then, stored)
		}
		return known(plan, text) // the copy in the journal has its secrets removed
	}
	if err := cli.Invalid(file, plan); err != nil {
		return nil, nil, nil, err
	}
	r, err := replan(ctx, a, p, then, plan, sum, *info, o)
	if err != nil {
		return nil, nil, nil, err
	}
	if !o.accept || o.dryRun || !o.json {
		if err := showReplanned(a, r, info.Plan, o); err != nil {
			return nil, nil, nil, err
		}
	}
	switch {
	case o.dryRun:
	case !o.accept:
		return nil, nil, nil, cli.Usage(fmt.Errorf("%w: %s (%s)", local.ErrPlanChanged, info.Plan, r.summary()),
			"undo the change; or continue as shown above: runplan resume %s --accept-changes; or start a new run: %s", sum.Run[:8], afresh(info.Agent, info.Plan))
	case r.moved && info.Flags[cli.EngineFlag] != "":
		return nil, nil, nil, cli.Usage(fmt.Errorf("%w: %s has other batches than the run, which is on engine %s", local.ErrPlanChanged, info.Plan, info.Flags[cli.EngineFlag]),
			"start afresh: %s", afresh(info.Agent, info.Plan))
	}
	*info = r.info
	return plan, text, &local.Change{Report: r.report(info.Plan), Anew: r.again}, nil
}

// lastPlan reads the plan of a run as last accepted.
func lastPlan(ctx context.Context, p *cli.Project, run string) (text []byte, fresh bool, err error) {
	j, err := p.OpenJournal(ctx)
	if err != nil {
		return nil, false, err
	}
	defer j.Close()
	return local.PlanText(ctx, j, p.Layout, run)
}

// replan matches the batches of a changed plan with those of the run, and decides what happens to each. Matched
// batches get the keys that the run uses.
func replan(ctx context.Context, a *cli.App, p *cli.Project, then, plan *planparse.Plan, sum runner.Summary, info runner.Info, o *runOptions) (replanned, error) {
	r := replanned{info: info}
	changes := planparse.Compare(then, plan)
	was, states := map[string]runner.BatchInfo{}, map[string]string{}
	for _, b := range info.Batches {
		was[b.Key] = b
	}
	for _, b := range sum.Batches {
		states[b.Key] = b.State
	}
	runKey := func(b *planparse.Batch) string { return cmp.Or(info.Keys[b.Key], b.Key) }
	gone := map[string]runner.BatchInfo{} // removed by an earlier change of the plan
	maps.Copy(gone, was)
	for i := range then.Batches {
		delete(gone, runKey(&then.Batches[i]))
	}
	keys, of := map[string]string{}, map[*planparse.Batch]runner.BatchInfo{}
	for i := range changes {
		c := &changes[i]
		switch {
		case c.New == nil:
			continue
		case c.Old != nil:
			of[c.New] = was[runKey(c.Old)]
			if of[c.New].Digest == local.BatchDigest(c.New) {
				c.Kind, c.What = planparse.Unchanged, nil
			}
		default:
			for _, b := range gone {
				if b.Digest == local.BatchDigest(c.New) || b.Title == redact.Clean(c.New.Title) {
					of[c.New], c.Kind, c.What = b, planparse.ChangedWork, []string{"it is in the plan again"}
				}
			}
		}
		key := of[c.New].Key
		if key == "" {
			key = freeKey(c.New.Key, was, keys)
		}
		delete(gone, key)
		if key != c.New.Key {
			r.moved = true
		}
		keys[c.New.Key] = key
	}
	r.info.Keys = map[string]string{}
	for from, to := range keys {
		if from != to {
			r.info.Keys[from] = to
		}
	}
	plan.Rename(r.info.Keys)
	list, err := routedAgain(ctx, a, p, plan, info, o)
	if err != nil {
		return r, err
	}
	redo, err := redoOf(o.redo, plan)
	if err != nil {
		return r, err
	}
	for _, c := range changes {
		if c.New == nil {
			b := was[runKey(c.Old)]
			gone[b.Key] = b
			r.moved = true
			r.removed(b, states[b.Key], c.Old.StartLine)
			continue
		}
		i := slices.IndexFunc(list, func(b runner.BatchInfo) bool { return b.Key == c.New.Key })
		if old, ok := of[c.New]; ok {
			list[i].Sample = old.Sample
			r.kept(c, &list[i], states[old.Key], redo)
		} else {
			r.moved = true
			r.added(c, &list[i], func(b *planparse.Batch) string { return states[runKey(b)] }, redo)
		}
	}
	for _, b := range info.Batches { // in the order of the run
		if b, ok := gone[b.Key]; ok {
			if states[b.Key] != string(runner.Passed) {
				b.Skip = removedFromPlan
			}
			b.Needs, b.Early = nil, nil
			list = append(list, b)
		}
	}
	if then.Preamble != plan.Preamble {
		r.note = "the text above the first batch changed: batches that start from now on get the new one"
	}
	r.info.Batches, r.info.PlanDigest, r.info.Title = list, plan.Digest, cmp.Or(redact.Clean(plan.Title), info.Title)
	return r, nil
}

// removedFromPlan is the reason why an unmerged batch is skipped after a change of the plan.
const removedFromPlan = "it is no longer in the plan"

// freeKey returns a key that the run does not use yet. After renumbering, the batch's own key may belong to another
// batch.
func freeKey(key string, was map[string]runner.BatchInfo, given map[string]string) string {
	taken := func(k string) bool {
		if _, ok := was[k]; ok {
			return true
		}
		for _, g := range given {
			if g == k {
				return true
			}
		}
		return false
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
func routedAgain(ctx context.Context, a *cli.App, p *cli.Project, plan *planparse.Plan, info runner.Info, o *runOptions) ([]runner.BatchInfo, error) {
	flags := o.route
	flags.from, flags.to = info.Flags["from"], info.Flags["to"]
	flags.mode = info.Mode
	how, _, _, err := routeOptions(ctx, a, p, info.Plan, plan, flags, cmp.Or(o.agent, info.Agent))
	if err != nil {
		return nil, err
	}
	decision, err := routing.Decide(plan, how)
	if err != nil {
		return nil, planError(info.Plan, err)
	}
	fresh := runner.Info{Models: info.Models}
	routed(&fresh, plan, decision, p.Config.Routing, !info.Speculate)
	return fresh.Batches, nil
}

// redoOf finds the batches that --redo names, by number or key.
func redoOf(names []string, plan *planparse.Plan) (map[string]bool, error) {
	out := map[string]bool{}
	for _, name := range names {
		i := slices.IndexFunc(plan.Batches, func(b planparse.Batch) bool { return b.Number == name })
		if i < 0 {
			i = slices.IndexFunc(plan.Batches, func(b planparse.Batch) bool { return b.Key == name })
		}
		if i < 0 {
			return nil, cli.Usage(fmt.Errorf("--redo %s: the plan has no such batch", name), "runplan parse shows the numbers of the batches")
		}
		out[plan.Batches[i].Key] = true
	}
	return out, nil
}

// removed adds the row of a batch that the plan no longer has.
func (r *replanned) removed(b runner.BatchInfo, state string, line int) {
	row := planRow{rule: "plan-batch-removed", number: b.Number, title: b.Title, what: "removed", line: line}
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
func (r *replanned) added(c planparse.Change, b *runner.BatchInfo, state func(*planparse.Batch) string, redo map[string]bool) {
	row := planRow{rule: "plan-batch-new", number: c.New.Number, title: b.Title, what: "new", line: c.New.StartLine, then: "will run"}
	merged := func(b *planparse.Batch) bool { return state(b) == string(runner.Passed) }
	names := func(list []*planparse.Batch) string {
		var out []string
		for _, b := range list {
			out = append(out, b.Number)
		}
		return strings.Join(out, ", ")
	}
	done := slices.DeleteFunc(slices.Clone(c.Partly), func(b *planparse.Batch) bool { return !merged(b) })
	switch {
	case b.Skip != "":
		row.then = "is not run: " + b.Skip
	case redo[b.Key]:
		row.then = "will run (--redo)"
	case len(c.From) > 0 && len(done) == len(c.From):
		b.Skip = "its tasks were merged with batch " + names(done)
		row.what = "split off or joined: all its tasks were in batch " + names(c.From)
		row.then, row.open = "is not run: "+b.Skip+"; to run it: --redo "+c.New.Number, true
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
	row := planRow{number: c.New.Number, title: b.Title, line: c.New.StartLine}
	if c.Old != nil && c.Old.Number != c.New.Number {
		row.what = fmt.Sprintf("was batch %s", c.Old.Number)
	}
	says := func(text string) { row.what = strings.TrimPrefix(row.what+"; "+text, "; ") }
	switch c.Kind {
	case planparse.ChangedText:
		row.rule = "plan-batch-reworded"
		says("only its wording was changed")
	case planparse.ChangedWork:
		row.rule = "plan-batch-changed"
		says(someOf(c.What))
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
			row.then, row.open = "stays merged as it is; to run it again: --redo "+c.New.Number, true
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

// someOf joins differences. It replaces those above the limit by their number.
func someOf(list []string) string {
	n := min(len(list), mostDifferences)
	text := strings.Join(list[:n], ", ")
	if more := len(list) - n; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return redact.Clean(text)
}

// summary describes the change in one line.
func (r replanned) summary() string {
	count := map[string]int{}
	for _, row := range r.rows {
		count[row.rule]++
	}
	var out []string
	for _, k := range []struct{ rule, word string }{
		{"plan-batch-changed-after-merge", "changed after merge"}, {"plan-batch-changed", "changed"}, {"plan-batch-reworded", "reworded"},
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
			f.Line = 0 // lines of the old plan have no place in this text
		}
		if row.open {
			f.Severity, out.Status = gates.Warning, gates.Warn
		}
		out.Findings = append(out.Findings, f)
	}
	if r.note != "" {
		out.Findings = append(out.Findings, gates.Finding{Rule: "plan-preamble", Path: path, Severity: gates.Note, Message: r.note})
	}
	return out
}

// showReplanned prints what happens to each batch: as a table, or with --json as a report.
func showReplanned(a *cli.App, r replanned, path string, o *runOptions) error {
	if o.json {
		return cli.AsJSON(a.Hiding(), r.report(path))
	}
	var w io.Writer = a.Stderr
	if o.dryRun {
		w = a.Stdout
	}
	var rows [][]string
	for _, row := range r.rows {
		rows = append(rows, []string{ui.Sanitize(row.number), ui.Cut(ui.Sanitize(row.title), 40, "…"), ui.Sanitize(row.what), ui.Sanitize(row.then)})
	}
	if len(rows) > 0 {
		if err := cli.Table(w, []string{"batch", "title", "what was changed", "what happens"}, rows); err != nil {
			return err
		}
	}
	if r.note != "" {
		fmt.Fprintln(w, r.note)
	}
	_, err := fmt.Fprintf(w, "%s as before\n", phrase.Count(r.same, "batch"))
	return err
}

// redoMerged returns the merged batches that --redo names. The plan is unchanged, so --redo may name no others.
func redoMerged(o *runOptions, plan *planparse.Plan, sum runner.Summary) ([]string, error) {
	redo, err := redoOf(o.redo, plan)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, b := range sum.Batches {
		if redo[b.Key] && b.State == string(runner.Passed) {
			out = append(out, b.Key)
		}
	}
	return out, nil
}
