package app

import (
	"context"
	"os"
	"slices"
)

// fixOutlets reports where fixes send data: what git fetches and pushes, and what gh receives. Without feedback it
// returns nothing.
func (a *App) fixOutlets(ctx context.Context, p *project) ([]outlet, error) {
	if _, err := os.Stat(p.layout.Feedback()); err != nil {
		return nil, nil // there is no feedback to fix
	}
	list, err := a.remoteOutlet(ctx, p)
	for i := range list {
		list[i].Data, list[i].When = "branches of fixes; by gh the text of their change requests, with the words of the "+
			"feedback", "runplan self-fix process"
	}
	return slices.Clip(list), err
}
