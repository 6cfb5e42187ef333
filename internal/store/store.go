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
	"time"

	"modernc.org/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// The reasons why a store cannot be used.
var (
	ErrCorrupt = errors.New("the file is damaged")
	ErrNewer   = errors.New("the file was written by a newer runplan")
)

// SQLite's own codes for a file that another process holds, that it may not write, and that is not, or no
// longer, a database.
const (
	codeBusy       = 5
	codeReadOnly   = 8
	codeCorrupt    = 11
	codeCannotOpen = 14
	codeNotADB     = 26
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
	q := url.Values{
		"_pragma": {"busy_timeout(10000)", "synchronous(normal)", "foreign_keys(on)", "cache_size(-2000)"},
		"_txlock": {"immediate"}, // all transactions write; one that finds out late would not wait for another's
	}
	db, err := openWith(ctx, path, q)
	if err != nil && !mayCreate && unwritable(err) && !exists(path+"-wal") {
		// A disk that cannot be written to can still be read from. Nobody can be writing there meanwhile.
		q := url.Values{"mode": {"ro"}, "immutable": {"1"}}
		if db, rerr := openWith(ctx, path, q); rerr == nil {
			return db, nil
		}
	}
	return db, err
}

func openWith(ctx context.Context, path string, q url.Values) (*sql.DB, error) {
	name := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() // a path may hold what a URL reads as its own
	db, err := sql.Open("sqlite", "file:"+name+"?"+q.Encode())
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

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// unwritable tells that SQLite could not make or change the files beside the database.
func unwritable(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) && (se.Code()&0xff == codeReadOnly || se.Code()&0xff == codeCannotOpen)
}

// prepare looks first and writes last, so that a file which cannot be used stays as it is.
func prepare(ctx context.Context, db *sql.DB) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	sort.Strings(names)
	have, err := version(ctx, db, len(names))
	if err != nil {
		return err
	}
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrCorrupt, verdict)
	}
	if err := wal(ctx, db); err != nil {
		return err
	}
	if have == len(names) {
		return nil
	}
	return migrate(ctx, db, names)
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// version returns how many migrations the file has seen. More than are known is [ErrNewer].
func version(ctx context.Context, q querier, known int) (int, error) {
	var have int
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return 0, err
	}
	if have > known {
		return have, fmt.Errorf("%w: schema %d, this one knows up to %d; use the newer runplan, or move the file away", ErrNewer, have, known)
	}
	return have, nil
}

// wal puts the file into WAL mode, in which it stays. Where two processes do so at once in a new file, SQLite
// does not wait as it does elsewhere.
func wal(ctx context.Context, db *sql.DB) error {
	for try := 0; ; try++ {
		_, err := db.ExecContext(ctx, "PRAGMA journal_mode = wal")
		var se *sqlite.Error
		if !errors.As(err, &se) || se.Code()&0xff != codeBusy || try == 500 {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// migrate applies the migrations that the file has not seen, each in a transaction of its own. What it has
// seen is asked within: another process may have been at it meanwhile.
func migrate(ctx context.Context, db *sql.DB, names []string) error {
	for i, name := range names {
		script, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		have, err := version(ctx, tx, len(names))
		if err == nil && have <= i {
			_, err = tx.ExecContext(ctx, string(script)+fmt.Sprintf("\nPRAGMA user_version = %d;", i+1))
		}
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			tx.Rollback()
			return fmt.Errorf("migration %s: %w", name, err)
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
