package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// NewDiscardCommand returns the command discard.
func NewDiscardCommand(a *cli.App) *cobra.Command {
	var all bool
	return a.Command(cli.With{Exits: "0 2 5 6"}, &cobra.Command{
		Use:   "discard RUN",
		Short: "Give up an unfinished run",
		Example: `  runplan discard 1f0c2a7b
  runplan discard 1f0c2a7b --all`,
		Long: `Give up a run permanently: resume does not continue it, its questions are withdrawn, and a new run of the
plan starts without --new. The worktrees and branches of the run are removed, except those that hold
work that exists nowhere else; the command lists what it keeps and why. With --all these are removed too.

The journal, the logs and the receipts of the run stay. Stop an active run first:
runplan cancel RUN. To revert what a finished run landed: runplan undo RUN.`,
		Args: exactlyOneRun,
		RunE: a.ByPerson("discarding a run", a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
			return discard(ctx, p, args[0], all)
		})),
	}, func(f *cli.Flags) {
		f.BoolVar(&all, "all", false, "also remove worktrees and branches with work that exists nowhere else")
	})
}

func exactlyOneRun(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return cli.Usage(errors.New("name one run"), "runplan status --all lists them")
	}
	return nil
}

func discard(ctx context.Context, p *cli.Project, name string, all bool) error {
	s, lock, err := hold(ctx, p, name)
	if err != nil {
		return err
	}
	defer lock.Release()
	if s.Status.Over() {
		hint := "to revert what it landed: runplan undo " + s.Run[:8]
		if s.Status == runner.RunDiscarded {
			hint = "nothing is left to do"
		}
		return cli.Usage(fmt.Errorf("run %s is %s already", s.Run[:8], s.Status), "%s", hint)
	}
	why := "discarded by " + person(ctx, p)
	if err := writeAfterwards(ctx, p,
		runner.Event{Run: s.Run, Kind: runner.Discarded, Reason: why, Commit: s.Commit}); err != nil {
		return err
	}
	left, err := LeftAfter(ctx, p, s.Slug, all)
	for _, x := range left {
		err = cmp.Or(err, RemoveLeftover(ctx, p, x))
	}
	if err != nil {
		return cli.Fail(cli.ExitCannotRun,
			fmt.Errorf("run %s is discarded, but some of its files could not be removed: %w", s.Run[:8], err),
			"runplan gc tries again")
	}
	fmt.Fprintf(p.Stdout, "run %s of %s is discarded: %s of %s merged on %s\n", s.Run[:8], ui.Sanitize(s.Plan),
		phrase.Count(s.Tally().Merged, "batch", "batches"), fmt.Sprint(len(s.Batches)), ui.Sanitize(s.Branch))
	for _, x := range left {
		verb := "removed"
		if !x.Remove {
			verb = "kept"
		}
		fmt.Fprintf(p.Stdout, "%-8s %s %s: %s\n", verb, x.Kind, ui.Sanitize(x.Name), ui.Sanitize(x.Why))
	}
	fmt.Fprintf(p.Stdout, "%-8s journal, logs and receipts: runplan log %s\n", "kept", s.Run[:8])
	return nil
}

// hold finds the run with the given name, locks it and verifies its journal, so its summary is reliable. It returns
// an error if the run is active or if several ids begin with the name.
func hold(ctx context.Context, p *cli.Project, name string) (runner.Summary, *local.Lock, error) {
	s, err := OneRun(ctx, p, name)
	if err != nil {
		return s, nil, err
	}
	lock, err := local.TakeLock(p.Layout.Lock(s.Slug), time.Now())
	if err != nil {
		return s, nil, err
	}
	found, err := p.Vouch(ctx, s.Run)
	for _, text := range found {
		fmt.Fprintf(p.Stderr, "runplan: %s\n", redact.Clean(text))
	}
	var verified []runner.Summary
	if err == nil {
		verified, err = p.Summaries(ctx, runner.Filter{Run: s.Run})
	}
	if err == nil && len(verified) != 1 {
		err = cli.NoSuchRun(name)
	}
	if err != nil {
		lock.Release()
		return s, nil, err
	}
	p.LookAlive(verified)
	return verified[0], lock, nil
}

// OneRun finds the one run that a name selects, which must not be running.
func OneRun(ctx context.Context, p *cli.Project, name string) (runner.Summary, error) {
	sums, err := p.Summaries(ctx, runner.Filter{})
	if err != nil {
		return runner.Summary{}, err
	}
	p.LookAlive(sums)
	path := p.PlanPath(name)
	s, err := onlyRun(sums, name, path)
	if err != nil {
		return s, err
	}
	if s.Status == runner.RunActive {
		return s, cli.Named("run-active",
			cli.Fail(cli.ExitLocked, fmt.Errorf("run %s is active", s.Run[:8]), "stop it first: runplan cancel %s",
				s.Run[:8]))
	}
	info, err := p.Recall(ctx, s.Run)
	if err == nil && info.Flags[cli.EngineFlag] != "" {
		return s,
			cli.Usage(fmt.Errorf("run %s belongs to the engine %s, which this command cannot reach", s.Run[:8],
				redact.Clean(info.Flags[cli.EngineFlag])), "stop it with: runplan cancel %s", s.Run[:8])
	}
	return s, err
}

// onlyRun returns the run that a name selects from sums, newest first: the newest by plan or slug, the only one by
// the beginning of its id. path is the name as the path of a plan.
func onlyRun(sums []runner.Summary, name, path string) (runner.Summary, error) {
	var found []runner.Summary
	for _, s := range sums {
		if s.Run == name || s.Plan == path || s.Slug == name {
			return s, nil
		}
		if cli.Selects(name, s.Run, s.Slug, s.Plan) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return runner.Summary{}, cli.NoSuchRun(name)
	case 1:
		return found[0], nil
	}
	return runner.Summary{},
		cli.Usage(fmt.Errorf("the ids of %d runs begin with %s", len(found), redact.Clean(name)),
			"give more characters of the id; runplan status --all lists them")
}

// writeAfterwards appends an event to the journal of a run that [hold] returned.
func writeAfterwards(ctx context.Context, p *cli.Project, ev runner.Event) error {
	j, err := p.SignedJournal(ctx)
	if err != nil {
		return err
	}
	defer j.Close()
	return local.AppendAfterwards(ctx, j, ev)
}

// LeftAfter lists the worktrees and branches of a slug, as if its runs were over.
func LeftAfter(ctx context.Context, p *cli.Project, slug string, all bool) ([]local.Leftover, error) {
	active, err := Active(ctx, p)
	if err != nil {
		return nil, err
	}
	delete(active, slug) // the caller holds the lock, or only looks
	found, err := local.Leftovers(ctx, p.Repo, p.Layout, active)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b local.Leftover) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	var out []local.Leftover
	for _, x := range found {
		if x.Slug != slug {
			continue
		}
		if all && !x.Remove {
			x.Remove, x.Why = true, "although "+x.Why
		}
		out = append(out, x)
	}
	return out, nil
}

// RemoveLeftover removes one leftover if that is allowed.
func RemoveLeftover(ctx context.Context, p *cli.Project, x local.Leftover) error {
	switch {
	case !x.Remove:
		return nil
	case x.Kind == "session":
		return removeSession(p, x)
	case x.Kind == "task":
		return os.Remove(filepath.Join(p.Layout.Root, filepath.FromSlash(x.Name)))
	}
	return local.RemoveLeftover(ctx, p.Repo, p.Layout, x)
}

// Active returns the slugs whose runs are active or unfinished.
func Active(ctx context.Context, p *cli.Project) (map[string]bool, error) {
	sums, err := p.Summaries(ctx, runner.Filter{})
	if err != nil {
		return nil, err
	}
	active := map[string]bool{}
	seen := map[string]bool{}
	for _, s := range sums { // newest first: the newest run of a slug counts
		if !seen[s.Slug] && !s.Status.Over() {
			active[s.Slug] = true
		}
		seen[s.Slug] = true
		if lock, err := local.TakeLock(p.Layout.Lock(s.Slug), time.Now()); err != nil {
			active[s.Slug] = true
		} else {
			lock.Release()
		}
	}
	return active, nil
}

// removeSession deletes the files of a session that [app.leftSessions] found.
func removeSession(p *cli.Project, x local.Leftover) error {
	path := filepath.Join(p.Layout.Root, filepath.FromSlash(x.Name))
	for _, name := range []string{path + "-wal", path + "-shm", path + "-journal", path} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
