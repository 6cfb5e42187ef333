package prepare

import (
	"context"
	"errors"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/runner/briefing"
)

// ContextLimits returns the limits of a brief.
func ContextLimits(c config.Context) briefing.Limits {
	return briefing.Limits{
		Tokens: c.Tokens, RefLines: c.RefLines, RefLinesLeast: c.RefLinesLeast, Commits: c.Commits,
		ProgressLines: c.ProgressLines, Similarity: c.Similarity,
	}
}

// StyleOf describes the code style of a folder in one line, and notes which files it skipped.
func StyleOf(ctx context.Context, a *cli.App, dir string) (text, note string, err error) {
	program, err := a.AstGrep(ctx)
	if err != nil && !errors.Is(err, patterns.ErrMissing) {
		return "", "", err
	}
	style, err := patterns.Discover(ctx, program, dir, a.Environ)
	if err != nil {
		return "", "", err
	}
	return style.Text(), style.Note, nil
}
