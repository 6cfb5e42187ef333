package runner

import "github.com/runplan/runplan/agents"

// CritiqueCost is what it took to look at the steps of an attempt, which the agent's own usage does not hold.
type CritiqueCost struct {
	Model string       `json:"model,omitempty"`
	Calls int          `json:"calls"`
	Usage agents.Usage `json:"usage"`
}
