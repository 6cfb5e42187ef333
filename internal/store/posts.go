package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Post is what somebody outside of its process says to a run. Body is the JSON of an event.
type Post struct {
	ID   int64 // rises with each post
	Run  string
	At   time.Time
	Body []byte
}

// AddPost leaves a post for a run, and returns its id. Who is at work on the run takes it up; else who goes on with it.
func (j *Journal) AddPost(ctx context.Context, p Post) (id int64, err error) {
	err = j.tx(ctx, "post to run "+p.Run, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "INSERT INTO posts (run, at, body) VALUES (?, ?, ?)", p.Run, stamp(p.At), string(p.Body))
		if err == nil {
			id, err = res.LastInsertId()
		}
		return err
	})
	return id, err
}

// Posts returns the posts to a run with an id above after, in order.
func (j *Journal) Posts(ctx context.Context, run string, after int64) ([]Post, error) {
	return rows(ctx, j.db, fmt.Sprintf("the posts to run %s", run), func(rs *sql.Rows, p *Post) error {
		p.Run = run
		return rs.Scan(&p.ID, moment{&p.At}, &p.Body)
	}, "SELECT id, at, body FROM posts WHERE run = ? AND id > ? ORDER BY id", run, after)
}
