package feedback

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/git"
)

// Merged says whether a change was merged.
type Merged struct {
	Commit string `json:"commit,omitempty"` // commit with the change; "" while it is open
	How    string `json:"how,omitempty"`    // evidence
	Closed bool   `json:"closed,omitempty"` // closed without a merge
}

// String describes the state for people.
func (m Merged) String() string {
	switch {
	case m.Closed:
		return "the change request was closed without being merged"
	case m.Commit == "":
		return "it is not merged"
	}
	return fmt.Sprintf("merged as %s (%s)", git.Short(m.Commit), m.How)
}

// Merged checks whether a change was merged. It asks gh about the change request and git about the integration branch.
// It fetches the remote's branch if there is one, and does not change the checkout.
func (f PRClient) Merged(ctx context.Context, x Fix, pr Published) (Merged, error) {
	var where []string
	if pr.Remote != "" {
		if _, said, err := f.program(ctx, "git", "fetch", "--quiet", "--no-tags", pr.Remote, "+refs/heads/"+pr.Base+
			":refs/remotes/"+pr.Remote+"/"+pr.Base); err != nil {
			return Merged{}, err
		} else if said == "" {
			where = append(where, "refs/remotes/"+pr.Remote+"/"+pr.Base)
		}
	}
	if m, err := f.asked(ctx, pr); err != nil || m.Commit != "" || m.Closed {
		return m, err
	}
	if pr.Base != "" {
		where = append(where, "refs/heads/"+pr.Base)
	}
	for _, ref := range where {
		at, err := f.Repo.Resolve(ctx, ref)
		if err != nil {
			return Merged{}, err
		}
		if at == "" {
			continue
		}
		in, err := f.Repo.IsAncestor(ctx, x.Tip, at)
		if err != nil {
			return Merged{}, err
		}
		if in {
			return Merged{Commit: at, How: "git: " + ref}, nil
		}
	}
	return Merged{}, nil
}

// asked asks gh about a change request. If gh is unavailable, git decides.
func (f PRClient) asked(ctx context.Context, pr Published) (Merged, error) {
	if pr.URL == "" {
		return Merged{}, nil
	}
	out, why, err := f.gh(ctx, "pr", "view", pr.URL, "--json", "state,mergeCommit")
	if err != nil || why != "" {
		return Merged{}, err
	}
	var v struct {
		State       string `json:"state"`
		MergeCommit *struct {
			OID string `json:"oid"`
		} `json:"mergeCommit"`
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		return Merged{}, fmt.Errorf("read what gh says of %s: %w", pr.URL, err)
	}
	switch {
	case v.State == "CLOSED":
		return Merged{Closed: true}, nil
	case v.State != "MERGED" || v.MergeCommit == nil:
		return Merged{}, nil
	}
	commit, err := f.Repo.Resolve(ctx, "refs/remotes/"+pr.Remote+"/"+pr.Base)
	if err != nil {
		return Merged{}, err
	}
	if !isHash(v.MergeCommit.OID) {
		return Merged{}, fmt.Errorf("gh says that %s was merged as %q, which is not a commit", pr.URL,
			oneLine(v.MergeCommit.OID))
	}
	at, err := f.Repo.Resolve(ctx, v.MergeCommit.OID)
	if err != nil || at == "" {
		return Merged{}, fmt.Errorf("gh says that %s was merged as %s, but git does not have that commit; fetch it", pr.URL,
			git.Short(v.MergeCommit.OID))
	}
	if commit != "" {
		// Check the branch as it is now: a later commit may have fixed or broken the merged change.
		if in, err := f.Repo.IsAncestor(ctx, at, commit); err == nil && in {
			at = commit
		}
	}
	return Merged{Commit: at, How: "gh: " + pr.URL}, nil
}

func isHash(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == "" && (len(s) == 40 || len(s) == 64)
}

// Checked is the result of the regression test on the merged commit.
type Checked struct {
	Commit string           `json:"commit"`
	Test   string           `json:"test"`
	Green  bool             `json:"green"`
	Tests  *gates.TestCount `json:"tests,omitempty"`
	Note   string           `json:"note,omitempty"`
}

// String describes the result for people.
func (c Checked) String() string {
	if c.Green {
		return fmt.Sprintf("%s passes on the merged commit %s", c.Test, git.Short(c.Commit))
	}
	return fmt.Sprintf("ALARM: %s fails on the merged commit %s: %s", c.Test, git.Short(c.Commit), c.Note)
}

// CheckMerged runs the regression test on a merged commit (FIX-23). A skipped or missing test does not count as passed.
func CheckMerged(ctx context.Context, d Differ, commit, test string) (Checked, error) {
	rep, err := d.One(ctx, commit, test)
	if err != nil {
		return Checked{}, err
	}
	c := Checked{Commit: commit, Test: test, Tests: rep.Tests, Green: rep.Status == gates.Pass,
		Note: cmp.Or(findings(rep), rep.Note)}
	return c, nil
}
