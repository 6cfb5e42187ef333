package models

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
)

// Solving holds the resolved parameters for asking a model with repository context.
type Solving struct {
	role   llm.Role
	Budget tokens.Budget
	Stages []string
	Loops  int
}

// SolvingOf combines flags and settings. The budget is the window of the model for stage (BUD-03).
func SolvingOf(p *cli.Project, o cli.SolveOptions, stage llm.Stage) (Solving, error) {
	s := Solving{role: llm.RoleOf(stage), Budget: o.Budget}
	if !p.Config.Models.Configured() {
		return s, cli.Usage(llm.ErrNoModels, "")
	}
	var err error
	if s.Budget.Window == 0 {
		if s.Budget, err = configuredBudget(p.Config, s.role); err != nil {
			return s, err
		}
	}
	s.Budget.Margin = p.Config.Models.Margin
	if err := s.Budget.Validate(); err != nil {
		return s, cli.Usage(err, "correct [budget] in .runplan/config.toml")
	}
	if s.Stages, err = namedStages(cmp.Or(o.Stages, p.Config.Stages.Default)); err != nil || stage != llm.ExecuteCode {
		return s, err
	}
	loops := cmp.Or(o.Loops.N, p.Config.Solve.MaxRefinementLoops)
	if loops == nil {
		return s, cli.Usage(errors.New("solve.max_refinement_loops is not set"),
			"use --max-refinement-loops, or set it in .runplan/config.toml; 0 means never")
	}
	s.Loops = *loops
	return s, nil
}

// Need is a required parameter without a default (CFG-05).
type Need struct {
	Key, Flag string
	Said      bool // the parameter has a value
}

// NeedStages returns the need for stages of retrieval.
func NeedStages(p *cli.Project, stages string) Need {
	return Need{"stages.default", "--stages", cmp.Or(stages, p.Config.Stages.Default) != ""}
}

// Unsaid reports all missing parameters at once if more than one is missing (ERR-01). Otherwise a new user would find
// them one by one.
func Unsaid(p *cli.Project, role llm.Role, b BudgetFlags, more ...Need) error {
	c, figures := p.Config, b.Given()
	var list []string
	for _, x := range append([]Need{
		{"budget.context_window", "--context-window", figures || configuredWindow(c, role) > 0},
		{"budget.reserved_tokens", "--reserved-tokens", figures || c.Source("budget.reserved_tokens") != "default"},
	}, append(more, Need{"models.coding, models.reasoning", "runplan init", c.Models.Configured()})...) {
		if !x.Said {
			list = append(list, fmt.Sprintf("%s (%s)", x.Key, x.Flag))
		}
	}
	if len(list) < 2 {
		return nil // a single missing parameter is reported where it is used
	}
	return cli.Usage(fmt.Errorf("missing: %s", strings.Join(list, ", ")),
		"use the flags, or set the keys in .runplan/config.toml; they depend on your models, so they have no defaults")
}

// Attempts returns the number of attempts for a batch: the flag, else the setting. The solver has no default, because
// each attempt uses model time (SOLVE-06).
func Attempts(p *cli.Project, flag int, agent string) (int, error) {
	n := cmp.Or(flag, p.Config.Run.MaxAttempts)
	if agent == solver.Name {
		n = cmp.Or(flag, p.Config.Solve.MaxAttempts)
		if n == 0 {
			return 0, cli.Usage(errors.New("missing: --max-attempts or solve.max_attempts"),
				"it has no default, because each attempt takes model time")
		}
	}
	if n < 1 {
		return 0, cli.Usage(fmt.Errorf("--max-attempts %d: must be at least 1", n), "")
	}
	return n, nil
}

// namedStages parses a list of stages and keeps its order. There is no default (CFG-05).
func namedStages(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, cli.Usage(errors.New("no stages are named"),
			"give --stages scope,precision, or set stages.default in .runplan/config.toml")
	}
	out := lists.Map(strings.Split(text, ","), strings.TrimSpace)
	if err := retrieve.CheckStages(out); err != nil {
		return nil, cli.Usage(err, "")
	}
	return out, nil
}

// AddStages adds the flag for the stages.
func AddStages(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "stages", "",
		"stages that retrieve context, in order: scope,precision (default stages.default)")
}

// OpenSolving opens the index and the models of a project, and checks that each required model has a name. The caller
// opens the log.
func OpenSolving(ctx context.Context, p *cli.Project, s Solving, reaper *proc.Reaper) (*Tools, error) {
	r, err := openAsking(ctx, p, s.role, s.Budget.Window, reaper)
	if err != nil {
		return nil, err
	}
	execute := llm.ExecutePlan
	if s.role == llm.Coding {
		execute = llm.ExecuteCode
	}
	_, err = r.Router.Model(llm.TaskAnalysis)
	if err == nil {
		_, err = r.Router.Model(execute)
	}
	if err = cli.ModelTrouble(ctx, err); err == nil {
		r.Solver, err = p.Prompts(solver.LoadPrompts)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Finder returns a function that runs find with the completer and the session of its caller.
func (r *Tools) Finder(log retrieve.Log,
	find func(context.Context, retrieve.Deps, retrieve.Request) (retrieve.Package, error)) solver.Retrieval {
	return func(ctx context.Context, c llm.Completer, s solver.Session, req retrieve.Request) (retrieve.Package, error) {
		return find(ctx, r.deps(c, log, s), req)
	}
}

// Session opens the session of a task.
func (r *Tools) Session(ctx context.Context, task string) (solver.Session, error) {
	s, err := store.CreateSession(ctx, r.Project.Layout.Sessions(), task)
	if err != nil {
		return nil, fmt.Errorf("store the session of the task: %w", err)
	}
	return hidingSession{s, r.Redact.String}, nil
}

// hidingSession removes secrets from values before it stores them. Sessions end in the log, which is training data.
type hidingSession struct {
	*store.Session
	hide func(string) string
}

// Set stores a value without its secrets.
func (s hidingSession) Set(ctx context.Context, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("session of %s: keep %s: %w", s.Task(), key, err)
	}
	var plain any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&plain); err != nil {
		return fmt.Errorf("session of %s: keep %s: %w", s.Task(), key, err)
	}
	return s.Session.Set(ctx, key, redact.Texts(plain, s.hide, "path")) // paths are looked up again later
}
