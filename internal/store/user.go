package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// userFile describes a file that only the user can read. The audit and the inbox belong to the user, not to a
// repository (DB-10), and are in the user's own folder.
func userFile(scripts string) kind {
	return kind{scripts: scripts, cache: 500, checked: true, renew: "open it for writing once"}
}

// openUser opens a file of the user for writing, and creates it and its folder if they are missing. Only the user can
// read it.
func (k kind) openUser(ctx context.Context, path string) (*sql.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	return k.open(ctx, path, true)
}

// readUser opens a file of the user for reading. It first migrates a file from an older program or from a killed
// creation. A missing one is an error that wraps fs.ErrNotExist.
func (k kind) readUser(ctx context.Context, path string) (*sql.DB, error) {
	db, err := k.openReader(ctx, path)
	if errors.Is(err, ErrOlder) {
		return k.open(ctx, path, false)
	}
	return db, err
}
