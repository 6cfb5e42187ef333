package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/mutants"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// commitTimeout limits the repository's hooks and a signing program that waits for a person.
const commitTimeout = 5 * time.Minute

const hookChanged = "a hook of the repository changed the files; they are checked again"

// Commit makes the batch's one commit with the repository's hooks and signing, and compares the result with the tree
// that the gates checked.
func (w *work) Commit(ctx context.Context, c runner.Command, _ runner.Progress) (runner.Event, error) {
	e := runner.Event{Base: c.Base, Tree: c.Tree}
	b := w.batch(c)
	branch := journal.BatchBranch(w.info.Slug, c.Batch)
	if done, ok := w.committed(ctx, branch, b, c); ok {
		e.Commit, e.Outcome = done, runner.OutcomeOK
		return e, nil
	}
	below, err := w.Repo.TreeOf(ctx, c.Base)
	if err != nil {
		return e, fmt.Errorf("commit batch %s: %w", c.Batch, err)
	}
	if below == c.Tree && literal(w.Agent) {
		// The repository already contains all literal blocks of the batch, usually because the plan was merged before. The
		// existing commit is the proof of the batch.
		e.Commit, e.Outcome, e.Reason = c.Base, runner.OutcomeOK, "its result already exists, so there is nothing to commit"
		return e, nil
	}
	space, err := w.restore(ctx, c)
	if err != nil {
		return e, err
	}
	at, now := w.refs.move(branch), unknown
	defer func() { at(now) }()
	hooks := w.shift(c, space, "the commit")
	w.begin(hooks, false) // hooks that were added while agents or gates ran do not run
	defer w.adopt(hooks)
	res, err := proc.Run(ctx, proc.Cmd{
		Args: append(append([]string{"git"}, w.Repo.OwnHooks(ctx)...), "commit", "--quiet", "--allow-empty",
			"--cleanup=whitespace", "--file=-"),
		Dir: space.Dir, Env: w.marked(space.Env()),
		Stdin: strings.NewReader(CommitMessage(b, w.info.Plan, w.run, w.worker(b.Key),
			proofOf(w.factsOf(c.Batch, c.Base).gates))),
		Limits: proc.Limits{Total: commitTimeout, Grace: w.Limits.Grace}, Reaper: w.Reaper,
	})
	if err != nil {
		return e, fmt.Errorf("commit batch %s: %w", c.Batch, err)
	}
	if ctx.Err() != nil {
		return e, context.Cause(ctx)
	}
	head, err := space.Head(ctx)
	if err != nil {
		return e, err
	}
	if !res.OK() || head == c.Base {
		how := res.How()
		if tree, err := space.Restage(ctx); err == nil && tree != c.Tree && !res.OK() {
			// A formatter under pre-commit does this: it refuses the commit, so that a person looks at its changes.
			space.Tree = ""
			e.Outcome, e.Reason = runner.OutcomeChanged, hookChanged
			e.Commit, e.Tree, err = w.candidate(ctx, c.Batch, c.Base, tree)
			return e, err
		}
		if err := gates.Hindrance(res.Tail, how); err != nil && !res.OK() { // no other attempt could change that
			space.Tree = ""
			return e, fmt.Errorf("a hook of the repository refused the commit of batch %s: %w", b.Number, err)
		}
		if res.OK() {
			how = "the commit command succeeded, but made no commit"
		}
		e.Outcome, e.Reason = runner.OutcomeFailed, "git commit "+how+": "+w.redact.String(lastLines(res.Tail, 2))
		e.Reports = []gates.Report{{Gate: "commit", Status: gates.Fail,
			Note: "a hook of the repository, or signing, refused the commit", Output: tail(w.redact.String(res.Tail), 4<<10)}}
		e.Fingerprint = runner.Fingerprint(res.Tail)
		space.Tree = ""
		return e, nil
	}
	info, err := w.Repo.ReadCommit(ctx, head)
	if err != nil {
		return e, err
	}
	if len(info.Parents) != 1 || info.Parents[0] != c.Base {
		// Another agent moved the branch, so the base of the commit has not passed any gate.
		space.Tree = ""
		return e, fmt.Errorf("commit batch %s: another process moved its branch %s from %s meanwhile", c.Batch, branch,
			short(c.Base))
	}
	if info.Tree != c.Tree {
		// A hook changed files. The gated tree differs from the tree to merge, so the gates run again.
		if err := w.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: "refs/heads/" + branch, New: c.Base, Old: head}); err != nil {
			return e, err
		}
		now, space.Tree = c.Base, ""
		e.Outcome, e.Reason = runner.OutcomeChanged, hookChanged
		e.Commit, e.Tree, err = w.candidate(ctx, c.Batch, c.Base, info.Tree)
		return e, err
	}
	now = head
	e.Outcome, e.Commit = runner.OutcomeOK, head
	return e, nil
}

// committed finds the commit of an earlier try that was killed before it recorded the commit.
func (w *work) committed(ctx context.Context, branch string, b *planparse.Batch, c runner.Command) (string, bool) {
	head, err := w.Repo.Resolve(ctx, "refs/heads/"+branch)
	if err != nil || head == "" || head == c.Base {
		return "", false
	}
	info, err := w.Repo.ReadCommit(ctx, head)
	if err != nil || info.Tree != c.Tree || len(info.Parents) != 1 || info.Parents[0] != c.Base {
		return "", false
	}
	return head, strings.Contains(info.Message, "Runplan-Run: "+w.run) &&
		strings.Contains(info.Message, "Runplan-Batch: "+b.Key)
}

// CommitMessage returns the message of the commit of a batch: its title, and the trailers that link it to the run.
func CommitMessage(b *planparse.Batch, plan, run, agent, proof string) string {
	title := cmp.Or(phrase.Cut(phrase.Line(redact.Clean(b.Title)), 72), "Batch "+b.Number)
	var m strings.Builder
	fmt.Fprintf(&m, "%s\n\nBatch %s of %s\n", title, b.Number, plan)
	fmt.Fprintf(&m, "\nRunplan-Run: %s\nRunplan-Batch: %s\nRunplan-Agent: %s\n", run, b.Key, agent)
	if proof != "" {
		m.WriteString(folded("Runplan-Proof: " + proof))
	}
	return m.String()
}

// maxFooter is the length of a line that commitlint accepts by default.
const maxFooter = 100

// folded divides a trailer into lines. All lines except the first begin with a space, as git expects.
func folded(trailer string) string {
	var b strings.Builder
	length := 0
	for i, word := range strings.Fields(trailer) {
		switch {
		case i == 0:
		case length+1+len(word) > maxFooter:
			b.WriteString("\n ")
			length = 1
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += len(word)
	}
	b.WriteByte('\n')
	return b.String()
}

// proofOf describes in one line the reliability of the gates' results: which suites were calibrated, which tests of
// the base passed, and how many wrong versions were detected. It returns "" if nothing is known.
func proofOf(seen []journal.GateReceipt) string {
	var parts []string
	for _, g := range seen {
		text := ""
		switch {
		case g.Status == gates.Skipped:
		case g.Gate == mutants.Name:
			text = g.Note
		case g.Proof != nil:
			text = string(g.Proof.Calibration)
			if h := g.Proof.Held; h != nil && h.Why == "" {
				text += fmt.Sprintf(", held %d of %d", h.Passed, h.Ran)
			}
			if g.Tests != nil {
				text += fmt.Sprintf(", %d passed", g.Tests.Passed)
			}
		}
		if text != "" {
			parts = append(parts, g.Gate+" "+text)
		}
	}
	return phrase.Cut(phrase.Line(redact.Clean(strings.Join(parts, "; "))), 300)
}

// Merge moves the run branch to the commit and writes the receipt.
func (w *work) Merge(ctx context.Context, c runner.Command, _ runner.Progress) (runner.Event, error) {
	e := runner.Event{Base: c.Base, Commit: c.Commit, Tree: c.Tree}
	main := "refs/heads/" + w.info.Branch
	batch := "refs/heads/" + journal.BatchBranch(w.info.Slug, c.Batch)
	receipt, hash, err := w.writeReceipt(c)
	if err != nil {
		return e, err
	}
	e.Receipt, e.Fingerprint, e.Outcome = w.Layout.Rel(receipt), hash, runner.OutcomeOK
	atMain, atBatch := w.refs.move(w.info.Branch), w.refs.move(journal.BatchBranch(w.info.Slug, c.Batch))
	tip := unknown
	defer func() { atMain(tip); atBatch("") }()
	updates := []git.RefUpdate{{Ref: main, New: c.Commit, Old: c.Base}, {Ref: batch, Old: c.Commit}}
	// The workspace has the branch to delete checked out. If it cannot be detached in the same transaction, it is detached
	// afterwards.
	defer w.pool.Rest(c.Batch, false)
	off := w.pool.Detaching(c.Batch, c.Commit)
	if err = w.Repo.UpdateRefs(ctx, slices.Concat(updates, off)...); err != nil && len(off) > 0 {
		err = w.Repo.UpdateRefs(ctx, updates...)
	}
	if err == nil {
		tip = c.Commit
		w.warnOnRunBranch(ctx)
		w.leave(ctx, c)
		return e, nil
	}
	// The ref moved, by an earlier try of this command or by another process.
	found, rerr := w.Repo.Resolve(ctx, main)
	if rerr != nil || found == "" {
		return e, fmt.Errorf("merge batch %s: %w", c.Batch, err)
	}
	tip = found
	in, aerr := w.Repo.IsAncestor(ctx, c.Commit, tip)
	switch {
	case aerr != nil:
		return e, fmt.Errorf("merge batch %s: %w", c.Batch, aerr)
	case in:
		if head, _ := w.Repo.Resolve(ctx, batch); head == c.Commit {
			if err := w.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: batch, Old: head}); err != nil {
				return e, err
			}
		}
		w.leave(ctx, c)
		return e, nil
	case tip == c.Base:
		return e, fmt.Errorf("merge batch %s: %w", c.Batch, err)
	}
	e.Outcome, e.Base = runner.OutcomeMoved, tip
	e.Reason = fmt.Sprintf("another process moved the run branch from %s to %s", short(c.Base), short(tip))
	return e, nil
}

// warnOnRunBranch warns a user who has checked out the run branch that it moves: git then shows the run's changes
// as deletions, and a commit would revert them.
func (w *work) warnOnRunBranch(ctx context.Context) {
	if _, branch, err := w.Repo.Head(ctx); err != nil || branch != w.info.Branch {
		return
	}
	w.onRunBranch.Do(func() {
		w.Note(fmt.Sprintf("%s is checked out in %s and moves during the run, so git shows files that the run adds as "+
			"deleted there: do not commit there; look at it with git log %[1]s, or git worktree add --detach DIR %[1]s",
			w.info.Branch, w.Repo.Root))
	})
}

// leave releases the workspace of a merged batch. The batch's branch no longer exists.
func (w *work) leave(ctx context.Context, c runner.Command) {
	if err := w.pool.Detach(ctx, c.Batch, c.Commit); err != nil {
		w.Note(err.Error())
	}
	w.pool.Release(c.Batch)
}

func short(hash string) string { return hash[:min(9, len(hash))] }
