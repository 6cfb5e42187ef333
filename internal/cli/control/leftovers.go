package control

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// RemoveLeftover removes one leftover if that is allowed.
func RemoveLeftover(ctx context.Context, p *cli.Project, x local.Leftover) error {
	switch {
	case !x.Remove:
		return nil
	case x.Kind == "session":
		return removeSession(p, x)
	case x.Kind == "task":
		return os.Remove(filepath.Join(p.Layout.Root, filepath.FromSlash(x.Name)))
	}
	return local.RemoveLeftover(ctx, p.Repo, p.Layout, x)
}

// Active returns the slugs whose runs are active or unfinished.
func Active(ctx context.Context, p *cli.Project) (map[string]bool, error) {
	sums, err := p.Summaries(ctx, runner.Filter{})
	if err != nil {
		return nil, err
	}
	active := map[string]bool{}
	seen := map[string]bool{}
	for _, s := range sums { // newest first: the newest run of a slug counts
		if !seen[s.Slug] && !s.Status.Over() {
			active[s.Slug] = true
		}
		seen[s.Slug] = true
		if lock, err := local.TakeLock(p.Layout.Lock(s.Slug), time.Now()); err != nil {
			active[s.Slug] = true
		} else {
			lock.Release()
		}
	}
	return active, nil
}

// removeSession deletes the files of a session that [app.leftSessions] found.
func removeSession(p *cli.Project, x local.Leftover) error {
	path := filepath.Join(p.Layout.Root, filepath.FromSlash(x.Name))
	for _, name := range []string{path + "-wal", path + "-shm", path + "-journal", path} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
