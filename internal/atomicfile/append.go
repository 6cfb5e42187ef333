package atomicfile

import (
	"fmt"
	"io/fs"
	"os"
)

// Append opens a file to add to it, and makes it if it does not exist. It follows no symbolic link at path and waits on
// no named pipe: both are errors.
func Append(path string, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR|noFollow, perm)
	if err != nil {
		if fi, lerr := os.Lstat(path); lerr == nil && !fi.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a regular file but %s; remove it", path, fi.Mode().Type())
		}
		return nil, err
	}
	switch fi, err := os.Lstat(path); {
	case err != nil:
	case !fi.Mode().IsRegular():
		f.Close()
		return nil, fmt.Errorf("%s is not a regular file but %s; remove it", path, fi.Mode().Type())
	}
	return f, nil
}
