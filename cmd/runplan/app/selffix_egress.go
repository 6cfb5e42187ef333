package app

import (
	"context"
	"os"
	"slices"
)

// fixOutlets says where fixes go, once there is feedback that they could answer: what is fetched and pushed, and what gh is
// given.
func (a *App) fixOutlets(ctx context.Context, p *project) ([]outlet, error) {
	if _, err := os.Stat(p.layout.Feedback()); err != nil {
		return nil, nil // nobody said anything that could be fixed
	}
	list, err := a.remoteOutlet(ctx, p)
	for i := range list {
		list[i].Data, list[i].When = "branches of fixes; by gh the text of their change requests, with the words of the feedback", "runplan self-fix process"
	}
	return slices.Clip(list), err
}
