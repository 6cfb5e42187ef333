package failures

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/git"
)

// namedFiles is the maximum number of files in a fix.
const namedFiles = 4

// Fix says in one line what the attempt that passed did otherwise than the one that failed: which files are different,
// how many lines, and what the agent said of it, if it said anything. Without any of it the line is empty: what put the
// batch right is not known.
func Fix(files []string, added, removed int, summary string) string {
	var parts []string
	if len(files) > 0 {
		files = slices.Clone(files)
		slices.Sort(files)
		names := strings.Join(files[:min(namedFiles, len(files))], ", ")
		if n := len(files) - namedFiles; n > 0 {
			names += fmt.Sprintf(" and %d more", n)
		}
		parts = append(parts, fmt.Sprintf("other than before: %s (+%d -%d lines)", names, added, removed))
	}
	if s := firstSentence(summary); s != "" {
		parts = append(parts, s)
	}
	return line(strings.Join(parts, "; "), maxFix)
}

// firstSentence is the beginning of what an agent said at its end.
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
	out, err := repo.Run(ctx, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", from,
		to, "--")
	if err != nil {
		return nil, 0, 0, fmt.Errorf("compare %s with %s: %w", from, to, err)
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		fields := strings.SplitN(entry, "\t", 3)
		if len(fields) != 3 {
			continue
		}
		plus, _ := strconv.Atoi(fields[0]) // "-" for a binary file
		minus, _ := strconv.Atoi(fields[1])
		files, added, removed = append(files, fields[2]), added+plus, removed+minus
	}
	return files, added, removed, nil
}
