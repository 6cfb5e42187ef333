package blueprints

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/cli/rulebook"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curriculum"
	"github.com/runplan/runplan/training/graduate"
	"github.com/runplan/runplan/trust"
)

func newBlueprintPromoteCommand(a *cli.App) *cobra.Command {
	var by trust.Signed
	return a.Command(cli.With{Exits: "0 1 2 3 5 130", Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "promote UNIT",
		Short: "Promote a candidate to a live blueprint, stage by stage",
		Long: `Take a candidate through nine stages: 1 blueprint (it can be read), 2 check (the mechanical check), 3 validation (the gates lint,
types and tests), 4 smoke (your own gate named smoke), 5 review (the last one covers this blueprint and this source and
does not reject; code of a graduated adapter needs one every fifth time), 6 journal, 7 approval (the owner signs), 8
promote (the candidate becomes live), 9 verify. It ends at the first stage that does not pass. A skipped stage is shown
as skipped. Each try is recorded in knowledge/blueprints/promotions, and in the day's journal.

Promotion is never automatic: without --signature it waits at stage 7, and exits with 3.`,
		Example: `  runplan blueprint promote orders --signature ada --reason "reviewed, smoke passed"`,
		Args:    cli.ExactlyOne("the name of a unit"),
		RunE: a.StoppableInProject(func(ctx context.Context, p *cli.Project, args []string) error {
			return blueprintPromote(ctx, p, args[0], by)
		}),
	}, func(f *cli.Flags) { cli.SignFlags(f, &by) })
}

func blueprintPromote(ctx context.Context, p *cli.Project, unit string, by trust.Signed) error {
	if by.Name != "" {
		if err := p.NotAnAgent("a promotion"); err != nil {
			return err
		}
	}
	if err := p.TrustConfig(); err != nil { // gates run programs that the configuration names
		return err
	}
	run, done, err := StageGatesIn(ctx, p, p.Repo.Root)
	if err != nil {
		return err
	}
	defer done()
	pl := lifecycle.Pipeline{
		Root: p.Repo.Root, Now: time.Now,
		Check:    checker(p.App, p.Repo.Root),
		Validate: func(ctx context.Context) (gates.Verdict, error) { return run(ctx, "lint", "types", "tests") },
		Smoke:    func(ctx context.Context) (gates.Verdict, error) { return run(ctx, "smoke") },
		Approve: func(ctx context.Context, unit string) (string, error) {
			if by.Name == "" {
				return "", fmt.Errorf("%w: the owner has not signed", lifecycle.ErrWaiting)
			}
			return by.Name, p.Agree(ctx, trust.GatePromotion, "blueprint "+unit, by)
		},
		Audit: func(ctx context.Context, unit string) (bool, string, error) {
			rows, err := p.DeployedAdapters(ctx)
			if err != nil {
				return true, "", err
			}
			if !slices.ContainsFunc(rows,
				func(r store.DeployedAdapter) bool { return r.Active && r.Stage == string(training.ExecuteCode) }) {
				return true, "no adapter writes code in this repository", nil
			}
			return graduate.Audit(p.Repo.Root, curriculum.CodeArchitect, unit)
		},
	}
	if !p.JSON {
		pl.Stage = func(s lifecycle.StageResult) {
			fmt.Fprintf(p.Stdout, "%d %-10s  %-7s  %s\n", s.Number, s.Name, s.Status, ui.Sanitize(s.Note))
		}
	}
	done9, err := lifecycle.Promote(ctx, unit, pl)
	if p.JSON {
		if err := cli.AsJSON(p.Stdout, done9); err != nil {
			return err
		}
	}
	return promotionEnded(ctx, done9, err)
}

func promotionEnded(ctx context.Context, p lifecycle.Promotion, err error) error {
	switch {
	case ctx.Err() != nil:
		return cli.Interrupted("", "nothing was promoted unless stage 8 had passed; run it again")
	case errors.Is(err, blueprint.ErrNoBlueprint), errors.Is(err, blueprint.ErrUnitName):
		return NoBlueprint(err)
	case err != nil:
		return cli.TrustTrouble(err)
	case p.Outcome == lifecycle.Waiting:
		return cli.Fail(cli.ExitHuman, fmt.Errorf("%s waits for its owner", p.Unit),
			"runplan blueprint promote %s --signature NAME --reason TEXT; see %s", p.Unit, p.Journal())
	case p.Outcome != lifecycle.Promoted:
		return cli.Fail(cli.ExitFailed, fmt.Errorf("%s is not promoted", p.Unit), "see the reason in %s", p.Journal())
	}
	return nil
}

// StageGatesIn returns a function that runs the gates of given families on the whole tree of the checkout at dir.
func StageGatesIn(ctx context.Context, p *cli.Project,
	dir string) (run func(ctx context.Context, families ...string) (gates.Verdict, error), done func(), err error) {
	reaper, err := cli.StartReaper()
	if err != nil {
		return nil, nil, err
	}
	settings, end := judge.SuiteOf(p, false, rulebook.OpenRuleBooks(ctx, p))
	all := suite.All(dir, settings)
	hide := p.Redactor()
	subject := gates.Subject{Dir: dir, Env: p.Environ, Timeout: time.Duration(p.Config.Gates.Timeout), Redact: hide.String,
		Reaper: reaper}
	run = func(ctx context.Context, families ...string) (gates.Verdict, error) {
		wanted := slices.DeleteFunc(slices.Clone(all), func(g gates.Gate) bool {
			family, _, _ := strings.Cut(g.Info().Name, ":")
			return !slices.Contains(families, family)
		})
		if len(wanted) == 0 {
			return gates.Verdict{}, nil
		}
		return gates.Run(ctx, wanted, subject, nil)
	}
	return run, func() { end(); reaper.Close() }, nil
}
