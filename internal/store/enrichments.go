package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Enrichment is a model's description of a file (IDX-12), redacted.
type Enrichment struct {
	ID       int64  // of the row; set when it is read
	Repo     string // path of the repository
	Path     string // of the file in it
	Hash     string // of the content that the model saw
	Metadata        // File is the id in curated.sqlite at that time
	Model    string
	Prompt   string
	Response string

	PromptTokens     *int // nil: unknown
	CompletionTokens *int
	Latency          time.Duration

	Promoted bool // it was copied to curated.sqlite
	At       time.Time
}

// AddEnrichment records the answer of a model, and returns the id of the row.
func (j *Journal) AddEnrichment(ctx context.Context, e Enrichment) (id int64, err error) {
	return j.add(ctx, "enrichment of "+e.Path, e.check, `INSERT INTO enrichment_outputs (file_id, model, purpose, module, domain, concepts, public_api_surface, complexity_notes, raw_prompt, raw_response, timestamp,
			repo_path, path, content_hash, prompt_tokens, completion_tokens, latency_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.File, e.Model, null(e.Purpose), null(e.Module), null(e.Domain), null(e.Concepts), null(e.API), null(e.Complexity),
		e.Prompt, e.Response, stamp(e.At),
		e.Repo, e.Path, e.Hash, e.PromptTokens, e.CompletionTokens, e.Latency.Milliseconds())
}

// check verifies that the JSON fields are valid: queries about invalid ones would fail or find nothing.
func (m Metadata) check() error {
	for what, text := range map[string]string{"concepts": m.Concepts, "the public interface": m.API} {
		var list []any
		if text != "" && json.Unmarshal([]byte(text), &list) != nil {
			return fmt.Errorf("%s of file %d are not a JSON array: %.60q", what, m.File, text)
		}
	}
	return nil
}

// Enrichments returns the newest enrichment of each file of a repository, by path, without prompts and responses.
func (j *Journal) Enrichments(ctx context.Context, repo string) ([]Enrichment, error) {
	return rows[Enrichment](ctx, j.db, "enrichments", `SELECT id, repo_path, path, content_hash, file_id, COALESCE(purpose, ''), COALESCE(module, ''), COALESCE(domain, ''), COALESCE(concepts, ''), COALESCE(public_api_surface, ''),
			COALESCE(complexity_notes, ''), model, '', '', prompt_tokens, completion_tokens, latency_ms, promoted, timestamp
		FROM enrichment_outputs WHERE id IN (SELECT MAX(id) FROM enrichment_outputs WHERE repo_path = ? GROUP BY path) ORDER BY path`, repo)
}

// MarkPromoted records that enrichments were copied to curated.sqlite. Call it after [Curated.PutMetadata]. Each has
// its own row; a repeated call changes nothing.
func (j *Journal) MarkPromoted(ctx context.Context, at time.Time, ids ...int64) error {
	return j.tx(ctx, "promotion of enrichments", func(ctx context.Context, tx *sql.Tx) error {
		for _, id := range ids {
			if _, err := tx.ExecContext(ctx,
				"INSERT INTO enrichment_promotions (enrichment_id, timestamp) VALUES (?, ?) ON CONFLICT DO NOTHING", id,
				stamp(at)); err != nil {
				return fmt.Errorf("enrichment %d: %w", id, err)
			}
		}
		return nil
	})
}

// PutMetadata replaces the metadata of files, all or nothing, and returns the files that the index no longer has.
func (c *Curated) PutMetadata(ctx context.Context, all []Metadata) (gone []int64, err error) {
	err = write(ctx, c.db, "write what enrichment says", func(ctx context.Context, tx *sql.Tx) error {
		for _, m := range all {
			if err := m.check(); err != nil {
				return err
			}
			n, err := affected(tx.ExecContext(ctx, `INSERT INTO file_metadata (file_id, purpose, module, domain, concepts, public_api_surface, complexity_notes)
				SELECT id, ?, ?, ?, ?, ?, ? FROM files WHERE id = ?
				ON CONFLICT (file_id) DO UPDATE SET purpose = excluded.purpose, module = excluded.module, domain = excluded.domain,
					concepts = excluded.concepts, public_api_surface = excluded.public_api_surface, complexity_notes = excluded.complexity_notes`,
				null(m.Purpose), null(m.Module), null(m.Domain), null(m.Concepts), null(m.API), null(m.Complexity), m.File))
			if err != nil {
				return err
			}
			if n == 0 {
				gone = append(gone, m.File)
			}
		}
		return nil
	})
	return gone, err
}
