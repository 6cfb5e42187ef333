package runner

import "github.com/runplan/runplan/agents"

// CritiqueCost is the cost of checking an attempt's steps, which the agent's own usage does not include.
type CritiqueCost struct {
	Model string       `json:"model,omitempty"`
	Calls int          `json:"calls"`
	Usage agents.Usage `json:"usage"`
}
