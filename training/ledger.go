package training

import (
	"context"

	"github.com/runplan/runplan/internal/store"
)

// OpenLedger opens the journal at path for what belongs to training: plans, datasets, adapters, and what became of code.
// It is the one door to them (DB-13), and makes the journal where it is missing.
func OpenLedger(ctx context.Context, path string) (*store.Training, error) {
	return store.OpenTraining(ctx, path)
}
