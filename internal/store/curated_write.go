package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// CuratedTx is one indexing transaction: others see all of its changes at once when it commits, or none.
type CuratedTx struct {
	tx   *sql.Tx
	next int64 // id of the next new symbol

	dropped  []droppedIndex
	prepared map[string]*sql.Stmt
	many     bool // see [CuratedTx.ManyTexts]

	symbols, docstrings, comments, imports, deps, refs, historyRows, fileCommits, commits, chunks, words, messages *bulk

	nextChunk int64
}

// droppedIndex is an index of a table, with the statement that makes it again.
type droppedIndex struct{ Name, Table, Statement string }

// Begin starts indexing. Meanwhile others can read, but not write: they get [ErrBusy].
func (c *Curated) Begin(ctx context.Context) (*CuratedTx, error) {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin to index: %w", explain(err))
	}
	t := &CuratedTx{tx: tx, prepared: map[string]*sql.Stmt{}}
	if err := tx.QueryRowContext(ctx,
		"SELECT COALESCE(MAX(id), 0) + 1, (SELECT COALESCE(MAX(id), 0) + 1 FROM chunks) FROM symbols").Scan(&t.next,
		&t.nextChunk); err != nil {
		tx.Rollback()
		return nil, fmt.Errorf("begin to index: %w", explain(err))
	}
	t.symbols = newBulk(tx,
		"INSERT INTO symbols (id, file_id, name, kind, start_line, end_line, signature, parent_symbol_id)", 8,
		" ON CONFLICT (id) DO UPDATE SET start_line = excluded.start_line, end_line = excluded.end_line, signature = "+
			"excluded.signature, parent_symbol_id = excluded.parent_symbol_id, kind = excluded.kind")
	t.docstrings = newBulk(tx, "INSERT INTO docstrings (symbol_id, file_id, content, format, parsed_fields)", 5, "",
		t.symbols)
	t.comments = newBulk(tx, "INSERT INTO inline_comments (file_id, symbol_id, line, content, kind, is_rationale)", 6, "",
		t.symbols)
	t.imports = newBulk(tx, "INSERT INTO imports (file_id, path, level, alias, names, types, line)", 7, "")
	t.deps = newBulk(tx, "INSERT INTO dependencies (source_file_id, target_file_id, kind)", 3, "")
	t.refs = newBulk(tx, "INSERT INTO symbol_references (caller_symbol_id, callee_symbol_id, reference_kind, confidence)",
		4, "", t.symbols)
	t.commits = newBulk(tx,
		"INSERT INTO commits (id, repo_id, hash, author, message, timestamp, files_changed, insertions, deletions)", 9, "")
	t.historyRows = newBulk(tx, "INSERT INTO history (commit_id, path_id)", 2, " ON CONFLICT DO NOTHING")
	t.fileCommits = newBulk(tx, "INSERT INTO file_commits (file_id, commit_id)", 2, " ON CONFLICT DO NOTHING", t.commits)
	t.chunks = newBulk(tx, "INSERT INTO chunks (id, text_id, start_line, end_line, label)", 5, "")
	t.words = newWords(tx, "INSERT INTO chunk_words (rowid, name, body)", 3)
	t.messages = newWords(tx, "INSERT INTO commit_words (rowid, message)", 2)
	return t, nil
}

// Rollback undoes all changes. After [CuratedTx.Commit] it does nothing.
func (t *CuratedTx) Rollback() { t.tx.Rollback() }

// Commit writes the buffered rows and makes everything visible.
func (t *CuratedTx) Commit(ctx context.Context) error {
	if err := t.Flush(ctx); err != nil {
		return err
	}
	if err := t.MakeIndexes(ctx); err != nil {
		return err
	}
	if t.many {
		if err := t.searchSetting(ctx, "automerge", 4); err != nil { // SQLite's own
			return err
		}
	}
	return failed(t.tx.Commit(), "write the index")
}

// Flush writes the buffered rows, so that they can be read.
func (t *CuratedTx) Flush(ctx context.Context) error {
	for _, b := range []*bulk{t.symbols, t.docstrings, t.comments, t.imports, t.deps, t.refs, t.commits, t.historyRows,
		t.fileCommits, t.chunks, t.words, t.messages} {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// DropIndexes drops the indexes of tables that are about to be filled from empty. [CuratedTx.MakeIndexes] restores them
// in the same transaction.
func (t *CuratedTx) DropIndexes(ctx context.Context) error {
	all, err := rows[droppedIndex](ctx, t.tx, "indexes",
		"SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND sql LIKE 'CREATE INDEX%' AND tbl_name IN "+
			"('symbols', 'docstrings', 'inline_comments', 'imports', 'dependencies', 'symbol_references', 'file_commits', "+
			"'co_changes', 'chunks', 'history') ORDER BY name")
	if err != nil {
		return err
	}
	for _, x := range all {
		if err := t.exec(ctx, "drop an index", "DROP INDEX "+x.Name); err != nil { // the name is from our own schema
			return err
		}
		t.dropped = append(t.dropped, x)
	}
	return nil
}

// MakeIndexes restores the indexes that [CuratedTx.DropIndexes] dropped: for the given tables, which are now filled,
// or for all.
func (t *CuratedTx) MakeIndexes(ctx context.Context, tables ...string) error {
	var later []droppedIndex
	for _, x := range t.dropped {
		if len(tables) > 0 && !slices.Contains(tables, x.Table) {
			later = append(later, x)
			continue
		}
		if err := t.exec(ctx, "create an index", x.Statement); err != nil {
			return err
		}
	}
	t.dropped = later
	return nil
}

// bulkValues limits the values of one statement. The driver searches all values for each value, so ten times as many
// are slower per row. With a tenth, the overhead of the statement dominates.
const bulkValues = 64

// wordRows limits the rows of words that are buffered, a few MB.
const wordRows = 4096

// bulk buffers rows, and inserts them together.
type bulk struct {
	tx           *sql.Tx
	head, tail   string
	columns, max int // max: rows in the buffer
	each         int // rows of one statement
	args         []any
	full         *sql.Stmt
	before       []*bulk // rows that these refer to
}

func newBulk(tx *sql.Tx, head string, columns int, tail string, before ...*bulk) *bulk {
	n := max(1, bulkValues/columns)
	return &bulk{tx: tx, head: head, tail: tail, columns: columns, max: n, each: n, before: before}
}

// newWords returns a bulk for a table of the full-text search. It inserts many rows one after the other, because each
// statement that writes several rows, of any table, makes the search write its buffer to the database.
func newWords(tx *sql.Tx, head string, columns int) *bulk {
	return &bulk{tx: tx, head: head, columns: columns, max: wordRows, each: 1}
}

func (b *bulk) text(n int) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?, ", b.columns), ", ") + ")"
	return b.head + " VALUES " + strings.TrimSuffix(strings.Repeat(row+", ", n), ", ") + b.tail
}

func (b *bulk) add(ctx context.Context, args ...any) error {
	b.args = append(b.args, args...)
	if len(b.args) < b.max*b.columns {
		return nil
	}
	return b.flush(ctx)
}

func (b *bulk) flush(ctx context.Context) error {
	if len(b.args) == 0 {
		return nil
	}
	for _, other := range b.before {
		if err := other.flush(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx) // the statement is short, and watching a context would double its cost
	for args := range slices.Chunk(b.args, b.each*b.columns) {
		if err := b.insert(ctx, args); err != nil {
			return fmt.Errorf("write the index: %w", explain(err))
		}
	}
	clear(b.args) // so that the texts can be freed
	b.args = b.args[:0]
	return nil
}

func (b *bulk) insert(ctx context.Context, args []any) (err error) {
	n := len(args) / b.columns
	if n < b.each {
		_, err = b.tx.ExecContext(ctx, b.text(n), args...)
		return err
	}
	if b.full == nil {
		if b.full, err = b.tx.PrepareContext(ctx, b.text(n)); err != nil {
			return err
		}
	}
	_, err = b.full.ExecContext(ctx, args...)
	return err
}

func (t *CuratedTx) exec(ctx context.Context, what, query string, args ...any) error {
	_, err := t.run(ctx, query, args...)
	return failed(err, "%s", what)
}

// run executes a statement. One with values is prepared once, because it is executed for each file.
func (t *CuratedTx) run(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if len(args) == 0 {
		return t.tx.ExecContext(ctx, query)
	}
	s := t.prepared[query]
	if s == nil {
		var err error
		if s, err = t.tx.PrepareContext(ctx, query); err != nil {
			return nil, err
		}
		t.prepared[query] = s
	}
	return s.ExecContext(ctx, args...)
}

// RepoState is the state of a repository as a whole.
type RepoState struct {
	ID     int64
	Head   string // last commit whose history is indexed
	Layout string // hash of the inputs of import resolution
}

// Repo returns the repository at path, which is new if it was never indexed.
func (t *CuratedTx) Repo(ctx context.Context, path, remote, at string) (RepoState, error) {
	var s RepoState
	err := t.tx.QueryRowContext(ctx, `INSERT INTO repos (path, remote_url, indexed_at) VALUES (?, NULLIF(?, ''), ?)
		ON CONFLICT (path) DO UPDATE SET remote_url = excluded.remote_url, indexed_at = excluded.indexed_at RETURNING id`, path, remote, at).Scan(&s.ID)
	if err == nil {
		err = t.tx.QueryRowContext(ctx, "SELECT head, layout FROM repo_state WHERE repo_id = ?", s.ID).Scan(&s.Head,
			&s.Layout)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
	}
	return s, failed(err, "read the repository")
}

// SetRepo writes the state of a repository.
func (t *CuratedTx) SetRepo(ctx context.Context, s RepoState) error {
	return t.exec(ctx, "write the repository",
		"INSERT INTO repo_state (repo_id, head, layout) VALUES (?, ?, ?) ON CONFLICT (repo_id) DO UPDATE SET head = "+
			"excluded.head, layout = excluded.layout", s.ID, s.Head, s.Layout)
}

// FileState is a file with the data that the next indexing needs.
type FileState struct {
	File
	Modified  int64
	Reader    string
	Interface string
	Refs      string
}

// Known returns all files of a repository by id, which is their order on disk, without their refs.
func (t *CuratedTx) Known(ctx context.Context, repo int64) ([]FileState, error) {
	return rows[FileState](ctx, t.tx, "files", `SELECT f.id, f.path, f.language, f.content_hash, f.size_bytes, s.state, COALESCE(s.reason, ''), s.modified, s.reader, s.interface
		FROM files f JOIN file_state s ON s.file_id = f.id WHERE f.repo_id = ? ORDER BY f.id`, repo)
}

// PutFile writes a file and returns its id; a file with an id is replaced.
func (t *CuratedTx) PutFile(ctx context.Context, repo int64, f FileState) (int64, error) {
	if f.ID == 0 {
		var err error
		if f.ID, err = inserted(t.run(ctx,
			"INSERT INTO files (repo_id, path, language, content_hash, size_bytes) VALUES (?, ?, ?, ?, ?)", repo, f.Path,
			f.Language, f.Hash, f.Size)); err != nil {
			return 0, fmt.Errorf("write %s: %w", f.Path, explain(err))
		}
	} else if err := t.exec(ctx, "write "+f.Path,
		"UPDATE files SET language = ?, content_hash = ?, size_bytes = ? WHERE id = ?", f.Language, f.Hash, f.Size,
		f.ID); err != nil {
		return 0, err
	}
	return f.ID, t.exec(ctx, "write "+f.Path, `INSERT INTO file_state (file_id, modified, reader, state, reason, interface, refs) VALUES (?, ?, ?, ?, NULLIF(?, ''), ?, ?)
		ON CONFLICT (file_id) DO UPDATE SET modified = excluded.modified, reader = excluded.reader, state = excluded.state, reason = excluded.reason, interface = excluded.interface, refs = excluded.refs`,
		f.ID, f.Modified, f.Reader, f.State, f.Reason, f.Interface, f.Refs)
}

// Touch records a new modification time for unchanged content.
func (t *CuratedTx) Touch(ctx context.Context, file, modified int64) error {
	return t.exec(ctx, "write a file's time", "UPDATE file_state SET modified = ? WHERE file_id = ?", modified, file)
}

// DeleteFile removes a file and all its facts.
func (t *CuratedTx) DeleteFile(ctx context.Context, id int64) error {
	return t.exec(ctx, "remove a file", "DELETE FROM files WHERE id = ?", id)
}

// SymbolIDs reserves n new ids.
func (t *CuratedTx) SymbolIDs(n int) (first int64) {
	first = t.next
	t.next += int64(n)
	return first
}

// Content is the content of a file. Symbols have their ids.
type Content struct {
	Symbols    []Symbol
	Docstrings []Docstring
	Comments   []Comment
	Imports    []Import
	Gone       []int64 // existing symbols
}

// PutContent replaces the facts about a file's content.
func (t *CuratedTx) PutContent(ctx context.Context, file int64, isNew bool, c Content) error {
	if !isNew {
		for _, table := range []string{"docstrings", "inline_comments", "imports"} {
			if err := t.exec(ctx, "remove the old facts", "DELETE FROM "+table+" WHERE file_id = ?", file); err != nil {
				return err
			}
		}
		for _, id := range c.Gone {
			// Deleting a parent deletes its children, including those that have another parent by now.
			if err := t.exec(ctx, "remove the old facts",
				"UPDATE symbols SET parent_symbol_id = NULL WHERE parent_symbol_id = ?", id); err != nil {
				return err
			}
			if err := t.exec(ctx, "remove the old facts", "DELETE FROM symbols WHERE id = ?", id); err != nil {
				return err
			}
		}
	}
	for _, s := range parentsFirst(c.Symbols) {
		if err := t.symbols.add(ctx, s.ID, file, s.Name, s.Kind, int64(s.Start), int64(s.End), null(s.Signature),
			nullID(s.Parent)); err != nil {
			return err
		}
	}
	for _, d := range c.Docstrings {
		if err := t.docstrings.add(ctx, nullID(d.Symbol), file, d.Content, d.Format, d.Fields); err != nil {
			return err
		}
	}
	for _, x := range c.Comments {
		if err := t.comments.add(ctx, file, nullID(x.Symbol), int64(x.Line), x.Content, x.Kind, x.Rationale); err != nil {
			return err
		}
	}
	for _, i := range c.Imports {
		if err := t.imports.add(ctx, file, i.Path, int64(i.Level), i.Alias, i.Names, i.Types, int64(i.Line)); err != nil {
			return err
		}
	}
	return nil
}

// parentsFirst returns the symbols with each parent before its children. A child without a parent would make SQLite
// search all tables for such children at every row that follows.
func parentsFirst(all []Symbol) []Symbol {
	parent := lists.By(all, func(s Symbol) int64 { return s.ID })
	depth := func(s Symbol) (n int) {
		for ok := true; ok; n++ {
			s, ok = parent[s.Parent]
		}
		return n
	}
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b Symbol) int { return depth(a) - depth(b) })
	return out
}

func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func nullID(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

// ofFiles reads rows that belong to the given files, or to all files of the repository. The table is x.
func ofFiles[T any](ctx context.Context, t *CuratedTx, what, columns, order string, repo int64,
	files []int64) ([]T, error) {
	if len(files) == 0 {
		return rows[T](ctx, t.tx, what, "SELECT "+columns+
			" x JOIN files f ON f.id = x.file_id WHERE f.repo_id = ? ORDER BY "+order, repo)
	}
	return chunked(files, func(part []int64) ([]T, error) {
		in, args := marks(part)
		return rows[T](ctx, t.tx, what, "SELECT "+columns+" x WHERE x.file_id IN ("+in+") ORDER BY "+order, args...)
	})
}

// SymbolsOf returns the symbols of the given files, or of the whole repository, by file and position.
func (t *CuratedTx) SymbolsOf(ctx context.Context, repo int64, files ...int64) ([]Symbol, error) {
	return ofFiles[Symbol](ctx, t, "symbols", "x.id, x.file_id, '', x.name, x.kind, x.start_line, x.end_line, "+
		"COALESCE(x.signature, ''), COALESCE(x.parent_symbol_id, 0) FROM symbols", "x.file_id, x.start_line, x.id", repo,
		files)
}

// ImportsOf returns the imports of the given files, or of the whole repository.
func (t *CuratedTx) ImportsOf(ctx context.Context, repo int64, files ...int64) ([]Import, error) {
	return ofFiles[Import](ctx, t, "imports", "x.file_id, x.path, x.level, x.alias, x.names, x.types, x.line FROM imports",
		"x.file_id, x.id", repo, files)
}

// Used holds the names that a file uses, as the outline wrote them.
type Used struct {
	File int64
	Refs string
}

// RefsOf returns the names that the given files use, or all files.
func (t *CuratedTx) RefsOf(ctx context.Context, repo int64, files ...int64) ([]Used, error) {
	return ofFiles[Used](ctx, t, "used names", "x.file_id, x.refs FROM file_state", "x.file_id", repo, files)
}

// Importers returns the files that import one of the paths, as they are written.
func (t *CuratedTx) Importers(ctx context.Context, repo int64, paths ...string) ([]int64, error) {
	return joined(slices.Values(paths), func(p string) ([]int64, error) {
		return rows[int64](ctx, t.tx, "importers",
			"SELECT DISTINCT i.file_id FROM imports i JOIN files f ON f.id = i.file_id WHERE i.path = ? AND f.repo_id = ? "+
				"ORDER BY i.file_id", p, repo)
	})
}

// Dependents returns the files that depend directly or indirectly on one of the files, without those themselves.
func (t *CuratedTx) Dependents(ctx context.Context, files ...int64) ([]int64, error) {
	return chunked(files, func(part []int64) ([]int64, error) {
		in, args := marks(part)
		return rows[int64](ctx, t.tx, "dependencies", "WITH RECURSIVE chain (id) AS (SELECT source_file_id FROM dependencies "+
			"WHERE target_file_id IN ("+in+") UNION SELECT d.source_file_id FROM dependencies d JOIN chain "+
			"ON d.target_file_id = chain.id) SELECT id FROM chain ORDER BY id", args...)
	})
}

// ClearDependencies removes the imports of the given files, or of all files.
func (t *CuratedTx) ClearDependencies(ctx context.Context, repo int64, files ...int64) error {
	return t.clear(ctx, "dependencies", "DELETE FROM dependencies WHERE source_file_id", repo, files)
}

// ClearReferences removes the references of symbols in the given files, or in all files.
func (t *CuratedTx) ClearReferences(ctx context.Context, repo int64, files ...int64) error {
	return t.clear(ctx, "references",
		"DELETE FROM symbol_references WHERE caller_symbol_id IN (SELECT id FROM symbols WHERE file_id", repo, files)
}

func (t *CuratedTx) clear(ctx context.Context, what, head string, repo int64, files []int64) error {
	tail := strings.Repeat(")", strings.Count(head, "("))
	if len(files) == 0 {
		return t.exec(ctx, "remove old "+what, head+" IN (SELECT id FROM files WHERE repo_id = ?)"+tail, repo)
	}
	for _, id := range files {
		if err := t.exec(ctx, "remove old "+what, head+" = ?"+tail, id); err != nil {
			return err
		}
	}
	return nil
}

// AddDependency adds an edge between files.
func (t *CuratedTx) AddDependency(ctx context.Context, source, target int64, kind string) error {
	return t.deps.add(ctx, source, target, kind)
}

// AddReference adds an edge between symbols.
func (t *CuratedTx) AddReference(ctx context.Context, caller, callee int64, kind string, confidence float64) error {
	return t.refs.add(ctx, caller, callee, kind, confidence)
}

// CuratedTables counts the rows of each table.
func (t *CuratedTx) CuratedTables(ctx context.Context) ([]Tally, error) {
	var out []Tally
	for _, name := range []string{"files", "symbols", "docstrings", "inline_comments", "dependencies", "symbol_references",
		"commits", "file_commits", "co_changes", "file_metadata"} {
		n := Tally{Name: name}
		if err := t.tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+name).Scan(&n.Count); err != nil {
			return nil, fmt.Errorf("count %s: %w", name, explain(err))
		}
		out = append(out, n)
	}
	return out, nil
}
