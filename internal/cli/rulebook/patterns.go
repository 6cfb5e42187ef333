package rulebook

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/lessons"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/patterns/draft"
	"github.com/runplan/runplan/runner/journal"
)

// NewPatternsCommand returns the command patterns.
func NewPatternsCommand(a *cli.App) *cobra.Command {
	return cli.Group("patterns", "Check code by its structure, with ast-grep",
		`Check code by its structure, with ast-grep rules.

Rules come in three layers: built in, yours in $RUNPLAN_HOME/patterns, and the project's in
.runplan/patterns. A later layer replaces a rule of the same id; "severity: off" removes it.
ast-grep is optional. It is searched in $RUNPLAN_AST_GREP and in PATH.

A comment with the rule and a reason accepts a place:

  // runplan:ignore defer-in-loop the loop runs at most twice`,
		newPatternsListCommand(a), newPatternsScanCommand(a), newPatternsDiscoverCommand(a),
		newPatternsGenerateCommand(a))
}

// patternRules loads the rules of all layers for the tree around the current folder. It also returns the root of the
// project.
func patternRules(ctx context.Context, a *cli.App) (root string, rules []patterns.Rule, err error) {
	if root, err = treeHere(ctx, a); err != nil {
		return "", nil, err
	}
	rules, err = patternsOf(a, root)
	return root, rules, err
}

// needAstGrep finds ast-grep. If it is missing, the command cannot run.
func needAstGrep(ctx context.Context, a *cli.App, hint string) (patterns.Program, error) {
	p, err := a.AstGrep(ctx)
	if err == nil && p.Path == "" {
		err = cli.Named("no-ast-grep",
			cli.Fail(cli.ExitCannotRun, fmt.Errorf("skipped: %s", patterns.MissingNote), "%s", hint))
	}
	return p, err
}

// patternsOf loads the rules of all layers for the tree at root.
func patternsOf(a *cli.App, root string) ([]patterns.Rule, error) {
	sources := []patterns.Source{patterns.Builtin()}
	for _, l := range RuleLayers(a, root) {
		sources = append(sources, patterns.Folder(patterns.Layer(l.name), l.Patterns))
	}
	rules, err := patterns.Load(sources...)
	if err != nil {
		return nil, cli.Usage(err, "correct the rule file; see ast-grep's documentation of rules")
	}
	return rules, nil
}

func newPatternsListCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2", JSON: "a JSON array"}, &cobra.Command{
		Use:   "list",
		Short: "List the rules with their layer",
		Long:  "List the rules of all layers. A rule that replaces one of a lower layer is marked.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, rules, err := patternRules(cmd.Context(), a)
			if err != nil {
				return err
			}
			var rows ui.Rows
			for _, r := range rules {
				layer := string(r.Layer)
				if r.Shadows != "" {
					layer += fmt.Sprintf(" (instead of %s)", r.Shadows)
				}
				rows.Add(r.ID, r.Severity, strings.Join(r.Languages, " "), r.Lesson,
					measuredOf("pattern/"+r.ID, r.Layer == patterns.BuiltIn), layer, ui.Brief(r.Message, 70))
			}
			header := []string{"rule", "severity", "languages", "lesson", "measured", "layer", "message"}
			return a.PrintTable(rules, "", header, rows)
		},
	})
}

func newPatternsScanCommand(a *cli.App) *cobra.Command {
	var only []string
	cmd := a.Command(cli.With{Exits: "0 1 2 5 130", JSON: "a JSON object"}, &cobra.Command{
		Use:   "scan [PATHS]",
		Short: "Run the rules on files",
		Long: `Run the rules on the given files and folders, or on the current folder. In a repository
a folder means its tracked and addable files; third-party code in it is skipped.
A finding of severity error fails. Unchecked files are listed.`,
		RunE: cli.Stoppable(func(ctx context.Context, args []string) error {
			root, rules, err := patternRules(ctx, a)
			if err != nil {
				return err
			}
			if rules, err = chosen(rules, only); err != nil {
				return err
			}
			p, err := needAstGrep(ctx, a,
				"nothing was scanned; put ast-grep into PATH, or name it in $"+patterns.EnvVar)
			if err != nil {
				return err
			}
			// Globs in rules are relative to the root of the repository, not to the current folder.
			here, err := cli.CurrentFolder()
			if err != nil {
				return err
			}
			var paths []string
			for _, arg := range args {
				if !filepath.IsAbs(arg) {
					arg = filepath.Join(here, arg)
				}
				paths = append(paths, arg)
			}
			if len(paths) == 0 {
				paths = []string{here}
			}
			files, foreign, err := patterns.Files(ctx, a.Environ, root, paths...)
			if err != nil {
				return cli.Usage(err, "give existing files or folders; . is the current folder")
			}
			res, err := patterns.Scan(ctx, p, root, files, rules)
			if err != nil {
				return err
			}
			res.Skipped = append(res.Skipped, foreign...)
			if err := a.Print(res, func() { printScan(a, res, root) }); err != nil {
				return err
			}
			n := lists.Count(res.Hits, func(h patterns.Hit) bool { return h.Severity == patterns.Error })
			if n > 0 {
				return cli.Fail(cli.ExitFailed, fmt.Errorf("%d finding(s) of severity error", n), "")
			}
			return nil
		}),
	}, func(f *cli.Flags) { f.StringSliceVar(&only, "rule", nil, "run only these rules") })
	cmd.RegisterFlagCompletionFunc("rule",
		func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			_, rules, err := patternRules(cmd.Context(), a)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return lists.Map(rules, func(r patterns.Rule) string {
				return cobra.CompletionWithDesc(r.ID, ui.Sanitize(r.Message))
			}), cobra.ShellCompDirectiveNoFileComp
		})
	return cmd
}

// chosen returns the rules with the given ids, or all if no id is given.
func chosen(rules []patterns.Rule, ids []string) ([]patterns.Rule, error) {
	if len(ids) == 0 {
		return rules, nil
	}
	var out []patterns.Rule
	for _, id := range ids {
		n := len(out)
		for _, r := range rules {
			if r.ID == id {
				out = append(out, r)
			}
		}
		if len(out) == n {
			return nil, cli.Usage(fmt.Errorf("unknown rule %q", id), "runplan patterns list shows them")
		}
	}
	return out, nil
}

// printScan prints the result with paths relative to the current folder.
func printScan(a *cli.App, res patterns.Result, root string) {
	near := func(path string) string { return cli.Rel(filepath.Join(root, filepath.FromSlash(path))) }
	var b strings.Builder
	for _, h := range res.Hits {
		h.Path = near(h.Path)
		fmt.Fprintln(&b, ui.Sanitize(h.String()))
	}
	fmt.Fprint(a.Stdout, b.String())
	for _, s := range res.Suppressed {
		s.Path = near(s.Path)
		fmt.Fprintf(a.Stderr, "suppressed: %s: %s\n", ui.Sanitize(s.String()), ui.Sanitize(s.Reason))
	}
	for _, s := range res.Skipped {
		fmt.Fprintf(a.Stderr, "skipped: %s: %s\n", ui.Sanitize(near(s.Path)), ui.Sanitize(s.Reason))
	}
	for _, path := range res.Partial {
		fmt.Fprintf(a.Stderr, "parts of it could not be parsed: %s\n", ui.Sanitize(near(path)))
	}
	fmt.Fprintf(a.Stderr, "%d finding(s) in %d file(s) with ast-grep %s; %d file(s) in languages without rules\n",
		len(res.Hits), res.Scanned, res.Version, len(res.Other))
}

func newPatternsDiscoverCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 5 130", JSON: "a JSON object"}, &cobra.Command{
		Use:   "discover",
		Short: "Describe the coding style of this folder",
		Long: `Describe error handling, test style, function length and imports
of the Go, Python, TypeScript and JavaScript code in this folder, as in the brief of an
agent. Without ast-grep only Go is checked.`,
		Args: cobra.NoArgs,
		RunE: cli.Stoppable(func(ctx context.Context, _ []string) error {
			p, err := a.AstGrep(ctx)
			if err != nil {
				return err
			}
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			style, err := patterns.Discover(ctx, p, dir, a.Environ)
			if err != nil {
				return err
			}
			return a.Print(style, func() {
				if style.Note != "" {
					fmt.Fprintf(a.Stderr, "skipped: %s\n", style.Note)
				}
				if style.Note == "" && style.Text() == "" {
					fmt.Fprintln(a.Stderr, "no Go, Python, TypeScript or JavaScript code here")
				}
				for line := range strings.SplitSeq(style.Text(), "\n") {
					if line != "" {
						fmt.Fprintln(a.Stdout, ui.Sanitize(line))
					}
				}
			})
		}),
	})
}

func newPatternsGenerateCommand(a *cli.App) *cobra.Command {
	var dir string
	return a.Command(cli.With{Exits: "0 2 5 130", JSON: "a JSON object"}, &cobra.Command{
		Use:   "generate",
		Short: "Generate rules from lessons",
		Long: `Make rules from the semantic lessons, and write them to .runplan/patterns. A rule is made only
if a template expresses the lesson, and if ast-grep then finds the bad example
of the lesson and not the good one. The log has the result for each lesson, with the reason.
Only generated files are replaced.`,
		Args: cobra.NoArgs,
		RunE: cli.Stoppable(func(ctx context.Context, _ []string) error {
			root, rules, err := patternRules(ctx, a)
			if err != nil {
				return err
			}
			if dir == "" {
				if _, err := inRepo(ctx, a, "rules"); err != nil {
					return err
				}
				dir = filepath.Join(root, journal.DirName, "patterns")
			}
			p, err := needAstGrep(ctx, a, "rules cannot be checked without it")
			if err != nil {
				return err
			}
			taught, err := lessonsFor(a, root)
			if err != nil {
				return err
			}
			files, log, err := draft.Generate(ctx, p, taught, rules)
			if err != nil {
				return err
			}
			kept, err := draft.Write(dir, files)
			if err != nil {
				return err
			}
			return a.Print(map[string]any{"dir": dir, "files": files, "kept": kept, "log": log}, func() {
				var rows ui.Rows
				for _, e := range log {
					what := "no"
					switch {
					case e.Converted:
						what = "yes: " + e.Template
					case e.Rule != "":
						what = "by " + e.Rule
					}
					rows.Add(e.Lesson, e.Language, what, ui.Brief(e.Reason, 100))
				}
				ui.Table(a.Stdout, []string{"lesson", "language", "converted", "why"}, rows)
				for _, name := range kept {
					fmt.Fprintf(a.Stderr, "%s was not generated and is not changed\n", ui.Sanitize(name))
				}
				fmt.Fprintf(a.Stderr, "%d rule file(s) in %s\n", len(files)-len(kept), ui.Sanitize(dir))
			})
		}),
	}, func(f *cli.Flags) {
		f.StringVar(&dir, "dir", "", "folder for the rule files (default: .runplan/patterns of the repository)")
	})
}

// lessonsFor returns the lessons of all layers for the rule generator.
func lessonsFor(a *cli.App, root string) ([]draft.Lesson, error) {
	lib, _, err := lessonsOf(a, root)
	if err != nil {
		return nil, err
	}
	return lists.Map(lib.Lessons, func(l *lessons.Lesson) draft.Lesson {
		return draft.Lesson{
			ID: l.ID, Title: l.Title, Type: string(l.Pattern.Type), Languages: l.Languages,
			Description: l.Pattern.Description, Bad: l.Example.Bad, Good: l.Example.Good,
		}
	}), nil
}
