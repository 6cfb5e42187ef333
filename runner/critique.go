package runner

import "github.com/runplan/runplan/agents"

// CritiqueCost is the cost of checking an attempt's steps. The agent's own usage does not include it.
type CritiqueCost struct {
	Model string       `json:"model,omitempty"`
	Calls int          `json:"calls"`
	Usage agents.Usage `json:"usage"`
}
