package stamps

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/internal/atomicfile"
)

// File is the content of a file. The data of a symbolic link is its target.
type File struct {
	Mode fs.FileMode
	Data string
}

// Read returns the file at path without following a symbolic link. It reports false for a path that does not exist
// and for everything that is neither a regular file nor a link: opening a named pipe would block.
func Read(path string) (File, bool) {
	fi, err := os.Lstat(path)
	switch {
	case err != nil:
		return File{}, false
	case fi.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return File{fs.ModeSymlink, to}, err == nil
	case !fi.Mode().IsRegular():
		return File{}, false
	}
	data, err := readString(path, fi.Size())
	return File{fi.Mode().Perm(), data}, err == nil
}

// readString returns the content of a file of about size bytes. Unlike [os.ReadFile], it needs no second copy, which
// counts for the programs in PATH.
func readString(path string, size int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	b.Grow(int(size))
	_, err = f.WriteTo(&b)
	return b.String(), err
}

// Put restores path to was, or removes it if it did not exist. A regular file is replaced in one step.
func Put(path string, was File, had bool) error {
	if fi, err := os.Lstat(path); err == nil && (!had || fi.IsDir() || was.Mode&fs.ModeSymlink != 0) {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	switch {
	case !had:
		return nil
	case was.Mode&fs.ModeSymlink != 0:
		return os.Symlink(was.Data, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := atomicfile.WriteLoose(path, []byte(was.Data), was.Mode.Perm()); err != nil {
		return err
	}
	return os.Chmod(path, was.Mode.Perm()) // the umask may have removed bits
}
