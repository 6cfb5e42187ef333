package run

import (
	"context"
	"fmt"

	"github.com/runplan/runplan/agents"
)

// nobody is a placeholder for an agent that runs on another machine.
type nobody string

// Name implements [agents.Agent].
func (n nobody) Name() string { return string(n) }

// Run implements [agents.Agent]. It always fails, because this agent does not run here.
func (n nobody) Run(context.Context, agents.Task, agents.Observer) (agents.Result, error) {
	return agents.Result{}, fmt.Errorf("agent %s runs on another machine", string(n))
}
