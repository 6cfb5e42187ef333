package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/runner/stamps"
)

// settleSettings restores changed tool settings outside the repository. Users rarely change these files while an
// agent works, and a changed one would affect the gates of all later runs. So it restores each change, whatever
// its author, and keeps a copy. The caller holds the keeper's lock.
func (w *work) settleSettings(s *shift) []change {
	var changes []change
	for _, c := range w.keeper.watch.Changes() {
		told := change{name: w.display(c.Path), steers: c.Tool + ": " + c.Steers, left: c.Told, mild: c.Mild}
		if !c.Told {
			if err := w.restoreSetting(s, c, told.name); err != nil {
				w.Note(fmt.Sprintf("%s: %s changed and cannot be restored; restore it by hand: %v", s.of, told.name, err))
				told.stuck = true
			}
		}
		w.keeper.watch.Accept(c)
		changes = append(changes, told)
	}
	return changes
}

// restoreSetting restores one file, and keeps a copy of its changed state.
func (w *work) restoreSetting(s *shift, c stamps.Change, name string) error {
	note := fmt.Sprintf("%s: %s %s", s.of, name, restored(c.Had))
	if _, err := os.Lstat(c.Path); err == nil {
		kept, err := w.keepSetting(s.dir, c)
		if err != nil {
			return err
		}
		note += "; its changed content is kept in " + kept
	}
	if _, err := os.Lstat(c.Path); c.Had || err == nil {
		if err := stamps.Put(c.Path, c.Was, c.Had); err != nil {
			return err
		}
	}
	w.Note(note)
	return nil
}

// keepSetting stores the changed state of a file, and returns the path. A file or link is copied without its secrets.
// Anything else, such as a folder or a named pipe, is moved away.
func (w *work) keepSetting(dir string, c stamps.Change) (string, error) {
	to := unused(filepath.Join(dir, "found-settings-"+
		strings.TrimLeft(strings.NewReplacer("/", "-", `\`, "-", ":", "").Replace(c.Path), "-")))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if c.There && !c.Is.Mode.IsDir() {
		text := c.Is.Data
		if c.Is.Mode&fs.ModeSymlink != 0 {
			text = "link to " + text + "\n"
		}
		return DirName + "/" + w.Layout.Rel(to), atomicfile.WriteLoose(to, []byte(w.redact.String(text)), 0o600)
	}
	err := os.Rename(c.Path, to)
	if err == nil {
		return DirName + "/" + w.Layout.Rel(to), nil
	}
	near := unused(c.Path + ".found-by-runplan") // on another file system
	if again := os.Rename(c.Path, near); again != nil {
		return "", errors.Join(err, again)
	}
	return near, nil
}

// unused returns path, or path with a number that makes it an unused name.
func unused(path string) string {
	for n, first := 2, path; ; n++ {
		if _, err := os.Lstat(path); err != nil {
			return path
		}
		path = fmt.Sprintf("%s-%d", first, n)
	}
}

// display is a path as people write it: below their home with a tilde.
func (w *work) display(path string) string {
	home := proc.Getenv(w.Environ, "HOME")
	if rel, err := filepath.Rel(home, path); home != "" && err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel)
	}
	return path
}
