package store

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// marks returns "?, ?, ?" for a list of values, and the values.
func marks[T any](values []T) (string, []any) {
	args := lists.Map(values, func(v T) any { return v })
	return strings.TrimSuffix(strings.Repeat("?, ", len(values)), ", "), args
}

// chunked queries in parts, because a statement takes a limited number of values.
func chunked[T any](ids []int64, ask func([]int64) ([]T, error)) ([]T, error) {
	return joined(slices.Chunk(ids, 500), ask)
}

// joined joins the answers to several queries.
func joined[Q, T any](queries iter.Seq[Q], ask func(Q) ([]T, error)) ([]T, error) {
	var out []T
	for q := range queries {
		part, err := ask(q)
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

// Size returns the size of the database in bytes. The file is smaller while the last changes are in SQLite's log.
func (c *CuratedReader) Size(ctx context.Context) (int64, error) {
	n, _, err := one(rows[int64](ctx, c.db, "the size of the index",
		"SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"))
	return n, err
}

// Repo returns the id of the repository at path, 0 if it was never indexed.
func (c *CuratedReader) Repo(ctx context.Context, path string) (int64, error) {
	id, _, err := one(rows[int64](ctx, c.db, "the repository", "SELECT id FROM repos WHERE path = ?", path))
	return id, err
}

const fileColumns = "f.id, f.path, f.language, f.content_hash, f.size_bytes, COALESCE(s.state, ''), " +
	"COALESCE(s.reason, '') FROM files f LEFT JOIN file_state s ON s.file_id = f.id"

// Files returns the files of a repository by path, those in a language if one is given.
func (c *CuratedReader) Files(ctx context.Context, repo int64, language string) ([]File, error) {
	return rows[File](ctx, c.db, "files", "SELECT "+fileColumns+
		" WHERE f.repo_id = ? AND (? = '' OR f.language = ?) ORDER BY f.path", repo, language, language)
}

// FileByPath returns a file of a repository; found is false if there is none.
func (c *CuratedReader) FileByPath(ctx context.Context, repo int64, path string) (f File, found bool, err error) {
	return one(rows[File](ctx, c.db, "file "+path, "SELECT "+fileColumns+" WHERE f.repo_id = ? AND f.path = ?", repo,
		path))
}

// FilesByID returns files in the order of their paths.
func (c *CuratedReader) FilesByID(ctx context.Context, ids []int64) ([]File, error) {
	return chunked(ids, func(part []int64) ([]File, error) {
		in, args := marks(part)
		return rows[File](ctx, c.db, "files", "SELECT "+fileColumns+" WHERE f.id IN ("+in+") ORDER BY f.path", args...)
	})
}

// FilesByMetadata returns files by the metadata of enrichment. Empty arguments are ignored; a file must have at least
// one of the concepts. Without enrichment the result is empty.
func (c *CuratedReader) FilesByMetadata(ctx context.Context, repo int64, domain, module string,
	concepts []string) ([]File, error) {
	query := "SELECT " + fileColumns +
		" JOIN file_metadata m ON m.file_id = f.id WHERE f.repo_id = ? AND (? = '' OR m.domain = ?) AND (? = '' OR " +
		"m.module = ?)"
	args := []any{repo, domain, domain, module, module}
	if len(concepts) > 0 {
		in, more := marks(concepts)
		query += " AND json_valid(m.concepts) AND EXISTS (SELECT 1 FROM json_each(m.concepts) WHERE value IN (" + in + "))"
		args = append(args, more...)
	}
	return rows[File](ctx, c.db, "metadata", query+" ORDER BY f.path", args...)
}

const symbolColumns = "s.id, s.file_id, f.path, s.name, s.kind, s.start_line, s.end_line, COALESCE(s.signature, ''), " +
	"COALESCE(s.parent_symbol_id, 0)"

// Symbols returns the symbols of a file in its order, of one kind if one is given.
func (c *CuratedReader) Symbols(ctx context.Context, file int64, kind string) ([]Symbol, error) {
	return rows[Symbol](ctx, c.db, "symbols", "SELECT "+symbolColumns+
		" FROM symbols s JOIN files f ON f.id = s.file_id WHERE s.file_id = ? AND (? = '' OR s.kind = ?) ORDER BY "+
		"s.start_line, s.id", file, kind, kind)
}

// SymbolsByName finds symbols whose name matches a pattern: * matches any text, ? one character. It is case-sensitive.
func (c *CuratedReader) SymbolsByName(ctx context.Context, repo int64, pattern string) ([]Symbol, error) {
	is := "=" // uses the index
	if strings.ContainsAny(pattern, "*?[") {
		is = "GLOB"
	}
	return rows[Symbol](ctx, c.db, "symbols", "SELECT "+symbolColumns+
		" FROM symbols s JOIN files f ON f.id = s.file_id WHERE s.name "+is+" ? AND f.repo_id = ? ORDER BY f.path, "+
		"s.start_line, s.id", pattern, repo)
}

// Direction selects an end of an edge.
type Direction string

// The directions. For files, out is what a file imports; for symbols, out is what a symbol refers to.
const (
	Out  Direction = "out"
	In   Direction = "in"
	Both Direction = "both"
)

// ends returns the columns of an edge for a direction: the given one, and the requested one.
func (d Direction) ends(source, target string) ([][2]string, error) {
	switch d {
	case Out:
		return [][2]string{{source, target}}, nil
	case In:
		return [][2]string{{target, source}}, nil
	case Both:
		return [][2]string{{source, target}, {target, source}}, nil
	}
	return nil, fmt.Errorf("unknown direction %q; directions are out, in and both", d)
}

// Neighbors returns the symbols that one refers to or is referred to by, most certain first. Only Python has such
// edges. Without kinds all count.
func (c *CuratedReader) Neighbors(ctx context.Context, symbol int64, d Direction, kinds ...string) ([]Neighbor, error) {
	ends, err := d.ends("caller_symbol_id", "callee_symbol_id")
	if err != nil {
		return nil, err
	}
	filter := ""
	in, args := marks(kinds)
	if len(kinds) > 0 {
		filter = " AND r.reference_kind IN (" + in + ")"
	}
	out, err := joined(slices.Values(ends), func(e [2]string) ([]Neighbor, error) {
		return rows[Neighbor](ctx, c.db, "references", "SELECT "+symbolColumns+
			", r.reference_kind, r.confidence FROM symbol_references r JOIN symbols s ON s.id = r."+e[1]+
			" JOIN files f ON f.id = s.file_id WHERE r."+e[0]+" = ?"+filter+
			" ORDER BY r.confidence DESC, f.path, s.start_line, r.reference_kind", append([]any{symbol}, args...)...)
	})
	return append([]Neighbor{}, out...), err
}

// Dependencies returns the edges of a file, by the path at their other end.
func (c *CuratedReader) Dependencies(ctx context.Context, file int64, d Direction) ([]Dependency, error) {
	ends, err := d.ends("source_file_id", "target_file_id")
	if err != nil {
		return nil, err
	}
	out, err := joined(slices.Values(ends), func(e [2]string) ([]Dependency, error) {
		return rows[Dependency](ctx, c.db, "dependencies",
			"SELECT d.source_file_id, d.target_file_id, d.kind, f.path, f.language FROM dependencies d JOIN files f ON f.id = d."+e[1]+
				" WHERE d."+e[0]+" = ? ORDER BY f.path, d.kind", file)
	})
	return append([]Dependency{}, out...), err
}

// Edges returns all edges that begin or end at one of the files. Path is the target's.
func (c *CuratedReader) Edges(ctx context.Context, files []int64) ([]Dependency, error) {
	return chunked(files, func(part []int64) ([]Dependency, error) {
		in, args := marks(part)
		return rows[Dependency](ctx, c.db, "dependencies",
			"SELECT d.source_file_id, d.target_file_id, d.kind, f.path, f.language FROM dependencies d JOIN files f ON f.id = "+
				"d.target_file_id WHERE d.source_file_id IN ("+in+
				") OR d.target_file_id IN ("+in+") ORDER BY d.source_file_id, d.target_file_id, d.kind", append(args, args...)...)
	})
}

// CoChanges returns the files that changed together with one in at least min commits, most often first.
func (c *CuratedReader) CoChanges(ctx context.Context, file int64, min int) ([]CoChange, error) {
	return rows[CoChange](ctx, c.db, "co-changes", `SELECT f.id, f.path, x.count, COALESCE(x.last_commit_hash, '') FROM
			(SELECT file_b_id AS id, count, last_commit_hash FROM co_changes WHERE file_a_id = ?1
			UNION ALL SELECT file_a_id, count, last_commit_hash FROM co_changes WHERE file_b_id = ?1) x
			JOIN files f ON f.id = x.id WHERE x.count >= ?2 ORDER BY x.count DESC, f.path`, file, min)
}

// Docstrings returns the docstrings of a file, that of the module first.
func (c *CuratedReader) Docstrings(ctx context.Context, file int64) ([]Docstring, error) {
	return rows[Docstring](ctx, c.db, "docstrings",
		"SELECT COALESCE(symbol_id, 0), file_id, content, COALESCE(format, ''), COALESCE(parsed_fields, '') FROM "+
			"docstrings WHERE file_id = ? ORDER BY symbol_id IS NOT NULL, id", file)
}

// Rationale returns the comments of a file that give a reason, in its order.
func (c *CuratedReader) Rationale(ctx context.Context, file int64) ([]Comment, error) {
	return rows[Comment](ctx, c.db, "comments",
		"SELECT file_id, COALESCE(symbol_id, 0), line, content, COALESCE(kind, ''), is_rationale FROM inline_comments "+
			"WHERE file_id = ? AND is_rationale ORDER BY line, id", file)
}

// Commits returns the latest commits that touched a file, newest first.
func (c *CuratedReader) Commits(ctx context.Context, file int64, limit int) ([]Commit, error) {
	return rows[Commit](ctx, c.db, "commits", `SELECT c.id, c.hash, COALESCE(c.author, ''), COALESCE(c.message, ''), c.timestamp, COALESCE(c.files_changed, 0), c.insertions, c.deletions
		FROM file_commits fc JOIN commits c ON c.id = fc.commit_id WHERE fc.file_id = ? ORDER BY c.timestamp DESC, c.id DESC LIMIT ?`, file, limit)
}

// Metadata returns the metadata of a file; found is false if there is none.
func (c *CuratedReader) Metadata(ctx context.Context, file int64) (m Metadata, found bool, err error) {
	return one(rows[Metadata](ctx, c.db, "metadata",
		"SELECT file_id, COALESCE(purpose, ''), COALESCE(module, ''), COALESCE(domain, ''), COALESCE(concepts, ''), "+
			"COALESCE(public_api_surface, ''), COALESCE(complexity_notes, '') FROM file_metadata WHERE file_id = ?", file))
}

// Tally is a name with its number of occurrences.
type Tally struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

func (c *CuratedReader) tally(ctx context.Context, query string, args ...any) ([]Tally, error) {
	return rows[Tally](ctx, c.db, "the overview", query, args...)
}

// LanguageCounts counts the files of each language, most first.
func (c *CuratedReader) LanguageCounts(ctx context.Context, repo int64) ([]Tally, error) {
	return c.tally(ctx,
		"SELECT language, COUNT(*) AS n FROM files WHERE repo_id = ? GROUP BY language ORDER BY n DESC, language", repo)
}

// DomainCounts counts the files of each domain, most first.
func (c *CuratedReader) DomainCounts(ctx context.Context, repo int64) ([]Tally, error) {
	return c.tally(ctx,
		"SELECT m.domain, COUNT(*) AS n FROM file_metadata m JOIN files f ON f.id = m.file_id WHERE f.repo_id = ? AND "+
			"m.domain IS NOT NULL GROUP BY m.domain ORDER BY n DESC, m.domain", repo)
}

// KindCounts counts the symbols of each kind, most first.
func (c *CuratedReader) KindCounts(ctx context.Context, repo int64) ([]Tally, error) {
	return c.tally(ctx,
		"SELECT s.kind, COUNT(*) AS n FROM symbols s JOIN files f ON f.id = s.file_id WHERE f.repo_id = ? GROUP BY s.kind "+
			"ORDER BY n DESC, s.kind", repo)
}

// MostConnected returns the files with the most edges to and from others.
func (c *CuratedReader) MostConnected(ctx context.Context, repo int64, limit int) ([]Tally, error) {
	return c.tally(ctx, `SELECT f.path, COUNT(*) AS n FROM files f JOIN (SELECT source_file_id AS id FROM dependencies UNION ALL SELECT target_file_id FROM dependencies) e
		ON e.id = f.id WHERE f.repo_id = ? GROUP BY f.id ORDER BY n DESC, f.path LIMIT ?`, repo, limit)
}

// AdapterForStage returns the active adapter of a stage with the highest version; found is false if there is none.
func (c *CuratedReader) AdapterForStage(ctx context.Context, stage string) (a Adapter, found bool, err error) {
	return one(rows[Adapter](ctx, c.db, "adapters",
		"SELECT id, stage_name, base_model, model_tag, version, COALESCE(performance_notes, ''), deployed_at FROM "+
			"adapter_metadata WHERE stage_name = ? AND active ORDER BY version DESC, id DESC LIMIT 1", stage))
}
