package git

import (
	"context"
	"errors"
	"strings"

	"github.com/runplan/runplan/internal/proc"
)

// Ignored returns those of paths that git ignores in the workspace. What git has in its index is never among
// them.
func (w *Workspace) Ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	ignored := map[string]bool{}
	if len(paths) == 0 {
		return ignored, nil
	}
	out, err := proc.Output(context.WithoutCancel(ctx), proc.Cmd{
		Args: []string{"git", "check-ignore", "-z", "--stdin"}, Dir: w.Dir, Env: w.env,
		Stdin: strings.NewReader(strings.Join(paths, "\x00") + "\x00"),
	})
	var exit *proc.ExitError
	if errors.As(err, &exit) && exit.Code == 1 {
		return ignored, nil // none of them
	}
	for p := range strings.SplitSeq(string(out), "\x00") {
		ignored[p] = p != ""
	}
	return ignored, err
}
