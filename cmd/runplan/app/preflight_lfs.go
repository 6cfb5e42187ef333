package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/proc"
)

// largeFiles sees to it that git-lfs is there, if git is to ask it for what the repository keeps in it. Git would tell so
// itself, when it makes a workspace or takes up what an agent has left: then the agent was paid for nothing.
func (a *App) largeFiles(ctx context.Context, p *project, quiet bool) error {
	if uses, err := asked(p.repo.Run(ctx, "grep", "-l", "-E", `^[^#]*[[:space:]]filter=lfs([[:space:]]|$)`, "HEAD", "--", ":(top,glob)**/.gitattributes")); err != nil {
		return fail(exitCannotRun, fmt.Errorf("look for files of git-lfs in .gitattributes: %w", err), "")
	} else if !uses {
		return nil
	}
	if _, err := p.repo.Run(ctx, "lfs", "version"); err == nil {
		return nil
	}
	filters, err := p.repo.Run(ctx, "config", "--get-regexp", `^filter\.lfs\.(process|clean|smudge)$`)
	if _, err := asked(filters, err); err != nil {
		return fail(exitCannotRun, fmt.Errorf("read how git is to use git-lfs: %w", err), "")
	}
	switch {
	case strings.Contains(filters, " git-lfs "):
		return fail(exitCannotRun, errors.New("the repository keeps files in git-lfs (.gitattributes: filter=lfs), and git-lfs is not installed: git could not take up what an agent leaves"),
			"install git-lfs (https://git-lfs.com), then run the plan again")
	case filters == "" && !quiet:
		fmt.Fprintln(a.Stderr, "warning: the repository keeps files in git-lfs (.gitattributes: filter=lfs), and git-lfs is not installed: agents see pointers in their place, and what they add is committed whole; install git-lfs, then: git lfs install")
	}
	return nil // some other program stands in for it
}

// asked reads the answer of a git command that says no with exit status 1.
func asked(_ string, err error) (bool, error) {
	var exit *proc.ExitError
	if errors.As(err, &exit) && exit.Code == 1 {
		return false, nil
	}
	return err == nil, err
}
