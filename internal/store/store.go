// Package store keeps the SQLite files of a repository: how they are opened, migrated and checked.
//
// A store that is damaged or newer than this program is left as it is and said so; nothing is repaired
// behind the user's back (ERR-09, DB-14).
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sort"

	"modernc.org/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// The reasons why a store cannot be used.
var (
	ErrCorrupt = errors.New("the file is damaged")
	ErrNewer   = errors.New("the file was written by a newer runplan")
)

// SQLite's own codes for a file that is not, or no longer, a database.
const (
	codeCorrupt = 11
	codeNotADB  = 26
)

// open opens the database at path, making it where mayCreate says so, and brings its schema up to date.
//
// WAL with synchronous=NORMAL survives the death of the process at any moment. After a loss of power the
// last transactions may be missing; then the work they tell of is done once more, which finds it done.
func open(ctx context.Context, path string, mayCreate bool) (*sql.DB, error) {
	if !mayCreate {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
	}
	q := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(wal)", "synchronous(normal)", "foreign_keys(on)", "cache_size(-2000)"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: filepath.ToSlash(path), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	// One connection: SQLite has one writer, and a second one would only wait for it.
	db.SetMaxOpenConns(1)
	if err := prepare(ctx, db); err != nil {
		db.Close()
		return nil, fmt.Errorf("open %s: %w", path, explain(err))
	}
	return db, nil
}

func prepare(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrCorrupt, verdict)
	}
	return migrate(ctx, db)
}

// migrate applies the migrations that the file has not seen, each in a transaction of its own.
func migrate(ctx context.Context, db *sql.DB) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	sort.Strings(names)
	var have int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	if have > len(names) {
		return fmt.Errorf("%w: schema %d, this one knows up to %d; use the newer runplan, or move the file away",
			ErrNewer, have, len(names))
	}
	for i := have; i < len(names); i++ {
		script, err := migrations.ReadFile(names[i])
		if err != nil {
			return err
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, string(script)+fmt.Sprintf("\nPRAGMA user_version = %d;", i+1))
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			tx.Rollback()
			return fmt.Errorf("migration %s: %w", names[i], err)
		}
	}
	return nil
}

// explain turns SQLite's codes for a damaged file into [ErrCorrupt].
func explain(err error) error {
	var se *sqlite.Error
	if errors.As(err, &se) && (se.Code()&0xff == codeCorrupt || se.Code()&0xff == codeNotADB) {
		return fmt.Errorf("%w: %s", ErrCorrupt, se.Error())
	}
	return err
}
