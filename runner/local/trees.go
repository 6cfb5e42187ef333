package local

import (
	"context"

	"github.com/runplan/runplan/internal/git"
)

// Trees lends rooms to callers that run programs on trees of a history, one after the other.
type Trees struct{ rooms *rooms }

// OpenTrees reads the user's settings and makes the pool. home is the folder for runplan's own files, outside of the
// repository. The caller must close the pool.
func OpenTrees(ctx context.Context, home string, repo *git.Repo, layout Layout, setup Setup, environ []string,
	note func(string)) (*Trees, error) {
	r, err := newRooms(ctx, home, repo, layout, setup, environ, note)
	if err != nil {
		return nil, err
	}
	return &Trees{r}, nil
}

// In calls do in a room with the files of tree and with HEAD at base. do gets the room's folder, its folder for
// temporary files and its environment. In removes the files that do leaves in the room.
func (t *Trees) In(ctx context.Context, base, tree string, do func(dir, temp string, env []string) error) error {
	rm, err := t.rooms.Take(ctx, base, tree)
	if err != nil {
		return err
	}
	defer rm.Release()
	return do(rm.Dir, rm.Temp, rm.Env)
}

// Close removes the rooms.
func (t *Trees) Close(ctx context.Context) error { return t.rooms.Close(ctx) }
