package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/runner/trace"
)

// Summaries lists the runs. A project without a journal has none.
func (p *Project) Summaries(ctx context.Context, f runner.Filter) ([]runner.Summary, error) {
	j, found, err := IfExists(store.OpenExistingJournal(ctx, p.Layout.Journal()))
	if !found {
		return nil, err
	}
	defer j.Close()
	return journal.List(ctx, j, f)
}

// Recall reads the last known [runner.Info] of a run.
func (p *Project) Recall(ctx context.Context, run string) (info runner.Info, err error) {
	begun := false
	err = p.EachEvent(ctx, run, func(ev runner.Event) error {
		if ev.Job != nil {
			info, begun = *ev.Job, true
		}
		return nil
	})
	if err == nil && !begun {
		err = Fail(ExitCannotRun, fmt.Errorf("the journal does not contain the start of run %s", run), "")
	}
	return info, err
}

// SlugOf derives a branch name from the file name of a plan. It removes probable secrets.
func SlugOf(path string) string {
	name := redact.New(nil).String(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	name = strings.TrimLeft(notInSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
	return cmp.Or(strings.TrimRight(name[:min(len(name), 48)], "-"), "plan")
}

var notInSlug = lazyre.New(`[^a-z0-9]+`)

// CommitNamed resolves a commit or branch that the user named.
func CommitNamed(ctx context.Context, repo *git.Repo, name, hint string) (string, error) {
	if strings.HasPrefix(name, "-") {
		return "", Usage(fmt.Errorf("%q is not a commit", ui.Sanitize(name)), "")
	}
	commit, err := repo.Resolve(ctx, name)
	if err != nil || commit == "" {
		return "", Named("unknown-commit",
			Usage(fmt.Errorf("commit or branch %q not found", ui.Sanitize(name)), "%s", hint))
	}
	return commit, nil
}

// NoSuchRun returns the error of a run id that matches no run.
func NoSuchRun(name string) error {
	return Named("run-not-found", Usage(fmt.Errorf("run %s not found", name), "runplan status --all lists them"))
}

// EachEvent calls f for each event of a run, in the order of the journal.
func (p *Project) EachEvent(ctx context.Context, run string, f func(runner.Event) error) error {
	j, err := p.OpenJournal(ctx)
	if err != nil {
		return err
	}
	defer j.Close()
	for ev, err := range journal.Events(ctx, j, run, 0) {
		if err != nil {
			return err
		}
		if err := f(ev); err != nil {
			return err
		}
	}
	return nil
}

// LookAlive corrects runs that the journal has as running although no process holds their lock: their process was
// killed.
func (p *Project) LookAlive(sums []runner.Summary) {
	for i := range sums {
		if !sums[i].Status.Live() {
			continue
		}
		lock, err := local.TakeLock(p.Layout.Lock(sums[i].Slug), time.Now())
		if err != nil {
			continue // the run is still running
		}
		lock.Release()
		if sums[i].Status == runner.RunPaused { // it stays paused; a resume waits for the rest of the time
			sums[i].Reason += "; its process ended, and runplan resume " + sums[i].Run[:8] + " waits for the rest of the time"
			continue
		}
		sums[i].Status, sums[i].Stop = runner.RunStopped, runner.OutcomeCancelled
		sums[i].Reason = "its process ended; to continue it: runplan resume " + sums[i].Run[:8]
	}
}

// Selects reports whether the argument RUN of a command means a run: the beginning of its id, its slug or its plan. ""
// means every run.
func Selects(name, id, slug, plan string) bool {
	return strings.HasPrefix(id, name) || slug == name || plan == name
}

// StatedRequirements returns the requirements near the plan that a run stores.
func StatedRequirements(p *Project, name string, plan *planparse.Plan, text []byte) []runner.RequirementInfo {
	hidden := []byte(p.Redactor().String(string(text)))
	return Stated(p, name, hidden).Info(plan, hidden)
}

// Stated reads the requirements of a plan from the documents near it. Links must not lead out of the repository, or
// out of the plan's folder if the plan is outside.
func Stated(p *Project, plan string, text []byte) trace.Stated {
	dir, name := p.Repo.Root, plan
	if filepath.IsAbs(plan) {
		dir, name = filepath.Dir(plan), path.Base(filepath.ToSlash(plan))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return trace.Stated{}
	}
	defer root.Close()
	return trace.Read(root.FS(), name, text, p.Redactor().String)
}
