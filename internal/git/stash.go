package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Stash is one entry of the list of stashes, which all worktrees share.
type Stash struct{ Hash, Message string }

// Stashes returns the list, oldest first. It is read from the file that git keeps it in.
func (r *Repo) Stashes() ([]Stash, error) {
	data, err := os.ReadFile(filepath.Join(r.Common, "logs", "refs", "stash"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the stashes of %s: %w", r.Root, err)
	}
	var list []Stash
	for line := range strings.Lines(string(data)) {
		head, message, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if f := strings.Fields(head); len(f) > 1 {
			list = append(list, Stash{f[1], message})
		}
	}
	return list, nil
}
