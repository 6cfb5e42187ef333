package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/store"
)

// lost explains what remains of a run whose journal is missing or not authentic.
func (x *Execution) lost(ctx context.Context, err error) error {
	gone := errors.Is(err, store.ErrGone) || errors.Is(err, store.ErrReplaced) || errors.Is(err, store.ErrCut)
	if !gone && !errors.Is(err, store.ErrForged) {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	l := x.Project.Layout
	kept := []string{"nothing more was merged; still there: branch " + x.Info.Branch}
	if tip, rerr := x.Project.Repo.Resolve(ctx, "refs/heads/"+x.Info.Branch); rerr == nil && tip != "" {
		kept[0] += " at " + tip[:min(12, len(tip))]
	}
	kept = append(kept, "the worktrees in "+x.Project.Rel(l.Worktrees()))
	err = fmt.Errorf("run %s stopped: %w", x.Run[:8], err)
	if !gone {
		return cli.Fail(cli.ExitCannotRun, err, "%s. To continue: runplan resume %s, which sets unverified events aside",
			strings.Join(kept, " and "), x.Run[:8])
	}
	save := filepath.Join(l.Logs(x.Run), "journal.sqlite")
	if serr := x.journal.Save(ctx, save); serr != nil || !x.whole(ctx, save) {
		return cli.Fail(cli.ExitCannotRun, err,
			"%s. Restore a copy of the journal, or start a new run: runplan run --new %s", strings.Join(kept, " and "),
			x.Info.Plan)
	}
	kept = append(kept, "a copy of the journal in "+x.Project.Rel(save))
	journal := x.Project.Rel(l.Journal())
	return cli.Fail(cli.ExitCannotRun, err, "%s. To continue: rm -f %s*; cp %s %s; runplan resume %s", strings.Join(kept, ", "),
		journal, x.Project.Rel(save), journal, x.Run[:8])
}

// whole reports whether a copy of the journal contains all events of the run.
func (x *Execution) whole(ctx context.Context, path string) bool {
	j, err := store.OpenExistingJournal(ctx, path)
	if err != nil {
		return false
	}
	defer j.Close()
	j.Seal(x.journal.Signs())
	c, err := j.Verify(ctx, x.Run)
	return err == nil && c.Bad == nil && c.Missing == 0 && c.Rows > 0
}
