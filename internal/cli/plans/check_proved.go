package plans

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/watch"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/runner/trace"
)

// checkedPlan is the output of check --json.
type checkedPlan struct {
	planparse.Report
	Proved *proved `json:"proved,omitempty"` // nil if no run of the plan is known
}

// proved counts the tasks of a plan that runs have proven.
type proved struct {
	Tasks  int           `json:"tasks"`
	Proven int           `json:"proven"` // with the present wording
	Older  int           `json:"older"`  // with an older wording
	Ticked int           `json:"ticked"` // ticked, but proven by no run
	Drift  []trace.Drift `json:"drift"`
}

// provedOf finds which tasks of a plan are proven by runs. It returns nil without a repository or a run. Errors are
// only warnings, because the check does not need this result.
func provedOf(ctx context.Context, a *cli.App, path string) *proved {
	r, err := tracedPlan(ctx, a, path)
	if err != nil {
		fmt.Fprintf(a.Stderr, "runplan: cannot read what runs proved of %s: %s\n", path,
			ui.Sanitize(a.Redactor(nil).String(err.Error())))
	}
	if r == nil {
		return nil
	}
	c := r.Count()
	return &proved{Tasks: c.Tasks, Proven: c.Proven, Older: c.Older, Ticked: c.Ticked, Drift: r.Drift}
}

// tracedPlan traces the newest run of a plan and its older runs. It returns nil if there is no run.
func tracedPlan(ctx context.Context, a *cli.App, path string) (*trace.Report, error) {
	p, err := a.OpenProject(ctx)
	if errors.Is(err, git.ErrNotRepo) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	plan, err := p.PlanPath(path)
	if err != nil {
		return nil, err
	}
	j, found, err := cli.IfExists(store.OpenExistingJournal(ctx, p.Layout.Journal()))
	if !found {
		return nil, err
	}
	defer j.Close()
	runs, err := j.Runs(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(runs, func(r store.Run) bool { return r.Plan == plan })
	if i < 0 {
		return nil, nil
	}
	return watch.TracedRun(ctx, p, a, j, runs, runs[i].ID, true)
}

func printProved(w io.Writer, p *proved) {
	if p == nil {
		return
	}
	fmt.Fprintf(w, "\nproved by runs: %d of %d tasks, %d against older wording, %d ticked and not proven\n", p.Proven,
		p.Tasks, p.Older, p.Ticked)
	report.Drifts(w, p.Drift)
}
