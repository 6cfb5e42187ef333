package learn

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/adapters"
	"github.com/runplan/runplan/internal/cli/models"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training/advise"
)

// advice holds the flags with which a model takes part in a decision about training.
type advice struct {
	ask    bool
	budget models.BudgetFlags
}

func (o *advice) add(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&o.ask, "ask-model", false, usage)
	o.budget.Add(cmd)
}

// adviser returns what asks the model of a stage. Its questions are in the log under task.
func (o *advice) adviser(ctx context.Context, p *cli.Project, stage llm.Stage, task string) (advise.Adviser, error) {
	var none advise.Adviser
	if err := models.Unsaid(p, llm.Reasoning, o.budget); err != nil {
		return none, err
	}
	budget, err := o.budget.Budget(p.Config, llm.Reasoning)
	if err != nil {
		return none, err
	}
	m, err := p.Model(ctx, stage)
	if err != nil {
		return none, err
	}
	m.Window = budget.Window
	budget.Reserved = max(budget.Reserved, m.MaxTokens)
	if err := budget.Validate(); err != nil {
		return none, cli.Usage(err, "lower models.max_tokens, or give a larger window if the model takes it")
	}
	prompts, err := p.Prompts(advise.LoadPrompts)
	if err != nil {
		return none, err
	}
	if err := p.TrustConfig(); err != nil {
		return none, err
	}
	asked := 0
	logged := cli.Explained(p.Logged(llm.New(p.ModelOptions(nil)), task, string(stage)))
	return advise.Adviser{Model: m, Prompts: prompts, Budget: budget, Redact: adapters.Guard(p).Redact,
		LLM: llm.CompleterFunc(func(ctx context.Context, r llm.Request) (llm.Response, error) {
			asked++
			fmt.Fprintf(p.Stderr, "question %d to model %s\n", asked, ui.Sanitize(m.Label()))
			return logged.Complete(ctx, r)
		})}, nil
}

// unasked rejects flags that only a question to a model uses.
func (o *advice) unasked() error {
	if !o.ask && o.budget.Given() {
		return cli.Usage(errors.New("a budget is for a model, but no model is asked"), "add --ask-model, or omit the budget")
	}
	return nil
}
