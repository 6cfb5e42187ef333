package blueprints

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/ui"
)

type maintainOptions struct {
	list bool
	only string
}

// NewMaintainCommand returns the command maintain.
func NewMaintainCommand(a *cli.App) *cobra.Command {
	var o maintainOptions
	return a.Command(cli.With{Exits: "0 1 2 5 130", Trust: true, JSON: "a JSON array"}, &cobra.Command{
		Use:   "maintain",
		Short: "Do the maintenance tasks of this repository",
		Long: `Do the maintenance of this repository, in this order: the mechanical check of all live blueprints, then a cold
review of each live unit that changed since its last one, if [models] is configured. Critical and major findings of a
review become open questions of the blueprint, and critical ones wait in the queue. The journal gets a line for each
task.

It can be interrupted at any time; finished work stays and is not repeated.`,
		Args: cobra.NoArgs,
		RunE: cli.Stoppable(func(ctx context.Context, _ []string) error { return maintain(ctx, a, o) }),
	}, func(f *cli.Flags) {
		f.BoolVar(&o.list, "list", false, "list the tasks and do nothing")
		f.StringVar(&o.only, "task", "", "do one task only")
	})
}

func maintain(ctx context.Context, a *cli.App, o maintainOptions) error {
	tasks := slices.DeleteFunc(lifecycle.Tasks(), func(t lifecycle.Task) bool { return o.only != "" && t.ID != o.only })
	if len(tasks) == 0 {
		return cli.Usage(fmt.Errorf("unknown task %q", o.only), "runplan maintain --list")
	}
	if o.list {
		var rows ui.Rows
		for _, t := range tasks {
			rows.Add(t.ID, t.Type, t.Priority, t.Interruptible, t.Seconds, t.What)
		}
		return a.PrintTable(tasks, "", []string{"task", "type", ">priority", "interruptible", ">seconds", "what"}, rows)
	}
	p, err := a.OpenProject(ctx)
	if err != nil {
		return err
	}
	var all []lifecycle.Maintained
	for _, t := range tasks {
		m, err := maintainOne(ctx, p, t.ID)
		if ctx.Err() != nil {
			return cli.Interrupted("", "finished work stays; run it again for the rest")
		}
		if err != nil {
			return err
		}
		all = append(all, m)
		if !a.JSON {
			showMaintained(a, m)
		}
	}
	if err := a.Print(all, func() {}); err != nil { // the text is out already
		return err
	}
	found, problems := 0, 0
	for _, m := range all {
		found += m.Found
		problems += len(m.Problems)
	}
	switch {
	case problems > 0:
		return cli.Fail(cli.ExitCannotRun, fmt.Errorf("%d units could not be checked", problems), "see the reasons above")
	case found > 0:
		return cli.Fail(cli.ExitFailed, fmt.Errorf("%d places differ from the live blueprints", found),
			"runplan blueprint queue, runplan blueprint check UNIT --live")
	}
	return nil
}

func maintainOne(ctx context.Context, p *cli.Project, task string) (lifecycle.Maintained, error) {
	root := p.Repo.Root
	if task == lifecycle.Validation {
		return lifecycle.Validate(ctx, root, time.Now(), checker(p.App, root))
	}
	if !p.Config.Models.Configured() {
		return lifecycle.Maintained{Task: task, Units: []string{}, Current: []string{}, Problems: []string{},
			Skipped: "no model is configured; see runplan init --help"}, nil
	}
	if err := p.TrustConfig(); err != nil {
		return lifecycle.Maintained{}, err
	}
	d, err := BlueprintDeps(ctx, p)
	if err != nil {
		return lifecycle.Maintained{}, err
	}
	client, model, err := ReviewModel(ctx, p, cli.BlueprintCall)
	if err != nil {
		return lifecycle.Maintained{}, err
	}
	return lifecycle.ReviewLive(ctx, root, time.Now(), func(ctx context.Context, unit string) (lifecycle.Handled, error) {
		r, rec, err := ReviewLive(ctx, root, unit, "", d, client, model)
		if err != nil {
			return lifecycle.Handled{}, err
		}
		return r.Handle(rec, time.Now())
	})
}

func showMaintained(a *cli.App, m lifecycle.Maintained) {
	if m.Skipped != "" {
		fmt.Fprintf(a.Stdout, "%s  skipped: %s\n", m.Task, m.Skipped)
		return
	}
	fmt.Fprintf(a.Stdout, "%s  %d units checked, %d unchanged, %d found\n", m.Task, len(m.Units), len(m.Current), m.Found)
	if m.Top != "" {
		fmt.Fprintf(a.Stdout, "  first: %s\n", ui.Sanitize(m.Top))
	}
	for _, p := range m.Problems {
		fmt.Fprintf(a.Stdout, "  not checked: %s\n", ui.Sanitize(p))
	}
}
