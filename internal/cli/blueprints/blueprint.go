// Package blueprints holds the commands that check, review, queue, promote and maintain blueprints.
package blueprints

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/patterns"
)

// NewBlueprintCommand returns the command blueprint.
func NewBlueprintCommand(a *cli.App) *cobra.Command {
	return cli.Group("blueprint", "Compare units of code with their design",
		`A blueprint says in YAML what a unit of code promises: its purpose, interfaces, dependencies and failure
modes. A mechanical check and a cold review compare the code with it; the reviewer sees summaries, and not how
the code was written. Candidates are in knowledge/blueprints/candidates, live blueprints in knowledge/blueprints.

  runplan blueprint init UNIT --source 'orders/*.py'   draft a candidate from existing code
  runplan blueprint check UNIT                         the mechanical check
  runplan blueprint review UNIT                        the cold review`,
		newBlueprintInitCommand(a), newBlueprintSummarizeCommand(a), newBlueprintCheckCommand(a),
		newBlueprintGenerateCommand(a), newBlueprintReviewCommand(a), newBlueprintQueueCommand(a),
		newBlueprintPromoteCommand(a), newBlueprintJournalCommand(a))
}

func newBlueprintSummarizeCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2 5 130", JSON: "a JSON object"}, &cobra.Command{
		Use:   "summarize FILE|DIR...",
		Short: "Print the summary of source files that a reviewer gets",
		Long: `Print the summary of each file: its declarations with their signatures, routes, enumerations, constants, imports of the
project's own packages, failure handling, and the calls that leave the unit. It has no bodies and no comments.
Go needs no tool; Python, TypeScript and JavaScript need ast-grep.`,
		Args: cobra.MinimumNArgs(1),
		RunE: cli.Stoppable(func(ctx context.Context, args []string) error { return summarize(ctx, a, args) }),
	})
}

// summarize prints summaries of files. Outside of a repository it uses the current folder as the root.
func summarize(ctx context.Context, a *cli.App, args []string) error {
	root, err := a.RootHere(ctx)
	if err != nil {
		return err
	}
	here, err := cli.CurrentFolder()
	if err != nil {
		return err
	}
	root = cmp.Or(root, here)
	var paths []string
	for _, arg := range args {
		rel, ok := cli.Below(root, arg)
		if !ok {
			return cli.Usage(fmt.Errorf("%s is not below %s", arg, root), "change to its folder")
		}
		info, err := os.Stat(arg)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return cli.Usage(fmt.Errorf("%s not found", arg), "give the path of a file or a folder")
		case err != nil:
			return err
		case !info.IsDir():
			paths = append(paths, rel)
			continue
		}
		found, _, err := patterns.Files(ctx, a.Environ, root, rel)
		if err != nil {
			return err
		}
		paths = append(paths, lists.Filter(found, func(f string) bool { return outline.LanguageOf(f) != "" })...)
	}
	files, skipped, err := summaries(ctx, a, root, paths)
	if err != nil {
		return err
	}
	if a.JSON {
		return cli.AsJSON(a.Stdout, struct {
			Files   []summary.Summary `json:"files"`
			Skipped []patterns.Skip   `json:"skipped"`
		}{append([]summary.Summary{}, files...), append([]patterns.Skip{}, skipped...)})
	}
	for i, f := range files {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		for line := range strings.Lines(f.PromptText()) {
			fmt.Fprintln(a.Stdout, redact.Clean(strings.TrimRight(line, "\n")))
		}
	}
	for _, s := range skipped {
		fmt.Fprintf(a.Stderr, "skipped: %s: %s\n", ui.Sanitize(s.Path), ui.Sanitize(s.Reason))
	}
	if len(files) == 0 && len(skipped) == 0 {
		fmt.Fprintln(a.Stderr, "no Go, Python, TypeScript or JavaScript code here")
	}
	if len(files) == 0 && len(skipped) > 0 {
		return cli.Fail(cli.ExitCannotRun, errors.New("no file could be summarized"), "see the reasons above")
	}
	return nil
}

// summaries summarizes files of the repository at root. Each file that needs ast-grep reports it if the program is
// missing.
func summaries(ctx context.Context, a *cli.App, root string, paths []string) ([]summary.Summary, []patterns.Skip,
	error) {
	o, err := judge.SummaryOptions(ctx, a, root)
	if err != nil {
		return nil, nil, err
	}
	files, skipped, err := summary.Files(ctx, o, paths)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, cli.Usage(err, "correct the path")
	}
	return files, skipped, err
}

// NoBlueprint adds a hint to the error for a blueprint that is missing or invalid.
func NoBlueprint(err error) error {
	if errors.As(err, new(blueprint.FileErrors)) {
		return cli.Usage(err, "correct the blueprint; docs/blueprints.md has all keys")
	}
	return cli.Advise(err,
		cli.On(cli.ExitUsage, "runplan blueprint init UNIT drafts a candidate", blueprint.ErrUnitName),
		cli.On(cli.ExitUsage,
			"runplan blueprint init UNIT drafts a candidate; runplan blueprint promote UNIT makes it live",
			blueprint.ErrNoBlueprint))
}
