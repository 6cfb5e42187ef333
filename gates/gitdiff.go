package gates

import (
	"context"

	"github.com/runplan/runplan/internal/git"
)

// GitDiff returns the [Diff] between two trees or commits of a repository.
func GitDiff(repo *git.Repo, base, target string) Diff { return gitDiff{repo.Compare(base, target)} }

// GitCompared returns the [Diff] of an existing comparison.
func GitCompared(c *git.Compared) Diff { return gitDiff{c} }

type gitDiff struct{ *git.Compared }

func (d gitDiff) Changes(ctx context.Context) ([]Change, error) {
	entries, err := d.Entries(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Change, len(entries))
	for i, e := range entries {
		out[i] = Change{Path: e.Path, Status: Modified, Link: e.Link()}
		switch e.Status {
		case 'A':
			out[i].Status = Added
		case 'D':
			out[i].Status = Deleted
		}
	}
	return out, nil
}
