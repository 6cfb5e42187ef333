package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"time"
)

// ArchiveSession stores the closed session of a task in the journal and removes its file (DB-07). An open session gives
// [ErrBusy]. A missing one is not an error, so the call can be repeated after a crash.
func (j *Journal) ArchiveSession(ctx context.Context, dir, task string, at time.Time) error {
	path, err := SessionPath(dir, task)
	if err != nil {
		return err
	}
	if exists(path) {
		blob, err := sealed(ctx, path)
		if err != nil {
			return fmt.Errorf("archive the session of %s: %w", task, err)
		}
		if err := j.keepSession(ctx, task, blob, at); err != nil {
			return err
		}
	}
	return RemoveSession(dir, task)
}

// sealed returns the bytes of a closed database, with its write-ahead log merged into the one file. A file that was
// sealed before stays unchanged, byte for byte.
func sealed(ctx context.Context, path string) ([]byte, error) {
	db, err := openWith(ctx, path, func(ctx context.Context, db *sql.DB) error {
		names, err := sessionFile().names()
		if err != nil {
			return err
		}
		if _, err := version(ctx, db, len(names)); err != nil {
			return err
		}
		if err := sound(ctx, db); err != nil {
			return err
		}
		var mode string // leaving WAL merges the log and fails if the file is open elsewhere
		return db.QueryRowContext(ctx, "PRAGMA journal_mode = delete").Scan(&mode)
	}, url.Values{"_pragma": {"busy_timeout(2000)"}})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// keepSession writes the bytes, unless that was done before the process was killed.
func (j *Journal) keepSession(ctx context.Context, task string, blob []byte, at time.Time) error {
	if len(blob) == 0 {
		return nil // it was never written
	}
	return j.tx(ctx, "session of "+task, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO session_archives (task_id, session_blob, archived_at)
			SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM session_archives WHERE task_id = ?1 AND session_blob = ?2)`, task, blob, stamp(at))
		return err
	})
}
