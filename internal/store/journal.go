package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/seal"
)

// Journal is the append-only log of a repository (raw.sqlite).
type Journal struct {
	db    *sql.DB
	mu    sync.Mutex // one write at a time, and one check of the file
	place place
	seal  *seal.Seal            // signs new records; nil signs nothing
	heads map[string]*chainHead // heads by run that this process has written or checked
}

// Record is one stored event. Body is its JSON.
type Record struct {
	Run   string
	Seq   int
	At    time.Time
	Kind  string
	Batch string
	Body  []byte
	Seal  string // signature over the record and the previous one; set when it is written
}

// Run holds the parameters with which a run was started.
type Run struct {
	ID       string
	Slug     string
	Plan     string
	PlanText []byte
	Started  time.Time
}

// OpenJournal opens the journal at path, and creates it if it is missing.
func OpenJournal(ctx context.Context, path string) (*Journal, error) {
	return openJournal(ctx, path, true)
}

// OpenExistingJournal opens the journal at path; a missing one is an error that wraps fs.ErrNotExist.
func OpenExistingJournal(ctx context.Context, path string) (*Journal, error) {
	return openJournal(ctx, path, false)
}

func openJournal(ctx context.Context, path string, mayCreate bool) (*Journal, error) {
	db, err := rawFile().open(ctx, path, mayCreate)
	if err != nil {
		return nil, err
	}
	return &Journal{db: db, place: placeOf(path)}, nil
}

// Close releases the file.
func (j *Journal) Close() error {
	for _, h := range j.heads {
		h.file.Close()
	}
	return j.db.Close()
}

// AddRun writes a new run together with its first events, all or nothing.
func (j *Journal) AddRun(ctx context.Context, r Run, first ...Record) error {
	return j.insert(ctx, r.ID, "start run "+r.ID, first, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO runs (run, slug, plan, plan_text, started_at) VALUES (?, ?, ?, ?, ?)",
			r.ID, r.Slug, r.Plan, r.PlanText, stamp(r.Started))
		return err
	})
}

// Append adds records, all or nothing. A used sequence number is an error: two processes write to one run.
func (j *Journal) Append(ctx context.Context, records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	run := records[0].Run
	return j.insert(ctx, run, "append to run "+run, records, func(context.Context, *sql.Tx) error { return nil })
}

// insert adds records to the chain of a run, after before.
func (j *Journal) insert(ctx context.Context, run, what string, records []Record,
	before func(context.Context, *sql.Tx) error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.present(); err != nil {
		return err
	}
	var head *chainHead
	err := j.tx(ctx, what, func(ctx context.Context, tx *sql.Tx) (err error) {
		if err := before(ctx, tx); err != nil {
			return err
		}
		linked := slices.Clone(records)
		if head, err = j.link(ctx, tx, linked); err != nil {
			return err
		}
		for _, r := range linked {
			if _, err := tx.ExecContext(ctx,
				"INSERT INTO events (run, seq, at, kind, batch, body, seal) VALUES (?, ?, ?, ?, ?, ?, ?)",
				r.Run, r.Seq, stamp(r.At), r.Kind, r.Batch, string(r.Body), r.Seal); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		j.written(run, head)
	}
	return err
}

func (j *Journal) tx(ctx context.Context, what string, do func(context.Context, *sql.Tx) error) error {
	return write(ctx, j.db, "journal: "+what, do)
}

// add inserts one row after a check, if there is one, and returns its id.
func (j *Journal) add(ctx context.Context, what string, check func() error, query string, args ...any) (id int64,
	err error) {
	err = j.tx(ctx, what, func(ctx context.Context, tx *sql.Tx) error {
		if check != nil {
			if err := check(); err != nil {
				return err
			}
		}
		id, err = inserted(tx.ExecContext(ctx, query, args...))
		return err
	})
	return id, err
}

// page limits the rows that a reader holds in memory, and the time that it uses the only connection.
const page = 500

// Events yields the records of a run with a sequence number of at least from, in order.
func (j *Journal) Events(ctx context.Context, run string, from int) iter.Seq2[Record, error] {
	return paged(page, func(last *Record) ([]Record, error) {
		next := from
		if last != nil {
			next = last.Seq + 1
		}
		list, err := rows[Record](ctx, j.db, "events",
			"SELECT run, seq, at, kind, batch, body FROM events WHERE run = ? AND seq >= ? ORDER BY seq LIMIT ?", run, next, page)
		return list, failed(err, "journal: run %s", run)
	})
}

// Runs returns all runs, newest first, without their plan texts.
func (j *Journal) Runs(ctx context.Context) ([]Run, error) {
	return rows[Run](ctx, j.db, "the runs of the journal",
		"SELECT run, slug, plan, NULL, started_at FROM runs ORDER BY started_at DESC, rowid DESC")
}

// PlanText returns the plan that a run was started with, byte for byte.
func (j *Journal) PlanText(ctx context.Context, run string) ([]byte, error) {
	var text []byte
	err := j.db.QueryRowContext(ctx, "SELECT plan_text FROM runs WHERE run = ?", run).Scan(&text)
	return text, failed(err, "journal: plan of run %s", run)
}

// Post is a message to a run from another process. Body is the JSON of an event.
type Post struct {
	ID   int64 // rises with each post
	Run  string
	At   time.Time
	Body []byte
	Seal string // set when it is written
}

// fields returns the values that the seal of a post covers. They include its number, so a copy of a post is invalid.
func (p Post) fields() []string {
	return []string{strconv.FormatInt(p.ID, 10), p.Run, stamp(p.At), string(p.Body)}
}

// Vouches reports whether runplan itself wrote a post. A journal without a seal accepts all.
func (j *Journal) Vouches(p Post) bool {
	return j.seal == nil || j.seal.Check(p.Seal, seal.Post, p.fields()...)
}

// AddPost stores a post for a run and returns its id. The process that executes the run reads it, now or after a
// resume.
func (j *Journal) AddPost(ctx context.Context, p Post) (id int64, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.present(); err != nil {
		return 0, err
	}
	err = j.tx(ctx, "post to run "+p.Run, func(ctx context.Context, tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx,
			"SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'posts'), 0) + 1").Scan(&p.ID); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO posts (id, run, at, body, seal) VALUES (?, ?, ?, ?, ?)",
			p.ID, p.Run, stamp(p.At), string(p.Body), j.seal.Sum(seal.Post, p.fields()...))
		return err
	})
	return p.ID, err
}

// Posts returns the posts to a run with an id above after, in order.
func (j *Journal) Posts(ctx context.Context, run string, after int64) ([]Post, error) {
	return rows[Post](ctx, j.db, fmt.Sprintf("the posts to run %s", run),
		"SELECT id, run, at, body, seal FROM posts WHERE run = ? AND id > ? ORDER BY id", run, after)
}

// The reasons why the file that a process writes to is no longer the one at its path.
var (
	ErrGone     = errors.New("the file was deleted while it was in use")
	ErrReplaced = errors.New("another file replaced it while it was in use")
	ErrCut      = errors.New("the file was truncated while it was in use")
)

// place is the path of an open database and the file that was opened. SQLite keeps writing to a deleted file, so the
// two are compared.
type place struct {
	path string
	file os.FileInfo
	wal  *mark
}

type mark struct{ info os.FileInfo }

func placeOf(path string) place {
	info, err := os.Lstat(path)
	if err != nil {
		return place{}
	}
	return place{path, info, &mark{}}
}

// Present checks that the journal is still the file that was opened. Otherwise the error wraps [ErrGone], [ErrReplaced]
// or [ErrCut]. It calls stat for two files, which takes a few microseconds.
func (j *Journal) Present() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.present()
}

func (j *Journal) present() error {
	p := &j.place
	if p.file == nil {
		return nil
	}
	now, err := os.Lstat(p.path)
	if err := same(p.path, p.file, now, err); err != nil {
		return err
	}
	if now.Size() < p.file.Size() {
		return fmt.Errorf("%w: %s: %d bytes, but it had %d", ErrCut, p.path, now.Size(), p.file.Size())
	}
	p.file = now
	// The write-ahead log exists from the first write until the last process closes the database.
	wal := p.path + "-wal"
	now, err = os.Lstat(wal)
	if p.wal.info == nil {
		if err == nil {
			p.wal.info = now
		}
		return nil
	}
	return same(wal, p.wal.info, now, err)
}

func same(path string, was, now os.FileInfo, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s", ErrGone, path)
	case err != nil:
		return err
	case !os.SameFile(was, now):
		return fmt.Errorf("%w: %s", ErrReplaced, path)
	}
	return nil
}

// Save writes the content of the journal to a new file. An open journal can be read even if it was deleted.
func (j *Journal) Save(ctx context.Context, path string) error {
	_, err := j.db.ExecContext(ctx, "VACUUM INTO ?", path)
	return failed(err, "save the journal as %s", path)
}
