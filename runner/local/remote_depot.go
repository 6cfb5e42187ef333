package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
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
}

// Move is a branch that is moved in the depot. From "" makes it.
type Move struct{ Branch, From, To string }

func (d *Depot) prefix() string { return d.Prefix + d.Run + "/" }

// tipRef is where this clone keeps what the depot's run branch was when it was last looked at.
func (d *Depot) tipRef() string { return d.Prefix + d.Run + ".tip/" }

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
	return err
}

// FetchPlan brings here what a run was offered with, and the branches of the depot.
func (d *Depot) FetchPlan(ctx context.Context) error {
	_, err := d.git(ctx, "", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", d.Remote, "+"+d.prefix()+"*:"+d.prefix()+"*")
	return err
}

// Tip is where the run branch was at the last fetch, "" for nowhere.
func (d *Depot) Tip(ctx context.Context) (string, error) {
	return d.Repo.Resolve(ctx, d.tipRef()+"main")
}

// fetchBranch returns where a branch of the depot is, "" where it has none of that name.
func (d *Depot) fetchBranch(ctx context.Context, name string) (string, error) {
	if _, err := d.git(ctx, "", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", d.Remote, "+refs/heads/"+name+"*:"+d.tipRef()+"land/"+name+"*"); err != nil {
		return "", err
	}
	return d.Repo.Resolve(ctx, d.tipRef()+"land/"+name)
}

// push moves branches and makes refs in the depot, all or none.
func (d *Depot) push(ctx context.Context, moves []Move, made ...git.RefUpdate) error {
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
	_, err := d.git(ctx, "", append(append(args, d.Remote), specs...)...)
	return err
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

// tree writes files and returns their tree. Names have no folders.
func (d *Depot) tree(ctx context.Context, files map[string][]byte) (string, error) {
	var list strings.Builder
	for _, name := range sortedKeys(files) {
		hash, err := d.git(ctx, string(files[name]), "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&list, "100644 blob %s\t%s\n", hash, name)
	}
	return d.git(ctx, list.String(), "mktree")
}

func (d *Depot) doneRef(seq int) string { return d.prefix() + "done/" + strconv.Itoa(seq) }

// done returns what came of a command, if somebody has written that down.
func (d *Depot) done(ctx context.Context, seq int) (Done, bool, error) {
	commit, err := d.Repo.Resolve(ctx, d.doneRef(seq))
	if err != nil || commit == "" {
		return Done{}, false, err
	}
	info, err := d.Repo.ReadCommit(ctx, commit)
	if err != nil {
		return Done{}, false, err
	}
	var out Done
	if err := json.Unmarshal([]byte(info.Message), &out); err != nil {
		return Done{}, false, fmt.Errorf("read what came of event %d: %w", seq, err)
	}
	return out, true, nil
}

// keep writes down what came of a command and moves the branches that it moved, in one step.
func (d *Depot) keep(ctx context.Context, seq int, done Done, files []string, moves []Move) error {
	message, err := json.Marshal(done)
	if err != nil {
		return err
	}
	tree, err := d.pack(ctx, files)
	if err != nil {
		return err
	}
	args := []string{"-c", "user.name=runplan", "-c", "user.email=runplan@localhost", "-c", "commit.gpgSign=false", "commit-tree", tree}
	parents := []string{done.Event.Base, done.Event.Commit}
	if done.Event.Commit == "" && done.Event.Tree != "" { // nobody builds on the candidate, but gates look at its tree
		made, err := d.Repo.CommitTree(ctx, done.Event.Tree, "", "a candidate\n")
		if err != nil {
			return err
		}
		parents = append(parents, made)
	}
	for i, parent := range parents {
		if parent == "" || slices.Contains(parents[:i], parent) {
			continue
		}
		if _, err := d.Repo.TreeOf(ctx, parent); err == nil {
			args = append(args, "-p", parent)
		}
	}
	commit, err := d.git(ctx, string(message)+"\n", args...)
	if err != nil {
		return err
	}
	if err := d.push(ctx, moves, git.RefUpdate{Ref: d.doneRef(seq), New: commit}); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unpacked == nil {
		d.unpacked = map[string]bool{}
	}
	d.unpacked[commit] = true
	return nil
}

// pack makes a tree of files and folders under .runplan.
func (d *Depot) pack(ctx context.Context, files []string) (string, error) {
	var index bytes.Buffer
	for _, f := range files {
		err := filepath.WalkDir(filepath.Join(d.Layout.Root, f), func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			hash, err := d.git(ctx, string(data), "hash-object", "-w", "--no-filters", "--stdin")
			if err != nil {
				return err
			}
			fmt.Fprintf(&index, "100644 %s\t%s\x00", hash, d.Layout.Rel(path))
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("keep the logs of a command: %w", err)
		}
	}
	return d.indexed(ctx, index.String())
}

// indexed makes a tree of lines for git update-index, with an index of its own.
func (d *Depot) indexed(ctx context.Context, lines string) (string, error) {
	dir, err := os.MkdirTemp("", "runplan-index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	env := append(slices.Clip(d.Repo.Env()), "GIT_INDEX_FILE="+filepath.Join(dir, "index"))
	run := func(stdin string, args ...string) (string, error) {
		out, err := proc.Output(context.WithoutCancel(ctx), proc.Cmd{Args: append([]string{"git"}, args...), Dir: d.Repo.Root, Env: env, Stdin: strings.NewReader(stdin)})
		return strings.TrimSpace(string(out)), err
	}
	if _, err := run(lines, "update-index", "-z", "--add", "--index-info"); err != nil {
		return "", err
	}
	return run("", "write-tree")
}

// unpack writes the files of what others came to, once each, in the order of their events.
func (d *Depot) unpack(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unpacked == nil {
		d.unpacked = map[string]bool{}
	}
	out, err := d.Repo.Run(ctx, "for-each-ref", "--format=%(refname) %(objectname)", d.prefix()+"done/")
	if err != nil {
		return err
	}
	type entry struct {
		seq    int
		commit string
	}
	var fresh []entry
	for line := range strings.Lines(out) {
		ref, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		seq, err := strconv.Atoi(path.Base(ref))
		if err == nil && !d.unpacked[commit] {
			fresh = append(fresh, entry{seq, commit})
		}
	}
	slices.SortFunc(fresh, func(a, b entry) int { return a.seq - b.seq })
	for _, e := range fresh {
		if err := d.unpackOne(ctx, e.commit); err != nil {
			return fmt.Errorf("read the logs of event %d: %w", e.seq, err)
		}
		d.unpacked[e.commit] = true
	}
	return nil
}

// unpackOne writes the files of one commit. What is not a file of this run's logs and reports is not written.
func (d *Depot) unpackOne(ctx context.Context, commit string) error {
	list, err := d.Repo.Run(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return err
	}
	var names, hashes []string
	for line := range strings.SplitSeq(list, "\x00") {
		meta, name, ok := strings.Cut(line, "\t")
		f := strings.Fields(meta)
		if !ok || len(f) != 3 || f[1] != "blob" || f[0] == "120000" || !filepath.IsLocal(filepath.FromSlash(name)) {
			continue
		}
		if strings.HasPrefix(name, "logs/"+d.Run+"/") || strings.HasPrefix(name, "reports/"+d.Run+"/") {
			names, hashes = append(names, name), append(hashes, f[2])
		}
	}
	if len(names) == 0 {
		return nil
	}
	objects := d.Repo.Objects(ctx)
	defer objects.Close()
	got, err := objects.Read(hashes)
	if err != nil {
		return err
	}
	for i, o := range got {
		if o.Data == nil && o.Size > 0 {
			continue // too large to be read whole: it stays in git
		}
		if err := writeFile(filepath.Join(d.Layout.Root, filepath.FromSlash(names[i])), o.Data); err != nil {
			return err
		}
	}
	return nil
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
	tree, err := d.tree(ctx, map[string][]byte{"events.jsonl": text.Bytes()})
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
	text, err := d.Repo.Run(ctx, "cat-file", "blob", d.prefix()+"journal:events.jsonl")
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
