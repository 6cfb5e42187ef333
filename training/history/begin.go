package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/guess"
)

// openBook starts in an empty folder, or continues an interrupted run with the same plan.
func openBook(o Options, head string) (*book, error) {
	want, err := o.plan(head)
	if err != nil {
		return nil, err
	}
	want.Repo = training.RepoName(o.Repo.Remote(context.Background(), "origin"), o.Repo.Root)
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("write examples: %w", err)
	}
	if _, _, err := readState(o.Dir); err != nil { // never write into a foreign folder
		return nil, err
	}
	unlock, free, err := atomicfile.TryLock(strings.TrimSuffix(filepath.Join(o.Dir, lockName), ".lock"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("write examples: %w", err)
	case !free: // fail at once: the other process writes the same
		return nil, fmt.Errorf("%s: %w", o.Dir, ErrBusy)
	}
	b := &book{dir: o.Dir, files: map[training.Stage]*file{}, taken: map[string]bool{}, unlock: unlock}
	if err := b.begin(want); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// begin determines where to start and opens the files.
func (b *book) begin(want plan) error {
	b.state = state{Plan: want, Reasons: map[Reason]int{}, Stages: map[training.Stage]*tally{},
		Guesses: map[training.Stage]guess.Trials{}}
	old, found, err := readState(b.dir)
	switch {
	case errors.Is(err, ErrComplete): // another process has just finished
		return errors.Join(err, os.Remove(filepath.Join(b.dir, lockName)))
	case err != nil:
		return err
	case found:
		now := want
		now.Head = old.Plan.Head // commits since then are not part of this run
		if !reflect.DeepEqual(now, old.Plan) {
			return fmt.Errorf("%s: %w, made %s", b.dir, ErrOther, difference(old.Plan, now))
		}
		b.state = old
		for _, h := range old.Reverted {
			b.taken[h] = true
		}
	}
	if err := b.open(want.Stages, found); err != nil {
		return err
	}
	return b.checkpoint(true)
}

// difference describes how two plans differ.
func difference(old, now plan) string {
	switch {
	case old.Repo != now.Repo:
		return "of another repository: " + old.Repo
	case old.Seed != now.Seed:
		return fmt.Sprintf("with --seed %d", old.Seed)
	case !slices.Equal(old.Stages, now.Stages):
		return fmt.Sprintf("with --stages %v", old.Stages)
	case old.Max != now.Max:
		return fmt.Sprintf("with --max %d", old.Max)
	case !reflect.DeepEqual(old.Since, now.Since):
		return "with another --since"
	case old.Program != now.Program || old.Outline != now.Outline || old.AstGrep != now.AstGrep:
		return "by other versions of runplan or ast-grep"
	}
	return "with other prompts or another budget"
}

// readState reads the state file of a folder.
func readState(dir string) (s state, found bool, err error) {
	data, err := os.ReadFile(filepath.Join(dir, stateName))
	if err == nil {
		if err = json.Unmarshal(data, &s); err != nil {
			return s, false, fmt.Errorf("%s: %w: %w", filepath.Join(dir, stateName), ErrDamaged, err)
		}
		return s, true, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return s, false, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s, false, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == lockName })
	for _, e := range entries {
		if e.Name() == manifestName {
			return s, false, fmt.Errorf("%s: %w", dir, ErrComplete)
		}
	}
	left, err := atomicfile.Left(filepath.Join(dir, stateName))
	if err == nil && len(entries) > len(left) {
		err = fmt.Errorf("%s: %w: %s", dir, ErrForeign, entries[0].Name())
	}
	return s, false, err
}
