package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/models"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/planparse/draft"
)

// NewSolveCommand returns the command solve.
func NewSolveCommand(a *cli.App) *cobra.Command {
	var o prepare.RunOptions
	var plan string
	var budget models.BudgetFlags
	cmd := a.Command(cli.With{Exits: "0 1 2 3 4 5 6 130", Repo: true, Trust: true}, &cobra.Command{
		Use:   "solve [TASK]",
		Short: "Have a local model do a task, or the batches of a plan",
		Long: `Have the coding model of [models] do a task: context is retrieved from the index, the
model answers with search/replace edits, and gates check the result. A failure is
retried, and the model gets the reason.

It is a normal run, of a plan with one batch or of the plan in --plan: each
attempt works in a worktree, your checkout does not change, and the result is on the branch
runplan/<name>/main. "runplan resume" continues a stopped run.

  runplan solve "Parse returns an error for empty input"
  runplan solve --plan docs/plans/parser.md`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, args []string) (err error) {
			if err := models.Unsaid(p, llm.Coding, budget, models.NeedStages(p, o.Solver.Stages),
				models.Need{Key: "solve.max_attempts", Flag: "--max-attempts",
					Said: cmp.Or(o.MaxAttempts, p.Config.Solve.MaxAttempts) != 0},
				models.Need{Key: "solve.max_refinement_loops", Flag: "--max-refinement-loops",
					Said: cmp.Or(o.Solver.Loops.N, p.Config.Solve.MaxRefinementLoops) != nil},
			); err != nil {
				return err
			}
			if o.Solver.Budget, err = budget.Budget(p.Config, llm.Coding); err != nil {
				return err
			}
			return solve(ctx, p, strings.TrimSpace(strings.Join(args, "")), plan, o)
		}),
	})
	o.Common(cmd)
	o.OfNew(cmd)
	models.AddStages(cmd, &o.Solver.Stages)
	budget.Add(cmd)
	f := cmd.Flags()
	f.Var(&o.Solver.Loops, "max-refinement-loops",
		"how often an attempt may ask for more context (default solve.max_refinement_loops)")
	f.StringVar(&plan, "plan", "", "plan to execute; the task then describes its purpose, and is optional")
	f.IntVar(&o.MaxAttempts, "max-attempts", 0, "attempts at a batch before it fails (default solve.max_attempts)")
	f.BoolVar(&o.Fresh, "new", false, "start a new run although a run of this task is not finished")
	return cmd
}

func solve(ctx context.Context, p *cli.Project, task, plan string, o prepare.RunOptions) error {
	if task == "" && plan == "" {
		return cli.Usage(errors.New("solve needs a task, or a plan"),
			`say what to do: runplan solve "…", or: runplan solve --plan FILE`)
	}
	o.Agent = solver.Name
	if _, err := models.Attempts(p, o.MaxAttempts, o.Agent); err != nil {
		return err // fail before anything is written
	}
	if plan != "" {
		o.Solver.Task = task
		return RunPlan(ctx, p.App, prepare.Request{Plan: plan, Options: o})
	}
	first, _, _ := strings.Cut(task, "\n")
	parsed, text, err := draft.OfTask(cells.Cut(redact.Clean(first), 80, "…"), task)
	if err != nil {
		return cli.Usage(err, "write a plan: runplan solve --plan FILE")
	}
	// Check this before writing anything, so that an unsolvable task leaves no files.
	p.Solver = o.Solver
	if _, err := prepare.SolverAgent(ctx, p, ""); err != nil {
		return err
	}
	if err := models.Matches(ctx, p, task); err != nil {
		return err
	}
	path, isNew, err := keepTask(p, p.Redactor(), task, text)
	if err != nil {
		return err
	}
	if o.DryRun && isNew {
		defer os.Remove(path)
	}
	return RunPlan(ctx, p.App, prepare.Request{Plan: path, Parsed: parsed, Text: text, Options: o})
}

// keepTask writes the plan of a task and returns its path. The same task always gets the same file, so that an
// unfinished run of it is found again.
func keepTask(p *cli.Project, secrets *redact.Redactor, task string, text []byte) (path string, isNew bool, err error) {
	if err := p.Layout.Make(); err != nil {
		return "", false, err
	}
	dir := p.Layout.Tasks()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", false, err
	}
	first, _, _ := strings.Cut(secrets.String(task), "\n") // the file name becomes a branch name
	name := cli.SlugOf(strings.ReplaceAll(first, ".", " "))
	for n := 1; ; n++ {
		path = filepath.Join(dir, name+".md")
		if n > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d.md", name, n))
		}
		old, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, true, atomicfile.Write(path, text, 0o644)
		case err != nil:
			return "", false, err
		case bytes.Equal(old, text):
			return path, false, nil
		}
	}
}
