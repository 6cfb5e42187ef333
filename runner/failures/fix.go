package failures

import (
	"context"
	"fmt"
	"slices"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
)

// namedFiles is the maximum number of files in a fix.
const namedFiles = 4

// Fix describes in one line how the passed attempt differs from the failed one: the files and the number of lines. The
// line is empty if no file differs.
func Fix(files []string, added, removed int) string {
	if len(files) == 0 {
		return ""
	}
	names := phrase.Few(slices.Sorted(slices.Values(files)), namedFiles)
	return line(fmt.Sprintf("other than before: %s (+%d -%d lines)", names, added, removed), maxFix)
}

// Difference returns the difference between two trees or commits, in git's line counts. Binary files count only as
// files.
func Difference(ctx context.Context, repo *git.Repo, from, to string) (files []string, added, removed int, err error) {
	all, err := repo.LineCounts(ctx, from, to)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("compare %s with %s: %w", from, to, err)
	}
	for _, f := range all {
		files, added, removed = append(files, f.Path), added+f.Added, removed+f.Removed
	}
	return files, added, removed, nil
}
