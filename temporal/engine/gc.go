package engine

import (
	"context"
	"time"

	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/temporal/shared"
)

// Leftovers lists the leftovers of runs in the shared repository and their local copies. Those of finished runs
// stay for the time keep; active runs lose nothing.
func (e *Engine) Leftovers(ctx context.Context, keep time.Duration) ([]local.Leftover, error) {
	return e.sharedRepo("", "").SharedLeftovers(ctx, shared.SharedRules{Keep: keep, Now: e.Now(), Live: e.Live})
}

// Remove removes one thing that [Engine.Leftovers] listed for removal.
func (e *Engine) Remove(ctx context.Context, x local.Leftover) error {
	return e.sharedRepo("", "").RemoveShared(ctx, x)
}
