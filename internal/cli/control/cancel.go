package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// NewCancelCommand returns the command cancel.
func NewCancelCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2 5"}, &cobra.Command{
		Use:   "cancel [RUN]",
		Short: "Stop an active run in another terminal",
		Long: `Ask an active run to stop, as Ctrl-C in its terminal does: it finishes running work and starts
nothing new. It stops with exit status 130, and runplan resume continues it. RUN may be omitted
if only one is active.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.ByPerson("stopping a run", a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
			return cancel(ctx, p, strings.Join(args, ""))
		})),
	})
}

func cancel(ctx context.Context, p *cli.Project, name string) error {
	sums, err := p.Summaries(ctx, runner.Filter{})
	if err != nil {
		return err
	}
	p.LookAlive(sums)
	var live []string
	known := false
	for _, s := range sums {
		if !cli.Selects(name, s.Run, s.Slug, s.Plan) {
			continue
		}
		known = true
		if s.Status.Live() {
			live = append(live, s.Run)
		}
	}
	switch {
	case !known && name != "":
		return cli.NoSuchRun(name)
	case len(live) == 0:
		return cli.Named("no-active-run", cli.Usage(errors.New("no run is active"), "runplan status shows the runs"))
	case len(live) > 1:
		return cli.Usage(fmt.Errorf("%d runs are active: %s", len(live), strings.Join(live, ", ")),
			"name one: runplan cancel RUN")
	}
	said := runner.Event{Kind: runner.StopAsked, Outcome: runner.OutcomeCancelled, Reason: "cancelled by " +
		person(ctx, p), At: time.Now()}
	if err := post(ctx, p, live[0], said); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "run %s stops after the current step; then: runplan resume %s\n", live[0][:8], live[0][:8])
	return nil
}

func post(ctx context.Context, p *cli.Project, run string, e runner.Event) error {
	j, err := p.SignedJournal(ctx)
	if err != nil {
		return err
	}
	defer j.Close()
	return local.Post(ctx, j, run, e)
}
