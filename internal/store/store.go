// Package store opens, migrates and checks SQLite files.
//
// A repository has three kinds of files (DB-01): the journal of all actions (raw.sqlite, append-only), the facts about
// the code (curated.sqlite, can be rebuilt), and a session for each running task. A user has two: the messages to
// runplan (inbox.sqlite) and the decisions about trust (audit.sqlite, append-only). A file that is damaged or newer
// than this program is reported and left unchanged; nothing is repaired silently (ERR-09, DB-14).
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"modernc.org/sqlite"
)

//go:embed migrations/*.sql curated/*.sql session/*.sql audit/*.sql inbox/*.sql feedback/*.sql
var scripts embed.FS

// The reasons why a store cannot be used.
var (
	ErrCorrupt = errors.New("the file is damaged")
	ErrNewer   = errors.New("the file was written by a newer runplan")
	ErrBusy    = errors.New("another process is writing to it")
	ErrForeign = errors.New("it is another program's database; move it away")
	ErrOlder   = errors.New("it was written by an older runplan")
	ErrRow     = errors.New("a row is invalid")
	ErrDisk    = errors.New("the disk is full or fails")
)

// SQLite's own codes for a file that another process has open, that is not writable, or that is not a database, and for
// a disk that is full or fails.
const (
	codeBusy       = 5
	codeReadOnly   = 8
	codeIO         = 10
	codeCorrupt    = 11
	codeFull       = 13
	codeCannotOpen = 14
	codeNotADB     = 26
)

// kind describes one kind of database file.
type kind struct {
	scripts string // folder of its migrations, ordered by name
	cache   int    // KiB
	checked bool   // it is checked completely when it is opened
	renew   string // hint for a reader of a file with an older schema
}

// This database can be rebuilt, so it is not checked at each start like the others.
func rawFile() kind {
	return kind{scripts: "migrations", cache: 500, checked: true, renew: "run: runplan status"}
}
func curatedFile() kind { return kind{scripts: "curated", cache: 32000, renew: "run: runplan index"} }
func sessionFile() kind { return kind{scripts: "session", cache: 1000, checked: true} }

// open opens the database at path, creates it if mayCreate is set, and migrates its schema.
//
// WAL with synchronous=NORMAL survives a crash of the process at any moment. After a power failure the last
// transactions may be missing; then their work is repeated, which has no effect if it is already done.
func (k kind) open(ctx context.Context, path string, mayCreate bool) (*sql.DB, error) {
	if !mayCreate {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
	}
	db, err := openWith(ctx, path, k.prepare, url.Values{
		"_pragma": {"busy_timeout(10000)", "synchronous(normal)", "foreign_keys(on)", "temp_store(memory)",
			fmt.Sprintf("cache_size(-%d)", k.cache)},
		"_txlock": {"immediate"}, // all transactions write, so they take the lock at their start
	})
	if err != nil && !mayCreate && unwritable(err) && !exists(path+"-wal") {
		// A read-only disk can still be read. No other process can write there meanwhile.
		if db, rerr := openWith(ctx, path, k.prepare, immutable()); rerr == nil {
			return db, nil
		}
	}
	return db, err
}

// openReader opens the database at path for reading. It sees the last commit, even while another process writes. If the
// file is missing, the error wraps fs.ErrNotExist.
func (k kind) openReader(ctx context.Context, path string) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db, err := openWith(ctx, path, k.current,
		url.Values{"_pragma": {"busy_timeout(10000)", "query_only(on)", "cache_size(-8000)"}})
	if err != nil && unwritable(err) && !exists(path+"-wal") {
		return openWith(ctx, path, k.current, immutable())
	}
	return db, err
}

type file struct{ db *sql.DB }

// Close releases the file.
func (f file) Close() error { return f.db.Close() }

// openedAs returns a database of one of the types that only have the file.
func openedAs[T ~struct{ file }](db *sql.DB, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return &T{file{db}}, nil
}

func immutable() url.Values { return url.Values{"mode": {"ro"}, "immutable": {"1"}} }

// openWith opens a database and checks it. It closes an unusable one.
func openWith(ctx context.Context, path string, look func(context.Context, *sql.DB) error, q url.Values) (*sql.DB,
	error) {
	name := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() // a path may contain characters with a meaning in URLs
	db, err := sql.Open("sqlite", "file:"+name+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	// One connection: SQLite has one writer, and a second one would only wait for it.
	db.SetMaxOpenConns(1)
	if err := look(ctx, db); err != nil {
		db.Close()
		return nil, fmt.Errorf("open %s: %w", path, explain(err))
	}
	return db, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// unwritable reports whether SQLite could not create or change the files next to the database.
func unwritable(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) && (se.Code()&0xff == codeReadOnly || se.Code()&0xff == codeCannotOpen)
}

// prepare checks first and writes last, so an unusable file stays unchanged.
func (k kind) prepare(ctx context.Context, db *sql.DB) error {
	names := k.names()
	have, err := version(ctx, db, len(names))
	if err != nil {
		return err
	}
	if k.checked {
		if err := sound(ctx, db); err != nil {
			return err
		}
	}
	if err := wal(ctx, db); err != nil {
		return err
	}
	if have == len(names) {
		return nil
	}
	return migrate(ctx, db, names)
}

// current checks that a reader knows the schema.
func (k kind) current(ctx context.Context, db *sql.DB) error {
	names := k.names()
	have, err := version(ctx, db, len(names))
	if err == nil && have < len(names) {
		err = fmt.Errorf("%w; %s", ErrOlder, k.renew)
	}
	return err
}

// names lists the migrations in their order.
func (k kind) names() []string {
	names, _ := fs.Glob(scripts, k.scripts+"/*.sql") // sorted; only a bad pattern is an error
	return names
}

func sound(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrCorrupt, verdict)
	}
	return nil
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// version returns the number of applied migrations. A higher number than this program knows is [ErrNewer]; a
// non-empty file without migrations is [ErrForeign].
func version(ctx context.Context, q querier, known int) (int, error) {
	var have, tables int
	// Use one query, so that the answer is consistent while another process migrates.
	err := q.QueryRowContext(ctx,
		"SELECT user_version, (SELECT COUNT(*) FROM sqlite_schema) FROM pragma_user_version").Scan(&have, &tables)
	switch {
	case err != nil:
		return 0, err
	case have > known:
		return have, fmt.Errorf("%w: schema %d, but this runplan supports up to %d; use the newer runplan, or move "+
			"the file away", ErrNewer, have, known)
	case have == 0 && tables > 0:
		return 0, ErrForeign
	}
	return have, nil
}

// wal puts the file permanently into WAL mode. If two processes do so at once in a new file, SQLite does not wait as
// usual, so this retries.
func wal(ctx context.Context, db *sql.DB) error {
	for try := 0; ; try++ {
		_, err := db.ExecContext(ctx, "PRAGMA journal_mode = wal")
		if !isBusy(err) || try == 500 {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// migrate applies the missing migrations, each in a separate transaction. It reads the version inside the
// transaction, because another process may have migrated meanwhile.
func migrate(ctx context.Context, db *sql.DB, names []string) error {
	for i, name := range names {
		script, err := scripts.ReadFile(name)
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

// write runs a function in a transaction, all or nothing. A fact is recorded even if the work was cancelled meanwhile.
// An error begins with what was to be written.
func write(ctx context.Context, db *sql.DB, what string, do func(context.Context, *sql.Tx) error) error {
	return transact(context.WithoutCancel(ctx), db, what, do)
}

func transact(ctx context.Context, db *sql.DB, what string, do func(context.Context, *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err == nil {
		defer tx.Rollback()
		err = do(ctx, tx)
	}
	if err == nil {
		err = tx.Commit()
	}
	return failed(err, "%s", what)
}

// rows reads all rows of a query. Its columns fill the first fields of T, in their order; see [fields].
func rows[T any](ctx context.Context, q querier, what, query string, args ...any) ([]T, error) {
	var t T
	to := fields(nil, reflect.ValueOf(&t).Elem())
	n := 0
	return rowsBy(ctx, q, what, func(r *sql.Rows, out *T) error {
		if n == 0 {
			columns, _ := r.Columns() // it fails only for closed rows
			n = len(columns)
		}
		err := r.Scan(to[:n]...)
		*out = t
		return err
	}, query, args...)
}

// fields appends where the columns of a row go: to a value, or, if it is a struct, to each of its fields in order.
func fields(to []any, v reflect.Value) []any {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		return append(to, moment{p})
	case **time.Time:
		return append(to, maybe{p})
	case *time.Duration:
		return append(to, millis{p})
	}
	if v.Kind() != reflect.Struct {
		return append(to, v.Addr().Interface())
	}
	for i := range v.NumField() {
		to = fields(to, v.Field(i))
	}
	return to
}

// rowsBy is [rows] with a function that reads one row.
func rowsBy[T any](ctx context.Context, q querier, what string, scan func(*sql.Rows, *T) error, query string,
	args ...any) ([]T, error) {
	out := []T{}
	r, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, explain(err))
	}
	defer r.Close()
	for r.Next() {
		var t T
		if err := scan(r, &t); err != nil {
			return nil, fmt.Errorf("read %s: %w", what, explain(err))
		}
		out = append(out, t)
	}
	return out, failed(r.Err(), "read %s", what)
}

// paged yields the rows that ask returns after the last row, nil at first, until it returns fewer than most.
func paged[T any](most int, ask func(last *T) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for last := (*T)(nil); ; {
			part, err := ask(last)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, row := range part {
				if !yield(row, nil) {
					return
				}
			}
			if len(part) < most {
				return
			}
			last = new(part[len(part)-1]) // a copy, so that the others can be freed
		}
	}
}

// one returns the first of the rows; found is false if there is none.
func one[T any](all []T, err error) (row T, found bool, _ error) {
	if err != nil || len(all) == 0 {
		return row, false, err
	}
	return all[0], true, nil
}

func inserted(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// affected returns the number of rows that a statement changed.
func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func isBusy(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) && se.Code()&0xff == codeBusy
}

// explain turns SQLite's codes for a damaged file into [ErrCorrupt], those for a locked one into [ErrBusy], and those for
// a disk into [ErrDisk].
func explain(err error) error {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return err
	}
	switch se.Code() & 0xff {
	case codeCorrupt, codeNotADB:
		return fmt.Errorf("%w: %s", ErrCorrupt, se.Error())
	case codeBusy:
		return fmt.Errorf("%w: %s", ErrBusy, se.Error())
	case codeIO, codeFull:
		return fmt.Errorf("%w: %w", ErrDisk, err)
	}
	return err
}

// failed returns an explained error with a text before it that says what failed, or nil for a nil err.
func failed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), explain(err))
}

// stampForm has a fixed width, so that times sort as text.
const stampForm = "2006-01-02T15:04:05.000000000Z"

func stamp(t time.Time) string { return t.UTC().Format(stampForm) }

type moment struct{ to *time.Time }

// Scan reads a time.
func (m moment) Scan(v any) error {
	text, _ := v.(string)
	var err error
	*m.to, err = time.Parse(time.RFC3339Nano, text)
	return failed(err, "%q is not a time", text)
}

type maybe struct{ to **time.Time }

// Scan reads a time, or NULL as nil.
func (m maybe) Scan(v any) error {
	if *m.to = nil; v == nil {
		return nil
	}
	*m.to = new(time.Time)
	return moment{*m.to}.Scan(v)
}

type millis struct{ to *time.Duration }

// Scan reads a duration.
func (m millis) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("%v is not a number of milliseconds", v)
	}
	*m.to = time.Duration(n) * time.Millisecond
	return nil
}

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
