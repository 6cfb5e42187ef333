package corpus

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/knowledge/summary"
)

// reviewed reads the summaries that the reviewer saw. They are stored next to the review.
func (b Builder) reviewed(review string) ([]summary.Summary, bool, error) {
	dir, name := path.Split(review)
	summaryFile := path.Join(dir, "ast_summaries_"+strings.TrimPrefix(name, "cc_review_"))
	if path.Base(path.Dir(review)) == "per_file" {
		summaryFile = strings.TrimSuffix(review, "_review.json") + "_summary.json"
	}
	text, err := os.ReadFile(filepath.Join(b.Root, filepath.FromSlash(summaryFile)))
	if errors.Is(err, fs.ErrNotExist) || summaryFile == review {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", summaryFile, err)
	}
	var shown struct {
		Files []summary.Summary `json:"files"`
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return nil, false, fmt.Errorf("read %s: %w", summaryFile, err)
	}
	return shown.Files, true, nil
}

// modifications returns the files whose summaries differ between review and promotion, with the reviewer's findings
// about each. Changes of function bodies alone do not appear in summaries.
func modifications(then, now []summary.Summary, r lifecycle.ReviewResult) []Modification {
	out := []Modification{}
	said := func(file, otherwise string) string {
		for _, d := range r.Discrepancies {
			if d.AffectedFile == file {
				return d.Recommendation
			}
		}
		return otherwise
	}
	for _, t := range then {
		n, there := summary.Get(now, t.Path)
		switch {
		case !there:
			out = append(out, Modification{t.Path, "removed", said(t.Path, "it is no longer a source file")})
		case t.PromptText() != n.PromptText():
			out = append(out, Modification{t.Path, "modified",
				said(t.Path, "its declarations or its failure handling have changed")})
		}
	}
	for _, n := range now {
		if _, there := summary.Get(then, n.Path); !there {
			out = append(out, Modification{n.Path, "added", said(n.Path, "it did not exist when the unit was reviewed")})
		}
	}
	slices.SortFunc(out, func(a, b Modification) int { return cmp.Compare(a.File, b.File) })
	return out
}
