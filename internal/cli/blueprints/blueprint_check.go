package blueprints

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/patterns"
)

func newBlueprintInitCommand(a *cli.App) *cobra.Command {
	var sources []string
	var print bool
	return a.Command(cli.With{Exits: "0 2 5 130"}, &cobra.Command{
		Use:   "init UNIT --source GLOB",
		Short: "Draft a candidate from existing code",
		Long: `Draft the blueprint of a unit from its source files: interfaces from routes, dependencies from calls,
failure modes from caught errors. What the code cannot show becomes an open question. The draft is a candidate; it
replaces no existing blueprint.`,
		Example: `  runplan blueprint init orders --source 'services/orders/**/*.py'`,
		Args:    cli.ExactlyOne("the name of a unit"),
		RunE: a.StoppableInProject(func(ctx context.Context, p *cli.Project, args []string) error {
			return blueprintInit(ctx, p, args[0], sources, print)
		}),
	}, func(f *cli.Flags) {
		f.StringArrayVar(&sources, "source", nil,
			"files of the unit: a path or glob below the repository root (repeatable)")
		f.BoolVar(&print, "print", false, "print the draft and write nothing")
	})
}

func blueprintInit(ctx context.Context, p *cli.Project, unit string, sources []string, print bool) error {
	if err := blueprint.ValidUnit(unit); err != nil {
		return cli.Usage(err, "")
	}
	if len(sources) == 0 {
		return cli.Usage(errors.New("no source files are named"), "--source 'services/%s/**/*.py'", unit)
	}
	paths, err := sourceFiles(ctx, p, sources)
	if err != nil {
		return err
	}
	files, skipped, err := summaries(ctx, p.App, p.Repo.Root, paths)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return cli.Fail(cli.ExitCannotRun,
			fmt.Errorf("none of the %d files could be read: %s", len(skipped), skipped[0].Reason),
			"Python, TypeScript and JavaScript need ast-grep")
	}
	b := blueprint.Draft(unit, files, skipped, summary.Own(os.DirFS(p.Repo.Root)))
	if print {
		_, err := fmt.Fprint(p.Stdout, redact.Clean(b.YAML()))
		return err
	}
	name, err := blueprint.Save(p.Repo.Root, b, blueprint.Candidate)
	if err != nil {
		return cli.Usage(err, "move it away, or give the unit another name; --print shows the draft")
	}
	fmt.Fprintf(p.Stdout, "%s\n", name)
	for _, s := range skipped {
		fmt.Fprintf(p.Stderr, "unseen: %s: %s\n", ui.Sanitize(s.Path), ui.Sanitize(s.Reason))
	}
	fmt.Fprintf(p.Stderr,
		"describe the purpose of the unit in it, and answer its %d open questions; then: runplan blueprint check %s\n",
		len(b.Intent.OpenQuestions), unit)
	return nil
}

// sourceFiles returns the files of the repository that match the globs.
func sourceFiles(ctx context.Context, p *cli.Project, globs []string) ([]string, error) {
	all, _, err := patterns.Files(ctx, p.Environ, p.Repo.Root)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, g := range globs {
		g = strings.TrimPrefix(filepath.ToSlash(g), "./")
		if !doublestar.ValidatePattern(g) {
			return nil, cli.Usage(fmt.Errorf("--source %q: not a valid glob", g), "such as 'services/orders/**/*.py'")
		}
		n := 0
		for _, f := range all {
			if ok, _ := doublestar.Match(g, f); ok && outline.LanguageOf(f) != "" {
				n++
				out = lists.Add(out, f)
			}
		}
		if n == 0 {
			return nil, cli.Usage(fmt.Errorf("--source %q matches no source file", g),
				"give a path or a glob below the root of the repository, for Go, Python, TypeScript or JavaScript")
		}
	}
	return out, nil
}

func newBlueprintCheckCommand(a *cli.App) *cobra.Command {
	var live bool
	return a.Command(cli.With{Exits: "0 1 2 5 130", JSON: "a JSON array"}, &cobra.Command{
		Use:   "check UNIT...",
		Short: "Compare the source of units with their blueprints, without a model",
		Long: `Check what a program can check: exact endpoints, all interfaces, enumerations, constants and models,
dependencies only through declared clients and never by raw HTTP, no imports of undeclared units, each failure mode
handled with its documented status, public functions typed and documented. It calls no model.

It checks the candidate, or with --live the live blueprint. As the gate "blueprint" it checks live blueprints whose
source files changed.`,
		Args: cobra.MinimumNArgs(1),
		RunE: a.StoppableInProject(func(ctx context.Context, p *cli.Project, args []string) error {
			return blueprintCheck(ctx, p, args, live)
		}),
	}, func(f *cli.Flags) { f.BoolVar(&live, "live", false, "check the live blueprint") })
}

func blueprintCheck(ctx context.Context, p *cli.Project, units []string, live bool) error {
	options, err := judge.SummaryOptions(ctx, p.App, p.Repo.Root)
	if err != nil {
		return err
	}
	state, all, failed, unseen := stateOf(live), []blueprint.Checked{}, 0, 0
	for _, unit := range units {
		b, err := blueprint.Load(p.Repo.Root, unit, state)
		if err != nil {
			return NoBlueprint(err)
		}
		c, err := blueprint.Check(ctx, b, state, options)
		if err != nil {
			return err
		}
		all = append(all, c)
		unseen += len(c.Unseen)
		if c.Failed() {
			failed++
		}
	}
	if err := p.Print(all, func() { showChecked(p.App, all) }); err != nil {
		return err
	}
	switch {
	case failed > 0:
		return cli.Fail(cli.ExitFailed, fmt.Errorf("%d of %d units differ from their blueprints", failed, len(all)),
			"correct the code, or the blueprint if that is wrong")
	case unseen > 0:
		return cli.Fail(cli.ExitCannotRun, fmt.Errorf("%d source files could not be read and were not checked", unseen),
			"see the reasons above; Python, TypeScript and JavaScript need ast-grep")
	}
	return nil
}

// checker returns a function that compares the source of a unit of the repository at root with its blueprint.
func checker(a *cli.App, root string) func(context.Context, *blueprint.Blueprint, blueprint.State) (blueprint.Checked,
	error) {
	return func(ctx context.Context, b *blueprint.Blueprint, s blueprint.State) (blueprint.Checked, error) {
		options, err := judge.SummaryOptions(ctx, a, root)
		if err != nil {
			return blueprint.Checked{}, err
		}
		return blueprint.Check(ctx, b, s, options)
	}
}

func showChecked(a *cli.App, all []blueprint.Checked) {
	for _, c := range all {
		for _, f := range c.Findings {
			fmt.Fprintf(a.Stdout, "%s:%d: %s: %s (%s)\n", ui.Sanitize(f.Path), f.Line, f.Severity,
				ui.Sanitize(f.Message), f.Rule)
		}
		for _, s := range c.Unseen {
			fmt.Fprintf(a.Stdout, "%s: not checked: %s\n", ui.Sanitize(s.Path), ui.Sanitize(s.Reason))
		}
		if c.Note != "" {
			fmt.Fprintf(a.Stdout, "%s: note: %s\n", c.Unit, c.Note)
		}
		n := lists.Counts(c.Findings, func(f gates.Finding) gates.Severity { return f.Severity })
		fmt.Fprintf(a.Stdout, "%s (%s): %s, %s\n", c.Unit, c.State, phrase.Count(n[gates.Error], "error"),
			phrase.Count(n[gates.Warning], "warning"))
	}
}

func newBlueprintGenerateCommand(a *cli.App) *cobra.Command {
	var fix bool
	var session, out string
	return a.Command(cli.With{Exits: "0 2 5", JSON: "a JSON object"}, &cobra.Command{
		Use:   "generate UNIT",
		Short: "Print the context for writing the code of a candidate",
		Long: `Print the context for writing the code of a candidate: its blueprint, all live blueprints, the source of the three units that
were promoted last, the shared libraries, and the rubric. --fix adds the corrections from the last review.

The journal records each context: the session that got it (--session) cannot review the unit. A trained adapter's
session is adapter, so that runplan training graduation recognizes its generations.`,
		Args: cli.ExactlyOne("the name of a unit"),
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
			d, err := BlueprintDeps(ctx, p)
			if err != nil {
				return err
			}
			brief, err := lifecycle.Generate(p.Repo.Root, args[0], session, fix, d.Prompts, d.Now(), d.NewID())
			switch {
			case errors.Is(err, lifecycle.ErrNoReview):
				return cli.Usage(err, "without a review there is nothing to fix; leave out --fix")
			case err != nil:
				return NoBlueprint(err)
			case out != "":
				err = os.WriteFile(out, []byte(brief.Text), 0o644)
			case a.JSON:
				err = cli.AsJSON(a.Stdout, brief)
			default:
				_, err = fmt.Fprint(a.Stdout, redact.Clean(brief.Text))
			}
			for _, l := range brief.Left {
				fmt.Fprintf(a.Stderr, "omitted: %s\n", ui.Sanitize(l))
			}
			return err
		}),
	}, func(f *cli.Flags) {
		f.BoolVar(&fix, "fix", false, "attach the list of the last review's rejections")
		f.StringVar(&session, "session", "", "the session that writes the code, or adapter for the trained adapter")
		f.StringVar(&out, "out", "", "file for the context (default: standard output)")
	})
}
