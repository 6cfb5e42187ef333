package cli

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner/local"
)

// CuratedFile returns the path of the repository's index.
func CuratedFile(repo *git.Repo) string {
	return filepath.Join(local.LayoutOf(repo.Root).Root, "curated.sqlite")
}

// CuratedTrouble adds a hint to the error of a database that cannot be used. The whole index can be rebuilt.
func CuratedTrouble(err error) error {
	switch {
	case errors.Is(err, store.ErrBusy):
		return Fail(ExitLocked, err, "wait for the other indexing process")
	case errors.Is(err, store.ErrCorrupt):
		return Fail(ExitCannotRun, err, "move .runplan/curated.sqlite away and run: runplan index")
	}
	return err
}

// DeployedAdapters returns the adapter rows of the index. Without an index there are none.
func (p *Project) DeployedAdapters(ctx context.Context) ([]store.DeployedAdapter, error) {
	db, found, err := IfExists(store.OpenCuratedReader(ctx, CuratedFile(p.Repo)))
	if !found {
		return nil, err
	}
	defer db.Close()
	return db.Adapters(ctx)
}
