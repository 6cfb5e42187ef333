package judge

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/patterns"
)

// SummaryOptions returns the options for summaries of the repository at root.
func SummaryOptions(ctx context.Context, a *cli.App, root string) (summary.Options, error) {
	program, err := a.AstGrep(ctx)
	if err != nil && !errors.Is(err, patterns.ErrMissing) {
		return summary.Options{}, cli.Fail(cli.ExitCannotRun, err, "")
	}
	program.Env = a.Environ
	return summary.Options{Root: root, Program: program, Own: summary.Own(os.DirFS(root))}, nil
}

// BlueprintReviewer returns the model of [models] for the stage review, or nil if none is configured.
func (x *Inspection) BlueprintReviewer(ctx context.Context) (*blueprint.Reviewer, error) {
	p := x.Project
	m, ok := x.mayReview(ctx, "review blueprints")
	if !ok {
		return nil, nil
	}
	prompts, err := blueprint.LoadPrompts(p.Prompts())
	if err != nil {
		return nil, cli.Usage(err, "correct the project's prompts, or remove them")
	}
	return &blueprint.Reviewer{
		Deps: blueprint.Deps{Prompts: prompts, Now: time.Now, NewID: cli.NewTaskID, Hide: x.Subject.Redact},
		Sources: func(ctx context.Context, root string) (summary.Options, error) {
			return SummaryOptions(ctx, x.App, root)
		}, Model: m, LLM: x.App.Logged(p, x.completer(x.App.ModelOptions(p, nil), m), cmp.Or(x.Task, cli.NewTaskID()),
			cli.BlueprintCall),
	}, x.forPrograms(m.Provider == llm.Command)
}
