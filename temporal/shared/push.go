package shared

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/runplan/runplan/internal/git"
)

// push atomically moves branches and creates refs in the shared repository.
func (d *SharedRepo) push(ctx context.Context, moves []Move, made ...git.RefUpdate) error {
	args := []string{"push", "--quiet", "--atomic", "--no-verify"}
	var specs []string
	for _, m := range moves {
		args = append(args, "--force-with-lease=refs/heads/"+m.Branch+":"+m.From)
		specs = append(specs, m.To+":refs/heads/"+m.Branch)
	}
	for _, r := range made {
		args = append(args, "--force-with-lease="+r.Ref+":"+r.Old)
		specs = append(specs, r.New+":"+r.Ref)
	}
	if _, err := d.git(ctx, "", append(append(args, d.Remote), specs...)...); err != nil {
		return err
	}
	for _, m := range moves {
		if m.Branch == d.Branch {
			d.know(&m.To)
		}
	}
	return nil
}

// kept is a commit with the result of the command of an event.
type kept struct {
	seq    int
	commit string
}

// reached records a step that is in the shared repository. The caller holds the lock.
func (d *SharedRepo) reached(k kept) {
	if k.seq >= d.latest {
		d.latest, d.last = k.seq, Pushed{d.doneRef(k.seq), k.commit}
	}
}

// keep pushes the result of a command and the branches that it moved, atomically.
func (d *SharedRepo) keep(ctx context.Context, seq int, done Done, files []string, moves []Move) error {
	commit, err := d.write(ctx, done, files)
	if err == nil {
		err = d.push(ctx, moves, git.RefUpdate{Ref: d.doneRef(seq), New: commit})
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unpacked.Store(commit, true)
	d.reached(kept{seq, commit})
	return nil
}

// write makes a commit with the result of a command.
func (d *SharedRepo) write(ctx context.Context, done Done, files []string) (string, error) {
	message, err := json.Marshal(done)
	if err != nil {
		return "", err
	}
	tree, err := d.pack(ctx, files)
	if err != nil {
		return "", err
	}
	all := []string{done.Event.Base, done.Event.Commit}
	if done.Event.Commit == "" && done.Event.Tree != "" { // no work builds on this candidate, but gates check its tree
		made, err := d.Repo.CommitTree(ctx, done.Event.Tree, "", "a candidate\n")
		if err != nil {
			return "", err
		}
		all = append(all, made)
	}
	var parents []string
	for _, parent := range all {
		if parent == "" || slices.Contains(parents, parent) {
			continue
		}
		if _, err := d.Repo.TreeOf(ctx, parent); err == nil {
			parents = append(parents, parent)
		}
	}
	return d.Repo.CommitAt(ctx, time.Now(), tree, parents, string(message))
}
