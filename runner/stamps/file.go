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
// matters for the large programs in PATH.
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

// mostNames is the number of entries up to which the names in a folder are kept in memory.
const mostNames = 4096

// dirNames holds the names in a folder, so that files that do not exist need not be looked for one by one: there are
// thousands of places where a tool could find settings, and nearly all of them are empty.
type dirNames struct {
	path    string
	state   string   // of the folder when its names were read; "" if it does not exist
	settled bool     // a later change of its entries changes state
	names   []string // nil if there are none or too many
	lower   map[string]bool
	many    bool // it has more than mostNames entries
}

// refresh reads the names again unless the folder is certainly unchanged.
func (f *dirNames) refresh() {
	state, settled := folderState(f.path)
	if state == f.state && f.settled {
		return
	}
	f.state, f.settled, f.names, f.lower, f.many = state, settled, nil, nil, false
	if state == "" {
		return
	}
	dir, err := os.Open(f.path)
	if err != nil {
		f.many = true // files in a folder that cannot be listed can be opened
		return
	}
	defer dir.Close()
	names, err := dir.Readdirnames(mostNames + 1)
	if f.many = len(names) > mostNames; f.many {
		return
	}
	if err != nil && len(names) == 0 {
		return // empty, or no folder
	}
	f.names, f.lower = names, make(map[string]bool, len(names))
	for _, name := range names {
		f.lower[strings.ToLower(name)] = true // some file systems do not tell Gemfile from gemfile
	}
}

// lacks reports whether there is certainly no such name, which is in lower case.
func (f *dirNames) lacks(name string) bool { return !f.many && !f.lower[name] }

// match returns the paths in the folder that a pattern for names matches.
func (f *dirNames) match(pattern string) []string {
	names := f.names
	if f.many {
		names, _ = fs.Glob(os.DirFS(f.path), pattern)
	}
	var found []string
	for _, name := range names {
		if ok, err := filepath.Match(pattern, name); ok && err == nil {
			found = append(found, filepath.Join(f.path, name))
		}
	}
	return found
}
