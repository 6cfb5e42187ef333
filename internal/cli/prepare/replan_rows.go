package prepare

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
)

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
	row := planRow{rule: "plan-batch-new", number: c.New.Number, title: b.Title, what: "new", line: c.New.StartLine,
		then: "will run", batches: true}
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
		row.what = "split or merged batches: all its tasks were in batch " + names(c.From)
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
		row.what, row.batches = fmt.Sprintf("was batch %s", c.Old.Number), true
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
			row.then, row.open = "stays merged unchanged; to run it again: --redo "+c.New.Number, true
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

// summary describes the change in one line.
func (r replanned) summary() string {
	count := map[string]int{}
	for _, row := range r.rows {
		count[row.rule]++
	}
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
	var rows [][]string
	for _, row := range r.rows {
		rows = append(rows, []string{ui.Sanitize(row.number), ui.Cut(ui.Sanitize(row.title), 40, "…"), ui.Sanitize(row.what),
			ui.Sanitize(row.then)})
	}
	if len(rows) > 0 {
		if err := cli.Table(w, []string{"batch", "title", "change", "effect"}, rows); err != nil {
			return err
		}
	}
	if r.note != "" {
		fmt.Fprintln(w, r.note)
	}
	_, err := fmt.Fprintf(w, "%s as before\n", phrase.Count(r.same, "batch"))
	return err
}
