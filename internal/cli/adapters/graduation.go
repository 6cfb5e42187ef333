package adapters

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/training/curriculum"
	"github.com/runplan/runplan/training/graduate"
)

// NewGraduationCommand returns the command training graduation.
func NewGraduationCommand(a *cli.App) *cobra.Command {
	var record bool
	var seed uint64
	return a.Command(cli.With{Exits: "0 2 5", Repo: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "graduation",
		Short: "Report whether every generation of an adapter still needs a review",
		Long: `Measure the generations of code-architect in each training cycle: mean divergence of the last 10 (at most 0.15), share that was
promoted without modification (at least 80 %), and agreement of the adapter's own review with the cold one in a random sample of 5
(at least 90 % of discrepancy classes). If all three are met in two consecutive cycles, the cold reviewer checks every
fifth generation instead of each. A criterion with too little data is unknown and counts as not met.

A generation belongs to the adapter if its context was made for it: runplan blueprint generate UNIT --session adapter.
After graduation, the stage review of runplan blueprint promote needs no review of four out of five of them.

A cycle is the time from the training of one version to that of the next. --record records the result, with a note in
the journal.`,
		Args: cobra.NoArgs,
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, _ []string) error {
			spec, err := loadSpec(ctx, p, curriculum.CodeArchitect)
			if err != nil {
				return err
			}
			log, found, err := cli.IfExists(store.OpenLog(ctx, p.Layout.Journal()))
			if err != nil {
				return err
			}
			var trained []graduate.Trained
			if found {
				defer log.Close()
				rows, err := log.TrainedAdapters(ctx)
				if err != nil {
					return err
				}
				for _, r := range rows {
					if r.Stage == string(spec.Stage) {
						trained = append(trained, graduate.Trained{Version: versionOf(r.Tag), At: r.At})
					}
				}
			}
			if len(trained) == 0 {
				return cli.Usage(fmt.Errorf("%s was never trained here, so no cycle exists", spec.Name),
					"train it: runplan training train --adapter %s", spec.Name)
			}
			list, err := graduate.Read(p.Repo.Root)
			if err != nil {
				return err
			}
			state, err := graduate.Load(p.Repo.Root, spec.Name)
			if err != nil {
				return err
			}
			cycles := graduate.ByCycle(list, trained, seed)
			if record {
				if state, err = graduate.Record(p.Repo.Root, state, cycles, time.Now()); err != nil {
					return err
				}
			}
			since := 0
			if state.Since != nil {
				made, err := graduate.Generated(p.Repo.Root, *state.Since)
				if err != nil {
					return err
				}
				since = len(made)
			}
			return showGraduation(a, state, cycles, since)
		}),
	}, func(f *cli.Flags) {
		f.BoolVar(&record, "record", false, "record the result")
		f.Uint64Var(&seed, "seed", 1, "random seed for the sample of generations")
	})
}

// versionOf returns the version number of an adapter's model tag, which ends in, say, -v3.
func versionOf(tag string) int {
	n, _ := strconv.Atoi(tag[strings.LastIndex(tag, "-v")+len("-v"):]) // 0 for another tag
	return n
}

func showGraduation(a *cli.App, s graduate.State, cycles []graduate.Cycle, since int) error {
	out := struct {
		graduate.State
		Met      bool `json:"criteria_met"`
		Since    int  `json:"generations_since"`
		AuditDue bool `json:"next_is_audited"`
	}{s, graduate.Graduated(cycles), since, graduate.AuditDue(s.Since != nil, since+1)}
	out.Cycles = cycles
	if a.JSON {
		return cli.AsJSON(a.Stdout, out)
	}
	var table ui.Rows
	for _, c := range cycles {
		for _, f := range c.Figures {
			value := "unknown: " + f.Why
			if f.Value != nil {
				value = fmt.Sprintf("%.3f", *f.Value)
			}
			met := "no"
			if f.Met {
				met = "yes"
			}
			table.Add(fmt.Sprintf("v%d", c.Version), f.Name, value, f.Of, f.Needs, met)
		}
	}
	ui.Table(a.Stdout, []string{"CYCLE", "CRITERION", "VALUE", "OF", "NEEDS", "MET"}, table)
	switch {
	case s.Since != nil:
		fmt.Fprintf(a.Stdout, "graduated %s; %d generations since, the next one is reviewed: %v\n",
			s.Since.Format(time.DateOnly), out.Since, out.AuditDue)
	case out.Met:
		fmt.Fprintln(a.Stdout, "the criteria are met in two cycles in a row; record it: runplan training graduation --record")
	default:
		fmt.Fprintln(a.Stdout, "not graduated: each generation is reviewed")
	}
	return nil
}
