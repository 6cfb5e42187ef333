package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// preflight checks git, the checkout and the disk before the run costs anything (ERR-07).
func (a *App) preflight(ctx context.Context, p *project, plan string, info runner.Info, o runOptions) error {
	if err := p.repo.Ident(ctx); err != nil {
		return usage(err, "set it: git config user.name \"Your Name\" && git config user.email you@example.org")
	}
	if err := a.largeFiles(ctx, p, o.json); err != nil {
		return err
	}
	name, err := p.planPath(plan)
	if err != nil {
		return err
	}
	changed, untracked, err := p.repo.Dirty(ctx)
	if err != nil {
		return err
	}
	changed = without(changed, name)
	if len(changed) > 0 && !o.allowDirty {
		return usage(fmt.Errorf("the checkout has changes that the run would not see: %s", listOf(changed, 5)),
			"commit or stash them, or run without them: --allow-dirty")
	}
	if err := canLand(ctx, p, info); err != nil {
		return err
	}
	if len(changed) > 0 && info.Land == "ff" && !o.json {
		fmt.Fprintf(a.Stderr,
			"commit or stash what you changed before the run ends: it lands on %s only if the checkout has no changes\n",
			info.BaseBranch)
	}
	if info.Land == "pr" {
		if err := a.canOpenRequest(ctx, p, o.json); err != nil {
			return err
		}
	}
	if n := len(without(untracked, name)); n > 0 && !o.json {
		fmt.Fprintf(a.Stderr, "%d untracked file(s) are not part of the run\n", n)
	}
	free, err := freeMiB(p.repo.Root)
	if err != nil {
		return fail(exitCannotRun, fmt.Errorf("read the free space of %s: %w", p.repo.Root, err), "")
	}
	if least := p.config.Run.MinFreeMB; free < uint64(least) {
		return fail(exitCannotRun, fmt.Errorf("only %d MiB are free under %s; a run needs %d", free, p.repo.Root, least),
			"free some space (runplan gc removes what old runs left), or lower run.min_free_mb")
	}
	return a.signing(ctx, p)
}

// canLand rejects a way of landing that cannot work. After the run, the same error would look like a failure of the
// work, and resume could not fix it.
func canLand(ctx context.Context, p *project, info runner.Info) error {
	switch info.Land {
	case "ff":
		if info.BaseBranch == "" {
			return usage(errors.New("no branch is checked out (detached HEAD), so there is no branch to fast-forward"),
				"check out the target branch, or leave the work on the run branch: --land branch")
		}
	case "pr":
		remotes, err := p.repo.Run(ctx, "remote")
		if err != nil {
			return err
		}
		if strings.TrimSpace(remotes) == "" {
			return usage(errors.New("the repository has no remote, so a pull request cannot be opened"),
				"add one: git remote add origin URL; or leave the work on the run branch: --land branch")
		}
	}
	return nil
}

// canOpenRequest asks the remote and gh for what landing by pull request needs at the end: a remote that can be
// reached, the right to push, and a signed-in gh. Without this a run would fail after all its work was paid for.
func (a *App) canOpenRequest(ctx context.Context, p *project, quiet bool) error {
	to, err := p.repo.PushRemote(ctx)
	if err != nil {
		return err
	}
	if _, err := p.repo.Run(ctx, "push", "--dry-run", "--quiet", "--no-verify", to,
		"HEAD:refs/heads/runplan/preflight"); err != nil {
		return fail(exitCannotRun, fmt.Errorf("--land pr needs a remote to push to, and %s refuses: %w", to, err),
			"check the remote and your permissions: git push --dry-run %s; or leave the work on the run branch: --land branch",
			to)
	}
	if _, err := a.onPath("gh"); err != nil {
		if !quiet {
			fmt.Fprintln(a.Stderr, "gh is not installed, so the branch is pushed and the pull request is left to you")
		}
		return nil
	}
	if _, err := proc.Output(ctx,
		proc.Cmd{Args: []string{"gh", "auth", "status"}, Dir: p.repo.Root, Env: p.repo.Env()}); err != nil {
		return fail(exitCannotRun, fmt.Errorf("--land pr needs gh to be signed in: %w", err),
			"sign in: gh auth login; or leave the work on the run branch: --land branch")
	}
	return nil
}

// signing tests the commit signature while the user may still be there to unlock the key. It creates an object that no
// ref reaches.
func (a *App) signing(ctx context.Context, p *project) error {
	if v, err := p.repo.Run(ctx, "config", "--type=bool", "--get", "commit.gpgsign"); err != nil || v != "true" {
		return nil
	}
	tree, err := p.repo.Run(ctx, "rev-parse", "HEAD^{tree}")
	if err == nil {
		_, err = p.repo.Run(ctx, "commit-tree", "-S", "-m", "runplan: can commits be signed?", tree)
	}
	if err != nil {
		return fail(exitCannotRun, fmt.Errorf("commits are to be signed (commit.gpgsign), but that does not work: %w", err),
			"unlock the key, or turn signing off for this repository: git config commit.gpgsign false")
	}
	return nil
}

func without(paths []string, name string) []string {
	var out []string
	for _, p := range paths {
		if p != name && p != ".runplan/" && !strings.HasPrefix(p, ".runplan/") {
			out = append(out, p)
		}
	}
	return out
}

func listOf(names []string, most int) string {
	for i := range names {
		names[i] = ui.Sanitize(names[i])
	}
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func joinOr(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}

// onPath finds a program in PATH.
func (a *App) onPath(name string) (string, error) {
	path, _ := a.Getenv("PATH")
	for _, dir := range strings.Split(path, string(os.PathListSeparator)) {
		full := dir + string(os.PathSeparator) + name
		if fi, err := os.Stat(full); dir != "" && err == nil && !fi.IsDir() && fi.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", errors.New("not on PATH")
}
