package learn

import (
	"testing"

	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/history"
	"github.com/runplan/runplan/training/plan"
)

// With default settings, export takes each example that bootstrap makes.
func TestDefaultPlanTakesBootstrapExamples(t *testing.T) {
	longest := plan.For(training.ExecuteCode).Hyperparameters.MaxSequenceLength
	if most := history.DefaultBudget().Window; most > longest {
		t.Errorf("bootstrap makes examples of %d tokens, and the default plan takes %d", most, longest)
	}
}
