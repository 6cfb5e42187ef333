package prepare

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/proc"
)

// largeFiles checks that git-lfs is installed if the repository uses it. Otherwise git would fail later, when it
// creates a workspace or commits the agent's work. The agent's work would be lost.
func largeFiles(ctx context.Context, a *cli.App, p *cli.Project, quiet bool) error {
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
		fmt.Fprintln(a.Stderr,
			"warning: the repository keeps files in git-lfs (.gitattributes: filter=lfs), but git-lfs is not installed: "+
				"agents see pointers instead of files, and new files are committed in full; install git-lfs, then: git lfs install")
	}
	return nil // another program is configured in its place
}

// asked interprets a git command that uses exit status 1 for no.
func asked(_ string, err error) (bool, error) {
	var exit *proc.ExitError
	if errors.As(err, &exit) && exit.Code == 1 {
		return false, nil
	}
	return err == nil, err
}
