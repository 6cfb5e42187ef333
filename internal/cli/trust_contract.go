package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/trust"
)

// UserDir returns the folder of the user's own files: $RUNPLAN_HOME, or runplan in the system's settings folder.
func (a *App) UserDir() (string, error) {
	file, err := config.UserFile(a.Getenv)
	if err != nil {
		return "", Usage(err, "set RUNPLAN_HOME to a folder of your own")
	}
	return filepath.Dir(file), nil
}

// CacheDir returns the folder for data that runplan can rebuild: $RUNPLAN_HOME, or runplan in the system's cache
// folder. It returns "" if neither exists.
func (a *App) CacheDir() string {
	if home, ok := a.Getenv("RUNPLAN_HOME"); ok && home != "" {
		return home
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "runplan")
}

// OfUser adds a hint to an error about the user's own files. Hints for files of a repository do not fit there.
func (a *App) OfUser(err error) error {
	dir, other := a.UserDir()
	if other != nil || !errors.As(err, new(*fs.PathError)) {
		return err
	}
	return Fail(ExitCannotRun, err,
		"runplan keeps your own files in %s; make it writable, or set RUNPLAN_HOME to another folder", dir)
}

// Keeper returns the keeper of this user's contract.
func (a *App) Keeper() (trust.Keeper, error) {
	dir, err := a.UserDir()
	if err != nil {
		return trust.Keeper{}, err
	}
	return trust.Keeper{Dir: dir, LoopVersion: runner.LoopVersion, Now: time.Now, Redact: redact.New(a.Environ).String},
		nil
}

// Contract returns the contract of this user.
func (a *App) Contract(ctx context.Context) (trust.Contract, error) {
	k, err := a.Keeper()
	if err != nil {
		return trust.Contract{}, err
	}
	c, err := k.Contract(ctx)
	return c, TrustTrouble(err)
}

// Agree checks the owner's contract and records the signature.
func (a *App) Agree(ctx context.Context, g trust.Gate, subject string, by trust.Signed) error {
	k, err := a.Keeper()
	if err != nil {
		return err
	}
	return TrustTrouble(k.Agree(ctx, g, subject, by))
}

// TrustTrouble adds the exit code and a hint to errors of package trust.
func TrustTrouble(err error) error {
	if refused, ok := errors.AsType[*trust.Error](err); ok {
		return Named("tier-too-low", Fail(ExitFailed, err, "%s", refused.Do))
	}
	return err
}

// RootHere returns the root of the repository around the current folder, or "" if there is none.
func (a *App) RootHere(ctx context.Context) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	repo, err := git.OpenReadOnly(ctx, dir, a.Environ)
	if errors.Is(err, git.ErrNotRepo) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return repo.Root, nil
}

// Identity reads the identity documents of a project.
func (p *Project) Identity() ([]trust.Document, error) {
	dir := trust.IdentityFolder(filepath.Join(p.Layout.Root, "prompts"))
	docs, err := trust.LoadIdentity(Rel(dir), os.DirFS(dir))
	if err != nil {
		return nil, Usage(err, "docs/trust.md explains the identity documents")
	}
	return docs, nil
}

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
	layouts := []journal.Layout{p.Layout, journal.LayoutOf(filepath.Dir(p.Repo.Common))}
	for _, o := range slices.Concat(local.Owners(layouts[0]), local.Owners(layouts[1])) {
		if slices.Contains(above, o.PID) {
			return Fail(ExitFailed, fmt.Errorf("%s is only for people; this process is part of a run: process %d started it",
				what, o.PID), advice)
		}
	}
	return nil
}
