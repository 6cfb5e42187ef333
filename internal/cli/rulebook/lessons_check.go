package rulebook

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/lessons"
	"github.com/runplan/runplan/patterns"
)

func newLessonsCheckCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 1 2 5", JSON: "a JSON object"}, &cobra.Command{
		Use:   "check FILES…",
		Short: "Find the mistakes of the syntactic lessons in files",
		Long: `Find the mistakes of the syntactic lessons in files and folders. In a repository a folder
means its tracked and addable files; third-party code in it is skipped and listed.
A blocker fails; should-fix and nice-to-have warn.`,
		Example: "  runplan lessons check .\n  git diff --name-only -z | xargs -0 runplan lessons check",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(fmt.Errorf("%s needs files or folders", cmd.CommandPath()),
					"the whole tree: runplan lessons check .")
			}
			return nil
		},
		RunE: withLessons(a, func(ctx context.Context, lib *lessons.Library, _ string, args []string) error {
			s, err := lessons.NewScanner(lib.Lessons, lessons.Options{Foreign: true})
			if err != nil {
				return err
			}
			r, err := checkPaths(ctx, a, s, args)
			if err != nil {
				return err
			}
			err = a.Print(r, func() {
				tell(a, lib.Notes)
				printCheckResult(a, r)
			})
			if n := r.Count(lessons.Error); err == nil && n > 0 {
				err = cli.Fail(cli.ExitFailed, fmt.Errorf("%d blocker(s)", n),
					"details: runplan lessons show ID; to accept a place: a comment runplan:ignore ID REASON")
			}
			return err
		}),
	})
}

// checkPaths scans the paths of the command line. Paths in the result begin as they were given.
func checkPaths(ctx context.Context, a *cli.App, s *lessons.Scanner, paths []string) (sum lessons.Result, err error) {
	// Use empty lists, so that JSON has [] and not null.
	sum = lessons.Result{Hits: []lessons.Hit{}, Suppressed: []lessons.Hit{}, Problems: []lessons.Problem{},
		Skipped: []lessons.Skip{}}
	here, err := os.Getwd()
	if err != nil {
		return sum, err
	}
	var inside []string
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return sum, cli.Usage(fmt.Errorf("file %s not found", p), "give existing files or folders; . is the current folder")
		}
		abs, err := filepath.Abs(p)
		if err != nil {
			return sum, err
		}
		if rel, err := filepath.Rel(here, abs); err == nil && filepath.IsLocal(rel) {
			inside = append(inside, rel)
			continue
		}
		dir, below := p, "."
		if !info.IsDir() {
			dir, below = filepath.Dir(p), filepath.Base(p)
		}
		r, err := checkBelow(ctx, a, s, dir, below)
		if err != nil {
			return sum, err
		}
		r.Rebase(dir)
		sum.Add(r)
	}
	if len(inside) > 0 {
		r, err := checkBelow(ctx, a, s, here, inside...)
		if err != nil {
			return sum, err
		}
		sum.Add(r)
	}
	return sum, nil
}

func checkBelow(ctx context.Context, a *cli.App, s *lessons.Scanner, dir string, below ...string) (lessons.Result,
	error) {
	files, foreign, err := patterns.Files(ctx, a.Environ, dir, below...)
	if err != nil {
		return lessons.Result{}, cli.Usage(err, "")
	}
	r, err := s.Scan(ctx, dir, files)
	if err != nil {
		return r, err
	}
	for _, f := range foreign {
		r.Skipped = append(r.Skipped, lessons.Skip{Path: f.Path, Reason: f.Reason})
	}
	return r, nil
}

func printCheckResult(a *cli.App, r lessons.Result) {
	for _, h := range r.Hits {
		fmt.Fprintf(a.Stdout, "%s:%d:%d: %s: [%s] %s\n", ui.Sanitize(h.Path), h.Line, h.Col, h.Level, h.ID,
			ui.Sanitize(h.Lesson.Title))
		fmt.Fprintf(a.Stdout, "    %s\n    → %s\n", ui.Sanitize(h.Text), ui.Sanitize(h.Lesson.Fix))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(a.Stdout, "%s:%d: warning: %s\n", ui.Sanitize(p.Path), p.Line, ui.Sanitize(p.Message))
	}
	for _, h := range r.Suppressed {
		fmt.Fprintf(a.Stderr, "suppressed: %s:%d: [%s] %s\n", ui.Sanitize(h.Path), h.Line, h.ID, ui.Sanitize(h.Reason))
	}
	for _, k := range r.Skipped {
		fmt.Fprintf(a.Stderr, "skipped: %s: %s\n", ui.Sanitize(k.Path), ui.Sanitize(k.Reason))
	}
	fmt.Fprintf(a.Stderr, "%d file(s) checked: %d blocker(s), %d warning(s), %d suppressed, %d skipped\n",
		r.Files, r.Count(lessons.Error), r.Count(lessons.Warning)+len(r.Problems), len(r.Suppressed), len(r.Skipped))
}
