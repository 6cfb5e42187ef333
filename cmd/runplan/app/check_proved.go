package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/runner/trace"
)

// checkedPlan is what check --json prints.
type checkedPlan struct {
	planparse.Report
	Proved *proved `json:"proved,omitempty"` // absent where no run of the plan is known
}

// proved says what runs proved of a plan.
type proved struct {
	Tasks  int           `json:"tasks"`
	Proven int           `json:"proven"` // as they are worded now
	Older  int           `json:"older"`  // against older wording
	Ticked int           `json:"ticked"` // and proven by no run
	Drift  []trace.Drift `json:"drift"`
}

// provedOf looks up what runs proved of a plan; nil where there is no repository, or no run. A plan can be judged without
// it, so what keeps it from looking is only told.
func (a *App) provedOf(ctx context.Context, path string) *proved {
	r, err := a.tracedPlan(ctx, path)
	if err != nil {
		fmt.Fprintf(a.Stderr, "runplan: what runs proved of %s is not known: %s\n", path, ui.Sanitize(a.redactor(nil).String(err.Error())))
	}
	if r == nil {
		return nil
	}
	c := r.Count()
	return &proved{Tasks: c.Tasks, Proven: c.Proven, Older: c.Older, Ticked: c.Ticked, Drift: r.Drift}
}

// tracedPlan traces the newest run of a plan and the older ones, nil where there is none.
func (a *App) tracedPlan(ctx context.Context, path string) (*trace.Report, error) {
	p, err := a.openProject(ctx)
	if errors.Is(err, git.ErrNotRepo) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	plan, err := p.planPath(path)
	if err != nil {
		return nil, err
	}
	j, err := store.OpenExistingJournal(ctx, p.layout.Journal())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
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
	return p.tracedRun(ctx, a, j, runs, runs[i].ID, true)
}

// printProved tells what runs proved of a plan.
func printProved(w io.Writer, p *proved) {
	if p == nil {
		return
	}
	fmt.Fprintf(w, "\nproved by runs: %d of %d tasks, %d against older wording, %d ticked and not proven\n", p.Proven, p.Tasks, p.Older, p.Ticked)
	report.Drifts(w, p.Drift)
}
