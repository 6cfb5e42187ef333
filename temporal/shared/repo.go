// Package shared lets several machines work on one run through a repository that all of them can push to.
//
// [SharedRepo] is that repository; a [Worker] executes single commands of the run in its own clone.
package shared

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
)

// SharedRepo is the remote repository through which several machines share a run. All shared data is in git:
//
//	refs/heads/runplan/<slug>/main    the run branch; moved by compare-and-swap only
//	<prefix><run>/plan                the plan and the project's configuration at the start of the run
//	<prefix><run>/done/<seq>          the result of the command that event <seq> issued: the report in the
//	                                  message, the candidate as a parent, logs and receipts as files
//	<prefix><run>/journal             the events, stored when the run ends or its history grows long
//
// The plan and the results are written once: a second writer is rejected and uses what the first one wrote.
type SharedRepo struct {
	Repo   *git.Repo
	Layout journal.Layout
	Remote string // name or URL of the remote
	Prefix string // ends with a slash
	Run    string
	Branch string // the run branch

	Redact func(string) string // for git's messages about the remote

	mu       sync.Mutex
	unpacked sync.Map // commits whose files are here
	tip      *string  // last known commit of the run branch; nil if unknown
	latest   int      // event of the last stored command, as far as known
	last     Pushed
}

// Files that [SharedRepo.Offer] stores for a run.
const (
	OfferedPlan   = "plan.md"
	OfferedConfig = "config.toml"
	OfferedInfo   = "info.json"
)

// journalFile is the file of the journal's events in the shared repository, one per line.
const journalFile = "events.jsonl"

// Move is a move of a branch in the shared repository. From "" creates the branch.
type Move struct{ Branch, From, To string }

func (d *SharedRepo) prefix() string { return d.Prefix + d.Run + "/" }

// tipRef returns the prefix of the local refs that hold the shared repository's branches as last fetched.
func (d *SharedRepo) tipRef() string { return d.Prefix + d.Run + tipSuffix + "/" }

// tipSuffix separates these local refs from the run's refs in the shared repository.
const tipSuffix = ".tip"

// git runs git without prompts and removes secrets from its errors.
func (d *SharedRepo) git(ctx context.Context, stdin string, args ...string) (string, error) {
	out, err := d.Repo.Input(ctx, stdin, args...)
	if err != nil {
		return out, d.said(err)
	}
	return out, nil
}

// remoteError is a failure of git with the remote.
type remoteError struct{ text string }

func (e *remoteError) Error() string { return e.text }

func (d *SharedRepo) said(err error) error {
	text := err.Error()
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		text = fmt.Sprintf("git ended with status %d: %s", exit.Code, local.Said(exit.Stderr))
	}
	hide := d.Redact
	if hide == nil {
		hide = redact.New(nil).String // at least the secrets in URLs
	}
	return &remoteError{"the shared repository: " + hide(redact.Clean(text))}
}

// fetch fetches refs from the shared repository.
func (d *SharedRepo) fetch(ctx context.Context, refs ...string) error {
	_, err := d.git(ctx, "", append([]string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", d.Remote}, refs...)...)
	return err
}

// Fetch fetches the refs of this run and, once its name is known, the run branch.
func (d *SharedRepo) Fetch(ctx context.Context) error {
	refs := []string{"+" + d.prefix() + "*:" + d.prefix() + "*"}
	if d.Branch != "" {
		refs = append(refs, "+refs/heads/"+d.Branch+"*:"+d.tipRef()+"main*")
	}
	err := d.fetch(ctx, refs...)
	d.know(nil)
	return err
}

// know records the commit of the run branch; nil means unknown.
func (d *SharedRepo) know(tip *string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tip = tip
}

// Tip returns the run branch as last fetched or pushed from here, "" if it does not exist.
func (d *SharedRepo) Tip(ctx context.Context) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tip == nil {
		tip, err := d.Repo.Resolve(ctx, d.tipRef()+"main")
		if err != nil {
			return "", err
		}
		d.tip = &tip
	}
	return *d.tip, nil
}

// fetchBranch fetches a branch of the shared repository and returns its commit, "" if it does not exist.
func (d *SharedRepo) fetchBranch(ctx context.Context, name string) (string, error) {
	if err := d.fetch(ctx, "+refs/heads/"+name+"*:"+d.tipRef()+"land/"+name+"*"); err != nil {
		return "", err
	}
	return d.Repo.Resolve(ctx, d.tipRef()+"land/"+name)
}

// Offer pushes the plan, the configuration and the branch of a new run. It never replaces an existing run.
func (d *SharedRepo) Offer(ctx context.Context, base string, files map[string][]byte) error {
	tree, err := d.tree(ctx, files)
	if err != nil {
		return err
	}
	plan, err := d.Repo.CommitTree(ctx, tree, base, "the plan of run "+d.Run+"\n")
	if err != nil {
		return err
	}
	err = d.push(ctx, []Move{{Branch: d.Branch, To: base}}, git.RefUpdate{Ref: d.prefix() + "plan", New: plan})
	if err == nil {
		return nil
	}
	if ferr := d.Fetch(ctx); ferr == nil {
		if have, rerr := d.Repo.Resolve(ctx, d.prefix()+"plan"); rerr == nil && have == plan {
			return nil // an earlier try pushed it
		}
	}
	return err
}

// Offered reads one file that [SharedRepo.Offer] stored, nil if there is none.
func (d *SharedRepo) Offered(ctx context.Context, name string) ([]byte, error) {
	objects := d.Repo.Objects(ctx)
	defer objects.Close()
	got, err := objects.Read([]string{d.prefix() + "plan:" + name})
	if err != nil || got[0].Hash == "" {
		return nil, err
	}
	return got[0].Data, nil
}

func (d *SharedRepo) doneRef(seq int) string { return d.prefix() + "done/" + strconv.Itoa(seq) }

// done returns the stored result of a command, and whether there is one.
func (d *SharedRepo) done(ctx context.Context, seq int) (Done, bool, error) {
	commit, err := d.Repo.Resolve(ctx, d.doneRef(seq))
	if err != nil || commit == "" {
		return Done{}, false, err
	}
	out, err := d.read(ctx, commit)
	if err != nil {
		return Done{}, false, fmt.Errorf("read the result of event %d: %w", seq, err)
	}
	return out, true, nil
}

// read returns the result in a commit of the shared repository.
func (d *SharedRepo) read(ctx context.Context, commit string) (Done, error) {
	info, err := d.Repo.ReadCommit(ctx, commit)
	if err != nil {
		return Done{}, err
	}
	var out Done
	return out, json.Unmarshal([]byte(info.Message), &out)
}

// Latest returns the last known step of the run in the shared repository, or the zero value.
func (d *SharedRepo) Latest() Pushed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// Collect fetches and unpacks the logs and receipts. It moves the local run branch, only forward.
func (d *SharedRepo) Collect(ctx context.Context) error {
	if err := d.Fetch(ctx); err != nil {
		return err
	}
	if err := d.unpack(ctx); err != nil {
		return err
	}
	tip, err := d.Tip(ctx)
	if err != nil || tip == "" {
		return err
	}
	ref := "refs/heads/" + d.Branch
	now, err := d.Repo.Resolve(ctx, ref)
	if err != nil || now == tip {
		return err
	}
	if now != "" {
		if in, err := d.Repo.IsAncestor(ctx, now, tip); err != nil || !in {
			return errors.Join(err, fmt.Errorf("the run branch %s is at %s here and at %s in the shared repository; look at "+
				"both, then: git branch -f %s %s", d.Branch, now[:min(9, len(now))], tip[:min(9, len(tip))], d.Branch, tip))
		}
	}
	return d.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: ref, New: tip, Old: now})
}

// KeepJournal stores events in the shared repository and replaces the journal there. The caller must have at least as
// many events as the shared repository.
func (d *SharedRepo) KeepJournal(ctx context.Context, events []runner.Event) (string, error) {
	var text bytes.Buffer
	for _, e := range events {
		line, err := e.Encode()
		if err != nil {
			return "", err
		}
		text.Write(append(line, '\n'))
	}
	tree, err := d.tree(ctx, map[string][]byte{journalFile: text.Bytes()})
	if err != nil {
		return "", err
	}
	commit, err := d.Repo.CommitTree(ctx, tree, "", "the journal of run "+d.Run+"\n")
	if err != nil {
		return "", err
	}
	_, err = d.git(ctx, "", "push", "--quiet", "--no-verify", d.Remote, "+"+commit+":"+d.prefix()+"journal")
	return commit, err
}

// Journal reads the stored events from the shared repository.
func (d *SharedRepo) Journal(ctx context.Context) ([]runner.Event, error) {
	if err := d.Fetch(ctx); err != nil {
		return nil, err
	}
	text, err := d.Repo.Run(ctx, "cat-file", "blob", d.prefix()+"journal:"+journalFile)
	if err != nil {
		return nil, fmt.Errorf("the shared repository keeps no journal of run %s: %w", d.Run, d.said(err))
	}
	var out []runner.Event
	for line := range strings.Lines(text) {
		var e runner.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, fmt.Errorf("read the journal of run %s: %w", d.Run, err)
		}
		out = append(out, e)
	}
	return out, nil
}
