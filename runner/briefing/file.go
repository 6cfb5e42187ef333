package briefing

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// PutSection writes the block into the context file of a workspace, for agents that read such a file on their own.
// The returned function removes the section. Call it at the end of each attempt, before any check of the
// workspace. The agent's changes outside the section stay. A file that did not exist before is removed, unless the
// agent wrote into it. file is relative to dir and may not lead out of it.
func PutSection(dir, file, block string) (undo func() error, err error) {
	fail := func(err error) error { return fmt.Errorf("write the context into %s of the workspace: %w", file, err) }
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fail(err)
	}
	before, err := root.ReadFile(file)
	made := errors.Is(err, fs.ErrNotExist)
	if err != nil && !made {
		root.Close()
		return nil, fail(err)
	}
	if err := root.WriteFile(file, Section(before, block), 0o644); err != nil {
		root.Close()
		return nil, fail(err)
	}
	return func() error {
		defer root.Close()
		now, err := root.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the agent removed it
		}
		var after []byte
		if err == nil {
			if after = WithoutSection(now); len(after) == 0 && made {
				err = root.Remove(file)
			} else {
				err = root.WriteFile(file, after, 0o644)
			}
		}
		if err != nil {
			return fmt.Errorf("remove the context from %s of the workspace: %w", file, err)
		}
		return nil
	}, nil
}
