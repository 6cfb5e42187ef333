package models

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
)

type retrieveOptions struct {
	plan   string
	stages string
	text   bool
	alone  bool
	budget BudgetFlags
}

// NewRetrieveCommand returns the command retrieve.
func NewRetrieveCommand(a *cli.App) *cobra.Command {
	var o retrieveOptions
	cmd := a.Command(cli.With{Exits: "0 1 2 5 130", Repo: true, Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "retrieve TASK",
		Short: "Show the context that a model would get for a task",
		Long: `Select the parts of a repository that a model needs for a task: which files, which of their symbols, and
how much of each, within the budget of the model that would do it. First the index is searched, then
the reasoning model judges. Nothing in the repository is changed.

The table goes to standard output, with the reason for each piece; --text prints the
context itself. Every question to a model and every decision is in .runplan/raw.sqlite.

With --no-model only the index decides: a search over the text of all files, their names, files that
changed together, and the words of earlier commits. It needs only a budget as configuration.

Stages are scope (which files) and precision (which symbols). The budget comes from the two flags,
or a file, or [budget] of the configuration; there is no default.

  runplan retrieve 'Cart.total is one cent off' --stages scope,precision --context-window 32768 --reserved-tokens 4096
  runplan retrieve 'Cart.total is one cent off' --no-model --context-window 16000 --reserved-tokens 0 --text
  runplan retrieve --plan plan.md 'Batch 2: round once'     files of the plan come first`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || strings.TrimSpace(args[0]) == "" {
				return cli.Usage(fmt.Errorf("%s needs a task, in quotes", cmd.CommandPath()), "see: %s --help", cmd.CommandPath())
			}
			return nil
		},
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return errors.Join(cli.AtMostOne(cmd, "text", "json"), cli.AtMostOne(cmd, "no-model", "stages"))
		},
		RunE: a.StoppableInProject(o.retrieveFor),
	})
	f := cmd.Flags()
	f.StringVar(&o.plan, "plan", "", "plan whose files come first")
	AddStages(cmd, &o.stages)
	f.BoolVar(&o.alone, "no-model", false, "ask no model: show the ranking of the index")
	f.BoolVar(&o.text, "text", false, "print the context as the model would get it")
	o.budget.Add(cmd)
	return cmd
}

func (o *retrieveOptions) retrieveFor(ctx context.Context, p *cli.Project, args []string) error {
	var err error
	stages := retrieve.StageNames() // without a model, no stage runs
	if !o.alone {
		if err := Unsaid(p, llm.Coding, o.budget, NeedStages(p, o.stages)); err != nil {
			return err
		}
		if stages, err = namedStages(cmp.Or(o.stages, p.Config.Stages.Default)); err != nil {
			return err
		}
	}
	budget, err := o.budget.Budget(p.Config, llm.Coding)
	if err != nil {
		return err
	}
	files, err := planFiles(o.plan)
	if err != nil {
		return err
	}
	if err := p.TrustConfig(); err != nil {
		return err
	}
	var r *Tools
	if o.alone {
		r, err = openSearch(ctx, p)
	} else {
		r, err = openRetrieval(ctx, p, budget)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	id, coder := cli.NewTaskID(), noModel
	if !o.alone {
		model, err := r.Router.Model(llm.ExecuteCode)
		if err != nil {
			return cli.ModelTrouble(ctx, err)
		}
		coder = model.Label()
	}
	start := store.Task{
		ID: id, Repo: p.Repo.Root, Mode: store.ModeRetrieve, Model: coder, Window: budget.Window, Reserved: budget.Reserved,
		Stages: stages, Plan: o.plan, At: time.Now(),
	}
	if err := r.Journal.StartTask(ctx, start); err != nil {
		return err
	}
	session, err := r.Session(ctx, id)
	if err != nil {
		return err
	}
	deps := r.deps(r.LLM, r.Journal, session)
	deps.Info = func(text string) { fmt.Fprintf(p.Stderr, "note: %s\n", ui.Sanitize(text)) }
	pkg, err := retrieve.Retrieve(ctx, deps,
		retrieve.Request{Task: id, Text: args[0], Dir: p.Repo.Root, Stages: stages, Budget: budget, Files: files})
	err = errors.Join(err, r.PutAway(ctx, session, id),
		r.Journal.FinishTask(context.WithoutCancel(ctx), id, store.TaskEnd{Success: err == nil}))
	if err != nil {
		return Unmatched(p.App, id, cli.ModelTrouble(ctx, err))
	}
	return printPackage(p.App, pkg, o)
}

// Unmatched returns err. With --json it first prints an object if err says that nothing matches the task.
func Unmatched(a *cli.App, task string, err error) error {
	none, ok := errors.AsType[*retrieve.NoMatchError](err)
	if !ok || !a.JSON {
		return err
	}
	return cmp.Or(cli.AsJSON(a.Stdout, struct {
		Task  string `json:"task"`
		Error string `json:"error"`
		*retrieve.NoMatchError
	}{task, none.Error(), none}), err)
}

// printPackage prints a package as text for people, as a prompt, or as JSON.
func printPackage(a *cli.App, pkg retrieve.Package, o *retrieveOptions) error {
	switch {
	case a.JSON:
		return cli.AsJSON(a.Stdout, struct {
			retrieve.Package
			Text string `json:"text"`
		}{pkg, pkg.Text()})
	case o.text:
		fmt.Fprint(a.Stdout, pkg.Text())
		return nil
	}
	var rows ui.Rows
	for _, x := range pkg.Parts {
		rows.Add(x.Tier, x.Path, cmp.Or(x.Symbol, "("+x.Kind+")"), x.Detail, x.Tokens, x.Why)
	}
	ui.Table(a.Stdout, []string{">tier", "file", "symbol", "detail", ">tokens", "why"}, rows)
	for _, d := range pkg.Dropped {
		fmt.Fprintf(a.Stderr, "omitted: %s: %s\n", ui.Sanitize(strings.TrimSuffix(d.Path+" "+d.Symbol, " ")),
			ui.Sanitize(d.Reason))
	}
	fmt.Fprintf(a.Stderr, "%d piece(s) of %d file(s), %d of %d tokens; task %s\n", len(pkg.Parts), len(pkg.Paths()),
		pkg.Tokens, pkg.Budget, pkg.Task)
	return nil
}

// planFiles returns all files that the batches of a plan name, without duplicates.
func planFiles(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	plan, _, err := cli.ReadPlan(path)
	if err != nil {
		return nil, err
	}
	if err := cli.Invalid(path, plan); err != nil {
		return nil, err
	}
	var out []string
	for _, b := range plan.Batches {
		for _, f := range slices.Concat(b.Files.Modify, b.Files.Create, b.Files.Test, b.Files.Delete) {
			out = lists.Add(out, f)
		}
	}
	return out, nil
}

// BudgetFlags holds the flags for the size of a prompt (BUD-08).
type BudgetFlags struct {
	window   int
	reserved int
	file     string
	cmd      *cobra.Command
}

// Add adds the flags to a command.
func (f *BudgetFlags) Add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.window, "context-window", 0,
		"maximum number of tokens of prompt and answer of the executing model together")
	cmd.Flags().IntVar(&f.reserved, "reserved-tokens", 0,
		"tokens of the window reserved for instructions, task, retries and answer")
	cmd.Flags().StringVar(&f.file, "budget-config", "", "TOML file with context_window and reserved_tokens")
	f.cmd = cmd
}

// Given reports whether one of the flags is on the command line.
func (f *BudgetFlags) Given() bool {
	return slices.ContainsFunc([]string{"context-window", "reserved-tokens", "budget-config"}, f.cmd.Flags().Changed)
}

// Budget returns the token budget for the model of a role. It takes flags, else the file, else the settings, and never
// mixes them. There is no default (CFG-05).
func (f *BudgetFlags) Budget(c *config.Loaded, role llm.Role) (tokens.Budget, error) {
	window, reserved, file := f.cmd.Flags().Changed("context-window"), f.cmd.Flags().Changed("reserved-tokens"),
		f.cmd.Flags().Changed("budget-config")
	b := tokens.Budget{Window: f.window, Reserved: f.reserved}
	var err error
	switch {
	case file && (window || reserved):
		return b, cli.Usage(errors.New("--budget-config excludes --context-window and --reserved-tokens"),
			"give the file, or the two figures")
	case window != reserved:
		return b, cli.Usage(errors.New("--context-window and --reserved-tokens require each other"), "give both")
	case file:
		b, err = readBudget(f.file)
	case !window:
		b, err = configuredBudget(c, role)
	}
	if err != nil {
		return b, err
	}
	b.Margin = c.Models.Margin
	if err := b.Validate(); err != nil {
		return b, cli.Usage(err,
			"the reserved tokens must be fewer than the window, such as --context-window 32768 --reserved-tokens 4096")
	}
	return b, nil
}

// readBudget reads a file that contains exactly these two numbers.
func readBudget(path string) (b tokens.Budget, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return b, cli.Usage(fmt.Errorf("read the budget: %w", err), "--budget-config needs a TOML file")
	}
	var in struct {
		Window   *int `toml:"context_window"`
		Reserved *int `toml:"reserved_tokens"`
	}
	hint := "write two lines: context_window = 32768 and reserved_tokens = 4096"
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&in); err != nil {
		if errors.As(err, new(*toml.StrictMissingError)) {
			err = errors.New("the file has other keys")
		}
		return b, cli.Usage(fmt.Errorf("%s: %w", path, err), "%s", hint)
	}
	if in.Window == nil || in.Reserved == nil {
		return b, cli.Usage(fmt.Errorf("%s: context_window or reserved_tokens is missing", path), "%s", hint)
	}
	return tokens.Budget{Window: *in.Window, Reserved: *in.Reserved}, nil
}

func configuredWindow(c *config.Loaded, role llm.Role) int {
	if role == llm.Reasoning {
		return cmp.Or(c.Models.ReasoningWindow, c.Budget.ContextWindow)
	}
	return cmp.Or(c.Models.CodingWindow, c.Budget.ContextWindow)
}

// configuredBudget takes the budget from the settings: the window of the role's model, or the common window (BUD-03).
func configuredBudget(c *config.Loaded, role llm.Role) (b tokens.Budget, err error) {
	b = tokens.Budget{Window: configuredWindow(c, role), Reserved: c.Budget.ReservedTokens}
	var missing []string
	if b.Window == 0 {
		missing = append(missing, "budget.context_window")
	}
	if c.Source("budget.reserved_tokens") == "default" {
		missing = append(missing, "budget.reserved_tokens")
	}
	if len(missing) > 0 {
		return b, cli.Usage(fmt.Errorf("the budget is incomplete: %s missing", strings.Join(missing, " and ")),
			"give --context-window and --reserved-tokens, or --budget-config FILE, or set [budget] in .runplan/config.toml")
	}
	return b, nil
}
