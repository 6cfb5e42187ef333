package shared

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// SharedRules decide what can be removed from a shared repository.
type SharedRules struct {
	Keep time.Duration // how long the plans, logs and journals of finished runs stay
	Now  time.Time
	// Live reports whether a run is active on any host.
	Live func(ctx context.Context, run string) (bool, error)
}

// runBranches is the prefix of the branches of all runs.
const runBranches = "runplan/"

// Kinds of leftovers in a shared repository and of their local copies.
const (
	LeftEvidence     = "evidence"
	LeftEvidenceCopy = "evidence copy"
	LeftSharedBranch = "shared branch"
)

// SharedLeftovers lists the leftovers of runs in the shared repository. Plans, logs and journals can go some time
// after the end of their run. Branches below runplan/ can go once their base branch contains them. Local copies
// can go once the shared repository no longer has the originals. The run of d is ignored.
func (d *SharedRepo) SharedLeftovers(ctx context.Context, rules SharedRules) ([]local.Leftover, error) {
	refs, err := d.remoteRefs(ctx)
	if err != nil {
		return nil, err
	}
	runs := map[string]*sharedRun{}
	for ref := range refs {
		if run, what, ok := strings.Cut(strings.TrimPrefix(ref, d.Prefix), "/"); ok && strings.HasPrefix(ref, d.Prefix) {
			if runs[run] == nil {
				runs[run] = &sharedRun{id: run}
			}
			runs[run].refs++
			switch what {
			case "plan":
				runs[run].plan = refs[ref]
			case "journal":
				runs[run].journal = refs[ref]
			}
		}
	}
	if err := d.readShared(ctx, runs); err != nil {
		return nil, err
	}
	var out []local.Leftover
	newest := map[string]*sharedRun{} // by slug
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		r := runs[id]
		x := local.Leftover{Kind: LeftEvidence, Name: d.Prefix + id + "/"}
		if x.Remove, x.Why, err = r.canGo(ctx, rules); err != nil {
			return nil, err
		}
		x.Why = fmt.Sprintf("%d refs, %s", r.refs, x.Why)
		if other := newest[r.info.Slug]; other == nil || other.done() && (!r.done() || r.last.At.After(other.last.At)) {
			newest[r.info.Slug] = r
		}
		out = append(out, x)
	}
	branches, err := d.sharedBranches(ctx, refs, newest)
	if err != nil {
		return nil, err
	}
	copies, err := d.copies(ctx, runs)
	return slices.Concat(out, branches, copies), err
}

// sharedRun is a run in the shared repository.
type sharedRun struct {
	id      string
	refs    int
	plan    string // commit
	journal string // commit, "" if none was stored
	info    runner.Info
	last    runner.Event // of the journal
}

// done reports whether the run is finished successfully, so that it never resumes.
func (r *sharedRun) done() bool {
	return r.last.Kind == runner.RunFinished && r.last.Outcome == runner.OutcomeOK
}

// canGo reports whether the refs of a run can be removed, and why.
func (r *sharedRun) canGo(ctx context.Context, rules SharedRules) (bool, string, error) {
	if !r.done() {
		return false, "its run is not finished", nil
	}
	if live, err := rules.Live(ctx, r.id); err != nil || live {
		return false, "its run is active", err
	}
	until := r.last.At.Add(rules.Keep)
	if rules.Now.Before(until) {
		return false, "its run is done; kept until " + until.UTC().Format(time.DateOnly), nil
	}
	return true, "its run was done on " + r.last.At.UTC().Format(time.DateOnly), nil
}

func (d *SharedRepo) remoteRefs(ctx context.Context) (map[string]string, error) {
	out, err := d.git(ctx, "", "ls-remote", "--quiet", d.Remote)
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if hash, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			refs[ref] = hash
		}
	}
	return refs, nil
}

// readShared reads the plan info and the last event of runs.
func (d *SharedRepo) readShared(ctx context.Context, runs map[string]*sharedRun) error {
	var refs []string
	for _, r := range runs {
		if r.plan != "" {
			refs = append(refs, d.Prefix+r.id+"/plan")
		}
		if r.journal != "" {
			refs = append(refs, d.Prefix+r.id+"/journal")
		}
	}
	slices.Sort(refs)
	if len(refs) > 0 {
		if err := d.fetch(ctx, refs...); err != nil { // no local refs
			return err
		}
	}
	for _, r := range runs {
		if r.plan != "" {
			if text, err := d.Repo.Run(ctx, "cat-file", "blob", r.plan+":"+OfferedInfo); err != nil {
				return fmt.Errorf("read the description of run %s: %w", r.id, d.said(err))
			} else if err := json.Unmarshal([]byte(text), &r.info); err != nil {
				return fmt.Errorf("read the description of run %s: %w", r.id, err)
			}
		}
		if r.journal != "" {
			text, err := d.Repo.Run(ctx, "cat-file", "blob", r.journal+":"+journalFile)
			if err != nil {
				return fmt.Errorf("read the journal of run %s: %w", r.id, d.said(err))
			}
			last := text[strings.LastIndexByte(strings.TrimSpace(text), '\n')+1:]
			if err := json.Unmarshal([]byte(last), &r.last); err != nil {
				return fmt.Errorf("read the journal of run %s: %w", r.id, err)
			}
		}
	}
	return nil
}

// sharedBranches lists the branches of runs in the shared repository. A branch can go once the base branch of its
// run contains it. If the run is unknown, its base is the default branch.
func (d *SharedRepo) sharedBranches(ctx context.Context, refs map[string]string,
	newest map[string]*sharedRun) ([]local.Leftover, error) {
	into := map[string]string{} // by branch: its base
	for ref := range refs {
		rest, ours := strings.CutPrefix(ref, "refs/heads/"+runBranches)
		if !ours || strings.HasPrefix(ref, d.Prefix) {
			continue
		}
		slug, _, _ := strings.Cut(rest, "/")
		into[ref] = "HEAD"
		if r := newest[slug]; r != nil && refs["refs/heads/"+r.info.BaseBranch] != "" {
			into[ref] = "refs/heads/" + r.info.BaseBranch
		}
	}
	if len(into) == 0 || refs["HEAD"] == "" { // without a default branch, no merge can be checked
		return nil, nil
	}
	if err := d.fetch(ctx, slices.Concat(slices.Collect(maps.Keys(into)),
		slices.Compact(slices.Sorted(maps.Values(into))))...); err != nil {
		return nil, err
	}
	var out []local.Leftover
	for _, ref := range slices.Sorted(maps.Keys(into)) {
		name := strings.TrimPrefix(ref, "refs/heads/")
		slug, _, _ := strings.Cut(strings.TrimPrefix(name, runBranches), "/")
		where := strings.TrimPrefix(into[ref], "refs/heads/")
		in, err := d.Repo.IsAncestor(ctx, refs[ref], refs[into[ref]])
		if err != nil {
			return nil, err
		}
		x := local.Leftover{Kind: LeftSharedBranch, Name: name, Why: "not merged into " + where}
		switch {
		case newest[slug] != nil && !newest[slug].done():
			x.Why = "its run is not finished"
		case in:
			x.Remove, x.Why = true, "merged into "+where
		}
		out = append(out, x)
	}
	return out, nil
}

// copies lists the local copies of runs that the shared repository no longer has.
func (d *SharedRepo) copies(ctx context.Context, runs map[string]*sharedRun) ([]local.Leftover, error) {
	out, err := d.Repo.Run(ctx, "for-each-ref", "--format=%(refname)", strings.TrimSuffix(d.Prefix, "/"))
	if err != nil {
		return nil, err
	}
	have := map[string]int{}
	for ref := range strings.Lines(out) {
		id, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(ref), d.Prefix), "/")
		have[strings.TrimSuffix(id, tipSuffix)]++
	}
	var left []local.Leftover
	for _, id := range slices.Sorted(maps.Keys(have)) {
		if runs[id] == nil {
			left = append(left, local.Leftover{Kind: LeftEvidenceCopy, Name: d.Prefix + id + "/", Remove: true,
				Why: fmt.Sprintf("%d refs here, and none in the shared repository any more", have[id])})
		}
	}
	return left, nil
}

// pushAtOnce limits the refs deleted with one push, because the command line has a limited length.
const pushAtOnce = 500

// RemoveShared removes a leftover that [SharedRepo.SharedLeftovers] listed for removal, if it did not change since.
func (d *SharedRepo) RemoveShared(ctx context.Context, x local.Leftover) error {
	if !x.Remove {
		return fmt.Errorf("%s %s: %s", x.Kind, x.Name, x.Why)
	}
	if x.Kind != LeftEvidenceCopy {
		refs, err := d.remoteRefs(ctx)
		if err != nil {
			return err
		}
		var gone []string
		for ref := range refs {
			if x.Kind == LeftEvidence && strings.HasPrefix(ref, x.Name) || ref == "refs/heads/"+x.Name {
				gone = append(gone, ref)
			}
		}
		if err := d.removeRefs(ctx, refs, gone); err != nil {
			return err
		}
	}
	if x.Kind == LeftSharedBranch {
		return nil
	}
	return d.forget(ctx, x.Name)
}

// removeRefs deletes unchanged refs of the shared repository. The journal goes last: after an interruption it
// still describes the remaining refs.
func (d *SharedRepo) removeRefs(ctx context.Context, at map[string]string, gone []string) error {
	slices.SortFunc(gone, func(a, b string) int { return strings.Compare(lastIsJournal(a), lastIsJournal(b)) })
	for part := range slices.Chunk(gone, pushAtOnce) {
		args := []string{"push", "--quiet", "--atomic", "--no-verify"}
		var specs []string
		for _, ref := range part {
			args, specs = append(args, "--force-with-lease="+ref+":"+at[ref]), append(specs, ":"+ref)
		}
		if _, err := d.git(ctx, "", slices.Concat(args, []string{d.Remote}, specs)...); err != nil {
			return err
		}
	}
	return nil
}

func lastIsJournal(ref string) string {
	if strings.HasSuffix(ref, "/journal") {
		return "~" + ref
	}
	return ref
}

// forget deletes the local refs of a run.
func (d *SharedRepo) forget(ctx context.Context, prefix string) error {
	tips := strings.TrimSuffix(prefix, "/") + tipSuffix + "/"
	out, err := d.Repo.Run(ctx, "for-each-ref", "--format=%(refname) %(objectname)", prefix, tips)
	if err != nil {
		return err
	}
	var updates []git.RefUpdate
	for line := range strings.Lines(out) {
		ref, hash, _ := strings.Cut(strings.TrimSpace(line), " ")
		updates = append(updates, git.RefUpdate{Ref: ref, Old: hash})
	}
	if len(updates) == 0 {
		return nil
	}
	return d.Repo.UpdateRefs(ctx, updates...)
}
