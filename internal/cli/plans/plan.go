package plans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/models"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/planparse/draft"
)

type planOptions struct {
	stages string
	budget models.BudgetFlags
	from   string
	out    string
	force  bool
}

// NewPlanCommand returns the command plan.
func NewPlanCommand(a *cli.App) *cobra.Command {
	var o planOptions
	cmd := a.Command(cli.With{Exits: "0 1 2 5 130", Repo: true, Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "plan TASK",
		Short: "Have a local model write a plan for a task",
		Long: `Have the reasoning model of [models] make a plan for a task: context is retrieved from the index,
the model names the batches, their files and the reasons, and runplan writes
them as a plan that parses the same. Nothing is run. Read the plan, correct it, run it.

  runplan plan "Parse returns an error for empty input"
  runplan plan "…" --out parser.md && runplan parser.md --agent solver`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.from != "" && len(args) == 0 {
				return nil
			}
			return cli.ExactlyOne("the task, as one argument, or --from DOC")(cmd, args)
		},
		RunE: a.StoppableInProject(func(ctx context.Context, p *cli.Project, args []string) error {
			task := strings.TrimSpace(strings.Join(args, " "))
			if o.from != "" {
				text, err := taskOfDocument(o.from, task)
				if err != nil {
					return err
				}
				task = text
			}
			return planTask(ctx, p, task, o)
		}),
	})
	models.AddStages(cmd, &o.stages)
	o.budget.Add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "",
		"document to make a plan from, such as a design note; TASK is then optional (runplan outline does it without a "+
			"model)")
	f.StringVar(&o.out, "out", "", "output file, or - for standard output (default docs/plans/<date>-<task>.md)")
	f.BoolVar(&o.force, "force", false, "overwrite an existing file")
	return cmd
}

// madePlan is the output of plan --json.
type madePlan struct {
	Task      string     `json:"task"` // id in the journal
	Path      string     `json:"path"` // "" for standard output
	Plan      draft.Plan `json:"plan"`
	Markdown  string     `json:"markdown,omitempty"` // set if no file was written
	Model     string     `json:"model"`
	Context   []string   `json:"context"` // files of which the model saw a part
	Calls     int        `json:"calls"`
	Tokens    *int64     `json:"tokens"` // null: unknown
	LatencyMS int64      `json:"latency_ms"`
}

func planTask(ctx context.Context, p *cli.Project, task string, o planOptions) error {
	if task == "" {
		return cli.Usage(errors.New("the task is empty"), `say what to do: runplan plan "…"`)
	}
	path, err := planFile(p, task, o)
	if err != nil {
		return err
	}
	if err := models.Unsaid(p, llm.Reasoning, o.budget, models.NeedStages(p, o.stages)); err != nil {
		return err
	}
	budget, err := o.budget.Budget(p.Config, llm.Reasoning)
	if err != nil {
		return err
	}
	s, err := models.SolvingOf(p, cli.SolveOptions{Stages: o.stages, Budget: budget}, llm.ExecutePlan)
	if err != nil {
		return err
	}
	if err := p.TrustConfig(); err != nil {
		return err
	}
	tools, err := models.OpenSolving(ctx, p, s, nil)
	if err != nil {
		return err
	}
	defer tools.Close()
	if err := p.Layout.Make(); err != nil {
		return err
	}
	if tools.Journal, err = store.OpenJournal(ctx, p.Layout.Journal()); err != nil {
		return err
	}
	id := cli.NewTaskID()
	made, err := askForPlan(ctx, p.App, tools, s, id, task)
	if err != nil {
		return models.Unmatched(p.App, id, planTrouble(ctx, id, err))
	}
	if path != "" {
		if err := writePlan(path, made.Markdown, o.force); err != nil {
			return err
		}
	}
	return showMade(p.App, path, id, made)
}

// askForPlan has the plan made and always closes the session.
func askForPlan(ctx context.Context, a *cli.App, t *models.Tools, s models.Solving, id,
	task string) (solver.Planned, error) {
	p := t.Project
	model, err := t.Router.Model(llm.ExecutePlan)
	if err != nil {
		return solver.Planned{}, err
	}
	session, err := t.Session(ctx, id)
	if err != nil {
		return solver.Planned{}, err
	}
	planner := solver.Planner{
		LLM: t.LLM, Model: model, Budget: s.Budget, Stages: s.Stages, Prompts: t.Solver,
		Retrieve: t.Finder(t.Journal, retrieve.Retrieve),
		Log:      t.Journal, Repo: p.Repo.Root, Redact: t.Redact.String,
		Say: func(text string) { fmt.Fprintln(a.Stderr, ui.Sanitize(t.Clean(text))) }, Now: time.Now,
	}
	made, err := planner.Plan(ctx, session, id, task, p.Repo.Root)
	return made, errors.Join(err, t.PutAway(ctx, session, id))
}

func planTrouble(ctx context.Context, id string, err error) error {
	if ctx.Err() != nil {
		return cli.ModelTrouble(ctx, err)
	}
	advice := ""
	switch {
	case errors.Is(err, draft.ErrUnusable):
		advice = "; describe the task in more detail, or choose another model for execute_plan in [models.overrides]"
	case errors.As(err, new(*llm.LengthError)): // the error text says which limit to raise
	default:
		return cli.ModelTrouble(ctx, err) // also for an answer cut off by a server failure, which is not the model's fault
	}
	return cli.Fail(cli.ExitFailed, fmt.Errorf("the model's plan is not usable: %w", err),
		"nothing was written; the answer is in .runplan/raw.sqlite under task %s%s", id, advice)
}

// planFile returns the path for the plan, or "" for standard output. It rejects an existing file before any model is
// asked.
func planFile(p *cli.Project, task string, o planOptions) (string, error) {
	path := o.out
	switch path {
	case "-":
		return "", nil
	case "":
		first, _, _ := strings.Cut(task, "\n")
		if o.from != "" {
			first = strings.TrimSuffix(filepath.Base(o.from), filepath.Ext(o.from))
		}
		name := time.Now().Format(time.DateOnly) + "-" + cli.SlugOf(strings.ReplaceAll(first, ".", " ")) + ".md"
		path = filepath.Join(p.Repo.Root, "docs", "plans", name)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return "", cli.Usage(fmt.Errorf("--out %s is a folder", path), "give the path of a file")
	} else if err == nil && !o.force {
		return "", cli.Usage(fmt.Errorf("%s already exists", path), "give another file: --out FILE; or overwrite it: --force")
	}
	return path, nil
}

// writePlan writes the plan. It does not overwrite a file that appeared in the meantime.
func writePlan(path, text string, force bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	how := os.O_EXCL
	if force {
		how = os.O_TRUNC
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return cli.Usage(fmt.Errorf("%s was created meanwhile", path), "it was not changed; give another file: --out FILE")
	}
	if err == nil {
		_, err = f.WriteString(text)
		err = cmp.Or(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}

func showMade(a *cli.App, path, id string, made solver.Planned) error {
	shown := cli.Rel(path)
	if a.JSON {
		out := madePlan{
			Task: id, Path: shown, Plan: made.Artifact, Model: made.Model, Context: append([]string{}, made.Context.Paths()...),
			Calls: made.Calls, Tokens: made.Tokens,
			LatencyMS: made.Took.Milliseconds(),
		}
		if path == "" {
			out.Markdown = made.Markdown
		}
		return cli.AsJSON(a.Stdout, out)
	}
	if path == "" {
		fmt.Fprint(a.Stdout, made.Markdown)
		return nil
	}
	fmt.Fprintln(a.Stdout, shown)
	fmt.Fprintf(a.Stderr, "%d batch(es); read it, then: runplan %s --agent solver\n", len(made.Artifact.Batches), shown)
	return nil
}
