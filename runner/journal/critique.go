package journal

import (
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/runner"
)

// Critique is the result of checking the steps of an attempt. High has the findings that the agent gets, Kept those
// that only a review gets.
type Critique struct {
	High   []gates.Finding     `json:"high_confidence_findings"`
	Kept   []gates.Finding     `json:"kept_for_review"`
	Report gates.Report        `json:"report"`
	Cost   runner.CritiqueCost `json:"cost"`
}
