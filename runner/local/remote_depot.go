package local

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
)

// EvidencePrefix is where the depot keeps what is no branch, unless the configuration says otherwise: a normal clone does
// not fetch it.
const EvidencePrefix = "refs/runplan/"

// Depot is the remote repository that several machines work on one run with. All that passes between them is in git:
//
//	refs/heads/runplan/<slug>/main    the run branch; it is moved by compare-and-swap only
//	<prefix><run>/plan                the plan and the project's configuration, as the run started with them
//	<prefix><run>/done/<seq>          what came of the command that event <seq> handed out: the report in the message, the
//	                                  candidate as a parent, logs and receipts as files
//	<prefix><run>/journal             the events, kept when the run ends or its history grows long
//
// Each of the first three is written once: a second writer is refused, and takes over what the first one wrote.
type Depot struct {
	Repo   *git.Repo
	Layout Layout
	Remote string // name or URL of the remote
	Prefix string // ends with a slash
	Run    string
	Branch string // the run branch

	Redact func(string) string // of what git says of the remote

	mu       sync.Mutex
	unpacked map[string]bool
	tip      *string // where the run branch is, as far as that is known; nil for not at all
	latest   int     // event whose command was the last to be kept, as far as is known here
	last     Pushed
	owed     []kept
}

// Files that a run is offered with.
const (
	OfferedPlan   = "plan.md"
	OfferedConfig = "config.toml"
	OfferedInfo   = "info.json"
)

// journalFile holds the events of a run that the depot keeps, one a line.
const journalFile = "events.jsonl"

// Move is a branch that is moved in the depot. From "" makes it.
type Move struct{ Branch, From, To string }

func (d *Depot) prefix() string { return d.Prefix + d.Run + "/" }

// tipRef is where this clone keeps what the depot's run branch was when it was last looked at.
func (d *Depot) tipRef() string { return d.Prefix + d.Run + tipSuffix + "/" }

// tipSuffix tells what a clone remembers of a run's branches from what the run has in the depot.
const tipSuffix = ".tip"

// git runs git with nobody to ask, and takes secrets out of what it says.
func (d *Depot) git(ctx context.Context, stdin string, args ...string) (string, error) {
	out, err := d.Repo.Input(ctx, stdin, args...)
	if err != nil {
		return out, d.said(err)
	}
	return out, nil
}

// depotError is something that git could not do with the remote.
type depotError struct{ text string }

func (e *depotError) Error() string { return e.text }

func (d *Depot) said(err error) error {
	text := err.Error()
	var exit *proc.ExitError
	if errors.As(err, &exit) {
		text = fmt.Sprintf("git ended with status %d: %s", exit.Code, said(exit.Stderr))
	}
	hide := d.Redact
	if hide == nil {
		hide = redact.New(nil).String // at least what stands in URLs
	}
	return &depotError{"the shared repository: " + hide(redact.Clean(text))}
}

// Fetch brings here what others pushed of this run.
func (d *Depot) Fetch(ctx context.Context) error {
	_, err := d.git(ctx, "", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", d.Remote,
		"+"+d.prefix()+"*:"+d.prefix()+"*", "+refs/heads/"+d.Branch+"*:"+d.tipRef()+"main*")
	d.know(nil)
	return err
}

// know takes note of where the run branch is.
func (d *Depot) know(tip *string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tip = tip
}

// FetchPlan brings here what a run was offered with, and the branches of the depot.
func (d *Depot) FetchPlan(ctx context.Context) error {
	_, err := d.git(ctx, "", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", d.Remote, "+"+d.prefix()+"*:"+d.prefix()+"*")
	return err
}

// Tip is where the run branch was when it was last fetched or moved from here, "" for nowhere.
func (d *Depot) Tip(ctx context.Context) (string, error) {
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

// fetchBranch returns where a branch of the depot is, "" where it has none of that name.
func (d *Depot) fetchBranch(ctx context.Context, name string) (string, error) {
	if _, err := d.git(ctx, "", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", d.Remote, "+refs/heads/"+name+"*:"+d.tipRef()+"land/"+name+"*"); err != nil {
		return "", err
	}
	return d.Repo.Resolve(ctx, d.tipRef()+"land/"+name)
}

// Offer gives a new run to the depot: its plan, its configuration and its branch. One that is there already stays.
func (d *Depot) Offer(ctx context.Context, base string, files map[string][]byte) error {
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
			return nil // an earlier try of ours
		}
	}
	return err
}

// Offered reads one file of what [Depot.Offer] gave, nil where it was not given.
func (d *Depot) Offered(ctx context.Context, name string) ([]byte, error) {
	objects := d.Repo.Objects(ctx)
	defer objects.Close()
	got, err := objects.Read([]string{d.prefix() + "plan:" + name})
	if err != nil || got[0].Hash == "" {
		return nil, err
	}
	return got[0].Data, nil
}

func (d *Depot) doneRef(seq int) string { return d.prefix() + "done/" + strconv.Itoa(seq) }

// done returns what came of a command, if somebody has written that down.
func (d *Depot) done(ctx context.Context, seq int) (Done, bool, error) {
	commit, err := d.Repo.Resolve(ctx, d.doneRef(seq))
	if err != nil || commit == "" {
		return Done{}, false, err
	}
	out, err := d.read(ctx, commit)
	if err != nil {
		return Done{}, false, fmt.Errorf("read what came of event %d: %w", seq, err)
	}
	return out, true, nil
}

// read returns what came of a command from the commit that keeps it.
func (d *Depot) read(ctx context.Context, commit string) (Done, error) {
	info, err := d.Repo.ReadCommit(ctx, commit)
	if err != nil {
		return Done{}, err
	}
	var out Done
	return out, json.Unmarshal([]byte(info.Message), &out)
}

// Latest is the last step of the run that is in the depot, as far as is known here; the zero value for none.
func (d *Depot) Latest() Pushed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// Collect brings the logs, the receipts and the run branch here. The run branch of this repository is moved only forward.
func (d *Depot) Collect(ctx context.Context) error {
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
			return errors.Join(err, fmt.Errorf("the run branch %s is at %s here and at %s in the shared repository; look at both, then: git branch -f %s %s", d.Branch, short(now), short(tip), d.Branch, tip))
		}
	}
	return d.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: ref, New: tip, Old: now})
}

// KeepJournal keeps events in the depot. Whoever has more than the depot wins; the events themselves never change.
func (d *Depot) KeepJournal(ctx context.Context, events []runner.Event) (string, error) {
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

// Journal reads the events that the depot keeps.
func (d *Depot) Journal(ctx context.Context) ([]runner.Event, error) {
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
