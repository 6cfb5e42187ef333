package control

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// NewUndoCommand returns the command undo.
func NewUndoCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2 5 6"}, &cobra.Command{
		Use:     "undo RUN",
		Short:   "Revert what a run landed, with one commit",
		Example: "  runplan undo 1f0c2a7b",
		Long: `Revert what a run landed on the branch that it started from. One commit is added to that branch, as git
revert would do for all commits of the run together; no history is rewritten, and the run branch stays.

Later commits do not change. If one of them changed the same lines, nothing is done and the files are
listed. A run whose commits are not on the branch has nothing to undo: close its pull request, or give the
run up with runplan discard RUN.`,
		Args: exactlyOneRun,
		RunE: a.ByPerson("undoing a run", a.InProject(undo)),
	})
}

func undo(ctx context.Context, p *cli.Project, args []string) error {
	s, lock, err := hold(ctx, p, args[0])
	if err != nil {
		return err
	}
	defer lock.Release()
	if s.Undone != "" {
		return cli.Usage(fmt.Errorf("run %s was undone by commit %s", s.Run[:8], git.Short(s.Undone)),
			"to restore its changes: git revert %s", git.Short(s.Undone))
	}
	tip, err := landedOn(ctx, p, s)
	if err != nil {
		return err
	}
	tree, conflicts, err := p.Repo.Rebased(ctx, s.Commit, tip, s.Base) // the change from the landed tip back to its base
	if err != nil {
		return err
	}
	if len(conflicts) > 0 {
		return cli.Usage(fmt.Errorf("undo run %s: later commits changed the same lines of %s", s.Run[:8],
			redact.Clean(strings.Join(conflicts[:min(len(conflicts), 5)], ", "))),
			"revert it by hand: git revert %s..%s", git.Short(s.Base), git.Short(s.Commit))
	}
	if now, err := p.Repo.TreeOf(ctx, tip); err == nil && now == tree {
		return cli.Usage(fmt.Errorf("undo run %s: all of its changes on %s were already reverted", s.Run[:8],
			redact.Clean(s.BaseBranch)), "see who reverted it: git log %s..%s", git.Short(s.Commit), git.Short(tip))
	}
	commit, err := p.Repo.CommitTree(ctx, tree, tip, undoMessage(s))
	if err != nil {
		return err
	}
	if err := advance(ctx, p, s.BaseBranch, tip, commit); err != nil {
		return err
	}
	why := fmt.Sprintf("undone by %s: commit %s reverts what it landed on %s", person(ctx, p), git.Short(commit),
		s.BaseBranch)
	if err := writeAfterwards(ctx, p,
		runner.Event{Run: s.Run, Kind: runner.Undone, Commit: commit, Base: tip, Reason: why}); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "run %s is undone: commit %s on %s reverts %s\nto restore its changes: git revert %s\n",
		s.Run[:8], git.Short(commit), ui.Sanitize(s.BaseBranch), phrase.Count(s.Tally().Merged, "batch", "batches"),
		git.Short(commit))
	return nil
}

// landedOn returns the tip of the branch that a run started from, if that branch contains the commits of the run.
func landedOn(ctx context.Context, p *cli.Project, s runner.Summary) (tip string, err error) {
	if s.BaseBranch == "" {
		return "", cli.Usage(fmt.Errorf("run %s started from a detached HEAD, so it landed on no branch", s.Run[:8]),
			"its commits: git log %s..%s", git.Short(s.Base), git.Short(s.Commit))
	}
	if tip, err = p.Repo.Resolve(ctx, "refs/heads/"+s.BaseBranch); err != nil {
		return "", err
	}
	if s.Commit != "" && s.Commit != s.Base && tip != "" {
		if in, err := p.Repo.IsAncestor(ctx, s.Commit, tip); err != nil || in {
			return tip, err
		}
	}
	return "",
		cli.Usage(fmt.Errorf("run %s: its commits are not on %s, so there is nothing to undo", s.Run[:8],
			redact.Clean(s.BaseBranch)),
			"to give the run up: runplan discard %s", s.Run[:8])
}

// advance moves a branch from tip to a commit whose parent is tip. If the branch is checked out, that checkout is
// updated and must be clean.
func advance(ctx context.Context, p *cli.Project, branch, tip, commit string) error {
	dir, err := p.Repo.CheckedOut(ctx, branch)
	if err != nil {
		return err
	}
	_, head, err := p.Repo.Head(ctx)
	if err != nil {
		return err
	}
	if head != branch {
		if dir != "" {
			return cli.Usage(fmt.Errorf("%s is checked out in %s", redact.Clean(branch), dir), "run the command there")
		}
		return p.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: "refs/heads/" + branch, New: commit, Old: tip})
	}
	dirty, _, err := p.Repo.Dirty(ctx)
	if err != nil {
		return err
	}
	if len(dirty) > 0 {
		return cli.Named("uncommitted-changes",
			cli.Usage(fmt.Errorf("the checkout has changes (%s)", redact.Clean(dirty[0])), "commit or stash them first"))
	}
	if err := p.Repo.FastForward(ctx, commit); err != nil {
		return cli.Fail(cli.ExitCannotRun, err, "nothing was changed")
	}
	return nil
}

func undoMessage(s runner.Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Undo runplan run of %s\n\nThis reverts run %s, commits %s..%s:\n\n",
		phrase.Cut(redact.Clean(cmp.Or(s.Title, s.Plan)), 60), s.Run[:8], git.Short(s.Base), git.Short(s.Commit))
	for _, batch := range s.Batches {
		if runner.Status(batch.State) == runner.Passed {
			fmt.Fprintf(&b, "- batch %s: %s\n", redact.Clean(batch.Number), redact.Clean(batch.Title))
		}
	}
	return b.String()
}
