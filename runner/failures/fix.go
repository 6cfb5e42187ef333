package failures

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
)

// namedFiles is the maximum number of files in a fix.
const namedFiles = 4

// Fix describes in one line how the passed attempt differs from the failed one: the files, the number of lines, and
// the agent's remark, if there is one. The line is empty if none of them is known.
func Fix(files []string, added, removed int, summary string) string {
	var parts []string
	if len(files) > 0 {
		names := phrase.Few(slices.Sorted(slices.Values(files)), namedFiles)
		parts = append(parts, fmt.Sprintf("other than before: %s (+%d -%d lines)", names, added, removed))
	}
	if s := firstSentence(summary); s != "" {
		parts = append(parts, s)
	}
	return line(strings.Join(parts, "; "), maxFix)
}

// firstSentence returns the first sentence of the agent's final text.
func firstSentence(text string) string {
	text = line(text, maxFix)
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i]
	}
	return strings.TrimRight(text, ". ")
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
