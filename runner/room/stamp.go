package room

import (
	"io/fs"
	"os"
	"path/filepath"
)

// stamp identifies a state of a file without reading it. Programs cannot set the change time, so a file that was
// rewritten and restored has another stamp.
type stamp struct {
	mode   fs.FileMode
	size   int64
	mtime  int64 // nanoseconds since 1970
	change int64 // nanoseconds since 1970; 0 if the system does not report it
	inode  uint64
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{mode: info.Mode(), size: info.Size(), mtime: info.ModTime().UnixNano()}
	if s.mode.IsDir() {
		return stamp{mode: s.mode} // entries come and go in a folder; each of them is checked
	}
	s.change, s.inode = systemStamp(info)
	return s
}

// stampTree stamps all files below dir that want accepts, by path relative to it with slashes. Folders that want
// refuses are not entered.
func stampTree(dir string, want func(rel string, d fs.DirEntry) bool) (map[string]stamp, error) {
	out := map[string]stamp{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) {
				return nil
			}
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		if !want(rel, d) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		out[rel] = stampOf(info)
		return nil
	})
	return out, err
}

// stampFolder stamps everything below dir, folders included, and dir itself as ".".
func stampFolder(dir string) (map[string]stamp, error) {
	out := map[string]stamp{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		out[rel] = stampOf(info)
		return err
	})
	return out, err
}
