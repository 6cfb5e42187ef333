package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
)

// Unembedded is a chunk without a vector.
type Unembedded struct {
	Chunk
	TextHash string // of its file
	Hash     string // hash of the text of the chunk; the caller sets it
}

// Unembedded returns the chunks of a repository that have no vector of a model, by path and position.
func (c *CuratedReader) Unembedded(ctx context.Context, repo int64, model string) ([]Unembedded, error) {
	return rows[Unembedded](ctx, c.db, "chunks",
		"SELECT c.id, x.path, c.start_line, c.end_line, c.label, '', '', x.hash FROM texts x JOIN chunks c ON c.text_id = "+
			"x.id LEFT JOIN chunk_hashes h ON h.chunk_id = c.id LEFT JOIN vectors v ON v.model = ? AND v.hash = h.hash WHERE "+
			"x.repo_id = ? AND v.hash IS NULL ORDER BY x.path, c.start_line, c.id", model, repo)
}

// EmbeddedHashes returns which of the hashes have a vector of a model.
func (c *CuratedReader) EmbeddedHashes(ctx context.Context, model string, hashes []string) ([]string, error) {
	in, args := marks(hashes)
	return rows[string](ctx, c.db, "vectors", "SELECT hash FROM vectors WHERE hash IN ("+in+") AND model = ?",
		append(args, model)...)
}

// AddVectors stores the hashes of chunks, and vectors by hash, in one transaction. A chunk that was indexed again
// meanwhile is left out.
func (c *Curated) AddVectors(ctx context.Context, model string, chunks []Unembedded,
	vectors map[string][]float32) error {
	return c.change(ctx, "write vectors", func(ctx context.Context, tx *sql.Tx) error {
		for hash, v := range vectors {
			blob := make([]byte, 0, 4*len(v))
			for _, f := range v {
				blob = binary.LittleEndian.AppendUint32(blob, math.Float32bits(f))
			}
			if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO vectors (model, hash, vector) VALUES (?, ?, ?)", model,
				hash, blob); err != nil {
				return err
			}
		}
		for _, x := range chunks {
			// An id may belong to another chunk by now.
			if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO chunk_hashes (chunk_id, hash) SELECT c.id, ? FROM "+
				"chunks c JOIN texts t ON t.id = c.text_id WHERE c.id = ? AND t.path = ? AND t.hash = ? AND c.start_line = ?",
				x.Hash, x.ID, x.Path, x.TextHash, x.Start); err != nil {
				return err
			}
		}
		return nil
	})
}

// PruneVectors removes vectors of other models, and of texts that no chunk has.
func (c *Curated) PruneVectors(ctx context.Context, model string) error {
	return c.exec(ctx, "remove vectors",
		"DELETE FROM vectors WHERE model <> ? OR hash NOT IN (SELECT hash FROM chunk_hashes)", model)
}

// EachVector visits the vectors that a model made of the chunks of a repository. The vector is valid during the visit.
func (c *CuratedReader) EachVector(ctx context.Context, repo int64, model string,
	visit func(chunk int64, v []float32)) error {
	r, err := c.db.QueryContext(ctx, "SELECT c.id, v.vector FROM texts x JOIN chunks c ON c.text_id = x.id JOIN "+
		"chunk_hashes h ON h.chunk_id = c.id JOIN vectors v ON v.model = ? AND v.hash = h.hash WHERE x.repo_id = ? "+
		"ORDER BY c.id", model, repo)
	if err != nil {
		return fmt.Errorf("read vectors: %w", explain(err))
	}
	defer r.Close()
	var v []float32
	for r.Next() {
		var id int64
		var blob sql.RawBytes
		if err := r.Scan(&id, &blob); err != nil {
			return fmt.Errorf("read vectors: %w", explain(err))
		}
		v = v[:0]
		for i := 0; i+4 <= len(blob); i += 4 {
			v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(blob[i:])))
		}
		visit(id, v)
	}
	return failed(r.Err(), "read vectors")
}
