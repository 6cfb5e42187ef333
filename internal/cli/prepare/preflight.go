package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// preflight checks git, the checkout, the disk and the trust in the configuration before the run costs anything
// (ERR-07).
func (x *Prepared) preflight(ctx context.Context) error {
	a, p, o, info := x.App, x.Project, &x.Options, x.Info
	p.Repo.AllowPrograms()
	if err := p.Repo.Ident(ctx); err != nil {
		return cli.Named("no-identity",
			cli.Usage(err, "set it: git config user.name \"Your Name\" && git config user.email you@example.org"))
	}
	if err := largeFiles(ctx, p, o.JSON); err != nil {
		return err
	}
	name := p.PlanPath(x.File)
	changed, untracked, err := p.Repo.Dirty(ctx)
	if err != nil {
		return err
	}
	changed = without(changed, name)
	if len(changed) > 0 && !o.AllowDirty {
		return cli.Named("uncommitted-changes",
			cli.Usage(fmt.Errorf("the checkout has changes that the run would not see: %s", cli.ListOf(changed, 5)),
				"commit or stash them, or run without them: --allow-dirty"))
	}
	if err := canLand(ctx, p, info); err != nil {
		return err
	}
	if len(changed) > 0 && info.Land == "ff" && !o.JSON {
		fmt.Fprintf(a.Stderr,
			"commit or stash your changes before the run ends: it lands on %s only if the checkout has no changes\n",
			info.BaseBranch)
	}
	if info.Land == "pr" {
		if err := canOpenRequest(ctx, p, o.JSON); err != nil {
			return err
		}
	}
	if n := len(without(untracked, name)); n > 0 && !o.JSON {
		fmt.Fprintf(a.Stderr, "%s not part of the run\n", phrase.Count(n, "untracked file is", "untracked files are"))
	}
	if err := x.unseen(ctx); err != nil {
		return err
	}
	if err := TempFolder(); err != nil {
		return err
	}
	free, err := FreeMiB(p.Repo.Root)
	if err != nil {
		return cli.Fail(cli.ExitCannotRun, fmt.Errorf("read the free space of %s: %w", p.Repo.Root, err), "")
	}
	if least := p.Config.Run.MinFreeMB; free < uint64(least) {
		return cli.Named("disk-full", cli.Fail(cli.ExitCannotRun,
			fmt.Errorf("only %d MiB are free under %s; a run needs %d", free, p.Repo.Root, least),
			"free some space (runplan gc removes leftovers of old runs), or lower run.min_free_mb"))
	}
	if err := p.Signing(ctx); err != nil {
		return err
	}
	if err := x.hookTakesMessages(ctx); err != nil {
		return err
	}
	return p.TrustConfig()
}

// unseen warns of files that the plan names and that agents do not see: those that exist only in the checkout, which are
// also in the way of the merge, and those that a sparse checkout leaves out.
func (x *Prepared) unseen(ctx context.Context) error {
	if x.Options.JSON {
		return nil
	}
	planned := plannedFiles(x.Plan, x.Decision)
	names := slices.Sorted(maps.Keys(planned))
	files, err := x.Project.Repo.Untracked(ctx, names)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains(files, name) || !filepath.IsLocal(filepath.FromSlash(name))
	})
	// git refuses to answer for paths behind a link and in a submodule. Agents are told about these later.
	if ignored, err := x.Project.Repo.Ignored(ctx, names); err == nil && len(ignored) > 0 && !planned[".gitignore"] {
		x.Project.Warn(fmt.Sprintf("git ignores %s, which the plan names: no commit will have such files; "+
			"correct .gitignore, or take them out of the plan", cli.ListOf(ignored, 5)))
	}
	if len(files) > 0 {
		x.Project.Warn(fmt.Sprintf("git does not track %s, which the plan names: agents do not see such files; "+
			"commit them first, or move them before you merge", cli.ListOf(files, 5)))
	}
	_, omitted, err := x.Project.Repo.Hidden(ctx)
	omitted = slices.DeleteFunc(omitted, func(name string) bool { return !planned[name] })
	if len(omitted) > 0 {
		x.Project.Warn(fmt.Sprintf("the sparse checkout leaves out %s, which the plan names: agents do not see such files; "+
			"add their folders: git sparse-checkout add DIR", cli.ListOf(omitted, 5)))
	}
	return err
}

// TempFolder checks the folder for temporary files, in which agents and gates work.
func TempFolder() error {
	dir, err := os.MkdirTemp("", "runplan-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	return os.Remove(dir)
}

// canLand rejects a way of landing that cannot work. After the run, the same error would look like a failure of the
// work, and resume could not fix it.
func canLand(ctx context.Context, p *cli.Project, info runner.Info) error {
	switch info.Land {
	case "ff":
		if info.BaseBranch == "" {
			return cli.Named("cannot-land",
				cli.Usage(errors.New("no branch is checked out (detached HEAD), so there is no branch to fast-forward"),
					"check out the target branch, or leave the work on the run branch: --land branch"))
		}
	case "pr":
		remotes, err := p.Repo.Run(ctx, "remote")
		if err != nil {
			return err
		}
		if strings.TrimSpace(remotes) == "" {
			return cli.Named("cannot-land",
				cli.Usage(errors.New("the repository has no remote, so a pull request cannot be opened"),
					"add one: git remote add origin URL; or leave the work on the run branch: --land branch"))
		}
	}
	return nil
}

// canOpenRequest checks the requirements of landing by pull request: a reachable remote, the right to push, a
// pre-push hook that accepts, and a signed-in gh. Otherwise a run would fail after its work was paid for.
func canOpenRequest(ctx context.Context, p *cli.Project, quiet bool) error {
	to, err := p.Repo.PushRemote(ctx, "")
	if err != nil {
		return err
	}
	if _, err := p.Repo.Run(ctx, "push", "--dry-run", "--quiet", "--no-verify", to,
		"HEAD:refs/heads/runplan/preflight"); err != nil {
		return cli.Named("cannot-land",
			cli.Fail(cli.ExitCannotRun, fmt.Errorf("--land pr needs a remote to push to, but %s refuses: %w", to, err),
				"check the remote and your permissions: git push --dry-run %s; or leave the work on the run branch: --land branch",
				to))
	}
	if err := hookAllows(ctx, p, to); err != nil {
		return err
	}
	if _, err := p.OnPath("gh"); err != nil {
		if !quiet {
			fmt.Fprintln(p.Stderr, "gh is not installed, so the branch is pushed and the pull request is left to you")
		}
		return nil
	}
	if _, err := proc.Output(ctx,
		proc.Cmd{Args: []string{"gh", "auth", "status"}, Dir: p.Repo.Root, Env: p.Repo.Env()}); err != nil {
		return cli.Named("cannot-land",
			cli.Fail(cli.ExitCannotRun, fmt.Errorf("--land pr needs gh to be signed in: %w", err),
				"sign in: gh auth login; or leave the work on the run branch: --land branch"))
	}
	return nil
}

// hookLimit limits the time of the pre-push hook before a run. A slower hook runs only at the end.
const hookLimit = time.Minute

// hookAllows runs the repository's pre-push hook as a push of HEAD would. A hook that refuses HEAD would refuse the
// run.
func hookAllows(ctx context.Context, p *cli.Project, to string) error {
	limited, cancel := context.WithTimeout(ctx, hookLimit)
	defer cancel()
	_, err := p.Repo.Run(limited, "push", "--dry-run", "--quiet", to, "HEAD:refs/heads/runplan/preflight")
	if err == nil || limited.Err() != nil {
		return ctx.Err()
	}
	return cli.Named("cannot-land",
		cli.Fail(cli.ExitCannotRun, fmt.Errorf("--land pr needs to push, but the pre-push hook refuses HEAD: %w", err),
			"correct the problems of git push --dry-run %s; or leave the work on the run branch: --land branch", to))
}

// hookTakesMessages runs the repository's commit-msg hook on the messages of the batches. Agents do not write them, so
// so no attempt could change one that the hook refuses. A slow hook runs only for the first batches.
func (x *Prepared) hookTakesMessages(ctx context.Context) error {
	repo := x.Project.Repo
	hook := repo.Hook(ctx, "commit-msg")
	if hook == "" {
		return nil
	}
	file, err := os.CreateTemp("", "runplan-message-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	limited, cancel := context.WithTimeout(ctx, hookLimit)
	defer cancel()
	var refused []string
	var said string
	for _, b := range x.Info.Batches {
		pb, ok := x.Plan.Batch(b.Key)
		if !ok || b.Skip != "" {
			continue
		}
		text := local.CommitMessage(pb, x.Info.Plan, x.Run, x.agent.name, "")
		if err := os.WriteFile(file.Name(), []byte(text), 0o600); err != nil {
			return err
		}
		res, err := proc.Run(limited, proc.Cmd{Args: []string{hook, file.Name()}, Dir: repo.Root, Env: repo.Env(),
			Sweep: proc.NewTag()})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || res.Ended != proc.Exited {
			break // the commit itself will show it
		}
		if !res.OK() {
			refused = append(refused, pb.Title)
			said = cmp.Or(said, local.Said(res.Tail))
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return cli.Usage(fmt.Errorf("the repository's commit-msg hook refuses the messages of %s (%s): %s",
		phrase.Count(len(refused), "batch"), cli.ListOf(refused, 3), said),
		"the title of a batch in the plan is the first line of its message: change the titles")
}

func without(paths []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(paths),
		func(p string) bool { return p == name || strings.HasPrefix(p, ".runplan/") })
}

// largeFiles checks that git-lfs is installed if the repository uses it. Otherwise git would fail later, when it
// creates a workspace or commits the agent's work. The agent's work would be lost.
func largeFiles(ctx context.Context, p *cli.Project, quiet bool) error {
	if p.Repo.HeadLacks(ctx, ".gitattributes") {
		return nil
	}
	if uses, err := asked(p.Repo.Run(ctx, "grep", "-l", "-E", `^[^#]*[[:space:]]filter=lfs([[:space:]]|$)`, "HEAD", "--",
		":(top,glob)**/.gitattributes")); err != nil {
		return cli.Fail(cli.ExitCannotRun, fmt.Errorf("look for files of git-lfs in .gitattributes: %w", err), "")
	} else if !uses {
		return nil
	}
	if _, err := p.Repo.Run(ctx, "lfs", "version"); err == nil {
		return nil
	}
	filters, err := p.Repo.Run(ctx, "config", "--get-regexp", `^filter\.lfs\.(process|clean|smudge)$`)
	if _, err := asked(filters, err); err != nil {
		return cli.Fail(cli.ExitCannotRun, fmt.Errorf("read the git-lfs settings of git: %w", err), "")
	}
	switch {
	case strings.Contains(filters, " git-lfs "):
		return cli.Named("no-git-lfs", cli.Fail(cli.ExitCannotRun,
			errors.New(
				"the repository keeps files in git-lfs (.gitattributes: filter=lfs), but git-lfs is not installed: git cannot "+
					"add the files of an agent"),
			"install git-lfs (https://git-lfs.com), then run the plan again"))
	case filters == "" && !quiet:
		p.Warn(
			"the repository keeps files in git-lfs (.gitattributes: filter=lfs), but git-lfs is not installed: " +
				"agents see pointers instead of files, and new files are committed in full; install git-lfs, then: git lfs install")
	}
	return nil // another program is configured in its place
}

// asked interprets a git command that uses exit status 1 for no.
func asked(_ string, err error) (bool, error) {
	if exit, ok := errors.AsType[*proc.ExitError](err); ok && exit.Code == 1 {
		return false, nil
	}
	return err == nil, err
}
