package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/runner"
)

// glance is how git stood right before an agent began. It lies on disk until the agent has been looked after,
// so that whoever resumes a run that was killed meanwhile can tell what was the agent's doing.
type glance struct {
	Dir     string            `json:"dir"` // of the workspace
	Batch   string            `json:"batch"`
	Base    string            `json:"base"`
	Refs    map[string]string `json:"refs"`
	Stashes []git.Stash       `json:"stashes"`
}

func (w *work) glancePath(batch string) string {
	return filepath.Join(w.Layout.Temp(w.run), "before-"+batch+".json")
}

// glance looks, and writes down what it saw.
func (w *work) glance(ctx context.Context, s *Space, c runner.Command) (glance, error) {
	g := glance{Dir: s.Dir, Batch: c.Batch, Base: c.Base}
	var err error
	if g.Refs, err = w.Repo.Refs(ctx); err != nil {
		return g, err
	}
	if g.Stashes, err = w.Repo.Stashes(); err != nil {
		return g, err
	}
	return g, writeJSON(w.glancePath(c.Batch), g)
}

// lookAfter puts right what an agent did to git, and returns why its attempt cannot count, or "".
func (w *work) lookAfter(ctx context.Context, s *Space, g glance) string {
	w.tidyStashes(ctx, g.Stashes)
	why := w.inspect(ctx, s, runner.Command{Batch: g.Batch, Base: g.Base}, g.Refs)
	if err := os.Remove(w.glancePath(g.Batch)); err != nil && why == "" {
		return err.Error()
	}
	return why
}

// lookAfterCutOff does for attempts that were cut off with their runplan what [work.lookAfter] does for
// others. It comes before anything else is done: until then the refs of the run are as the kill left them.
func (w *work) lookAfterCutOff(ctx context.Context) error {
	paths, err := filepath.Glob(w.glancePath("*"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		var g glance
		if err := readJSON(path, &g); err != nil {
			return fmt.Errorf("look after an attempt that was cut off: %w", err)
		}
		ws, err := w.Repo.OpenWorkspace(g.Dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, git.ErrBroken) {
			continue // the workspace is made anew
		}
		if err != nil {
			return err
		}
		w.lookAfter(ctx, &Space{Workspace: ws, Branch: BatchBranch(w.info.Slug, g.Batch)}, g)
	}
	return nil
}
