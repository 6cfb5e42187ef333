package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/runner/trace"
)

type traceOptions struct {
	markdown, html bool
	run, at        string
}

// NewTraceCommand returns the command trace.
func NewTraceCommand(a *cli.App) *cobra.Command {
	var o traceOptions
	return a.Command(cli.With{Exits: "0 1 2 5", JSON: "a JSON object"}, &cobra.Command{
		Use:   "trace [WHAT]",
		Short: "Follow a requirement or task to its commit, files, tests and gates, and back",
		Long: `Show which parts of its plan a run proved: for each task the requirements that it names, the batch, the
commit and where it is now, the files, the new tests, the gates and the candidates. Or start
from a line, a commit, a requirement, a task or a test.

WHAT is one of these; without it the newest run is shown:

  RUN                a run: its id or the beginning of it, its plan, or the name in its branch
  FILE:LINE          a line of a file in the checkout, or in --at REV: which batch and task it comes from
  COMMIT             a commit: a hash of at least four digits, a branch or a tag
  REQUIREMENT        FR-001, US1, 1.2, or the title of an OpenSpec requirement: which tasks meet it
  TASK               a task of the plan: 1/2 is task 2 of batch 1, T007 a task with that number
  TEST               a test: the whole name, or the part after the last /, . or ::

If WHAT is ambiguous, prefix it with run:, line:, commit:, req:, task: or test:. A requirement, task or
test is searched in the newest run of each plan, or in --run RUN.

  runplan trace
  runplan trace docs/plans/login.md --markdown
  runplan trace auth/login.go:42
  runplan trace FR-003

docs/trace.md describes requirements. A task that was proven with another wording than the plan or
its requirement has now is shown with both.

Exit status 1 means that no run made WHAT.`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return cli.AtMostOne(cmd, "json", "markdown", "html")
		},
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, args []string) error {
			j, err := p.OpenJournal(ctx)
			if err != nil {
				return err
			}
			defer j.Close()
			t := tracing{project: p, journal: j, options: o, reports: map[string]*trace.Report{}}
			if t.runs, err = j.Runs(ctx); err != nil {
				return err
			}
			if len(args) == 0 {
				return t.forward(ctx, o.run)
			}
			return t.trace(ctx, strings.TrimSpace(args[0]))
		}),
	}, func(f *cli.Flags) {
		f.BoolVar(&o.markdown, "markdown", false, "print markdown, for a pull request")
		f.BoolVar(&o.html, "html", false, "print one self-contained HTML page")
		f.StringVar(&o.run, "run", "", "run to look in: its id or the beginning of it, its plan, or the name in its branch")
		f.StringVar(&o.at, "at", "", "with FILE:LINE, the commit or branch in which the file is checked (else the checkout)")
	})
}

// tracing answers one question about the runs of a project.
type tracing struct {
	project *cli.Project
	journal *store.Journal
	options traceOptions
	runs    []store.Run // newest first
	reports map[string]*trace.Report
}

// forward shows what a run proved of its plan.
func (t *tracing) forward(ctx context.Context, name string) error {
	run, err := t.find(name)
	if err != nil {
		return err
	}
	t.project.TellForged(ctx, run)
	r, err := t.report(ctx, run, true)
	if err != nil {
		return err
	}
	out := t.project.Hiding()
	switch {
	case t.project.JSON:
		return cli.AsJSON(out, r)
	case t.options.markdown:
		_, err = io.WriteString(out, report.TraceMarkdown(r))
	case t.options.html:
		err = report.WriteTraceHTML(out, r)
	default:
		style, width := t.project.Display()
		err = report.Trace(out, r, style, width)
	}
	return err
}

// find returns the id of the named run; "" selects the newest.
func (t *tracing) find(name string) (string, error) {
	for _, r := range t.runs {
		if name == "" || t.isRun(r, name) {
			return r.ID, nil
		}
	}
	if name == "" {
		return "", t.project.NoRuns()
	}
	return "", cli.NoSuchRun(name)
}

func (t *tracing) isRun(r store.Run, name string) bool {
	if len(name) >= 4 && strings.HasPrefix(r.ID, name) || r.ID == name || r.Slug == name || r.Plan == name {
		return true
	}
	return strings.HasSuffix(name, ".md") && r.Plan == t.project.PlanPath(name)
}

// report traces a run. If older is set, it uses older runs of the same plan for what the run does not cover.
func (t *tracing) report(ctx context.Context, run string, older bool) (*trace.Report, error) {
	id := fmt.Sprint(run, older)
	if r := t.reports[id]; r != nil {
		return r, nil
	}
	r, err := TracedRun(ctx, t.project, t.journal, t.runs, run, older)
	if err != nil {
		return nil, err
	}
	if err := r.Locate(ctx, t.project.Repo); err != nil {
		return nil, err
	}
	t.reports[id] = r
	return r, nil
}

// TracedRun reads the data of a report and builds it, without data from git.
func TracedRun(ctx context.Context, p *cli.Project, j *store.Journal, runs []store.Run, id string,
	older bool) (*trace.Report, error) {
	var in trace.Input
	plan, begun := "", false
	for _, r := range runs {
		begun = begun || r.ID == id
		if !begun || r.ID != id && (!older || r.Plan != plan) {
			continue
		}
		plan = r.Plan
		run, err := readRun(ctx, j, r.ID)
		switch {
		case errors.Is(err, runner.ErrLoopVersion) && r.ID != id: // of another runplan version
			continue
		case err != nil:
			return nil, fmt.Errorf("run %s: %w", r.ID, err)
		}
		in.Runs = append(in.Runs, run)
	}
	if len(in.Runs) == 0 {
		return nil, cli.NoSuchRun(id)
	}
	text, err := os.ReadFile(p.PlanFile(plan))
	if err == nil {
		in.Text = []byte(p.Redactor().String(string(text)))
		if _, err := planparse.Parse(plan, in.Text); err != nil {
			return nil, cli.Usage(err, "")
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usage(fmt.Errorf("read the plan: %w", err), "check that it is a readable file")
	} else {
		text = in.Runs[0].PlanText
	}
	in.Stated = cli.Stated(p, plan, []byte(p.Redactor().String(string(text))))
	return trace.Build(in)
}

func readRun(ctx context.Context, j *store.Journal, id string) (trace.Run, error) {
	sums, err := journal.List(ctx, j, runner.Filter{Run: id, Latest: true})
	if err != nil {
		return trace.Run{}, err
	}
	run := trace.Run{Summary: sums[0]}
	begun := false
	for ev, err := range journal.Events(ctx, j, id, 0) {
		if err != nil {
			return run, err
		}
		if ev.Job == nil {
			continue
		}
		if run.Info = *ev.Job; !begun {
			run.Started, begun = run.Info, true
		}
	}
	run.PlanText, err = j.PlanText(ctx, id)
	return run, err
}
