package app

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
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/planparse/draft"
)

func newSolveCommand(a *App) *cobra.Command {
	var o runOptions
	var plan string
	var budget budgetFlags
	cmd := &cobra.Command{
		Use:   "solve [TASK]",
		Short: "Have a local model do a task, or the batches of a plan",
		Long: `Have the coding model of [models] carry out a task: context is retrieved from the index, the
model answers with search/replace edits, and gates check what came of them. What fails is
tried again, and the model is told why.

It is a run like any other, of a plan with one batch, or of the plan that --plan names: each
attempt works in a worktree, your checkout stays as it is, and what passed is on the branch
runplan/<name>/main. A run that was stopped goes on with "runplan resume".

  runplan solve "Parse returns an error for empty input"
  runplan solve --plan docs/plans/parser.md` +
			exitStatus(exitOK, exitFailed, exitUsage, exitHuman, exitLimit, exitCannotRun, exitLocked, exitInterrupted),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			task := ""
			if len(args) > 0 {
				task = strings.TrimSpace(args[0])
			}
			p, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			if err := p.unsaid(llm.Coding, o.solver.stages, budget,
				need{"solve.max_attempts", "--max-attempts", cmp.Or(o.maxAttempts, p.config.Solve.MaxAttempts) != 0},
				need{"solve.max_refinement_loops", "--max-refinement-loops",
					cmp.Or(o.solver.loops.n, p.config.Solve.MaxRefinementLoops) != nil},
			); err != nil {
				return err
			}
			if o.solver.budget, err = budget.budget(p.config, llm.Coding); err != nil {
				return err
			}
			return a.solve(cmd.Context(), p, task, plan, o)
		},
	}
	o.common(cmd)
	addStages(cmd, &o.solver.stages)
	budget.add(cmd)
	o.route.add(cmd)
	o.sample.add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.route.from, "from", "", "first batch of the plan to run, by number")
	f.StringVar(&o.route.to, "to", "", "last batch of the plan to run, by number")
	a.repoFlag(f)
	f.Var(&o.solver.loops, "max-refinement-loops",
		"how often an attempt may ask for more context (default solve.max_refinement_loops)")
	f.StringVar(&plan, "plan", "", "plan to execute; the task then describes its purpose, and is optional")
	f.StringVar(&o.land, "land", "",
		"branch (leave the run branch), ff (fast-forward the start branch) or pr (push, open a pull request)")
	f.IntVar(&o.maxAttempts, "max-attempts", 0, "attempts at a batch before it fails (default solve.max_attempts)")
	f.BoolVar(&o.allowDirty, "allow-dirty", false,
		"run with uncommitted changes in the checkout; they are not part of the run")
	f.BoolVar(&o.fresh, "new", false, "start a new run although a run of this task is not finished")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would run, and stop")
	return cmd
}

// solve runs a task or a plan with the solver.
func (a *App) solve(ctx context.Context, p *project, task, plan string, o runOptions) error {
	if task == "" && plan == "" {
		return usage(errors.New("solve needs a task, or a plan"),
			`say what to do: runplan solve "…", or: runplan solve --plan FILE`)
	}
	o.agent = solver.Name
	if _, err := p.attempts(o.maxAttempts, o.agent); err != nil {
		return err // fail before anything is written
	}
	if plan != "" {
		o.solver.task = task
		return a.runPlan(ctx, plan, o)
	}
	text, err := taskPlan(task)
	if err != nil {
		return err
	}
	// Check this before writing anything, so that an unsolvable task leaves no files.
	p.solver = o.solver
	if _, err := a.solverAgent(ctx, p, ""); err != nil {
		return err
	}
	path, isNew, err := p.keepTask(a.redactor(p), task, text)
	if err != nil {
		return fail(exitCannotRun, err, "")
	}
	if o.dryRun && isNew {
		defer os.Remove(path)
	}
	return a.runPlan(ctx, path, o)
}

// taskPlan wraps a task into a plan of one batch. A task that parses as several batches or as no plan is put in a
// fence.
func taskPlan(task string) (string, error) {
	first, _, _ := strings.Cut(task, "\n")
	title := draft.Title(ui.Cut(redact.Clean(first), 80, "…"), "Solve the task")
	for _, body := range []string{strings.TrimRight(task, "\n") + "\n", fence.Around("text", task)} {
		text := fmt.Sprintf("# %s\n\n## Batch 1: %s\n\n%s", title, title, body)
		p, err := planparse.Parse("task", []byte(text))
		if err == nil && len(p.Errors()) == 0 && p.Format == planparse.FormatRunPlan && len(p.Batches) == 1 &&
			p.Batches[0].Title == title &&
			p.Batches[0].When == "" && len(p.Batches[0].DependsOn) == 0 && !p.Batches[0].Done() &&
			strings.TrimSpace(p.Batches[0].Text) == strings.TrimSpace(body) {
			return text, nil
		}
	}
	return "", usage(errors.New("the task cannot be written as a plan"), "write a plan: runplan solve --plan FILE")
}

// keepTask writes the plan of a task and returns its path. The same task always gets the same file, so that an
// unfinished run of it is found again.
func (p *project) keepTask(secrets *redact.Redactor, task, text string) (path string, isNew bool, err error) {
	if err := p.layout.Make(); err != nil {
		return "", false, err
	}
	dir := p.layout.Tasks()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", false, err
	}
	first, _, _ := strings.Cut(secrets.String(task), "\n") // the file name becomes a branch name
	name := slugOf(strings.ReplaceAll(first, ".", " "))
	for n := 1; ; n++ {
		path = filepath.Join(dir, name+".md")
		if n > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d.md", name, n))
		}
		old, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, true, os.WriteFile(path, []byte(text), 0o644)
		case err != nil:
			return "", false, err
		case bytes.Equal(old, []byte(text)):
			return path, false, nil
		}
	}
}
