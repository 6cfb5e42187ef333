package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// FileDecision records whether a stage of retrieval selected a file or one of its symbols, and why (RETR-12). A
// repeated retrieval adds rows. For the same item in the same stage of a task, the last row counts.
type FileDecision struct {
	Task     string
	Stage    string
	File     int64  // its id in curated.sqlite at that time, 0 if it is not there; only the path is permanent
	Path     string // from the root of the repository, with slashes
	Symbol   string // "" for the whole file
	Tier     string // of scope 0 to 4; of precision primary, supporting, type_context or excluded; "" for none
	Included bool
	Reason   string
	At       time.Time
}

// AddDecisions records the decisions of a stage, all or nothing.
func (j *Journal) AddDecisions(ctx context.Context, all []FileDecision) error {
	if len(all) == 0 {
		return nil
	}
	return j.tx(ctx, "decisions of "+all[0].Task, func(ctx context.Context, tx *sql.Tx) error {
		for _, d := range all {
			if d.Task == "" || d.Stage == "" || d.Path == "" {
				return errors.New("a decision needs its task, its stage and the path of its file")
			}
			if _, err := tx.ExecContext(ctx,
				"INSERT INTO retrieval_decisions (task_id, stage, file_id, tier, included, reason, timestamp, path, symbol) "+
					"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
				d.Task, d.Stage, d.File, null(d.Tier), d.Included, null(d.Reason), stamp(d.At), d.Path,
				null(d.Symbol)); err != nil {
				return err
			}
		}
		return nil
	})
}
