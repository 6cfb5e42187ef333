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

	"github.com/runplan/runplan/internal/store"
)

// Base answers questions about an indexed repository. The caller opens and closes the connection.
type Base struct{ *store.CuratedReader }

// NewBase returns a Base over an open connection.
func NewBase(c *store.CuratedReader) Base { return Base{c} }

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
	if c.Symbols, err = b.Symbols(ctx, file, ""); err != nil {
		return c, err
	}
	if c.Docstrings, err = b.Docstrings(ctx, file); err != nil {
		return c, err
	}
	if c.Rationale, err = b.Rationale(ctx, file); err != nil {
		return c, err
	}
	if c.Imports, err = b.Dependencies(ctx, file, store.Out); err != nil {
		return c, err
	}
	if c.ImportedBy, err = b.Dependencies(ctx, file, store.In); err != nil {
		return c, err
	}
	if c.CoChanges, err = b.CoChanges(ctx, file, contextCoChanges); err != nil {
		return c, err
	}
	if c.Commits, err = b.Commits(ctx, file, contextCommits); err != nil {
		return c, err
	}
	m, ok, err := b.Metadata(ctx, file)
	if ok {
		c.Metadata = &m
	}
	return c, err
}
