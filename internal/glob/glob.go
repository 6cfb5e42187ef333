// Package glob finds files by patterns below a folder.
package glob

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Below returns the paths below a folder that match a pattern with slashes, sorted. In the path of the folder itself,
// which the user chose, no character has a meaning: [filepath.Glob] finds nothing in a folder such as shop[1].
func Below(dir, pattern string) []string {
	names, _ := fs.Glob(os.DirFS(dir), pattern) // only a bad pattern is an error
	for i, name := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return names
}
