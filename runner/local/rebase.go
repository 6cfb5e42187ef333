package local

import (
	"context"
	"fmt"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// Rebase moves a batch's changes to another base, as a commit without a branch. It changes nothing but git
// objects. It reports conflicts with their files and never resolves them.
func (w *work) Rebase(ctx context.Context, c runner.Command, _ runner.Progress) (runner.Event, error) {
	e := runner.Event{Base: c.Base}
	tree, conflicts, err := w.Repo.Rebased(ctx, c.From, c.Base, c.Tree)
	if err != nil {
		return e, err
	}
	if len(conflicts) > 0 {
		shown := conflicts[:min(len(conflicts), 5)]
		e.Outcome, e.Reason = runner.OutcomeConflict,
			w.redact.String("conflicts with candidates ahead of it in "+strings.Join(shown, ", "))
		r := gates.Report{Gate: "merge", Status: gates.Fail,
			Note: "another batch that is ahead in the merge queue changed the same lines; " +
				"do this batch again on top of its work"}
		for _, p := range conflicts[:min(len(conflicts), maxFindings)] {
			r.Findings = append(r.Findings, gates.Finding{Rule: "merge/conflict", Path: p, Severity: gates.Error,
				Message: "conflicts with changes that others merged meanwhile"})
		}
		e.Reports, e.Tree, e.Fingerprint = w.trim([]gates.Report{r}), c.Tree, runner.Fingerprint(e.Reason)
		return e, nil
	}
	if e.Reason, err = w.swallowed(ctx, c, tree); err != nil {
		return e, err
	}
	e.Commit, e.Tree, err = w.candidate(ctx, c.Batch, c.Base, tree)
	e.Outcome = runner.OutcomeOK
	return e, err
}

// swallowed returns a reason if the new base already contains all changes of a batch, so that its commit is empty;
// otherwise "". Then the agent is not responsible for the empty commit.
func (w *work) swallowed(ctx context.Context, c runner.Command, tree string) (string, error) {
	below, err := w.Repo.TreeOf(ctx, c.Base)
	if err != nil || below != tree {
		return "", err
	}
	from, err := w.Repo.TreeOf(ctx, c.From)
	if err != nil {
		return "", err
	}
	made, err := w.Repo.TreeOf(ctx, c.Tree)
	if err != nil || from == made {
		return "", err
	}
	if literal(w.Agent) {
		return "its change is empty: the base already has it", nil
	}
	return "its change is empty: the base already has it, so its commit is empty", nil
}

// candidate makes a commit of a tree for other batches to build on. It makes none if the run has one worker and no
// speculation.
func (w *work) candidate(ctx context.Context, batch, base, tree string) (commit, sameTree string, err error) {
	if w.info.Workers < 2 && !w.info.Speculate {
		return "", tree, nil
	}
	commit, err = w.Repo.CommitTree(ctx, tree, base, fmt.Sprintf("candidate of batch %s", batch))
	if err != nil {
		return "", "", err
	}
	return commit, tree, w.hold(ctx, commit)
}

// hold adds a commit without a branch to the log of a branch, so that git does not drop it during the run.
func (w *work) hold(ctx context.Context, commit string) error {
	w.holding.Lock()
	defer w.holding.Unlock()
	branch := journal.CandidateBranch(w.info.Slug)
	at, now := w.refs.move(branch), unknown
	defer func() { at(now) }()
	if err := w.Repo.LogBranch(ctx, branch, commit); err != nil {
		return fmt.Errorf("keep candidate %s: %w", short(commit), err)
	}
	now = commit
	return nil
}
