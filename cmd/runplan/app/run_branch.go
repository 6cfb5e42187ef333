package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// slugOf derives a branch name from the file name of a plan. It removes what looks like a secret.
func slugOf(path string) string {
	name := redact.New(nil).String(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	name = strings.ToLower(name)
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 48 {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "plan"
}

// chooseSlug finds and locks a slug that no other work uses.
func (a *App) chooseSlug(ctx context.Context, p *project, info *runner.Info, fresh bool) (*local.Lock, error) {
	if above, err := p.repo.Resolve(ctx, "refs/heads/runplan"); err != nil || above != "" {
		if err == nil {
			err = usage(
				errors.New("the branch name runplan conflicts: runs have branches below that name, and git cannot have both"),
				"rename it: git branch -m runplan NAME")
		}
		return nil, err
	}
	base := info.Slug
	for n := 1; ; n++ {
		slug := base
		if n > 1 {
			slug = base + "-" + strconv.Itoa(n)
		}
		lock, err := local.TakeLock(p.layout.Lock(slug), time.Now())
		if err != nil {
			return nil, err
		}
		free, err := a.slugFree(ctx, p, slug, info.Plan, info.Agent, info.Base, fresh)
		if err == nil && free {
			info.Slug, info.Branch = slug, local.RunBranch(slug)
			return lock, nil
		}
		lock.Release()
		if err != nil {
			return nil, err
		}
	}
}

// slugFree reports whether a new run may use slug. It removes a merged branch of that slug. An unmerged branch stays,
// and so does the work of an unfinished run.
func (a *App) slugFree(ctx context.Context, p *project, slug, plan, agent, head string, fresh bool) (bool, error) {
	sums, err := p.summaries(ctx, runner.Filter{Slug: slug, Latest: true})
	if err != nil {
		return false, err
	}
	if len(sums) > 0 && !sums[0].Status.Over() {
		if sums[0].Plan == plan && !fresh {
			return false, usage(fmt.Errorf("run %s of %s is not finished", sums[0].Run[:8], plan),
				"continue it: runplan resume %s; give it up: runplan discard %s; or start another one: %s", sums[0].Run[:8],
				sums[0].Run[:8], afresh(agent, plan))
		}
		return false, nil
	}
	if len(sums) > 0 && sums[0].Plan == plan && slug == slugOf(plan) && !fresh && carriedOut(sums[0]) {
		fmt.Fprintf(a.Stderr, "run %s already completed %s, up to commit %s; this run starts again\n", sums[0].Run[:8], plan,
			short(sums[0].Commit))
	}
	if above, err := p.repo.Resolve(ctx, "refs/heads/runplan/"+slug); err != nil || above != "" {
		return false, err // a user's own branch; git allows no branch below an existing one
	}
	ref := "refs/heads/" + local.RunBranch(slug)
	tip, err := p.repo.Resolve(ctx, ref)
	if err != nil || tip == "" {
		return err == nil, err
	}
	merged, err := p.repo.IsAncestor(ctx, tip, head)
	if err != nil || !merged {
		return false, err
	}
	if dir, err := p.checkedOut(ctx, local.RunBranch(slug)); err != nil || dir != "" {
		return false, err // deleting a checked-out branch would break that checkout
	}
	return true, p.dropBranch(ctx, ref, tip)
}

// checkedOut returns the worktree in which a branch is checked out, or "".
func (p *project) checkedOut(ctx context.Context, branch string) (string, error) {
	list, err := p.repo.Run(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return "", err
	}
	var dir string
	for line := range strings.SplitSeq(list, "\n") {
		if at, ok := strings.CutPrefix(line, "worktree "); ok {
			dir = at
		}
		if line != "branch refs/heads/"+branch {
			continue
		}
		if _, err := os.Stat(dir); err == nil { // git still lists worktrees that were deleted by hand
			return dir, nil
		}
	}
	return "", nil
}

// carriedOut reports whether a run completed all of its plan.
func carriedOut(s runner.Summary) bool {
	return !slices.ContainsFunc(s.Batches,
		func(b runner.BatchSummary) bool { return runner.Status(b.State) != runner.Passed })
}

// afresh returns the command that starts a new run of a plan. For the solver it names the agent, because work of a
// local model must not go to an installed CLI.
func afresh(agent, plan string) string {
	if agent == solver.Name {
		return "runplan solve --new --plan " + plan
	}
	return "runplan run --new " + plan
}
