package store

import (
	"context"
	"time"
)

// IndexRun is the journal's record of one indexing.
type IndexRun struct {
	Repo     string        `json:"repo_path"`
	Scanned  int           `json:"files_scanned"`
	Changed  int           `json:"files_changed"`
	Duration time.Duration `json:"-"`
	Status   string        `json:"status"`
	At       time.Time     `json:"timestamp"`
}

// AddIndexRun records the end and the result of an indexing.
func (j *Journal) AddIndexRun(ctx context.Context, r IndexRun) error {
	_, err := j.add(ctx, "index of "+r.Repo, nil,
		"INSERT INTO index_runs (repo_path, files_scanned, files_changed, duration_ms, status, timestamp) VALUES (?, ?, "+
			"?, ?, ?, ?)",
		r.Repo, r.Scanned, r.Changed, r.Duration.Milliseconds(), r.Status, stamp(r.At))
	return err
}
