package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/runner/local"
)

// ByPerson returns the RunE function of a command that only people may give, see [App.NotAnAgent].
func (a *App) ByPerson(what string, do runE) runE {
	return func(cmd *cobra.Command, args []string) error {
		if err := a.NotAnAgent(what); err != nil {
			return err
		}
		return do(cmd, args)
	}
}

// NotAnAgent rejects commands that only people may give if a run of this repository started the process. It checks the
// environment and the ancestor processes. This is no security boundary: without a sandbox, an agent can write the
// user's files directly.
func (a *App) NotAnAgent(what string) error {
	const advice = "run it in your own terminal; runplan note TEXT leaves a note for the owner"
	if batch, ok := a.Getenv("RUNPLAN_BATCH"); ok {
		return Fail(ExitFailed, fmt.Errorf("%s is only for people; this process is part of an attempt at batch %s", what,
			batch), advice)
	}
	if run, ok := a.Getenv("RUNPLAN_RUN"); ok {
		return Fail(ExitFailed, fmt.Errorf("%s is only for people; this process is part of run %s", what, run), advice)
	}
	p, err := a.OpenProject(context.Background())
	if err != nil {
		return nil // outside of a repository no run can be an ancestor
	}
	above := proc.Above()
	// For a workspace, the locks are in the checkout that it belongs to.
	layouts := []local.Layout{p.Layout, local.LayoutOf(filepath.Dir(p.Repo.Common))}
	for _, o := range slices.Concat(local.Owners(layouts[0]), local.Owners(layouts[1])) {
		if slices.Contains(above, o.PID) {
			return Fail(ExitFailed, fmt.Errorf("%s is only for people; this process is part of a run: process %d started it",
				what, o.PID), advice)
		}
	}
	return nil
}
