package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// Text is a file whose text is searched.
type Text struct {
	ID       int64
	Path     string
	Hash     string
	Size     int64
	Modified int64
	Source   bool // it is also a file with symbols
}

// Chunk is a part of a text with its search words.
type Chunk struct {
	ID         int64
	Path       string
	Start, End int    // lines
	Label      string // names of the symbols in it
	Name       string // words of the path and of the names
	Body       string // words of the lines
}

// OtherTexts returns the texts that are not files with symbols, by path.
func (t *CuratedTx) OtherTexts(ctx context.Context, repo int64) (map[string]FileState, error) {
	all, err := rows[FileState](ctx, t.tx, "texts",
		"SELECT id, path, '', hash, size, '', '', modified FROM texts WHERE repo_id = ? AND NOT source", repo)
	return lists.By(all, func(x FileState) string { return x.Path }), err
}

// ManyTexts prepares for a bulk insert: until the commit, SQLite buffers more words and does not merge what it wrote.
func (t *CuratedTx) ManyTexts(ctx context.Context) error {
	t.many = true
	return errors.Join(t.searchSetting(ctx, "hashsize", 16<<20), t.searchSetting(ctx, "automerge", 0))
}

// searchSetting changes a setting of the full-text search.
func (t *CuratedTx) searchSetting(ctx context.Context, name string, value int) error {
	for _, table := range []string{"chunk_words", "commit_words"} {
		if err := t.exec(ctx, "prepare the search", "INSERT INTO "+table+" ("+table+", rank) VALUES (?, ?)", name,
			value); err != nil {
			return err
		}
	}
	return nil
}

// TouchText records a new modification time for unchanged content.
func (t *CuratedTx) TouchText(ctx context.Context, id, modified int64) error {
	return t.exec(ctx, "write a text's time", "UPDATE texts SET modified = ? WHERE id = ?", modified, id)
}

// DeleteText removes a text and its search index.
func (t *CuratedTx) DeleteText(ctx context.Context, repo int64, path string) error {
	const these = "(SELECT c.id FROM chunks c JOIN texts x ON x.id = c.text_id WHERE x.repo_id = ? AND x.path = ?)"
	if err := t.exec(ctx, "remove a text", "DELETE FROM chunk_words WHERE rowid IN "+these, repo, path); err != nil {
		return err
	}
	return t.exec(ctx, "remove a text", "DELETE FROM texts WHERE repo_id = ? AND path = ?", repo, path)
}

// PutText replaces the search index of a text. A new text has none yet.
func (t *CuratedTx) PutText(ctx context.Context, repo int64, x Text, isNew bool, chunks []Chunk) error {
	if !isNew {
		if err := errors.Join(t.chunks.flush(ctx), t.words.flush(ctx), t.DeleteText(ctx, repo, x.Path)); err != nil {
			return err
		}
	}
	var err error
	if x.ID, err = inserted(t.run(ctx,
		`INSERT INTO texts (repo_id, path, hash, size, modified, source) VALUES (?, ?, ?, ?, ?, ?)`, repo, x.Path, x.Hash,
		x.Size, x.Modified, x.Source)); err != nil {
		return fmt.Errorf("write the text of %s: %w", x.Path, explain(err))
	}
	for _, c := range chunks {
		id := t.nextChunk
		t.nextChunk++
		if err := errors.Join(t.chunks.add(ctx, id, x.ID, int64(c.Start), int64(c.End), c.Label),
			t.words.add(ctx, id, c.Name, c.Body)); err != nil {
			return err
		}
	}
	return nil
}

// Hit is a row of a search with its score: the higher, the better.
type Hit struct {
	ID    int64
	Score float64
}

// SearchChunks returns the chunks that contain a word, with their BM25 scores; a word in a name counts nameWeight
// times.
func (c *CuratedReader) SearchChunks(ctx context.Context, word string, nameWeight float64) ([]Hit, error) {
	return rows[Hit](ctx, c.db, "the search",
		"SELECT rowid, -bm25(chunk_words, ?, 1.0) FROM chunk_words WHERE chunk_words MATCH ?", nameWeight, quotedWord(word))
}

// SearchCommits returns the commits whose messages have at least one of the words, the best first.
func (c *CuratedReader) SearchCommits(ctx context.Context, words []string, limit int) ([]Hit, error) {
	if len(words) == 0 {
		return nil, nil
	}
	quoted := lists.Map(words, quotedWord)
	return rows[Hit](ctx, c.db, "the search",
		"SELECT rowid, -bm25(commit_words) AS score FROM commit_words WHERE commit_words MATCH ? ORDER BY score DESC, "+
			"rowid LIMIT ?", strings.Join(quoted, " OR "), limit)
}

func quotedWord(w string) string { return `"` + strings.ReplaceAll(w, `"`, `""`) + `"` }

// Changed is a path that a commit touched.
type Changed struct {
	Commit int64
	Path   string
	Files  int // touched by the commit
	Time   string
}

// PathsOfCommits returns the paths that commits touched.
func (c *CuratedReader) PathsOfCommits(ctx context.Context, ids []int64) ([]Changed, error) {
	return chunked(ids, func(part []int64) ([]Changed, error) {
		in, args := marks(part)
		return rows[Changed](ctx, c.db, "the history",
			"SELECT h.commit_id, p.path, c.files_changed, c.timestamp FROM history h JOIN history_paths p ON p.id = h.path_id "+
				"JOIN commits c ON c.id = h.commit_id WHERE h.commit_id IN ("+in+") ORDER BY h.commit_id, p.path", args...)
	})
}

// LatestCommits returns the ids of the last commits of a repository, newest first.
func (c *CuratedReader) LatestCommits(ctx context.Context, repo int64, limit int) ([]int64, error) {
	return rows[int64](ctx, c.db, "the history", "SELECT id FROM commits WHERE repo_id = ? ORDER BY id DESC LIMIT ?", repo,
		limit)
}

// Texts returns all texts of a repository, by path.
func (c *CuratedReader) Texts(ctx context.Context, repo int64) (map[string]Text, error) {
	all, err := rows[Text](ctx, c.db, "texts",
		"SELECT id, path, hash, size, modified, source FROM texts WHERE repo_id = ?", repo)
	return lists.By(all, func(x Text) string { return x.Path }), err
}

// TextPaths returns the paths of all texts of a repository, sorted.
func (c *CuratedReader) TextPaths(ctx context.Context, repo int64) ([]string, error) {
	return rows[string](ctx, c.db, "texts", "SELECT path FROM texts WHERE repo_id = ? ORDER BY path", repo)
}

// Chunks returns all chunks of a repository, without their words, by path and position.
func (c *CuratedReader) Chunks(ctx context.Context, repo int64) ([]Chunk, error) {
	return rows[Chunk](ctx, c.db, "chunks",
		"SELECT c.id, x.path, c.start_line, c.end_line, c.label FROM texts x JOIN chunks c ON c.text_id = x.id WHERE "+
			"x.repo_id = ? ORDER BY x.path, c.start_line, c.id", repo)
}

// CommitsOfPath returns the last commits that touched a path, newest first.
func (c *CuratedReader) CommitsOfPath(ctx context.Context, repo int64, path string, limit int) ([]int64, error) {
	return rows[int64](ctx, c.db, "the history",
		"SELECT h.commit_id FROM history_paths p JOIN history h ON h.path_id = p.id JOIN commits c ON c.id = h.commit_id "+
			"WHERE p.path = ? AND c.repo_id = ? ORDER BY h.commit_id DESC LIMIT ?", path, repo, limit)
}
