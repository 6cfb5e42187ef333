package prepare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner/journal"
)

// forecast predicts the result of merging a branch with HEAD.
type forecast struct {
	Branch    string   `json:"branch"`    // "" if no branch could be checked
	Commits   int      `json:"commits"`   // commits that HEAD does not have
	Conflicts []string `json:"conflicts"` // files with merge conflicts, files of the plan first
	Both      []string `json:"both"`      // files of the plan that the branch also changes
	Unknown   string   `json:"unknown,omitempty"`

	planned int // number of Conflicts that the plan names
	err     error
}

const (
	maxForecasts     = 8 // branches; each costs a merge
	maxForecastFiles = 5 // names in a line
)

// String formats the forecast as one line.
func (f forecast) String() string {
	if f.Branch == "" {
		return "Forecast: none: " + f.Unknown
	}
	branch := redact.Clean(f.Branch)
	switch {
	case f.Unknown != "":
		return fmt.Sprintf("Forecast: %s: none: %s", branch, redact.Clean(f.Unknown))
	case f.Commits == 0:
		return fmt.Sprintf("Forecast: %s has no commits that HEAD lacks", branch)
	}
	text := fmt.Sprintf("Forecast: %s has %s that HEAD lacks; merging ", branch, phrase.Count(f.Commits, "commit"))
	if len(f.Conflicts) == 0 {
		text += "is clean"
	} else {
		text += "conflicts in " + listed(f.Conflicts)
		switch {
		case f.planned == len(f.Conflicts):
			text += ", which the plan changes too"
		case f.planned > 0:
			text += fmt.Sprintf(" (%d of them the plan changes too)", f.planned)
		}
	}
	if len(f.Both) > 0 {
		text += "; it changes " + listed(f.Both) + ", which the plan changes too"
	}
	return text
}

func listed(paths []string) string {
	return strings.ReplaceAll(redact.Clean(phrase.Few(paths, maxForecastFiles)), "\n", " ")
}

// forecastRun checks the integration branch as last fetched, and the branches of unmerged runs. It changes nothing. If a
// result is unknown, the forecast says so.
func forecastRun(ctx context.Context, p *cli.Project, plan *planparse.Plan, d routing.Decision) []forecast {
	if p == nil {
		return []forecast{{Unknown: git.ErrNotRepo.Error()}}
	}
	head, branch, err := p.Repo.Head(ctx)
	if err != nil {
		return []forecast{{Unknown: err.Error()}}
	}
	others, err := others(ctx, p, head, branch)
	if err != nil {
		return []forecast{{Unknown: err.Error()}}
	}
	planned := plannedFiles(plan, d)
	out := []forecast{}
	for i, b := range others {
		if i == maxForecasts {
			return append(out, forecast{Unknown: fmt.Sprintf("%d more branches of runs were not checked", len(others)-i)})
		}
		f := forecastOf(ctx, p, head, b, planned)
		if errors.Is(f.err, git.ErrNoMergeTree) {
			return []forecast{{Unknown: git.ErrNoMergeTree.Error()}}
		}
		if f.err != nil {
			f.Unknown = f.err.Error()
		}
		out = append(out, f)
	}
	return out
}

type namedCommit struct{ name, commit string }

func others(ctx context.Context, p *cli.Project, head, branch string) ([]namedCommit, error) {
	var out []namedCommit
	name, commit, err := p.Repo.Upstream(ctx, branch)
	if err != nil {
		return nil, err
	}
	if name != "" {
		out = append(out, namedCommit{name, commit})
	}
	if !p.Repo.MayExist("refs/heads/runplan/") {
		return out, nil
	}
	// Use one command for all branches: a repository may have years of them.
	runs, err := p.Repo.Run(ctx, "for-each-ref", "--sort=refname", "--format=%(refname)%00%(objectname)", "--no-merged="+
		head, "refs/heads/"+journal.RunBranch("*"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(runs) {
		ref, commit, _ := strings.Cut(strings.TrimSpace(line), "\x00")
		if name := strings.TrimPrefix(ref, "refs/heads/"); name != branch {
			out = append(out, namedCommit{name, commit})
		}
	}
	return out, nil
}

func forecastOf(ctx context.Context, p *cli.Project, head string, b namedCommit, planned map[string]bool) forecast {
	f := forecast{Branch: b.name, Conflicts: []string{}, Both: []string{}}
	wrong := func(err error) forecast { f.err = err; return f }
	n, err := p.Repo.Run(ctx, "rev-list", "--count", b.commit, "^"+head)
	if err != nil {
		return wrong(err)
	}
	if f.Commits, err = strconv.Atoi(n); err != nil || f.Commits == 0 {
		return wrong(err)
	}
	base, err := p.Repo.MergeBase(ctx, head, b.commit)
	if err != nil {
		return wrong(err)
	}
	if base == "" {
		return wrong(errors.New("it has no common history with HEAD"))
	}
	_, conflicts, err := p.Repo.MergeTree(ctx, head, b.commit)
	if err != nil {
		return wrong(err)
	}
	for _, path := range conflicts {
		if planned[path] {
			f.Conflicts = slices.Insert(f.Conflicts, f.planned, path)
			f.planned++
		} else {
			f.Conflicts = append(f.Conflicts, path)
		}
	}
	changed, err := p.Repo.Compare(base, b.commit).Entries(ctx)
	if err != nil {
		return wrong(err)
	}
	for _, e := range changed {
		if planned[e.Path] && !slices.Contains(conflicts, e.Path) {
			f.Both = append(f.Both, e.Path)
		}
	}
	return f
}

// plannedFiles returns the files that the batches to run will touch.
func plannedFiles(plan *planparse.Plan, d routing.Decision) map[string]bool {
	files := map[string]bool{}
	for i, s := range d.Steps {
		if s.Skip != "" {
			continue
		}
		b := &plan.Batches[i]
		for _, path := range b.Files.All() {
			files[path] = true
		}
		for _, x := range b.Blocks {
			if x.Path != "" {
				files[x.Path] = true
			}
		}
	}
	return files
}
