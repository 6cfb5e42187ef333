package plans

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates/promise"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/cli/watch"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/runner/trace"
)

// NewCheckCommand returns the command check.
func NewCheckCommand(a *cli.App) *cobra.Command {
	var least int
	return a.Command(cli.With{Exits: "0 1 2", JSON: "a JSON object"}, &cobra.Command{
		Use:   "check PLAN.md",
		Short: "Judge a plan without running it",
		Long: `Judge a plan: whether it can be run, how good it is by documented dimensions, and what
would make it better. Nothing is run and nothing is changed.

If runs of the plan proved tasks, it says how many, and which were proven with another wording.`,
		Args: cli.ExactlyOne("the path of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, src, err := cli.ReadPlan(args[0])
			if err != nil {
				return err
			}
			// Compile the conditions too, so that a wrong name is reported before a run costs anything.
			_, derr := routing.Decide(plan, routing.Options{Env: a.Env()})
			cli.HideTitles(a.Redactor(), plan)
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
			p := provedOf(cmd.Context(), a, args[0])
			if a.JSON {
				if err := cli.AsJSON(out, struct {
					planparse.Report
					Proved *proved `json:"proved,omitempty"` // nil if no run of the plan is known
				}{r, p}); err != nil {
					return err
				}
			} else {
				printCheck(out, args[0], plan, r)
				printProved(out, p)
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
	}, func(f *cli.Flags) { f.IntVar(&least, "min-score", 0, "fail below this quality score (0 to 100)") })
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

func printCheck(w io.Writer, path string, p *planparse.Plan, r planparse.Report) {
	verdict := "can be run"
	if !r.Valid {
		verdict = "cannot be run"
	}
	fmt.Fprintf(w, "%s: %s, quality %d of 100 (format %s, %s, %s)\n\n", path, verdict, r.Score, p.Format,
		phrase.Count(p.Counts.Batches, "batch"), phrase.Count(p.Counts.Tasks, "task"))
	var rows ui.Rows
	for _, d := range r.Dimensions {
		rows.Add(d.Name, fmt.Sprintf("%d/%d", d.Points, d.Weight), d.Reason)
	}
	ui.Table(w, []string{"dimension", "points", "why"}, rows)
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
	said := diagnostics{w: w, path: path, counts: map[string]int{}}
	for _, d := range r.Diagnostics {
		said.print(string(d.Severity), d)
	}
	for _, d := range r.Advice {
		if slices.ContainsFunc(r.Diagnostics,
			func(o planparse.Diagnostic) bool { return o.Line == d.Line && o.Code == d.Code }) {
			continue // a diagnostic reports it
		}
		said.print("advice", planparse.Diagnostic{Code: d.Code, Line: d.Line, Message: d.Message})
	}
	said.rest()
}

// mostOfCode is the number of diagnostics with the same code that are printed; --json has all.
const mostOfCode = 10

// diagnostics prints diagnostics, and counts those beyond the limit. Errors have no limit.
type diagnostics struct {
	w      io.Writer
	path   string
	counts map[string]int
	codes  []string // in the order of their first diagnostic
}

func (p *diagnostics) print(severity string, d planparse.Diagnostic) {
	if d.Severity != planparse.SeverityError {
		if p.counts[d.Code]++; p.counts[d.Code] == 1 {
			p.codes = append(p.codes, d.Code)
		}
	}
	if d.Severity == planparse.SeverityError || p.counts[d.Code] <= mostOfCode {
		fmt.Fprintf(p.w, "%s:%d: %s: %s [%s]\n", p.path, d.Line, severity, ui.Sanitize(d.Message), d.Code)
	}
}

func (p *diagnostics) rest() {
	for _, code := range p.codes {
		if n := p.counts[code] - mostOfCode; n > 0 {
			fmt.Fprintf(p.w, "and %d more [%s]; --json shows all\n", n, code)
		}
	}
}

// proved counts the tasks of a plan that runs have proven.
type proved struct {
	Tasks  int           `json:"tasks"`
	Proven int           `json:"proven"` // with the present wording
	Older  int           `json:"older"`  // with an older wording
	Ticked int           `json:"ticked"` // ticked, but proven by no run
	Drift  []trace.Drift `json:"drift"`
}

// provedOf finds which tasks of a plan are proven by runs. It returns nil without a repository or a run. Errors are
// only warnings, because the check does not need this result.
func provedOf(ctx context.Context, a *cli.App, path string) *proved {
	r, err := tracedPlan(ctx, a, path)
	if err != nil {
		fmt.Fprintf(a.Stderr, "runplan: cannot read what runs proved of %s: %s\n", path,
			ui.Sanitize(a.Redactor().String(err.Error())))
	}
	if r == nil {
		return nil
	}
	c := r.Count()
	return &proved{Tasks: c.Tasks, Proven: c.Proven, Older: c.Older, Ticked: c.Ticked, Drift: r.Drift}
}

// tracedPlan traces the newest run of a plan and its older runs. It returns nil if there is no run.
func tracedPlan(ctx context.Context, a *cli.App, path string) (*trace.Report, error) {
	p, err := a.OpenProject(ctx)
	if errors.Is(err, git.ErrNotRepo) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	plan := p.PlanPath(path)
	j, found, err := cli.IfExists(store.OpenExistingJournal(ctx, p.Layout.Journal()))
	if !found {
		return nil, err
	}
	defer j.Close()
	runs, err := j.Runs(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(runs, func(r store.Run) bool { return r.Plan == plan })
	if i < 0 {
		return nil, nil
	}
	return watch.TracedRun(ctx, p, j, runs, runs[i].ID, true)
}

func printProved(w io.Writer, p *proved) {
	if p == nil {
		return
	}
	fmt.Fprintf(w, "\nproved by runs: %d of %d tasks, %d against older wording, %d ticked and not proven\n", p.Proven,
		p.Tasks, p.Older, p.Ticked)
	report.Drifts(w, p.Drift)
}
