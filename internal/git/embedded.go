package git

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// dropEmbedded turns repositories that somebody made inside of the workspace, as scaffolding tools do, into
// plain folders: git would commit a mere link to them, or refuse to commit at all. Submodules, whose .git is
// a file, and what is ignored stay as they are. It reports whether there was one.
func (w *Workspace) dropEmbedded(ctx context.Context) (bool, error) {
	found := false
	err := filepath.WalkDir(w.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || path == w.Dir {
			return err
		}
		git := filepath.Join(path, ".git")
		if info, err := os.Lstat(git); err != nil || !info.IsDir() {
			return nil
		}
		if _, err := w.Run(ctx, "check-ignore", "--quiet", "--", path); err == nil {
			return filepath.SkipDir
		}
		found = true
		if err := os.RemoveAll(git); err != nil {
			return err
		}
		// Where it is in the index already it is there as a link; its files take that place.
		_, err = w.Run(ctx, "rm", "--quiet", "--cached", "--force", "--ignore-unmatch", "--", path)
		return err
	})
	return found, err
}
