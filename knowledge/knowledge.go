// Package knowledge indexes a repository: files, symbols, docstrings, comments, imports, calls, and which files change
// together.
//
// [Index] fills the database without a model and without guessing: the same tree and history give the same rows. It
// reads only changed files, and commits all changes in one transaction. [Base] answers questions and is read-only.
//
// Unreadable files are in [Result.Skipped] or [Result.Errors], and in the database in the state of the file.
package knowledge

import (
	"context"
	"errors"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/store"
)

// Base answers questions about an indexed repository. The caller opens and closes the connection.
type Base struct{ *store.CuratedReader }

// NewBase returns a Base over an open connection.
func NewBase(c *store.CuratedReader) Base { return Base{c} }

// Subgraph holds files and the edges between them.
type Subgraph struct {
	Files []store.File       `json:"files"`
	Edges []store.Dependency `json:"edges"`
}

// DependencySubgraph returns the files that are at most depth edges away from files, in either direction, and the
// edges between them (IDX-14).
func (b Base) DependencySubgraph(ctx context.Context, files []int64, depth int) (Subgraph, error) {
	in := map[int64]bool{}
	var all []int64
	add := func(id int64) bool {
		if in[id] {
			return false
		}
		in[id] = true
		all = append(all, id)
		return true
	}
	for _, id := range files {
		add(id)
	}
	front := all
	for ; depth > 0 && len(front) > 0; depth-- {
		edges, err := b.Edges(ctx, front)
		if err != nil {
			return Subgraph{}, err
		}
		var next []int64
		for _, e := range edges {
			for _, id := range []int64{e.Source, e.Target} {
				if add(id) {
					next = append(next, id)
				}
			}
		}
		front = next
	}
	g := Subgraph{Files: []store.File{}, Edges: []store.Dependency{}}
	var err error
	if g.Files, err = b.FilesByID(ctx, all); err != nil {
		return g, err
	}
	edges, err := b.Edges(ctx, all)
	seen := map[store.Dependency]bool{}
	for _, e := range edges {
		if in[e.Source] && in[e.Target] && !seen[e] { // queries in parts can return an edge twice
			seen[e] = true
			g.Edges = append(g.Edges, e)
		}
	}
	return g, err
}

// FileContext is all that the index knows about a file.
type FileContext struct {
	File       store.File         `json:"file"`
	Symbols    []store.Symbol     `json:"symbols"`
	Docstrings []store.Docstring  `json:"docstrings"`
	Rationale  []store.Comment    `json:"rationale_comments"`
	Imports    []store.Dependency `json:"dependencies"`
	ImportedBy []store.Dependency `json:"imported_by"`
	CoChanges  []store.CoChange   `json:"co_changes"`
	Commits    []store.Commit     `json:"commits"`
	Metadata   *store.Metadata    `json:"metadata,omitempty"`
}

// Limits of the history in [Base.FileContext].
const (
	contextCommits   = 10
	contextCoChanges = 2 // commits in common
)

// FileContext returns all that the index knows about a file. For an unknown id it is empty.
func (b Base) FileContext(ctx context.Context, file int64) (c FileContext, err error) {
	found, err := b.FilesByID(ctx, []int64{file})
	if err != nil || len(found) == 0 {
		return c, err
	}
	c.File = found[0]
	var errs [8]error
	c.Symbols, errs[0] = b.Symbols(ctx, file, "")
	c.Docstrings, errs[1] = b.Docstrings(ctx, file)
	c.Rationale, errs[2] = b.Rationale(ctx, file)
	c.Imports, errs[3] = b.Dependencies(ctx, file, store.Out)
	c.ImportedBy, errs[4] = b.Dependencies(ctx, file, store.In)
	c.CoChanges, errs[5] = b.CoChanges(ctx, file, contextCoChanges)
	c.Commits, errs[6] = b.Commits(ctx, file, contextCommits)
	m, ok, err := b.Metadata(ctx, file)
	if errs[7] = err; ok {
		c.Metadata = &m
	}
	return c, errors.Join(errs[:]...)
}

// Overview summarizes a repository (IDX-14).
type Overview struct {
	Files         int           `json:"files"`
	Languages     []store.Tally `json:"languages"`
	Symbols       []store.Tally `json:"symbols"`
	Domains       []store.Tally `json:"domains"`
	MostConnected []store.Tally `json:"most_connected"`
}

// RepoOverview counts files by language and domain, symbols by kind, and names the ten most connected files.
func (b Base) RepoOverview(ctx context.Context, repo int64) (o Overview, err error) {
	var errs [4]error
	o.Languages, errs[0] = b.LanguageCounts(ctx, repo)
	o.Files = lists.Sum(o.Languages, func(l store.Tally) int { return l.Count })
	o.Symbols, errs[1] = b.KindCounts(ctx, repo)
	o.Domains, errs[2] = b.DomainCounts(ctx, repo)
	o.MostConnected, errs[3] = b.MostConnected(ctx, repo, 10)
	return o, errors.Join(errs[:]...)
}
