// Package tasks exports commits of a history as runnable tasks: a repository before the commit, the request, tests
// that judge the answer, and the commit's own answer (TRAIN-32).
//
// A commit becomes a task if its tests fail without its code and pass with it, in a sealed room. Each checked commit
// has a [Receipt] with the results, or the reason why it is not a task. A task is written in two formats: a folder
// for Harbor, and a line for the loaders of SWE-bench.
//
// Limits: tests of Go and of pytest only. The container of a Harbor task is described but not built; the tests ran in
// a room of this machine, with the versions in the receipt.
package tasks

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/folder"
	"github.com/runplan/runplan/training/history"
)

// Options holds the parameters of [Export].
type Options struct {
	Repo    *git.Repo
	Rooms   Rooms
	Reaper  *proc.Reaper
	Dir     string        // output folder: new or empty
	Commits []string      // full names of the commits to use; empty: the whole history
	Since   time.Time     // oldest commit time; zero: no limit
	Max     int           // most tasks; 0: all
	Tries   int           // most commits whose tests are run; 0: all
	Runs    int           // runs of each side, to notice flaky tests
	Limit   time.Duration // for one run of tests; 0: none
	License string        // SPDX id of the repository; "" if unknown
	Version string        // version of the program
	Redact  func(string) string
	Canary  training.Canary
	Each    func(Receipt) // called after each commit whose tests were run; may be nil
}

// Rooms lends sealed rooms with a tree.
type Rooms interface {
	In(ctx context.Context, base, tree string, do func(dir, temp string, env []string) error) error
}

// Files of an export.
const (
	HarborDir    = "harbor"
	InstanceName = "swebench.jsonl"
	ReceiptName  = "receipts.jsonl"
	ManifestName = "manifest.json"
)

// Manifest describes an export. It is the last file that is written.
type Manifest struct {
	Format   int               `json:"format"` // 1
	Runplan  string            `json:"runplan"`
	Repo     string            `json:"repo"`
	License  string            `json:"license"` // "" is unknown
	Head     string            `json:"head"`
	Commits  int               `json:"commits"`  // read
	Tried    int               `json:"tried"`    // whose tests were run
	Tasks    int               `json:"tasks"`    //
	Refused  map[Reason]int    `json:"refused"`  // by reason
	Messages map[string]int    `json:"messages"` // refused by message or size alone, see training bootstrap
	Sums     map[string]string `json:"sha256"`   // of the other files
}

// Export reads a history, newest commit first, and writes the tasks that it finds.
func Export(ctx context.Context, o Options) (Manifest, error) {
	head, _, err := o.Repo.Head(ctx)
	if err != nil {
		return Manifest{}, err
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil { // its scripts run in rooms
		return Manifest{}, err
	}
	out, err := folder.New(o.Dir, ManifestName, false)
	if err != nil {
		return Manifest{}, err
	}
	defer out.Discard()
	x := &export{Options: o, out: out, m: Manifest{Format: 1, Runplan: o.Version, License: o.License, Head: head,
		Repo:    training.RepoName(o.Repo.Remote(ctx, "origin"), o.Repo.Root),
		Refused: map[Reason]int{}, Messages: map[string]int{}}}
	x.objects = o.Repo.Objects(ctx)
	defer x.objects.Close()
	if err := x.all(ctx, head); err != nil {
		return x.m, err
	}
	if err := out.File(InstanceName, folder.Lines(x.instances)); err != nil {
		return x.m, err
	}
	if err := out.File(ReceiptName, folder.Lines(x.receipts)); err != nil {
		return x.m, err
	}
	x.m.Sums = out.Sums
	if err := out.File(ManifestName, folder.JSON(x.m)); err != nil {
		return x.m, err
	}
	return x.m, out.Publish()
}

// export is the state of one [Export].
type export struct {
	Options
	m         Manifest
	out       *folder.Folder
	objects   *git.Objects
	selector  history.Selector
	instances []any
	receipts  []Receipt
}

// all checks the commits until there are enough tasks.
func (x *export) all(ctx context.Context, head string) error {
	left := len(x.Commits)
	for c, err := range x.Repo.Past(ctx, git.Span{Head: head, Since: x.Since}) {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case x.Max > 0 && x.m.Tasks >= x.Max, x.Tries > 0 && x.m.Tried >= x.Tries, len(x.Commits) > 0 && left == 0:
			return nil
		}
		task, why := x.selector.Task(c)
		if len(x.Commits) > 0 {
			if !slices.Contains(x.Commits, c.Hash) {
				continue
			}
			left--
		}
		x.m.Commits++
		if why != "" {
			x.m.Messages[string(why)]++
			if len(x.Commits) > 0 {
				x.keep(Receipt{Commit: c.Hash, Subject: subjectOf(c.Message), Reason: Unfit, Says: why.Text()})
			}
			continue
		}
		r, err := x.commit(ctx, c, task)
		if err != nil {
			return fmt.Errorf("commit %.12s: %w", c.Hash, err)
		}
		x.keep(r)
	}
	if left > 0 {
		return fmt.Errorf("%d of the requested commits are not in the history of %.12s", left, head)
	}
	return ctx.Err()
}

// keep records the result of a commit. Commits without tests are only counted.
func (x *export) keep(r Receipt) {
	if r.Reason != "" {
		x.m.Refused[r.Reason]++
	} else {
		x.m.Tasks++
	}
	if r.tried {
		x.m.Tried++
		if x.Each != nil {
			x.Each(r)
		}
	}
	if r.tried || len(x.Commits) > 0 {
		x.receipts = append(x.receipts, r)
	}
}

// commit makes a task from a commit, or returns why it cannot. An error ends the export.
func (x *export) commit(ctx context.Context, c git.Past, task string) (Receipt, error) {
	w := &work{Past: c, task: task, receipt: Receipt{Commit: c.Hash, Parent: c.Parents[0], Subject: subjectOf(task)}}
	steps := []func(context.Context, *work) error{x.split, x.hold, x.trees, x.judge, x.write}
	for _, step := range steps {
		err := step(ctx, w)
		var no *refusedError
		switch {
		case ctx.Err() != nil:
			return w.receipt, context.Cause(ctx)
		case errors.As(err, &no):
			w.receipt.Reason, w.receipt.Says = no.reason, no.says
			return w.receipt, nil
		case err != nil:
			return w.receipt, err
		}
	}
	return w.receipt, nil
}

// work is a commit that is being looked at.
type work struct {
	git.Past
	task    string
	receipt Receipt

	lang       gates.Language
	code, test []string // paths of the commit: of its answer, and of its judging tests
	run        []string // test files to run

	patch, testPatch []byte
	before           string // tree before the commit
	judged           string // the same, with the tests of the commit
	after            string // tree of the commit

	suites []suite // what the exported tests run
}
