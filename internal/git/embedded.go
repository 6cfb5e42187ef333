package git

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// dropEmbedded turns repositories inside the workspace, as scaffolding tools create them, into plain folders. Otherwise
// git would record only a gitlink, or refuse to commit. Submodules, whose .git is a file, and ignored folders stay. It
// reports whether there was one.
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
		// If the index has it already, it has a gitlink; the files replace that.
		_, err = w.Run(ctx, "rm", "--quiet", "--cached", "--force", "--ignore-unmatch", "--", path)
		return err
	})
	return found, err
}
