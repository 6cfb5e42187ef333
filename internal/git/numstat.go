package git

import (
	"context"
	"strconv"
	"strings"
)

// LineCount says how many lines a change adds to a file and removes from it.
type LineCount struct {
	Path           string
	Added, Removed int
	Binary         bool // git counts no lines
}

// LineCounts compares two trees or commits file by file. A renamed file counts as removed and added.
func (r *Repo) LineCounts(ctx context.Context, base, target string) ([]LineCount, error) {
	out, err := r.Run(ctx, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv",
		base, target, "--")
	return ParseNumstat(out), err
}

// ParseNumstat parses the output of git with --numstat -z: "added TAB removed TAB path NUL".
func ParseNumstat(text string) []LineCount {
	var list []LineCount
	for row := range strings.SplitSeq(text, "\x00") {
		f := strings.SplitN(row, "\t", 3)
		if len(f) != 3 || f[2] == "" {
			continue
		}
		added, err := strconv.Atoi(strings.TrimSpace(f[0]))
		removed, _ := strconv.Atoi(f[1])
		list = append(list, LineCount{f[2], added, removed, err != nil})
	}
	return list
}
