package local

import (
	"context"
	"fmt"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/runner"
)

// Rebase carries what a batch changed over to another commit, as a commit that is on no branch. Nothing but the
// objects of git is touched. A conflict is told with its files and is never resolved in silence.
func (w *work) Rebase(ctx context.Context, c runner.Command, _ runner.Progress) (runner.Event, error) {
	e := runner.Event{Base: c.Base}
	tree, conflicts, err := w.Repo.Rebased(ctx, c.From, c.Base, c.Tree)
	if err != nil {
		return e, err
	}
	if len(conflicts) > 0 {
		shown := conflicts[:min(len(conflicts), 5)]
		e.Outcome, e.Reason = runner.OutcomeConflict, w.redact.String("conflicts with what is ahead of it in "+strings.Join(shown, ", "))
		r := gates.Report{Gate: "merge", Status: gates.Fail, Note: "another batch, whose work is ahead of this one, changed the same lines; do the batch again on top of that"}
		for _, p := range conflicts[:min(len(conflicts), maxFindings)] {
			r.Findings = append(r.Findings, gates.Finding{Rule: "merge/conflict", Path: p, Severity: gates.Error, Message: "cannot be merged with what others changed meanwhile"})
		}
		e.Reports, e.Tree, e.Fingerprint = w.trim([]gates.Report{r}), c.Tree, fingerprint(e.Reason)
		return e, nil
	}
	if e.Reason, err = w.swallowed(ctx, c, tree); err != nil {
		return e, err
	}
	e.Commit, e.Tree, err = w.candidate(ctx, c.Batch, c.Base, tree)
	e.Outcome = runner.OutcomeOK
	return e, err
}

// swallowed says that nothing is left of what a batch changed, as the commit that it was put on has all of it; "" where
// something is. It is the agent's fault no more than anybody's, and a commit without changes is to be no surprise.
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
		return "nothing is left of it: what it did is there already", nil
	}
	return "nothing is left of it: what it did is there already, so its commit is empty", nil
}

// candidate makes a commit of a tree, for others to build on. Where one batch is worked on at a time, nobody does.
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

// hold keeps git from dropping a commit that is on no branch, while the run may still need it: it gets into the log of
// a branch.
func (w *work) hold(ctx context.Context, commit string) error {
	w.holding.Lock()
	defer w.holding.Unlock()
	branch := CandidateBranch(w.info.Slug)
	at, now := w.refs.move(branch), unknown
	defer func() { at(now) }()
	if err := w.Repo.LogBranch(ctx, branch, commit); err != nil {
		return fmt.Errorf("hold candidate %s: %w", short(commit), err)
	}
	now = commit
	return nil
}
