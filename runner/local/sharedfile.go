package local

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/runplan/runplan/internal/atomicfile"
)

// sharedFile is a file of the git folder. The data of a link is where it leads.
type sharedFile struct {
	mode fs.FileMode
	data string
}

// readShared reads one file, or where a link leads. Anything else is as good as not there.
func readShared(path string) (sharedFile, bool) {
	fi, err := os.Lstat(path)
	switch {
	case err != nil:
		return sharedFile{}, false
	case fi.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return sharedFile{fs.ModeSymlink, to}, err == nil
	case !fi.Mode().IsRegular():
		return sharedFile{}, false
	}
	data, err := os.ReadFile(path)
	return sharedFile{fi.Mode().Perm(), string(data)}, err == nil
}

// putFile makes path what it was, in one step where it was a file.
func putFile(path string, was sharedFile, had bool) error {
	if fi, err := os.Lstat(path); err == nil && (!had || fi.IsDir() || was.mode&fs.ModeSymlink != 0) {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	switch {
	case !had:
		return nil
	case was.mode&fs.ModeSymlink != 0:
		return os.Symlink(was.data, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := atomicfile.WriteLoose(path, []byte(was.data), was.mode.Perm()); err != nil {
		return err
	}
	return os.Chmod(path, was.mode.Perm()) // with what a new file is not given
}
