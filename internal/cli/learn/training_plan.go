package learn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/adapters"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/failures"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/sampling"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curate"
	"github.com/runplan/runplan/training/plan"
)

type trainingPlanOptions struct {
	stage string
	in    []string
	out   string
	since time.Duration
	seed  uint64
	force bool
	advice
}

func newTrainingPlanCommand(a *cli.App) *cobra.Command {
	var o trainingPlanOptions
	cmd := a.Command(cli.With{Exits: "0 2 5 130", Repo: true, Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "plan",
		Short: "Find the weakest stage, and draft a training plan for it",
		Long: `Read the log and the examples, report how well each stage works, how attempts fail and what correlates
with success, and draft a training plan for the weakest stage: which examples to use, the training parameters, and what
should become better, with the figures as evidence.

The weakness of a stage is the mean of its shares of failures: unusable answers, lost tasks,
missing quality of logged examples. A share based on fewer than 5 items does not count. The report also shows what
earlier runs learned: failure patterns, outcomes of sampling, and the accuracy of routing.

With --ask-model the reasoning model gets these figures, and the plan that the rules would draft for each stage.
It chooses the stage, some of the parameters and the targets, within limits. The plan has its reasons. If its
answer cannot be used, the plan is that of the rules, and says why. Without --ask-model no model is asked.

The plan is a TOML file for you to edit; runplan training curate reads it.

  runplan training plan                             the weakest stage
  runplan training plan --in data --out plan.toml   and write the plan
  runplan training plan --stage scope --in data --out plan.toml
  runplan training plan --in data --out plan.toml --ask-model --context-window 32768 --reserved-tokens 4096`,
		Args: cobra.NoArgs,
		RunE: stoppable(a, o.trainingPlan),
	})
	f := cmd.Flags()
	f.StringVar(&o.stage, "stage", "", "stage to plan for (default: the weakest): "+phrase.List(training.Stages()))
	cli.Values(f, "stage", training.Stages())
	f.StringArrayVar(&o.in, "in", nil, "folder or file with examples (repeatable)")
	f.StringVar(&o.out, "out", "", "file to write the plan to")
	f.DurationVar(&o.since, "since", 0, "maximum age of logged data, such as 720h")
	f.Uint64Var(&o.seed, "seed", 1, "random seed of the plan")
	f.BoolVar(&o.force, "force", false, "overwrite an existing plan")
	o.add(cmd, "have the reasoning model decide about the plan, within limits")
	return cmd
}

// stoppable returns the RunE function of a command that writes all or nothing.
func stoppable(a *cli.App, do func(context.Context, *cli.Project, []string) error) func(*cobra.Command,
	[]string) error {
	return a.StoppableInProject(func(ctx context.Context, p *cli.Project, args []string) error {
		err := do(ctx, p, args)
		if err != nil && ctx.Err() != nil {
			return cli.Interrupted("nothing was written", "")
		}
		return err
	})
}

func (o *trainingPlanOptions) trainingPlan(ctx context.Context, p *cli.Project, _ []string) error {
	if o.stage != "" {
		if _, err := stagesOf([]string{o.stage}, training.Stages()); err != nil {
			return err
		}
	}
	if err := o.unasked(); err != nil {
		return err
	}
	if o.since < 0 {
		return cli.Usage(errors.New("--since must be in the past"), "such as --since 720h")
	}
	if _, err := os.Stat(o.out); o.out != "" && err == nil && !o.force {
		return cli.Usage(fmt.Errorf("%s already exists", o.out), "it may have been edited; choose another name, or --force")
	}
	e, err := evidence(ctx, p, o)
	if err != nil {
		return err
	}
	found := plan.Analyse(e)
	weakest, ranked, ok := found.Weakest()
	if o.stage != "" {
		weakest, ok = found.Of(training.Stage(o.stage)), true
	}
	switch {
	case e.Empty():
		return cli.Usage(errors.New(
			"nothing to plan from: no model call was logged, and there are no examples"),
			"run a plan first, or use the history: runplan training bootstrap; then give --in DIR")
	case !ok:
		return cli.Usage(errors.New("too little was logged to find the weakest stage, and there are no examples"),
			"name a stage with --stage, or give examples with --in DIR")
	}
	var ledger *store.Training
	if o.out != "" { // open it before the plan file is written: the journal may not be writable
		if ledger, err = adapters.OpenLedger(ctx, p); err != nil {
			return err
		}
		defer ledger.Close()
	}
	draft, task := found.Draft(weakest.Stage, o.seed), cli.NewTaskID()
	why := reasons(weakest, ranked, o.stage != "")
	if o.ask {
		if draft, err = advisedPlan(ctx, p, o, found, draft, task); err != nil {
			return err
		}
		why = append(why, decisionText(draft)...)
	}
	if o.out != "" {
		text, err := draft.Encode(why)
		if err != nil {
			return cli.Usage(err, "")
		}
		if err := atomicfile.Write(o.out, text, 0o644); err != nil {
			return err
		}
		if _, err := addPlan(ctx, p, ledger, draft, text, task); err != nil {
			return err
		}
	}
	return p.Print(struct {
		plan.Analysis
		Plan plan.Plan `json:"plan"`
		Why  []string  `json:"why"`
	}{found, draft, why}, func() { showAnalysis(p.App, found, why, o.out) })
}

// advisedPlan has the model decide about a plan. Stages without any data are not offered to it.
func advisedPlan(ctx context.Context, p *cli.Project, o *trainingPlanOptions, found plan.Analysis,
	draft plan.Plan, task string) (plan.Plan, error) {
	adviser, err := o.adviser(ctx, p, llm.TrainPlan, task)
	if err != nil {
		return draft, err
	}
	stages := []training.Stage{draft.Stage}
	for _, s := range found.Stages {
		if o.stage == "" && s.Stage != draft.Stage && s.Calls+s.Examples.Count() > 0 {
			stages = append(stages, s.Stage)
		}
	}
	return adviser.Plan(ctx, found, draft, stages)
}

// decisionText describes what a model decided about a plan.
func decisionText(p plan.Plan) []string {
	d := p.Decision
	if d.Unusable != "" {
		return []string{fmt.Sprintf("The answer of model %s was not used: %s.", d.Model, d.Unusable)}
	}
	return []string{fmt.Sprintf("Model %s chose stage %s: %s", d.Model, p.Stage, d.Reasons.Stage)}
}

func evidence(ctx context.Context, p *cli.Project, o *trainingPlanOptions) (plan.Evidence, error) {
	var e plan.Evidence
	log, found, err := cli.IfExists(store.OpenLog(ctx, p.Layout.Journal()))
	if err != nil {
		return e, err
	}
	if found {
		defer log.Close()
		var f store.TaskFilter
		if o.since > 0 {
			f.Since = time.Now().Add(-o.since)
		}
		if err := e.FromLog(ctx, log, f); err != nil {
			return e, err
		}
		if err := learned(ctx, p, &e, f.Since); err != nil {
			return e, err
		}
	}
	files, err := curate.Inputs(o.in)
	if err != nil {
		return e, cli.Usage(err, "give a folder that runplan training pairs or bootstrap wrote")
	}
	for _, name := range files {
		if err := e.FromExamples(training.ReadFile(name)); err != nil {
			return e, cli.Usage(err, "the file was not changed; create it again")
		}
		if err := ctx.Err(); err != nil {
			return e, err
		}
	}
	return e, nil
}

// learned reads what earlier runs recorded: failure patterns, sampling outcomes and the accuracy of routing (FAIL-07).
func learned(ctx context.Context, p *cli.Project, e *plan.Evidence, since time.Time) error {
	patterns, err := failures.Open(p.Layout.FailurePatterns(), nil).Patterns()
	if err != nil {
		return err
	}
	outcomes, err := sampling.Store{Path: p.Layout.SamplingOutcomes()}.Read()
	if err != nil {
		return err
	}
	sums, err := p.Summaries(ctx, runner.Filter{})
	if err != nil {
		return err
	}
	var m report.Metrics
	for _, s := range sums {
		if !s.Started.Before(since) {
			m.Add(s, nil)
		}
	}
	e.FromStores(patterns, outcomes, m.SpeedUps, since)
	return nil
}

// addPlan records a plan unless the same text is already recorded.
func addPlan(ctx context.Context, p *cli.Project, l *store.Training, d plan.Plan, text []byte, task string) (int64,
	error) {
	log, err := store.OpenLog(ctx, p.Layout.Journal())
	if err != nil {
		return 0, err
	}
	defer log.Close()
	rows, err := log.TrainingPlans(ctx)
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		if r.Raw == string(text) {
			return r.ID, nil
		}
	}
	criteria, hyper, targets, err := d.JSON()
	if err != nil {
		return 0, err
	}
	return l.AddTrainingPlan(ctx, store.TrainingPlan{
		Task: task, Stage: string(d.Stage), Base: string(d.Base), Source: string(d.Source()),
		Criteria: criteria, Hyperparameters: hyper, Targets: targets, Raw: string(text), At: time.Now(),
	})
}

func reasons(r plan.StageReport, ranked, chosen bool) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case r.Weakness != nil && chosen:
		say("Stage %s was requested; its weakness is %.3f.", r.Stage, *r.Weakness)
	case r.Weakness != nil:
		say("Stage %s is the weakest: %.3f.", r.Stage, *r.Weakness)
	case chosen:
		say("Stage %s was requested; too little was logged to measure it.", r.Stage)
	case !ranked:
		say("Too little was logged to find a weak stage; stage %s has the most examples.", r.Stage)
	}
	for _, s := range r.Rests {
		say("- %s", s)
	}
	if n := r.Examples.Count(); n > 0 {
		say("There are %d examples of it: %d logged, %d synthetic.", n, r.Examples.Logged, r.Examples.Synthetic)
	}
	return out
}

func showAnalysis(a *cli.App, found plan.Analysis, why []string, out string) {
	var stages, failed, correlated ui.Rows
	for _, s := range found.Stages {
		x := s.Examples
		stages.Add(s.Stage, phrase.Known("%.3f", s.Weakness), s.Calls, s.Unusable, s.Won, s.Lost, x.Logged, x.Synthetic, x.Positive,
			x.Negative, x.Preferences)
	}
	header := []string{"stage", ">weakness", ">calls", ">unusable", ">won", ">lost", ">logged", ">synthetic", ">positive",
		">negative", ">preference"}
	ui.Table(a.Stdout, header, stages)
	for _, p := range found.Patterns {
		failed.Add(p.Name, fmt.Sprintf("%d of %d", p.Attempts, p.Of))
	}
	anotherTable(a, []string{"failed attempts", ">attempts"}, failed)
	for _, c := range found.Correlations {
		correlated.Add(c.Figure, phrase.Known("%.3f", c.R), c.Tasks)
	}
	anotherTable(a, []string{"correlates with success", ">r", ">tasks"}, correlated)
	showLearned(a, found.Learned)
	for _, w := range why {
		fmt.Fprintln(a.Stderr, ui.Sanitize(w))
	}
	if out != "" {
		fmt.Fprintf(a.Stderr, "written: %s\n", ui.Sanitize(out))
	}
}

// anotherTable prints a table below another one, if it has rows.
func anotherTable(a *cli.App, header []string, rows ui.Rows) {
	if len(rows) > 0 {
		fmt.Fprintln(a.Stdout)
		ui.Table(a.Stdout, header, rows)
	}
}

func showLearned(a *cli.App, l plan.Learned) {
	var failures, variants ui.Rows
	for _, f := range l.Failures {
		failures.Add(f.Title, f.Type, f.Frequency)
	}
	anotherTable(a, []string{"batches that fail", "how", ">times"}, failures)
	for _, v := range l.Variants {
		variants.Add(v.Name, v.Tried, v.Passed, v.Won)
	}
	anotherTable(a, []string{"variant", ">tried", ">passed", ">won"}, variants)
	if r := l.Routing; r.Runs > 0 {
		fmt.Fprintf(a.Stdout, "\nrouting  %d of %d team runs predicted within a fifth; off by %.0f %% on average\n", r.Near,
			r.Runs, *r.Off*100)
	}
}
