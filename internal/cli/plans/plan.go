// Package plans holds the commands that read or write plans: parse, check, outline, context and plan.
package plans

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates/promise"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
)

// NewParseCommand returns the command parse.
func NewParseCommand(a *cli.App) *cobra.Command {
	var asJSONFlag, coverage bool
	cmd := &cobra.Command{
		Use:   "parse PLAN.md",
		Short: "Show how runplan reads a plan",
		Long:  "Show the batches, tasks and files that runplan reads in a plan, and what it tolerates. Nothing is run." + cli.ExitStatus(cli.ExitOK, cli.ExitUsage),
		Args:  cli.ExactlyOne("the path of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, src, err := cli.ReadPlan(args[0])
			if err != nil {
				return err
			}
			a.HideTitles(nil, plan)
			if out := a.Hiding(); coverage && asJSONFlag {
				err = cli.AsJSON(out, plan.Cover(src))
			} else if coverage {
				err = printCoverage(out, args[0], plan.Cover(src))
			} else if asJSONFlag {
				err = cli.AsJSON(out, plan)
			} else {
				err = printPlan(out, args[0], plan)
			}
			if err != nil {
				return err
			}
			if len(plan.Errors()) > 0 {
				return cli.Named("plan-invalid", cli.Fail(cli.ExitUsage,
					fmt.Errorf("%s cannot be run: %s, see above", args[0], phrase.Count(len(plan.Errors()), "error")), ""))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print a JSON object")
	cmd.Flags().BoolVar(&coverage, "coverage", false, "show for each line which brief contains it, or why no brief does")
	return cmd
}

// printCoverage prints which parser reads which lines of a plan.
func printCoverage(w io.Writer, path string, c planparse.Coverage) error {
	var rows [][]string
	for _, r := range c.Ranges {
		who := r.Kind
		switch {
		case r.Kind == planparse.CoverBrief && slices.Contains(r.Batches, "*"):
			who = "each brief"
		case r.Kind == planparse.CoverBrief:
			who = "brief of " + strings.Join(r.Batches[:min(len(r.Batches), 6)], ", ")
			if n := len(r.Batches) - 6; n > 0 {
				who += fmt.Sprintf(" and %d more", n)
			}
		}
		rows = append(rows, []string{fmt.Sprintf("%d-%d", r.First, r.Last), who, ui.Sanitize(r.Why),
			ui.Cut(ui.Sanitize(r.Text), 50, "…")})
	}
	if err := cli.Table(w, []string{"lines", "who reads them", "why", "first line"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s: %s\n", path, coverageShares(c))
	return err
}

// coverageShares formats the share of a plan that each parser reads as one line.
func coverageShares(c planparse.Coverage) string {
	return fmt.Sprintf(
		"of %s %.0f %% reach a brief, %.0f %% are read by runplan, %.0f %% are of batches that are not run, %.0f %% reach "+
			"nobody",
		phrase.Count(c.Lines, "line"), c.Share(c.Brief), c.Share(c.Runplan), c.Share(c.Skipped), c.Share(c.Nobody))
}

func printPlan(w io.Writer, path string, p *planparse.Plan) error {
	c := p.Counts
	fmt.Fprintf(w, "%s: %s\n", path, ui.Sanitize(p.Title))
	fmt.Fprintf(w, "format %s: %s, %s, %s (%d ticked), %s\n\n", p.Format, phrase.Count(c.Batches, "batch"),
		phrase.Count(c.Tasks, "task"),
		phrase.Count(c.Checkboxes, "checkbox", "checkboxes"), c.Checked, phrase.Count(c.Groups, "group"))
	var rows [][]string
	for _, b := range p.Batches {
		done := 0
		for _, t := range b.Tasks {
			if t.Done {
				done++
			}
		}
		note := ""
		if b.Empty {
			note = routing.EmptyNote
		}
		rows = append(rows, []string{b.Number, ui.Cut(ui.Sanitize(b.Title), 60, "…"),
			fmt.Sprintf("%d/%d", done, len(b.Tasks)),
			fmt.Sprint(len(b.Files.Create)), fmt.Sprint(len(b.Files.Modify)), fmt.Sprint(len(b.Commands)),
			fmt.Sprintf("%d-%d", b.StartLine, b.EndLine), note})
	}
	if err := cli.Table(w, []string{"batch", "title", "done", "create", "modify", "run", "lines", ""}, rows); err != nil {
		return err
	}
	if len(p.Diagnostics) > 0 {
		fmt.Fprintln(w)
	}
	for _, d := range p.Diagnostics {
		fmt.Fprintf(w, "%s:%d: %s: %s [%s]\n", path, d.Line, d.Severity, ui.Sanitize(d.Message), d.Code)
	}
	return nil
}

// NewCheckCommand returns the command check.
func NewCheckCommand(a *cli.App) *cobra.Command {
	var asJSONFlag bool
	var least int
	cmd := &cobra.Command{
		Use:   "check PLAN.md",
		Short: "Judge a plan without running it",
		Long: `Judge a plan: whether it can be run, how good it is by documented dimensions, and what
would make it better. Nothing is run and nothing is changed.

If runs of the plan proved tasks, it says how many, and which were proven against other wording.` + cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage),
		Args: cli.ExactlyOne("the path of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, src, err := cli.ReadPlan(args[0])
			if err != nil {
				return err
			}
			// Compile the conditions too, so that a wrong name is reported before a run costs anything.
			_, derr := routing.Decide(plan, routing.Options{Env: a.Env()})
			a.HideTitles(nil, plan)
			r := planparse.Check(plan)
			if derr == nil {
				r.Advice = append(r.Advice, routing.Assess(plan)...)
			}
			r.Advice = append(r.Advice, missingPrograms(a, plan)...)
			if r.Valid && derr != nil {
				r.Valid = false
				r.Diagnostics = append(slices.Clone(r.Diagnostics), diagnosed(derr))
			}
			cover := plan.Cover(src)
			r.Coverage = &cover
			if root, err := a.RootHere(cmd.Context()); err == nil {
				r.Outline = worksHint(root, args[0], plan, r)
			}
			out := a.Hiding()
			proved := provedOf(cmd.Context(), a, args[0])
			if asJSONFlag {
				if err := cli.AsJSON(out, checkedPlan{r, proved}); err != nil {
					return err
				}
			} else {
				printCheck(out, args[0], plan, r)
				printProved(out, proved)
			}
			if err := cli.Invalid(args[0], plan); err != nil {
				return cli.Fail(cli.ExitUsage,
					fmt.Errorf("%s cannot be run: %s", args[0], phrase.Count(len(plan.Errors()), "error")), "")
			}
			if derr != nil {
				return cli.Fail(cli.ExitUsage, fmt.Errorf("%s cannot be run: 1 error", args[0]), "")
			}
			if r.Score < least {
				return cli.Fail(cli.ExitFailed, fmt.Errorf("%s scores %d, less than %d", args[0], r.Score, least), "")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print a JSON object")
	cmd.Flags().IntVar(&least, "min-score", 0, "fail below this quality score (0 to 100)")
	return cmd
}

// NewIntrospectCommand returns the command introspect.
func NewIntrospectCommand(a *cli.App) *cobra.Command {
	var asJSONFlag, mermaid bool
	cmd := &cobra.Command{
		Use:   "introspect",
		Short: "Print the state machine of a run",
		Long: "Print the loop: seven stages, twenty states and their transitions, from the table that the " +
			"machine runs on." + cli.ExitStatus(cli.ExitOK),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			loop := runner.DefaultLoop()
			switch {
			case asJSONFlag && mermaid:
				return cli.Usage(errors.New("--json and --mermaid exclude each other"), "choose one")
			case asJSONFlag:
				return cli.AsJSON(a.Stdout, loop)
			case mermaid:
				_, err := io.WriteString(a.Stdout, loop.Mermaid())
				return err
			}
			var rows [][]string
			for _, s := range loop.States {
				var ways string
				for _, t := range loop.Transitions {
					if t.From == s.Name {
						ways += fmt.Sprintf("%s → %s  ", t.On, t.To)
					}
				}
				rows = append(rows, []string{string(s.Stage), string(s.Name), s.Scope, s.Does, ways})
			}
			return cli.Table(a.Stdout, []string{"stage", "state", "scope", "what it does", "ways out"}, rows)
		},
	}
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print a JSON object")
	cmd.Flags().BoolVar(&mermaid, "mermaid", false, "print a stateDiagram-v2")
	return cmd
}

// missingPrograms advises on programs that checks of the plan start and that are not installed here: those checks would
// be skipped with a warning.
func missingPrograms(a *cli.App, p *planparse.Plan) []planparse.Advice {
	var out []planparse.Advice
	var names []string // of the advice at the same index
	checks := map[string]int{}
	for i := range p.Batches {
		b := &p.Batches[i]
		for _, c := range b.Checks() {
			name := promise.Program(c)
			if _, err := a.OnPath(name); name == "" || err == nil {
				continue
			}
			if checks[name]++; checks[name] == 1 {
				names = append(names, name)
				out = append(out, planparse.Advice{Code: "missing-program", Batch: b.Key, Line: c.Line})
			}
		}
	}
	for i, name := range names {
		out[i].Message = fmt.Sprintf("%s is not installed here, so %s not verified; install it before the run", name,
			phrase.Count(checks[name], "command of the plan is", "commands of the plan are"))
	}
	return out
}

// diagnosed converts a routing error into a diagnostic: an invalid condition, or a cycle of dependencies.
func diagnosed(err error) planparse.Diagnostic {
	d := planparse.Diagnostic{Severity: planparse.SeverityError, Line: 1, Code: "not-routable", Message: err.Error()}
	if m := prepare.PlaceOf.FindStringSubmatch(d.Message); m != nil {
		d.Line, _ = strconv.Atoi(m[1])
		d.Message = m[2]
	}
	return d
}

// printCheck prints the result of [planparse.Check].
func printCheck(w io.Writer, path string, p *planparse.Plan, r planparse.Report) {
	verdict := "can be run"
	if !r.Valid {
		verdict = "cannot be run"
	}
	fmt.Fprintf(w, "%s: %s, quality %d of 100 (format %s, %s, %s)\n\n", path, verdict, r.Score, p.Format,
		phrase.Count(p.Counts.Batches, "batch"), phrase.Count(p.Counts.Tasks, "task"))
	var rows [][]string
	for _, d := range r.Dimensions {
		rows = append(rows, []string{d.Name, fmt.Sprintf("%d/%d", d.Points, d.Weight), d.Reason})
	}
	cli.Table(w, []string{"dimension", "points", "why"}, rows)
	if c := r.Coverage; c != nil {
		fmt.Fprintf(w, "\ncoverage: %s\n", coverageShares(*c))
		n := 0
		for _, x := range c.Ranges {
			if x.Kind != planparse.CoverNobody {
				continue
			}
			if n++; n > 5 {
				continue
			}
			lines := fmt.Sprintf("lines %d to %d are", x.First, x.Last)
			if x.First == x.Last {
				lines = fmt.Sprintf("line %d is", x.First)
			}
			fmt.Fprintf(w, "%s:%d: %s in no brief: %s\n", path, x.First, lines, ui.Sanitize(x.Why))
		}
		if n > 5 {
			fmt.Fprintf(w, "and %d more; see runplan parse --coverage\n", n-5)
		}
	}
	if r.Outline != "" {
		fmt.Fprintf(w, "\n%s: %s\n", path, ui.Sanitize(r.Outline))
	}
	if len(r.Advice)+len(r.Diagnostics) > 0 {
		fmt.Fprintln(w)
	}
	for _, d := range r.Diagnostics {
		fmt.Fprintf(w, "%s:%d: %s: %s [%s]\n", path, d.Line, d.Severity, ui.Sanitize(d.Message), d.Code)
	}
	for _, d := range r.Advice {
		if slices.ContainsFunc(r.Diagnostics,
			func(o planparse.Diagnostic) bool { return o.Line == d.Line && o.Code == d.Code }) {
			continue // a diagnostic has told it
		}
		fmt.Fprintf(w, "%s:%d: %s: %s [%s]\n", path, d.Line, "advice", ui.Sanitize(d.Message), d.Code)
	}
}
