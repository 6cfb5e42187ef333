package enrich

import (
	"context"
	"slices"

	"github.com/runplan/runplan/internal/store"
)

// Promote copies the newest answer about each indexed file into the index, and marks it in the log (IDX-12). It always
// copies all of them, because a rebuilt index has lost them.
func Promote(ctx context.Context, d Deps, into *store.Curated) (n int, err error) {
	all, err := d.Log.Enrichments(ctx, d.Root)
	if err != nil {
		return 0, err
	}
	var rows []store.Metadata
	var ids []int64
	var files []int64
	for _, e := range all {
		f, found, err := d.Base.FileByPath(ctx, d.Repo, e.Path)
		if err != nil {
			return 0, err
		}
		if found {
			m := e.Metadata
			m.File = f.ID // a rebuilt index gives the file another id
			rows, ids, files = append(rows, m), append(ids, e.ID), append(files, f.ID)
		}
	}
	if len(rows) == 0 {
		return 0, nil
	}
	gone, err := into.PutMetadata(ctx, rows)
	if err != nil {
		return 0, err
	}
	var done []int64
	for i, id := range ids {
		if !slices.Contains(gone, files[i]) {
			done = append(done, id)
		}
	}
	return len(done), d.Log.MarkPromoted(ctx, d.Now(), done...)
}
