package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// TrainingSignal is one fact about the code of a task after its run. For the same commit and name, the last one counts.
type TrainingSignal struct {
	ID     int64    // of the row; given when it is read
	Task   string   // "<run>/<batch>"
	Commit string   // commit of the signal
	Name   string   // merged, reverted, rewritten
	Value  *float64 // 0 to 1; nil if unknown
	Note   string
	At     time.Time
}

// same reports whether s adds nothing to t.
func (s TrainingSignal) same(t TrainingSignal) bool {
	return s.Note == t.Note && (s.Value == t.Value || s.Value != nil && t.Value != nil && *s.Value == *t.Value)
}

// AddSignals records those signals that differ from the last ones, all or nothing, and returns them. A repeated call
// adds nothing.
func (t *Training) AddSignals(ctx context.Context, all []TrainingSignal) (added []TrainingSignal, err error) {
	err = t.j.tx(ctx, "signals about code", func(ctx context.Context, tx *sql.Tx) error {
		for _, s := range all {
			if s.Task == "" || s.Commit == "" || s.Name == "" {
				return errors.New("a signal needs its task, its commit and its name")
			}
			if s.Value != nil && !(*s.Value >= 0 && *s.Value <= 1) {
				return fmt.Errorf("signal %s of %s: %v is not between 0 and 1", s.Name, s.Task, *s.Value)
			}
			last, err := rows(ctx, tx, "signals", scanSignal, lastSignals+" AND s.commit_hash = ?2 AND s.name = ?3", s.Task,
				s.Commit, s.Name)
			if err != nil {
				return err
			}
			if len(last) == 1 && s.same(last[0]) {
				continue
			}
			if _, err := tx.ExecContext(ctx,
				"INSERT INTO training_signals (task_id, commit_hash, name, value, note, timestamp) VALUES (?, ?, ?, ?, ?, ?)",
				s.Task, s.Commit, s.Name, s.Value, null(s.Note), stamp(s.At)); err != nil {
				return err
			}
			added = append(added, s)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return added, nil
}
