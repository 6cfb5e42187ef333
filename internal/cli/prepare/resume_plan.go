package prepare

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// recallPlan sets the plan of a resumed run: the file, if it is the plan that the run started with. A changed plan is
// rejected unless the user accepts it.
func (x *Prepared) recallPlan(ctx context.Context, sum runner.Summary) error {
	a, p, o, info := x.App, x.Project, &x.Options, &x.Info
	stored, fresh, err := lastPlan(ctx, p, sum.Run)
	if err != nil {
		return err
	}
	then, err := planparse.Parse(info.Plan, stored)
	if err != nil {
		return err
	}
	a.HideTitles(p, then)
	known := func(plan *planparse.Plan, text []byte) error {
		plan.Rename(info.Keys)
		x.Plan, x.Text = plan, text
		return nil
	}
	plan, text, err := cli.ReadPlan(x.File)
	if err != nil {
		if then.Digest != info.PlanDigest {
			return cli.Fail(cli.ExitCannotRun,
				fmt.Errorf("%s is missing, and the copy in the journal is not complete: secrets were removed from it", info.Plan),
				"restore the plan file")
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
	if err := cli.Invalid(x.File, plan); err != nil {
		return err
	}
	r, err := x.replan(ctx, then, plan, sum)
	if err != nil {
		return err
	}
	refusal := r.onEngine(info.Flags[cli.EngineFlag])
	if !o.Accept || o.DryRun || !o.JSON || refusal != "" {
		if err := showReplanned(a, r, info.Plan, o); err != nil {
			return err
		}
	}
	switch {
	case refusal != "":
		return cli.Usage(fmt.Errorf("%w: %s: %s", local.ErrPlanChanged, info.Plan, refusal),
			"undo the added, removed and renumbered batches; or start a new run: %s", afresh(info.Agent, info.Plan))
	case o.DryRun:
	case !o.Accept:
		return cli.Usage(fmt.Errorf("%w: %s (%s)", local.ErrPlanChanged, info.Plan, r.summary()),
			"undo the change; or continue as shown above: runplan resume %s --accept-changes; or start a new run: %s",
			sum.Run[:8], afresh(info.Agent, info.Plan))
	}
	x.Info, x.Plan, x.Text = r.info, plan, text
	x.Change = &local.Change{Report: r.report(info.Plan), Anew: r.again}
	return nil
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

// onEngine returns why an engine of several machines cannot continue with the changed plan, "" if it can. Such an
// engine accepts new texts, but no other batches. The rows then give that reason instead of the effect.
func (r *replanned) onEngine(engine string) string {
	if engine == "" || !r.moved {
		return ""
	}
	var numbers []string
	for i := range r.rows {
		if row := &r.rows[i]; row.batches {
			row.then = "is not possible on engine " + engine
			numbers = append(numbers, row.number)
		}
	}
	return fmt.Sprintf("a run on engine %s accepts changed texts, but no new, removed or renumbered batches (%s)", engine,
		strings.Join(numbers, ", "))
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
			return nil, cli.Usage(fmt.Errorf("--redo %s: the plan has no such batch", name),
				"runplan parse shows the numbers of the batches")
		}
		out[plan.Batches[i].Key] = true
	}
	return out, nil
}

// redoMerged returns the merged batches that --redo names. The plan is unchanged, so --redo may name no others.
func redoMerged(o *RunOptions, plan *planparse.Plan, sum runner.Summary) ([]string, error) {
	redo, err := redoOf(o.Redo, plan)
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
