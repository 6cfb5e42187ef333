package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// Ignored returns those of paths that git ignores in the workspace. It never includes paths in the index; it does
// include paths below a symbolic link.
func (w *Workspace) Ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	ignored := map[string]bool{}
	var ask []string
	for _, p := range paths {
		if w.Blocked(p) != "" {
			ignored[p] = true // git refuses to look there
		} else {
			ask = append(ask, p)
		}
	}
	more, err := checkIgnore(ctx, w.Dir, w.env, ask)
	for _, p := range more {
		ignored[p] = true
	}
	return ignored, err
}

// Ignored returns those of paths that git ignores in the user's checkout.
func (r *Repo) Ignored(ctx context.Context, paths []string) ([]string, error) {
	return checkIgnore(ctx, r.Root, r.env, paths)
}

func checkIgnore(ctx context.Context, dir string, env, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	stdin := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := call(ctx, dir, env, stdin, "check-ignore", "-z", "--stdin")
	if exitStatus(err) == 1 {
		return nil, nil // none of them
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 }), err
}

// Blocked returns the first folder on the way to path that is not a folder, usually a link, or "".
func (w *Workspace) Blocked(path string) string {
	for i, c := range path {
		if c != '/' {
			continue
		}
		info, err := os.Lstat(filepath.Join(w.Dir, filepath.FromSlash(path[:i])))
		if err != nil {
			return "" // the path does not exist, so nothing blocks it
		}
		if !info.IsDir() {
			return path[:i]
		}
	}
	return ""
}
