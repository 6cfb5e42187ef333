package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/baseline"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/planparse"
)

// Baseline asks gates about the commit that a change starts from, in a worktree of its own that is made when it is
// first needed. [Baseline.Close] removes it.
type Baseline struct {
	Repo     *git.Repo
	Layout   Layout
	Setup    Setup
	Note     func(string)
	Settings gates.Settings
	Subject  gates.Subject // as the gates saw the change

	// Recall and Remember, if set, keep what a gate said of a tree.
	Recall   func(info gates.Info, s gates.Subject) (gates.Report, bool)
	Remember func(info gates.Info, s gates.Subject, r gates.Report)

	mu    sync.Mutex
	dir   string
	temp  string // a folder to remove with it
	lock  *Lock  // held as long as the worktree is there
	gates []gates.Gate
	tree  string
	err   error // why it could not be made
}

// At names the base for people.
func (b *Baseline) At() string { return b.Subject.Base[:min(len(b.Subject.Base), 10)] }

// Around is the gates, each with what was there before counted as known.
func (b *Baseline) Around(list []gates.Gate) []gates.Gate {
	out := make([]gates.Gate, len(list))
	for i, g := range list {
		out[i] = g
		if info := g.Info(); info.Kind == gates.Static && !info.Compares {
			out[i] = baseline.Around(g, b.At(), func(ctx context.Context, _ string) (gates.Report, error) { return b.look(ctx, info) })
		}
	}
	return out
}

// repair is how plans ask for something that is broken to be put right.
var repair = lazyre.New(`(?i)\b(?:fix(?:es|ed|ing)?|repair\w*|correct(?:s|ed|ing)?|debug\w*|bugs?|regressions?|broken|failing|red)\b|` +
	`\b(?:make|get|bring|let|until|all)\b[^.\n]{0,60}\b(?:pass(?:es)?|green|compiles?|work(?:s|ing)?)\b`)

// repairs tells whether a batch is there to put something right. For such a one it is no excuse that it was broken.
func repairs(b *planparse.Batch) bool { return repair.MatchString(b.Title + "\n" + b.Text) }

// look asks the gate of that name about the base.
func (b *Baseline) look(ctx context.Context, now gates.Info) (gates.Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tree == "" {
		if b.tree, b.err = b.Repo.TreeOf(ctx, b.Subject.Base); b.err != nil {
			return gates.Report{}, b.err
		}
	}
	s := b.Subject
	s.Tree, s.Changed, s.Diff, s.Before, s.Dir = b.tree, nil, nil, nil, ""
	if b.Recall != nil {
		if r, ok := b.Recall(now, s); ok {
			return r, nil
		}
	}
	if b.dir == "" && b.err == nil {
		b.err = b.open(ctx)
	}
	if b.err != nil {
		return gates.Report{}, b.err
	}
	s.Dir = b.dir
	if s.LogDir != "" {
		s.LogDir = filepath.Join(s.LogDir, "base")
	}
	for _, g := range b.gates {
		if g.Info().Name != now.Name {
			continue
		}
		v, err := gates.Run(ctx, []gates.Gate{g}, s, nil)
		if err != nil {
			return gates.Report{}, err
		}
		if b.Remember != nil {
			b.Remember(now, s, v.Reports[0])
		}
		return v.Reports[0], nil
	}
	return gates.Report{}, baseline.ErrNoGate
}

// open makes the worktree and sets it up as those of batches are.
func (b *Baseline) open(ctx context.Context) error {
	parent := b.Layout.Worktrees()
	tie := func(do func() error) error { return with(b.Layout.GitLock(), do) }
	if _, err := os.Stat(b.Layout.Root); errors.Is(err, os.ErrNotExist) {
		if parent, err = os.MkdirTemp("", "runplan-base-"); err != nil {
			return fmt.Errorf("make a worktree of the base: %w", err)
		}
		b.temp = parent
		tie = func(do func() error) error { return do() }
	}
	dir := filepath.Join(parent, fmt.Sprintf("base-%d-%d", os.Getpid(), time.Now().UnixNano()))
	if b.temp == "" {
		var err error
		if b.lock, err = TakeLock(b.Layout.Lock(filepath.Base(dir)), time.Now()); err != nil {
			return fmt.Errorf("make a worktree of the base: %w", err)
		}
	}
	var ws *git.Workspace
	err := tie(func() error {
		if err := os.MkdirAll(parent, 0o755); err != nil {
			return err
		}
		if err := writeJSON(markerOf(dir), marker{Slug: "base", Made: time.Now().UTC()}); err != nil {
			return err
		}
		var err error
		ws, err = b.Repo.AddDetached(ctx, dir, b.Subject.Base)
		return err
	})
	b.dir = dir
	if err != nil {
		return fmt.Errorf("make a worktree of the base: %w", err)
	}
	note := b.Note
	if note == nil {
		note = func(string) {}
	}
	p := &Pool{repo: b.Repo, layout: b.Layout, setup: b.Setup, note: note, used: map[string]*Space{}}
	space := &Space{Workspace: ws, Base: b.Subject.Base}
	if err := p.submodules(ctx, space); err != nil {
		return err
	}
	if _, err := p.copyIncluded(ctx, space); err != nil {
		return err
	}
	if _, err := p.setUp(ctx, space); err != nil {
		return err
	}
	settings := b.Settings
	settings.When, settings.Affected, settings.RequireTests = nil, false, false
	b.gates = suite.All(dir, settings)
	return nil
}

// Close removes the worktree.
func (b *Baseline) Close(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dir == "" {
		return nil
	}
	remove := func() error {
		return errors.Join(b.Repo.RemoveWorkspace(context.WithoutCancel(ctx), b.dir), os.RemoveAll(markerOf(b.dir)))
	}
	var err error
	if b.temp != "" {
		err = errors.Join(remove(), os.RemoveAll(b.temp))
	} else {
		err = with(b.Layout.GitLock(), remove)
	}
	if b.lock != nil {
		b.lock.Release()
		os.Remove(b.Layout.Lock(filepath.Base(b.dir))) // no other lock has this name
		b.lock = nil
	}
	b.dir = ""
	if err != nil {
		return fmt.Errorf("remove the worktree of the base: %w", err)
	}
	return nil
}

// baseName is how worktrees of a base are called; those of a plan end in their number.
var baseName = lazyre.New(`^base-\d+-\d+$`)

func isBase(dir string) bool { return baseName.MatchString(filepath.Base(dir)) }

// leftBase tells whether the worktree of a base was left by a process that was killed. Nothing in it is anybody's work:
// whatever lies there besides the commit, setup and gates made.
func leftBase(l Layout, dir string) (remove bool, why string) {
	lock, err := TakeLock(l.Lock(filepath.Base(dir)), time.Now())
	if err != nil {
		return false, "a gate is at work in it"
	}
	lock.Release()
	return true, "a gate that was killed left it"
}

// sweepBases removes the worktrees in which gates that were killed looked at the base of a change.
func (w *work) sweepBases(ctx context.Context) {
	entries, err := os.ReadDir(w.Layout.Worktrees())
	if err != nil {
		return // there are none yet
	}
	for _, e := range entries {
		dir := filepath.Join(w.Layout.Worktrees(), strings.TrimSuffix(e.Name(), ".json")) // any of the two may have been left without the other
		if !isBase(dir) {
			continue
		}
		if left, _ := leftBase(w.Layout, dir); !left {
			continue
		}
		err := with(w.Layout.GitLock(), func() error {
			return errors.Join(w.Repo.RemoveWorkspace(ctx, dir), os.RemoveAll(markerOf(dir)), os.RemoveAll(w.Layout.Lock(filepath.Base(dir))))
		})
		if err != nil {
			w.Note("what a gate that was killed left could not be removed: " + err.Error())
		}
	}
}
