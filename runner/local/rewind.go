package local

import (
	"context"
	"fmt"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
)

// UnverifiedBranch returns the branch for commits of the run branch without a verified event.
func UnverifiedBranch(slug, commit string) string {
	return "runplan/" + slug + "/unverified-" + short(commit)
}

// Rewind moves the run branch back to its position after the event upTo. It returns the branch that keeps the removed
// commits; "" if it was already there. Call it before later events are removed, because they may be the only record of
// later merges.
func Rewind(ctx context.Context, repo *git.Repo, j *store.Journal, run string, upTo int) (kept string, err error) {
	var recorder *runner.Recorder
	var info runner.Info
	for ev, err := range Events(ctx, j, run, 0) {
		if ev.Seq > upTo {
			break
		}
		if err != nil {
			return "", err
		}
		if recorder == nil {
			if ev.Job == nil {
				return "", fmt.Errorf("journal: the first event of run %s does not describe the run", run)
			}
			info = *ev.Job
			machine, err := runner.New(info)
			if err != nil {
				return "", err
			}
			recorder = runner.NewRecorder(run, machine, nil)
		}
		recorder.Recall(ev)
	}
	if recorder == nil {
		return "", nil
	}
	ref, tip := "refs/heads/"+info.Branch, recorder.Machine().Tip()
	now, err := repo.Resolve(ctx, ref)
	if err != nil || now == "" || now == tip {
		return "", err
	}
	kept = UnverifiedBranch(info.Slug, now)
	if at, err := repo.Resolve(ctx, "refs/heads/"+kept); err != nil || at == "" {
		if err := repo.UpdateRefs(ctx, git.RefUpdate{Ref: "refs/heads/" + kept, New: now}); err != nil {
			return "", fmt.Errorf("keep the commits of %s: %w", info.Branch, err)
		}
	}
	if err := repo.UpdateRefs(ctx, git.RefUpdate{Ref: ref, Old: now, New: tip}); err != nil {
		return "", fmt.Errorf("move %s back to %s: %w", info.Branch, short(tip), err)
	}
	return kept, nil
}
