package training

import (
	"context"

	"github.com/runplan/runplan/internal/store"
)

// OpenLedger opens the journal at path for training records: plans, datasets, adapters and outcomes of code. All
// access goes through it (DB-13). It creates a missing journal.
func OpenLedger(ctx context.Context, path string) (*store.Training, error) {
	return store.OpenTraining(ctx, path)
}
