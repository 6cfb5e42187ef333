package learn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/folder"
	"github.com/runplan/runplan/training/logged"
)

type trajectoriesOptions struct {
	out  string
	json bool
	rows logRows
}

func newTrainingTrajectoriesCommand(a *cli.App) *cobra.Command {
	var o trajectoriesOptions
	cmd := &cobra.Command{
		Use:   "trajectories",
		Short: "Write the attempts of agents as trajectories, proven by receipts",
		Long: `Write each attempt of an agent at a merged batch as a trajectory in the Agent Trajectory Interchange
Format: the brief, the agent's text, its tool calls and their results, its tokens and cost, and the verdict of the
gates as reward. Attempts at batches without a receipt are refused and counted, as in training pairs.

DIR gets one file for each attempt and manifest.json. The log of a program whose output runplan cannot read is one message.
Secrets are removed; if one remains, nothing is written.

  runplan training trajectories --out trajectories
  runplan training trajectories --task 20300101-100000-4f2a/1 --out one` +
			cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitCannotRun, cli.ExitInterrupted),
		Args: cobra.NoArgs,
		RunE: cli.Stoppable(func(ctx context.Context, _ []string) error {
			return interrupted(ctx, writeTrajectories(ctx, a, o))
		}),
	}
	f := cmd.Flags()
	a.RepoFlag(f)
	f.StringVar(&o.out, "out", "", "output folder: new or empty")
	o.rows.flags(f, "attempt")
	f.BoolVar(&o.json, "json", false, "print the counts as one JSON object")
	return cmd
}

func writeTrajectories(ctx context.Context, a *cli.App, o trajectoriesOptions) error {
	if o.out == "" {
		return cli.Usage(errors.New("--out is missing"), "choose a new folder: --out trajectories")
	}
	options, err := o.rows.options(time.Now())
	if err != nil {
		return err
	}
	p, err := a.OpenProject(ctx)
	if err != nil {
		return err
	}
	s, done, err := loggedSource(ctx, a, p)
	if err != nil {
		return err
	}
	defer done()
	out, err := folder.New(o.out, logged.ManifestName, false)
	if err != nil {
		return cli.Usage(err, "choose a new folder")
	}
	defer out.Discard()
	write := func(name string, v any) error {
		return out.File(name, func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(v)
		})
	}
	tally, err := logged.Trajectories(ctx, s, options, p.FormatOf,
		func(name string, t logged.Trajectory) error { return write(name+".json", t) })
	if err != nil {
		return pairsTrouble(err)
	}
	m := struct {
		Format  int                `json:"format"` // 1
		Schema  string             `json:"schema"`
		Repo    string             `json:"repo"`
		License string             `json:"license"`
		Count   int                `json:"trajectories"`
		Refused []training.Refusal `json:"refused"`
		Sums    map[string]string  `json:"sha256"`
	}{1, logged.TrajectoryVersion, s.Name, s.License, tally.Examples, append([]training.Refusal{}, tally.Refused...), out.Sums}
	if err := write(logged.ManifestName, m); err != nil {
		return err
	}
	if o.json {
		err = cli.AsJSON(a.Stdout, m)
	} else {
		err = cli.Table(a.Stdout, []string{"trajectories", ">count"}, refusals(tally))
	}
	switch {
	case err != nil:
		return err
	case tally.Examples == 0:
		return cli.Usage(errors.New("no attempt became a trajectory"), "refused attempts are listed above")
	}
	if err := out.Publish(); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "written: %s\n", ui.Sanitize(o.out))
	return nil
}

// refusals lists how many attempts were written, and how many were refused for which reason.
func refusals(t training.Tally) [][]string {
	rows := [][]string{{"written", fmt.Sprint(t.Examples)}}
	for _, r := range t.Refused {
		rows = append(rows, []string{ui.Sanitize(r.Reason), fmt.Sprint(r.Rows)})
	}
	return rows
}
