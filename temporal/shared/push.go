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

func (d *SharedRepo) refOf(k kept) git.RefUpdate {
	return git.RefUpdate{Ref: d.doneRef(k.seq), New: k.commit}
}

// reached records a step that is in the shared repository. The caller holds the lock.
func (d *SharedRepo) reached(k kept) {
	if k.seq >= d.latest {
		d.latest, d.last = k.seq, Pushed{d.doneRef(k.seq), k.commit}
	}
}

// keep pushes the result of a command, the branches that it moved and all deferred results, atomically.
func (d *SharedRepo) keep(ctx context.Context, seq int, done Done, files []string, moves []Move) error {
	own, err := d.write(ctx, seq, done, files)
	if err != nil {
		return err
	}
	owed := d.takeOwed()
	made := []git.RefUpdate{d.refOf(own)}
	for _, k := range owed {
		made = append(made, d.refOf(k))
	}
	// another worker may have pushed one of the deferred results first
	if err = d.push(ctx, moves, made...); err != nil && len(owed) > 0 {
		d.owe(owed...)
		owed = nil
		err = d.push(ctx, moves, made[0])
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range append(owed, own) {
		d.reached(k)
	}
	return nil
}

// putOff stores a result that no work builds on; the next push takes it along.
func (d *SharedRepo) putOff(ctx context.Context, seq int, done Done, files []string) error {
	own, err := d.write(ctx, seq, done, files)
	if err == nil {
		d.owe(own)
	}
	return err
}

// settle pushes the deferred results that no push has taken along. It skips those that another worker pushed first.
func (d *SharedRepo) settle(ctx context.Context) error {
	var failed error
	for _, k := range d.takeOwed() {
		if err := d.push(ctx, nil, d.refOf(k)); err != nil {
			if there, lerr := d.git(ctx, "", "ls-remote", d.Remote, d.doneRef(k.seq)); lerr != nil || there == "" {
				failed = err
			}
			continue
		}
		d.mu.Lock()
		d.reached(k)
		d.mu.Unlock()
	}
	return failed
}

func (d *SharedRepo) owe(k ...kept) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owed = append(d.owed, k...)
}

func (d *SharedRepo) takeOwed() []kept {
	d.mu.Lock()
	defer d.mu.Unlock()
	owed := d.owed
	d.owed = nil
	return owed
}

func (d *SharedRepo) write(ctx context.Context, seq int, done Done, files []string) (kept, error) {
	message, err := json.Marshal(done)
	if err != nil {
		return kept{}, err
	}
	tree, err := d.pack(ctx, files)
	if err != nil {
		return kept{}, err
	}
	all := []string{done.Event.Base, done.Event.Commit}
	if done.Event.Commit == "" && done.Event.Tree != "" { // no work builds on this candidate, but gates check its tree
		made, err := d.Repo.CommitTree(ctx, done.Event.Tree, "", "a candidate\n")
		if err != nil {
			return kept{}, err
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
	commit, err := d.Repo.CommitAt(ctx, time.Now(), tree, parents, string(message))
	if err != nil {
		return kept{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unpacked == nil {
		d.unpacked = map[string]bool{}
	}
	d.unpacked[commit] = true
	return kept{seq, commit}, nil
}
