package git

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/runplan/runplan/internal/proc"
)

// Clone makes a clone of the repository at url, with nothing checked out. dir must not be there.
func Clone(ctx context.Context, url, dir string, env []string) error {
	_, err := proc.Output(ctx, proc.Cmd{
		Args: []string{"git", "clone", "--quiet", "--no-checkout", "--no-tags", "--", url, dir}, Dir: filepath.Dir(dir),
		Env: quiet(env),
	})
	if err != nil {
		return fmt.Errorf("clone the shared repository: %w", err)
	}
	return nil
}
