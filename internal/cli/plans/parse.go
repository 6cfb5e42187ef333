// Package plans holds the commands that read or write plans: parse, check, outline, context and plan; and introspect.
package plans

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
)

// NewParseCommand returns the command parse.
func NewParseCommand(a *cli.App) *cobra.Command {
	var coverage bool
	return a.Command(cli.With{Exits: "0 2", JSON: "a JSON object"}, &cobra.Command{
		Use:   "parse PLAN.md",
		Short: "Show how runplan reads a plan",
		Long:  "Show the batches, tasks and files that runplan reads in a plan, and what it tolerates. Nothing is run.",
		Args:  cli.ExactlyOne("the path of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, src, err := cli.ReadPlan(args[0])
			if err != nil {
				return err
			}
			cli.HideTitles(a.Redactor(), plan)
			if out := a.Hiding(); coverage && a.JSON {
				err = cli.AsJSON(out, plan.Cover(src))
			} else if coverage {
				err = printCoverage(out, args[0], plan.Cover(src))
			} else if a.JSON {
				err = cli.AsJSON(out, plan)
			} else {
				printPlan(out, args[0], plan)
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
	}, func(f *cli.Flags) {
		f.BoolVar(&coverage, "coverage", false, "show for each line which brief contains it, or why no brief does")
	})
}

func printCoverage(w io.Writer, path string, c planparse.Coverage) error {
	var rows ui.Rows
	for _, r := range c.Ranges {
		who := r.Kind
		switch {
		case r.Kind == planparse.CoverBrief && slices.Contains(r.Batches, "*"):
			who = "each brief"
		case r.Kind == planparse.CoverBrief:
			who = "brief of " + phrase.Few(r.Batches, 6)
		}
		rows.Add(fmt.Sprintf("%d-%d", r.First, r.Last), who, r.Why, ui.Brief(r.Text, 50))
	}
	ui.Table(w, []string{"lines", "who reads them", "why", "first line"}, rows)
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

func printPlan(w io.Writer, path string, p *planparse.Plan) {
	c := p.Counts
	fmt.Fprintf(w, "%s: %s\n", path, ui.Sanitize(p.Title))
	fmt.Fprintf(w, "format %s: %s, %s, %s (%d ticked), %s\n\n", p.Format, phrase.Count(c.Batches, "batch"),
		phrase.Count(c.Tasks, "task"),
		phrase.Count(c.Checkboxes, "checkbox", "checkboxes"), c.Checked, phrase.Count(c.Groups, "group"))
	var rows ui.Rows
	for _, b := range p.Batches {
		done := lists.Count(b.Tasks, func(t planparse.Task) bool { return t.Done })
		note := ""
		if b.Empty {
			note = routing.EmptyNote
		}
		rows.Add(b.Number, ui.Brief(b.Title, 60), fmt.Sprintf("%d/%d", done, len(b.Tasks)),
			len(b.Files.Create), len(b.Files.Modify), len(b.Commands), fmt.Sprintf("%d-%d", b.StartLine, b.EndLine), note)
	}
	ui.Table(w, []string{"batch", "title", "done", "create", "modify", "run", "lines", ""}, rows)
	if len(p.Diagnostics) > 0 {
		fmt.Fprintln(w)
	}
	said := diagnostics{w: w, path: path, counts: map[string]int{}}
	for _, d := range p.Diagnostics {
		said.print(string(d.Severity), d)
	}
	said.rest()
}
