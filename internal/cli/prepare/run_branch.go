package prepare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
)

func (x *Prepared) chooseSlug(ctx context.Context) error {
	p, info := x.Project, &x.Info
	if above, err := p.Repo.Resolve(ctx, "refs/heads/runplan"); err != nil || above != "" {
		if err == nil {
			err = cli.Named("branch-conflict", cli.Usage(errors.New(
				"the branch name runplan conflicts: runs have branches below that name, and git cannot have both"),
				"rename it: git branch -m runplan NAME"))
		}
		return err
	}
	base := info.Slug
	for n := 1; ; n++ {
		slug := base
		if n > 1 {
			slug = base + "-" + strconv.Itoa(n)
		}
		lock, err := local.TakeLock(p.Layout.Lock(slug), time.Now())
		if err != nil {
			return err
		}
		free, err := slugFree(ctx, p, slug, info.Plan, info.Agent, info.Base, x.Options.Fresh)
		if err == nil && free {
			x.lock, info.Slug, info.Branch = lock, slug, journal.RunBranch(slug)
			return nil
		}
		lock.Release()
		if err != nil {
			return err
		}
	}
}

// slugFree reports whether a new run may use slug. It removes a merged branch of that slug. It keeps an unmerged
// branch and the work of an unfinished run.
func slugFree(ctx context.Context, p *cli.Project, slug, plan, agent, head string, fresh bool) (bool, error) {
	sums, err := p.Summaries(ctx, runner.Filter{Slug: slug, Latest: true})
	if err != nil {
		return false, err
	}
	if len(sums) > 0 && !sums[0].Status.Over() {
		if sums[0].Plan == plan && !fresh {
			return false, cli.Named("run-not-finished",
				cli.Usage(fmt.Errorf("run %s of %s is not finished", sums[0].Run[:8], plan),
					"continue it: runplan resume %s; give it up: runplan discard %s; or start a new one: %s", sums[0].Run[:8],
					sums[0].Run[:8], afresh(p, agent, plan)))
		}
		return false, nil
	}
	if len(sums) > 0 && sums[0].Plan == plan && slug == cli.SlugOf(plan) && !fresh && carriedOut(sums[0]) {
		fmt.Fprintf(p.Stderr, "run %s already completed %s, up to commit %s; this run starts again\n", sums[0].Run[:8], plan,
			git.Short(sums[0].Commit))
	}
	if above, err := p.Repo.Resolve(ctx, "refs/heads/runplan/"+slug); err != nil || above != "" {
		return false, err // a user's own branch; git allows no branch below an existing one
	}
	ref := "refs/heads/" + journal.RunBranch(slug)
	tip, err := p.Repo.Resolve(ctx, ref)
	if err != nil || tip == "" {
		return err == nil, err
	}
	merged, err := p.Repo.IsAncestor(ctx, tip, head)
	if err != nil || !merged {
		return false, err
	}
	if dir, err := p.Repo.CheckedOut(ctx, journal.RunBranch(slug)); err != nil || dir != "" {
		return false, err // deleting a checked-out branch would break that checkout
	}
	return true, p.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: ref, Old: tip})
}

func carriedOut(s runner.Summary) bool {
	return !slices.ContainsFunc(s.Batches,
		func(b runner.BatchSummary) bool { return runner.Status(b.State) != runner.Passed })
}

// afresh returns the command that starts a new run of a plan. For the solver it names the agent, so that an installed
// CLI does not get the work of a local model.
func afresh(p *cli.Project, agent, plan string) string {
	if agent == solver.Name {
		return "runplan solve --new --plan " + p.PlanWord(plan)
	}
	return "runplan run --new " + p.PlanWord(plan)
}
