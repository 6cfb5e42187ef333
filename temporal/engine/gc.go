package engine

import (
	"context"
	"time"

	"github.com/runplan/runplan/runner/local"
)

// Leftovers lists what runs left in the shared repository, and what this one has copies of. What is of runs that are done
// stays for as long as keep; no run that Temporal has at work loses anything.
func (e *Engine) Leftovers(ctx context.Context, keep time.Duration) ([]local.Leftover, error) {
	return e.depot("", "").SharedLeftovers(ctx, local.SharedRules{Keep: keep, Now: e.Now(), Live: e.Live})
}

// Remove removes one thing that [Engine.Leftovers] listed for removal.
func (e *Engine) Remove(ctx context.Context, x local.Leftover) error {
	return e.depot("", "").RemoveShared(ctx, x)
}
