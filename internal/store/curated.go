package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Curated is the database of facts about a repository (curated.sqlite), opened by its single writer, the index.
type Curated struct{ CuratedReader }

// CuratedReader answers questions about a repository. It cannot write. It is safe for concurrent use.
type CuratedReader struct{ file }

// OpenCurated opens the database at path for writing, and creates it if it is missing.
func OpenCurated(ctx context.Context, path string) (*Curated, error) {
	db, err := curatedFile().open(ctx, path, true)
	if err != nil {
		return nil, err
	}
	return &Curated{CuratedReader{file{db}}}, nil
}

// OpenCuratedReader opens the database at path for reading. If it is missing, the error wraps fs.ErrNotExist. A reader
// sees the last commit, even during indexing.
func OpenCuratedReader(ctx context.Context, path string) (*CuratedReader, error) {
	return openedAs[CuratedReader](curatedFile().openReader(ctx, path))
}

// File is a source file of a repository.
type File struct {
	ID       int64  `json:"id"`
	Path     string `json:"path"`
	Language string `json:"language"`
	Hash     string `json:"content_hash"`
	Size     int64  `json:"size_bytes"`
	State    string `json:"state"`            // parsed, partial or skipped
	Reason   string `json:"reason,omitempty"` // why it is not parsed
}

// Symbol is a definition in a file.
type Symbol struct {
	ID        int64  `json:"id"`
	File      int64  `json:"file_id"`
	Path      string `json:"path,omitempty"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Start     int    `json:"start_line"`
	End       int    `json:"end_line"`
	Signature string `json:"signature,omitempty"`
	Parent    int64  `json:"parent_symbol_id,omitempty"` // 0: none
}

// Docstring is the documentation of a symbol, or of the module if Symbol is 0.
type Docstring struct {
	Symbol  int64  `json:"symbol_id,omitempty"`
	File    int64  `json:"file_id"`
	Content string `json:"content"`
	Format  string `json:"format"`
	Fields  string `json:"parsed_fields"` // JSON
}

// Comment is an inline comment.
type Comment struct {
	File      int64  `json:"file_id"`
	Symbol    int64  `json:"symbol_id,omitempty"`
	Line      int    `json:"line"`
	Content   string `json:"content"`
	Kind      string `json:"kind"`
	Rationale bool   `json:"is_rationale"`
}

// Dependency is an edge between two files, from the view of one of them: Path and Language describe the other.
type Dependency struct {
	Source   int64  `json:"source_file_id"`
	Target   int64  `json:"target_file_id"`
	Kind     string `json:"kind"`
	Path     string `json:"path,omitempty"`
	Language string `json:"language,omitempty"`
}

// Neighbor is a symbol that refers to another one, or is referred to.
type Neighbor struct {
	Symbol
	Reference  string  `json:"reference_kind"`
	Confidence float64 `json:"confidence"`
}

// Commit is one commit of the history.
type Commit struct {
	ID         int64  `json:"id"`
	Hash       string `json:"hash"`
	Author     string `json:"author"`
	Message    string `json:"message"`
	Time       string `json:"timestamp"`
	Files      int    `json:"files_changed"`
	Insertions *int   `json:"insertions"` // lines; nil if unknown
	Deletions  *int   `json:"deletions"`  // lines; nil if unknown
}

// CoChange is a file that changed together with another one.
type CoChange struct {
	File  int64  `json:"file_id"`
	Path  string `json:"path"`
	Count int    `json:"count"`
	Last  string `json:"last_commit_hash"`
}

// Metadata is the result of enrichment for a file. Concepts and API are JSON arrays.
type Metadata struct {
	File       int64  `json:"file_id"`
	Purpose    string `json:"purpose,omitempty"`
	Module     string `json:"module,omitempty"`
	Domain     string `json:"domain,omitempty"`
	Concepts   string `json:"concepts,omitempty"`
	API        string `json:"public_api_surface,omitempty"`
	Complexity string `json:"complexity_notes,omitempty"`
}

// Adapter is a fine-tuned model for a stage.
type Adapter struct {
	ID         int64  `json:"id"`
	Stage      string `json:"stage_name"`
	BaseModel  string `json:"base_model"`
	Tag        string `json:"model_tag"`
	Version    int    `json:"version"`
	Notes      string `json:"performance_notes,omitempty"`
	DeployedAt string `json:"deployed_at"`
}

// Import is an import as written. Names is JSON.
type Import struct {
	File  int64  `json:"-"`
	Path  string `json:"path"`
	Level int    `json:"level,omitempty"`
	Alias string `json:"alias,omitempty"`
	Names string `json:"names,omitempty"`
	Types bool   `json:"types,omitempty"`
	Line  int    `json:"line"`
}

// DeployedAdapter is an [Adapter] that was deployed at least once, and whether it is active.
type DeployedAdapter struct {
	Adapter
	Active bool `json:"active"`
}

// Adapters returns all adapters that were deployed, by stage and version.
func (c *CuratedReader) Adapters(ctx context.Context) ([]DeployedAdapter, error) {
	return rows[DeployedAdapter](ctx, c.db, "adapters", `SELECT id, stage_name, base_model, model_tag, version, COALESCE(performance_notes, ''), deployed_at, active
		FROM adapter_metadata ORDER BY stage_name, version, id`)
}

// ActivateAdapter makes an adapter the active one of its stage, and all others of the stage inactive, in one step
// (TRAIN-28). An adapter is identified by its tag. An adapter that was active before keeps its row, with the new time.
func (c *Curated) ActivateAdapter(ctx context.Context, a Adapter, at time.Time) error {
	what := fmt.Sprintf("make %s the active adapter of stage %s", a.Tag, a.Stage)
	if a.Stage == "" || strings.TrimSpace(a.Tag) == "" || a.Version < 1 || a.BaseModel != "coding" &&
		a.BaseModel != "reasoning" {
		return fmt.Errorf("%s: an adapter needs a stage, a tag, a version from 1 and the base coding or reasoning; this one has %+v",
			what,
			a)
	}
	return c.change(ctx, what, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE adapter_metadata SET active = 0 WHERE stage_name = ? AND active",
			a.Stage); err != nil {
			return err
		}
		n, err := affected(tx.ExecContext(ctx,
			"UPDATE adapter_metadata SET active = 1, base_model = ?, version = ?, performance_notes = ?, deployed_at = ? "+
				"WHERE stage_name = ? AND model_tag = ?", a.BaseModel, a.Version, null(a.Notes), stamp(at), a.Stage, a.Tag))
		if err != nil || n == 1 {
			return err
		} else if n > 1 {
			return errors.New("the stage has the tag more than once")
		}
		_, err = tx.ExecContext(ctx,
			"INSERT INTO adapter_metadata (stage_name, base_model, model_tag, version, active, performance_notes, "+
				"deployed_at) VALUES (?, ?, ?, ?, 1, ?, ?)", a.Stage, a.BaseModel, a.Tag, a.Version, null(a.Notes), stamp(at))
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

func (c *Curated) exec(ctx context.Context, what, query string, args ...any) error {
	return c.change(ctx, what, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

// change runs do in a separate transaction.
func (c *Curated) change(ctx context.Context, what string, do func(context.Context, *sql.Tx) error) error {
	return transact(ctx, c.db, what, do)
}
