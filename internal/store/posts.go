package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/runplan/runplan/internal/seal"
)

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
	return rows(ctx, j.db, fmt.Sprintf("the posts to run %s", run), func(rs *sql.Rows, p *Post) error {
		p.Run = run
		return rs.Scan(&p.ID, moment{&p.At}, &p.Body, &p.Seal)
	}, "SELECT id, at, body, seal FROM posts WHERE run = ? AND id > ? ORDER BY id", run, after)
}
