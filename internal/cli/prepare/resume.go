package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
)

// recall finds and locks the run to resume, and reads its info and its plan. Present flags and settings change only
// the parts of the info that may change.
func (x *Prepared) recall(ctx context.Context, name string) (err error) {
	a, o := x.App, &x.Options
	if x.Project, err = a.OpenProject(ctx); err != nil {
		return err
	}
	p := x.Project
	sum, err := unfinished(ctx, p, name)
	if err != nil {
		return err
	}
	x.Run = sum.Run
	if err := p.TrustConfig(); err != nil {
		return err
	}
	p.Repo.AllowPrograms()
	if x.lock, err = local.TakeLock(p.Layout.Lock(sum.Slug), time.Now()); err != nil {
		return err
	}
	if x.Found, err = p.Vouch(ctx, sum.Run); err != nil { // before anything in the journal is trusted
		return err
	}
	for _, text := range x.Found {
		fmt.Fprintf(a.Stderr, "runplan: %s\n", redact.Clean(text))
	}
	if x.Info, err = p.Recall(ctx, sum.Run); err != nil {
		return err
	}
	if err := sameConfig(p, &x.Info, o.AcceptConfig); err != nil {
		return err
	}
	if dir, err := p.Repo.CheckedOut(ctx, x.Info.Branch); err != nil {
		return err
	} else if dir != "" {
		return cli.Named("branch-checked-out", cli.Usage(fmt.Errorf(
			"%s is checked out in %s, but the run moves that branch: new files would look deleted there", x.Info.Branch, dir),
			"check out another branch there, such as git checkout %s; then: runplan resume %s",
			cmp.Or(x.Info.BaseBranch, "--detach"), sum.Run[:8]))
	}
	o.Take(x.Info.Flags)
	p.Solver = o.Solver
	if x.others, err = o.Limits.fallbackAgain(x.Info, p.Config.Run); err != nil {
		return err
	}
	o.Limits.again(&x.Info, p.Config.Run)
	x.File = p.PlanFile(x.Info.Plan)
	if err := x.recallPlan(ctx, sum); err != nil {
		return err
	}
	x.Redo, err = redoMerged(o, x.Plan, sum)
	return err
}

// agentsAgain chooses the agents of a resumed run and reports missing ones.
func (x *Prepared) agentsAgain(context.Context) error {
	if err := x.chooseAgain(); err != nil {
		return err
	}
	if missed := x.Agents.missed(); missed != "" {
		fmt.Fprintf(x.App.Stderr, "runplan: %s\n", redact.Clean(missed))
	}
	settings, agent := x.Project.Config.Config, x.agent.name
	x.Info.Agents = x.Agents.infos(settings)
	if x.Info.Agent != agent {
		x.Info.Agent, x.Info.Models = agent, modelsOf(settings, agent)
	}
	return nil
}

func (x *Prepared) chooseAgain() (err error) {
	x.agent, x.Why, err = chooseAgent(x.Project, x.Info.Plan, dueAgain(x.Plan, x.Info.Batches),
		cmp.Or(x.Options.Agent, x.Info.Agent))
	if err != nil {
		return err
	}
	x.Agents, err = runAgentsOf(x.Project, x.Info.Plan, x.agent, x.others)
	return err
}

// dueAgain returns the batches of the plan that a run has and does not skip.
func dueAgain(plan *planparse.Plan, batches []runner.BatchInfo) []*planparse.Batch {
	var out []*planparse.Batch
	for _, b := range batches {
		if pb, ok := plan.Batch(b.Key); ok && b.Skip == "" {
			out = append(out, pb)
		}
	}
	return out
}

// unfinished finds the run for a name: an id, the beginning of an id, a plan, or "". A run whose last event was not
// written by runplan counts as unfinished, even if that event says otherwise.
func unfinished(ctx context.Context, p *cli.Project, name string) (runner.Summary, error) {
	sums, err := p.Summaries(ctx, runner.Filter{})
	if err != nil {
		if s, ok := p.DamagedRun(ctx, name); ok {
			return s, nil
		}
		return runner.Summary{}, err
	}
	if len(sums) == 0 {
		return runner.Summary{}, p.NoRuns()
	}
	path := name
	if name != "" {
		path = p.PlanPath(name)
	}
	finished := false
	for _, s := range sums {
		if !cli.Selects(name, s.Run, s.Slug, s.Plan) && s.Plan != path {
			continue
		}
		if !s.Status.Over() || p.ForgedEnd(ctx, s.Run) {
			return s, nil
		}
		if s.Status == runner.RunDiscarded && name != "" {
			return s, cli.Usage(fmt.Errorf("run %s is not resumed: %s", s.Run[:8], redact.Clean(s.Reason)), "start a new "+
				"run: %s",
				afresh(p, s.Agent, s.Plan))
		}
		finished = true
		if name != "" {
			break
		}
	}
	if finished {
		return runner.Summary{}, cli.Fail(cli.ExitOK, errNothingToDo, "")
	}
	return runner.Summary{}, cli.NoSuchRun(name)
}

// errNothingToDo is shown to the user and counts as success.
var errNothingToDo = errors.New("nothing to resume: all runs are finished")

// errConfigChanged reports that the settings differ from those that the run started with.
var errConfigChanged = errors.New("the configuration changed after the run started")

// sameConfig refuses to resume a run with changed settings unless the user accepts them. Otherwise an agent could
// edit the configuration of the checkout and turn off the gate that stopped it.
func sameConfig(p *cli.Project, info *runner.Info, accept bool) error {
	now := p.Config.Effective()
	changes := config.Changes(storedSettings(info.Settings), now)
	if len(changes) == 0 || info.ConfigDigest == config.DigestOf(now) {
		return nil
	}
	said := func(s *config.Setting) string {
		if s == nil {
			return "built-in value"
		}
		return cmp.Or(redact.Clean(s.Text), "sha256 "+s.Sum)
	}
	var lines []string
	for _, c := range changes {
		from, at := "removed from", c.Old
		if c.New != nil {
			from, at = "from", c.New
		}
		lines = append(lines, fmt.Sprintf("  %s: %s → %s (%s %s)", redact.Clean(c.Key), said(c.Old), said(c.New), from,
			redact.Clean(cli.Rel(at.From))))
	}
	text := strings.Join(lines, "\n")
	if !accept {
		return cli.Named("settings-changed", cli.Usage(fmt.Errorf("%w:\n%s", errConfigChanged, text),
			"undo the change; or continue with the current settings: runplan resume --accept-config"))
	}
	fmt.Fprintf(p.Stderr, "runplan: continues with a changed configuration:\n%s\n", text)
	info.Settings, info.ConfigDigest = settingsOf(now), config.DigestOf(now)
	return nil
}

func settingsOf(all map[string]config.Setting) map[string]runner.Setting {
	out := make(map[string]runner.Setting, len(all))
	for k, s := range all {
		s.Text = redact.Clean(s.Text)
		out[k] = runner.Setting(s)
	}
	return out
}

func storedSettings(all map[string]runner.Setting) map[string]config.Setting {
	out := make(map[string]config.Setting, len(all))
	for k, s := range all {
		out[k] = config.Setting(s)
	}
	return out
}

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
	cli.HideTitles(p.Redactor(), then)
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
	cli.HideTitles(p.Redactor(), plan)
	if plan.Digest == info.PlanDigest {
		return known(plan, text)
	}
	if planparse.SameButTicks(stored, []byte(p.Redactor().String(string(text)))) && fresh { // ticks of the run
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
			"undo the added, removed and renumbered batches; or start a new run: %s", afresh(x.Project, info.Agent, info.Plan))
	case o.DryRun:
	case !o.Accept:
		return cli.Usage(fmt.Errorf("%w: %s (%s)", local.ErrPlanChanged, info.Plan, r.summary()),
			"undo the change; or continue as shown above: runplan resume %s --accept-changes; or start a new run: %s",
			sum.Run[:8], afresh(x.Project, info.Agent, info.Plan))
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
	return journal.PlanText(ctx, j, p.Layout, run)
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
		key := name
		if i := slices.IndexFunc(plan.Batches, func(b planparse.Batch) bool { return b.Number == name }); i >= 0 {
			key = plan.Batches[i].Key
		}
		if _, ok := plan.Batch(key); !ok {
			return nil, cli.Usage(fmt.Errorf("--redo %s: the plan has no such batch", name),
				"runplan parse shows the numbers of the batches")
		}
		out[key] = true
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
