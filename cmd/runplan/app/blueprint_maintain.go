package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
)

type maintainOptions struct {
	list  bool
	only  string
	trust string
	json  bool
}

func newMaintainCommand(a *App) *cobra.Command {
	var o maintainOptions
	cmd := &cobra.Command{
		Use:   "maintain",
		Short: "Do the maintenance tasks of this repository",
		Long: `Do the maintenance of this repository, in the order of its priorities: the mechanical check of all live blueprints, then a cold
review of each live unit that changed since its last one, where [models] is configured. What a review finds critical or major
becomes an open question of the blueprint, and what is critical waits in the queue. The journal gets a line for each task.

It can be interrupted at any time; what was done stays, and is not done again.` + exitStatus(exitOK, exitFailed, exitUsage, exitCannotRun, exitInterrupted),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return a.maintain(ctx, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.list, "list", false, "list the tasks and do nothing")
	f.StringVar(&o.only, "task", "", "do one task only")
	f.StringVar(&o.trust, "trust-config", "", "digest of the repository's configuration, to trust it without a question")
	f.BoolVar(&o.json, "json", false, "print a JSON array")
	return cmd
}

func (a *App) maintain(ctx context.Context, o maintainOptions) error {
	tasks := slices.DeleteFunc(blueprint.Tasks(), func(t blueprint.Task) bool { return o.only != "" && t.ID != o.only })
	if len(tasks) == 0 {
		return usage(fmt.Errorf("unknown task %q", o.only), "runplan maintain --list")
	}
	if o.list {
		return a.listTasks(tasks, o.json)
	}
	p, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	var all []blueprint.Maintained
	for _, t := range tasks {
		m, err := a.maintainOne(ctx, p, t.ID, o)
		if ctx.Err() != nil {
			return fail(exitInterrupted, errors.New("interrupted"), "what was done stays; run it again for the rest")
		}
		if err != nil {
			return err
		}
		all = append(all, m)
		if !o.json {
			a.showMaintained(m)
		}
	}
	if o.json {
		if err := asJSON(a.Stdout, all); err != nil {
			return err
		}
	}
	found, problems := 0, 0
	for _, m := range all {
		found += m.Found
		problems += len(m.Problems)
	}
	switch {
	case problems > 0:
		return fail(exitCannotRun, fmt.Errorf("%d units could not be checked", problems), "see above why")
	case found > 0:
		return fail(exitFailed, fmt.Errorf("%d places differ from the live blueprints", found),
			"runplan blueprint queue, runplan blueprint check UNIT --live")
	}
	return nil
}

func (a *App) listTasks(tasks []blueprint.Task, json bool) error {
	if json {
		return asJSON(a.Stdout, tasks)
	}
	var rows [][]string
	for _, t := range tasks {
		rows = append(rows, []string{t.ID, t.Type, fmt.Sprint(t.Priority), fmt.Sprint(t.Interruptible), fmt.Sprint(t.Seconds),
			t.What})
	}
	return table(a.Stdout, []string{"task", "type", ">priority", "interruptible", ">seconds", "what"}, rows)
}

func (a *App) maintainOne(ctx context.Context, p *project, task string, o maintainOptions) (blueprint.Maintained,
	error) {
	root := p.repo.Root
	if task == blueprint.Validation {
		return blueprint.Validate(ctx, root, time.Now(),
			func(ctx context.Context, b *blueprint.Blueprint, s blueprint.State) (blueprint.Checked, error) {
				options, err := a.summaryOptions(ctx, root)
				if err != nil {
					return blueprint.Checked{}, err
				}
				return blueprint.Check(ctx, b, s, options)
			})
	}
	if !p.config.Models.Configured() {
		return blueprint.Maintained{Task: task, Units: []string{}, Current: []string{}, Problems: []string{},
			Skipped: "no model is configured; see runplan init --help"}, nil
	}
	if err := a.trustConfig(p, o.trust); err != nil {
		return blueprint.Maintained{}, err
	}
	d, err := a.blueprintDeps(ctx, p)
	if err != nil {
		return blueprint.Maintained{}, err
	}
	client, model, err := a.reviewModel(ctx, p, blueprintCall)
	if err != nil {
		return blueprint.Maintained{}, err
	}
	return blueprint.ReviewLive(ctx, root, time.Now(), func(ctx context.Context, unit string) (blueprint.Handled, error) {
		r, err := blueprint.Prepare(ctx, root, blueprint.Options{Unit: unit, State: blueprint.Live, Reviewer: "agent"}, d)
		if err != nil {
			return blueprint.Handled{}, err
		}
		res, cold, err := r.Ask(ctx, client, model)
		if err != nil {
			return blueprint.Handled{}, err
		}
		return r.Handle(r.Judged(res, cold, time.Now()), time.Now())
	})
}

func (a *App) showMaintained(m blueprint.Maintained) {
	clean := func(s string) string { return ui.Sanitize(redact.Clean(s)) }
	if m.Skipped != "" {
		fmt.Fprintf(a.Stdout, "%s  skipped: %s\n", m.Task, m.Skipped)
		return
	}
	fmt.Fprintf(a.Stdout, "%s  %d units checked, %d unchanged, %d found\n", m.Task, len(m.Units), len(m.Current), m.Found)
	if m.Top != "" {
		fmt.Fprintf(a.Stdout, "  first: %s\n", clean(m.Top))
	}
	for _, p := range m.Problems {
		fmt.Fprintf(a.Stdout, "  not checked: %s\n", clean(p))
	}
}
