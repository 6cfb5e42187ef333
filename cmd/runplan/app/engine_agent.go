package app

import (
	"context"
	"fmt"

	"github.com/runplan/runplan/agents"
)

// nobody stands for an agent that works somewhere else.
type nobody string

// Name implements [agents.Agent].
func (n nobody) Name() string { return string(n) }

// Run implements [agents.Agent]: nobody is asked to work here.
func (n nobody) Run(context.Context, agents.Task, agents.Observer) (agents.Result, error) {
	return agents.Result{}, fmt.Errorf("agent %s works somewhere else", string(n))
}
