package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
)

// solveOptions holds the solver flags of the command line. The settings supply what is not given; if they do not
// either, it is an error (CFG-04).
type solveOptions struct {
	stages string
	budget tokens.Budget // window 0: take it from the settings
	loops  figure
	task   string // task that a plan is made for
}

// figure is a flag for an integer that may be missing.
type figure struct{ n *int }

func (f *figure) String() string {
	if f.n == nil {
		return ""
	}
	return strconv.Itoa(*f.n)
}

func (f *figure) Type() string { return "int" }

func (f *figure) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("use a whole number, 0 or above")
	}
	f.n = &n
	return nil
}

// keep stores the given flags for a later resume.
func (o solveOptions) keep(set func(name, value string, on bool)) {
	set("stages", o.stages, o.stages != "")
	set("context-window", strconv.Itoa(o.budget.Window), o.budget.Window > 0)
	set("reserved-tokens", strconv.Itoa(o.budget.Reserved), o.budget.Window > 0)
	set("max-refinement-loops", o.loops.String(), o.loops.n != nil)
	set("task", o.task, o.task != "")
}

// take restores the flags that keep stored.
func (o *solveOptions) take(flags map[string]string) {
	o.stages, o.task = cmp.Or(o.stages, flags["stages"]), cmp.Or(o.task, flags["task"])
	if o.loops.n == nil && flags["max-refinement-loops"] != "" {
		_ = o.loops.Set(flags["max-refinement-loops"]) // it was a valid number when it was stored
	}
	if o.budget.Window == 0 {
		o.budget.Window, _ = strconv.Atoi(flags["context-window"])
		o.budget.Reserved, _ = strconv.Atoi(flags["reserved-tokens"])
	}
}

// solving holds the resolved parameters for asking a model with repository context.
type solving struct {
	role   llm.Role
	budget tokens.Budget
	stages []string
	loops  int
}

// solving combines flags and settings. The budget is the window of the model for stage (BUD-03).
func (p *project) solving(o solveOptions, stage llm.Stage) (solving, error) {
	s := solving{role: llm.RoleOf(stage), budget: o.budget}
	if !p.config.Models.Configured() {
		return s, usage(llm.ErrNoModels, "")
	}
	var err error
	if s.budget.Window == 0 {
		if s.budget, err = configuredBudget(p.config, s.role); err != nil {
			return s, err
		}
	}
	s.budget.Margin = p.config.Models.Margin
	if err := s.budget.Validate(); err != nil {
		return s, usage(err, "correct [budget] in .runplan/config.toml")
	}
	if s.stages, err = namedStages(cmp.Or(o.stages, p.config.Stages.Default)); err != nil || stage != llm.ExecuteCode {
		return s, err
	}
	loops := cmp.Or(o.loops.n, p.config.Solve.MaxRefinementLoops)
	if loops == nil {
		return s, usage(errors.New("solve.max_refinement_loops is not set"),
			"use --max-refinement-loops, or set it in .runplan/config.toml; 0 means never")
	}
	s.loops = *loops
	return s, nil
}

// need is a required parameter without a default (CFG-05).
type need struct {
	key, flag string
	said      bool
}

// unsaid reports all missing parameters at once if more than one is missing (ERR-01). Otherwise a first-time user
// would need one try for each.
func (p *project) unsaid(role llm.Role, stages string, b budgetFlags, more ...need) error {
	c, flags := p.config, b.cmd.Flags()
	figures := flags.Changed("context-window") || flags.Changed("reserved-tokens") || flags.Changed("budget-config")
	window := c.Models.CodingWindow
	if role == llm.Reasoning {
		window = c.Models.ReasoningWindow
	}
	var list []string
	for _, x := range append([]need{
		{"budget.context_window", "--context-window", figures || cmp.Or(window, c.Budget.ContextWindow) > 0},
		{"budget.reserved_tokens", "--reserved-tokens", figures || c.Source("budget.reserved_tokens") != "default"},
		{"stages.default", "--stages", cmp.Or(stages, c.Stages.Default) != ""},
	}, more...) {
		if !x.said {
			list = append(list, fmt.Sprintf("%s (%s)", x.key, x.flag))
		}
	}
	if len(list) < 2 || !c.Models.Configured() {
		return nil // a single missing parameter is reported where it is used; missing models come first
	}
	return usage(fmt.Errorf("missing: %s", strings.Join(list, ", ")),
		"use the flags, or set the keys in .runplan/config.toml; they depend on your models, so they have no defaults")
}

// attempts returns the number of attempts for a batch: the flag, else the setting. The solver has no default, because
// each attempt uses model time (SOLVE-06).
func (p *project) attempts(flag int, agent string) (int, error) {
	n := cmp.Or(flag, p.config.Run.MaxAttempts)
	if agent == solver.Name {
		n = cmp.Or(flag, p.config.Solve.MaxAttempts)
		if n == 0 {
			return 0, usage(errors.New("missing: --max-attempts or solve.max_attempts"),
				"it has no default, because each attempt takes model time")
		}
	}
	if n < 1 {
		return 0, usage(fmt.Errorf("--max-attempts %d: at least 1 is needed", n), "")
	}
	return n, nil
}

// namedStages parses a list of stages and keeps its order. There is no default (C-03).
func namedStages(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, usage(errors.New("no stages are named"),
			"give --stages scope,precision, or set stages.default in .runplan/config.toml")
	}
	var out []string
	for name := range strings.SplitSeq(text, ",") {
		out = append(out, strings.TrimSpace(name))
	}
	if err := retrieve.CheckStages(out); err != nil {
		return nil, usage(err, "")
	}
	return out, nil
}

// addStages adds the flag for the stages.
func addStages(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "stages", "",
		"stages that retrieve context, in order: scope,precision (default stages.default)")
}

// modelTools holds what is needed to ask a model.
type modelTools struct {
	*retrieval
	solver prompt.Set
}

// openSolving opens the index and the models of a project, and checks that each required model has a name. The caller
// opens the log.
func (a *App) openSolving(ctx context.Context, p *project, s solving, reaper *proc.Reaper) (*modelTools, error) {
	r, err := a.openAsking(ctx, p, s.role, s.budget.Window, reaper)
	if err != nil {
		return nil, err
	}
	t := &modelTools{retrieval: r}
	if err := t.fill(ctx, s.role); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *modelTools) fill(ctx context.Context, role llm.Role) error {
	needed := []llm.Stage{llm.TaskAnalysis, llm.ExecutePlan}
	if role == llm.Coding {
		needed[1] = llm.ExecuteCode
	}
	for _, stage := range needed {
		if _, err := t.router.Model(stage); err != nil {
			return modelTrouble(ctx, err)
		}
	}
	var err error
	if t.solver, err = solver.LoadPrompts(t.project.prompts()); err != nil {
		return usage(err, "correct the project's prompts, or remove them")
	}
	return nil
}

// finder returns a function that runs find with the completer and the session of its caller.
func (t *modelTools) finder(log retrieve.Log,
	find func(context.Context, retrieve.Deps, retrieve.Request) (retrieve.Package, error)) solver.Retrieval {
	return func(ctx context.Context, c llm.Completer, s solver.Session, r retrieve.Request) (retrieve.Package, error) {
		return find(ctx, t.deps(c, log, s), r)
	}
}
