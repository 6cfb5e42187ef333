package owner

import (
	"context"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/feedback/critique"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/cli/run"
	"github.com/runplan/runplan/llm"
)

// critique checks one step of an agent with the critic that runs use. If critique is off, no model is asked.
func (l *selfFix) critique(ctx context.Context, t feedback.Turn) (feedback.Critique, error) {
	c := l.project.Config.Critique
	if !c.Enabled {
		return feedback.Critique{},
			&feedback.Blocked{What: "the critique is off",
				Do: "set critique.enabled in .runplan/config.toml; see docs/critique.md"}
	}
	x := &run.Execution{Prepared: prepare.Prepared{App: l.app, Project: l.project}}
	model, o, err := x.CriticModel(ctx, l.app.ModelOptions(l.project, l.reaper))
	if err != nil {
		return feedback.Critique{}, err
	}
	prompts, err := critique.LoadPrompts(l.project.Prompts())
	if err != nil {
		return feedback.Critique{}, cli.Usage(err, "correct the project's prompts, or remove them")
	}
	w := critique.Watch(ctx, critique.Options{
		LLM: l.app.Logged(l.project, llm.New(o), cli.NewTaskID(), run.CritiqueCall), Model: model, Prompts: prompts,
		MaxCalls: 1, Queue: 1, Wait: time.Duration(c.Wait), Redact: o.Redact,
	}, critique.Attempt{Dir: l.project.Repo.Root, Task: t.Task})
	w.Step(agents.Step{Tool: t.Tool, Input: string(t.Input)})
	seen := w.Close()
	return feedback.Critique{High: seen.High, Kept: seen.Kept, Looked: seen.Looked > 0, Note: seen.Note()}, nil
}
