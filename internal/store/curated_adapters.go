package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// DeployedAdapter is an [Adapter] that was deployed at least once, and whether it is active.
type DeployedAdapter struct {
	Adapter
	Active bool `json:"active"`
}

// Adapters returns all adapters that were deployed, by stage and version.
func (c *CuratedReader) Adapters(ctx context.Context) ([]DeployedAdapter, error) {
	return rows(ctx, c.db, "adapters", func(r *sql.Rows, a *DeployedAdapter) error {
		return r.Scan(&a.ID, &a.Stage, &a.BaseModel, &a.Tag, &a.Version, &a.Notes, &a.DeployedAt, &a.Active)
	}, `SELECT id, stage_name, base_model, model_tag, version, COALESCE(performance_notes, ''), deployed_at, active
		FROM adapter_metadata ORDER BY stage_name, version, id`)
}

// ActivateAdapter makes an adapter the active one of its stage, and all others of the stage inactive, in one step
// (TRAIN-28). An adapter is identified by its tag. An adapter that was active before keeps its row, with the new
// time.
func (c *Curated) ActivateAdapter(ctx context.Context, a Adapter, at time.Time) error {
	what := fmt.Sprintf("make %s the active adapter of stage %s", a.Tag, a.Stage)
	if a.Stage == "" || strings.TrimSpace(a.Tag) == "" || a.Version < 1 || a.BaseModel != "coding" &&
		a.BaseModel != "reasoning" {
		return fmt.Errorf("%s: it needs a stage, a tag, a version from 1 and the base coding or reasoning, but has %+v", what,
			a)
	}
	return c.change(ctx, what, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE adapter_metadata SET active = 0 WHERE stage_name = ? AND active",
			a.Stage); err != nil {
			return err
		}
		n, err := affected(tx.ExecContext(ctx,
			"UPDATE adapter_metadata SET active = 1, base_model = ?, version = ?, performance_notes = ?, deployed_at = ? "+
				"WHERE stage_name = ? AND model_tag = ?",
			a.BaseModel, a.Version, null(a.Notes), stamp(at), a.Stage, a.Tag))
		if err != nil || n == 1 {
			return err
		} else if n > 1 {
			return errors.New("the stage has the tag more than once")
		}
		_, err = tx.ExecContext(ctx,
			"INSERT INTO adapter_metadata (stage_name, base_model, model_tag, version, active, performance_notes, "+
				"deployed_at) VALUES (?, ?, ?, ?, 1, ?, ?)",
			a.Stage, a.BaseModel, a.Tag, a.Version, null(a.Notes), stamp(at))
		return err
	})
}

// DeactivateAdapters leaves a stage without an active adapter, so the stage uses the model of its role again.
func (c *Curated) DeactivateAdapters(ctx context.Context, stage string) error {
	return c.exec(ctx, "deactivate the adapter of stage "+stage+" out of use",
		"UPDATE adapter_metadata SET active = 0 WHERE stage_name = ? AND active", stage)
}

// ForgetAdapter removes the row of a deleted adapter. It keeps the active one.
func (c *Curated) ForgetAdapter(ctx context.Context, stage, tag string) error {
	return c.exec(ctx, "delete adapter "+tag,
		"DELETE FROM adapter_metadata WHERE stage_name = ? AND model_tag = ? AND NOT active", stage, tag)
}

// exec runs one statement in a separate transaction.
func (c *Curated) exec(ctx context.Context, what, query string, args ...any) error {
	return c.change(ctx, what, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

// change runs do in a separate transaction.
func (c *Curated) change(ctx context.Context, what string, do func(context.Context, *sql.Tx) error) error {
	if err := transact(ctx, c.db, do); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
