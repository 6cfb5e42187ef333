package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner"
)

const pushTimeout = 5 * time.Minute

// Land lands the run branch as configured. It refuses if something has changed since the run started that it would
// overwrite.
func (w *work) Land(ctx context.Context, c runner.Command, _ runner.Progress) (runner.Event, error) {
	e := runner.Event{Base: c.Base, Commit: c.Commit, Outcome: runner.OutcomeOK}
	var refused string
	var err error
	if c.Commit == w.info.Base && w.info.Land == "pr" {
		e.Reason = "no pull request was opened: the base already has everything in the plan"
		return e, nil
	}
	switch w.info.Land {
	case "ff":
		refused, err = w.fastForward(ctx, c)
	case "pr":
		e.Reason, refused, err = w.pullRequest(ctx)
	default:
		return e, fmt.Errorf("land: unknown target %q; use branch, ff or pr", w.info.Land)
	}
	if refused != "" {
		e.Outcome, e.Reason = runner.OutcomeRefused, refused
	}
	return e, err
}

func (w *work) fastForward(ctx context.Context, c runner.Command) (refused string, err error) {
	by := "git merge " + w.info.Branch
	if w.info.BaseBranch == "" {
		return "the run started from a detached HEAD, so there is no branch to fast-forward; merge it yourself: " + by, nil
	}
	ref := "refs/heads/" + w.info.BaseBranch
	tip, err := w.Repo.Resolve(ctx, ref)
	if err != nil {
		return "", err
	}
	if in, err := w.Repo.IsAncestor(ctx, c.Commit, tip); err == nil && in {
		return "", nil // landed before
	}
	if tip != w.info.Base {
		return fmt.Sprintf("%s moved from %s to %s during the run; merge it yourself: %s", w.info.BaseBranch,
			short(w.info.Base), short(tip), by), nil
	}
	_, branch, err := w.Repo.Head(ctx)
	if err != nil {
		return "", err
	}
	if branch != w.info.BaseBranch {
		dir, err := w.Repo.CheckedOut(ctx, w.info.BaseBranch)
		if err != nil {
			return "", err
		}
		if dir != "" { // files there would stay old, and the next commit there would undo the work
			return fmt.Sprintf("%s is checked out in %s; run there: git merge --ff-only %s", w.info.BaseBranch, dir,
				w.info.Branch), nil
		}
		return "", w.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: ref, New: c.Commit, Old: tip})
	}
	dirty, _, err := w.Repo.Dirty(ctx)
	if err != nil {
		return "", err
	}
	if len(dirty) > 0 {
		return fmt.Sprintf("the checkout has changes (%s); commit or stash them, then: git merge --ff-only %s", dirty[0],
			w.info.Branch), nil
	}
	err = w.Repo.FastForward(ctx, c.Commit)
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		return "git merge --ff-only: " + w.redact.String(Said(exit.Stderr)), nil
	}
	return "", err
}

// mostSaid limits how many lines of a program are quoted in a reason.
const mostSaid = 5

// Said returns a program's output in one line, cut at the end. The beginning is kept, because the last line often does
// not state the cause.
func Said(text string) string {
	lines := filled(redact.Clean(text))
	if more := len(lines) - mostSaid; more > 0 {
		lines = append(lines[:mostSaid], "… "+phrase.Count(more, "more line"))
	}
	return strings.Join(lines, " / ")
}

// pullRequestBody describes the origin of a change and the result of its review, or that there was none (REV-10).
func (w *work) pullRequestBody() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Made by runplan from %s, run %s.\n\n## Review\n\n", w.info.Plan, w.run)
	r := w.summary().Review
	if r == nil {
		w.Note("the pull request says that its changes were not reviewed; [review] final = \"programs\" or \"all\" adds " +
			"a review")
		b.WriteString("| pass | status |\n|---|---|\n| all | (review gate not available): review of the whole run is off, " +
			"by [review] final |\n")
		return b.String()
	}
	b.WriteString(r.Verdict)
	if r.Confidence != nil {
		fmt.Fprintf(&b, ", %d %% sure", *r.Confidence)
	}
	if r.Note != "" {
		b.WriteString(": " + w.redact.String(r.Note))
	}
	b.WriteString("\n\n| pass | status |\n|---|---|\n")
	for _, p := range r.Passes {
		name, status, _ := strings.Cut(p, ": ")
		fmt.Fprintf(&b, "| %s | %s |\n", name, strings.ReplaceAll(status, "|", "\\|"))
	}
	return b.String()
}

func (w *work) pullRequest(ctx context.Context) (url, refused string, err error) {
	to, err := w.Repo.PushRemote(ctx, "")
	if err != nil {
		return "", "", err
	}
	if to == "" {
		return "", "the repository has no remote to push to; the work is on " + w.info.Branch, nil
	}
	run := func(args ...string) (string, string, error) {
		res, err := proc.Run(ctx,
			proc.Cmd{Args: args, Dir: w.Repo.Root, Env: w.marked(w.Repo.Env()), Limits: proc.Limits{Total: pushTimeout},
				KeepStdout: 64 << 10, Reaper: w.Reaper})
		if err != nil || res.OK() {
			return strings.TrimSpace(string(res.Stdout)), "", err
		}
		return "", fmt.Sprintf("%s %s: %s", strings.Join(args[:2], " "), res.How(),
			w.redact.String(lastLines(res.Tail, 2))), nil
	}
	if _, refused, err = run("git", "push", to, w.info.Branch); refused != "" || err != nil {
		return "", refused, err
	}
	base := w.info.BaseBranch
	args := []string{"gh", "pr", "create", "--head", w.info.Branch, "--title", w.info.Title, "--body", w.pullRequestBody()}
	if base != "" {
		args = append(args, "--base", base)
	}
	url, refused, err = run(args...)
	if errors.Is(err, proc.ErrNotFound) {
		return "", fmt.Sprintf("%s was pushed to %s, but gh is not installed; open the pull request yourself", w.info.Branch,
			to), nil
	}
	if strings.Contains(refused, "already exists") {
		return "the pull request already existed", "", nil
	}
	return url, refused, err
}
