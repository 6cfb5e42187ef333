package owner

import (
	"context"
	"os"
	"slices"

	"github.com/runplan/runplan/internal/cli"
)

// FixOutlets reports where fixes send data: what git fetches and pushes, and what gh receives. Without feedback it
// returns nothing.
func FixOutlets(ctx context.Context, a *cli.App, p *cli.Project) ([]cli.Outlet, error) {
	if _, err := os.Stat(p.Layout.Feedback()); err != nil {
		return nil, nil // there is no feedback to fix
	}
	list, err := a.RemoteOutlet(ctx, p)
	for i := range list {
		list[i].Data, list[i].When = "branches of fixes; through gh the text of their change requests, with the words of "+
			"the "+
			"feedback", "runplan self-fix process"
	}
	return slices.Clip(list), err
}
