package local

import (
	"context"
	"fmt"
	"slices"
)

// inSubmodules returns why an attempt cannot count for its agent's changes in submodules, or "". A batch is one
// commit of this repository, which cannot contain files of another one. A submodule commit must exist elsewhere,
// because the workspace is removed.
func (w *work) inSubmodules(ctx context.Context, s *Space, g glance) string {
	now, err := s.Submodules(ctx, g.Base)
	if err != nil {
		return err.Error()
	}
	for _, m := range now {
		if slices.Contains(g.Submodules, m) { // the setup of the workspace left it so
			continue
		}
		known, err := s.Published(ctx, m)
		switch {
		case err != nil:
			return err.Error()
		case !known:
			return fmt.Sprintf(
				"the agent made commit %s in submodule %s, which only this workspace has; a batch can move a submodule to "+
					"a commit that its remote has, and to no other", short(m.Commit), m.Path)
		case m.Changed:
			return fmt.Sprintf(
				"the agent changed files of submodule %s, which no commit of this repository can have; that is work for the "+
					"submodule's own repository", m.Path)
		case m.Untracked: // builds leave such files too; gates must check the committed files
			if err := s.CleanSubmodule(ctx, m); err != nil {
				return err.Error()
			}
			w.Note(fmt.Sprintf("batch %s: new files in submodule %s were removed: no commit of this repository can have them",
				g.Batch, m.Path))
		}
	}
	return ""
}
