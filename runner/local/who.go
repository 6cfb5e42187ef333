package local

import (
	"cmp"
	"fmt"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/runner"
)

// agent returns the agent that performs c: the run's own, or a fallback.
func (w *work) agent(c runner.Command) (agents.Agent, error) {
	if c.Agent == "" || c.Agent == w.Agent.Name() {
		return w.Agent, nil
	}
	for _, a := range w.Fallback {
		if a.Name() == c.Agent {
			return a, nil
		}
	}
	return nil,
		fmt.Errorf(
			"batch %s needs agent %s, which this session does not have; stop it, check [run] fallback, and "+
				"resume", c.Batch, c.Agent)
}

// model returns the model for the agent. The model of the run's own agent does not apply to others.
func (w *work) model(c runner.Command) string {
	if c.Agent != "" && c.Agent != w.Agent.Name() {
		return c.Model
	}
	return cmp.Or(c.Model, w.info.Model)
}

// worker names who did the work that a batch is committed with.
func (w *work) worker(batch string) string {
	return cmp.Or(w.factsOf(batch, "").agent, w.Agent.Name())
}
