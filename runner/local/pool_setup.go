package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/runner/journal"
)

// submodules checks out the submodules, with the user's checkout as reference. If one cannot be fetched, this is only a
// warning: the batch may not need it.
func (p *Pool) submodules(ctx context.Context, s *Space) {
	if _, err := os.Stat(filepath.Join(s.Dir, ".gitmodules")); err != nil {
		return
	}
	_, err := s.Run(ctx, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive",
		"--force")
	if err != nil {
		p.note(fmt.Sprintf("submodules of %s are not complete: %v", s.Dir, err))
	}
}

// copyIncluded copies the ignored files that a build needs, such as .env: .worktreeinclude and the configuration name
// them. It returns the copied paths. It reverts changes of an earlier batch to its copies.
func (p *Pool) copyIncluded(ctx context.Context, s *Space) (copied []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("set up %s: %w", s.Dir, err)
		}
	}()
	from, files, err := p.included()
	if err != nil {
		return nil, err
	}
	defer from.Close()
	if len(files) == 0 {
		return nil, nil
	}
	to, err := os.OpenRoot(s.Dir) // an agent replaced a folder by a dangling link
	if err != nil {
		return nil, err
	}
	defer to.Close()
	var differ []string
	blocked := map[string]string{} // path → the file that blocks it
	for _, path := range files {
		if way := s.Blocked(path); way != "" {
			blocked[path] = way
			continue
		}
		mine, err := from.Lstat(path)
		if err != nil {
			return nil, err
		}
		switch there, err := to.Lstat(path); {
		case errors.Is(err, fs.ErrNotExist):
			copied = append(copied, path)
		case err != nil:
			return nil, err
		case !there.Mode().IsRegular() || there.Size() != mine.Size() || !there.ModTime().Equal(mine.ModTime()):
			differ = append(differ, path)
		}
	}
	// git has written the other files
	ours, err := s.Ignored(ctx, slices.Concat(differ, slices.Collect(maps.Values(blocked))))
	if err != nil {
		return nil, err
	}
	copied = append(copied, lists.Filter(differ, func(path string) bool { return ours[path] })...)
	for path, way := range blocked {
		if !ours[way] {
			continue
		}
		if err := to.RemoveAll(way); err != nil {
			return nil, err
		}
		copied = append(copied, path)
	}
	slices.Sort(copied)
	for _, path := range copied {
		if err := copyFile(from, to, path); err != nil {
			return nil, fmt.Errorf("copy %s: %w", path, err)
		}
	}
	return copied, nil
}

// included lists the files of the user's checkout, or of an earlier copy of it, that a build needs and git does not
// carry, sorted. The caller must close from, their folder.
func (p *Pool) included() (from *os.Root, files []string, err error) {
	if from, err = os.OpenRoot(cmp.Or(p.from, p.repo.Root)); err != nil {
		return nil, nil, err
	}
	for _, g := range CopyGlobs(p.repo.Root, p.setup.Copy) {
		if !doublestar.ValidatePattern(g) {
			err = fmt.Errorf("%q is not a pattern for files", g)
		} else if err = doublestar.GlobWalk(from.FS(), g, func(path string, d fs.DirEntry) error {
			if d.IsDir() && (path == journal.DirName || path == ".git") {
				return doublestar.SkipDir
			}
			if d.Type().IsRegular() && !strings.HasPrefix(path, journal.DirName+"/") && !strings.HasPrefix(path, ".git/") {
				files = append(files, path)
			}
			return nil
		}); err != nil {
			err = fmt.Errorf("copy %s: %w", g, err)
		}
		if err != nil {
			return nil, nil, errors.Join(err, from.Close())
		}
	}
	return from, lists.Unique(files), nil
}

// CopyGlobs returns the globs of the files that workspaces of the repository at root get: those of the settings, and
// those of .worktreeinclude.
func CopyGlobs(root string, settings []string) []string {
	globs := slices.Clone(settings)
	data, err := os.ReadFile(filepath.Join(root, ".worktreeinclude"))
	if err != nil {
		return globs // usually there is none
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			globs = append(globs, strings.TrimPrefix(line, "/"))
		}
	}
	return globs
}

// setUp runs the configured command in a workspace with the files of tree, unless it has run there and all that it made
// still exists. Files that the command changes or makes are not the agent's work: files of the tree are restored, and
// new files are never committed.
func (p *Pool) setUp(ctx context.Context, s *Space, tree string) error {
	if p.setup.Command == "" {
		return nil
	}
	var m marker
	if err := atomicfile.ReadJSON(markerOf(s.Dir), &m); err != nil {
		return fmt.Errorf("set up %s: %w", s.Dir, err)
	}
	if m.Setup == p.setup.Command && !slices.ContainsFunc(m.Files, func(file string) bool {
		_, err := os.Lstat(filepath.Join(s.Dir, filepath.FromSlash(file)))
		return err != nil
	}) {
		s.Copied = append(s.Copied, m.Files...)
		return nil
	}
	if err := p.runSetup(ctx, s.Dir, p.setup.Env); err != nil {
		return err
	}
	var err error
	if m.Files, err = p.disown(ctx, s, tree); err != nil {
		return fmt.Errorf("set up %s: %w", s.Dir, err)
	}
	s.Copied = append(s.Copied, m.Files...)
	m.Setup = p.setup.Command
	return writeJSON(markerOf(s.Dir), m)
}

// disown makes git ignore the installed packages that the setup put into s, and reverts its changes to files of tree.
// It returns the other files that the setup made and git does not ignore.
func (p *Pool) disown(ctx context.Context, s *Space, tree string) (files []string, err error) {
	changed, made, err := s.Untidy(ctx)
	if err != nil {
		return nil, err
	}
	if len(changed) > 0 {
		if err := s.Overwrite(ctx, tree); err != nil {
			return nil, err
		}
	}
	for _, at := range made {
		folder, is := strings.CutSuffix(at, "/")
		if !is {
			continue
		}
		// In other folders, an agent may have to create files as its work.
		if language.Vendored(path.Base(folder)) || holdsMore(filepath.Join(s.Dir, filepath.FromSlash(folder)), maxMade) {
			ignoreAll(s.Dir, folder)
		}
	}
	if len(made) > 0 {
		if _, files, err = s.Differences(ctx, "", s.Copied); err != nil {
			return nil, err
		}
	}
	p.noteSetup(changed, made)
	return files, nil
}

// maxMade limits how many files of the setup in one folder are left out of commits one by one.
const maxMade = 200

// holdsMore reports whether a folder has more than n files.
func holdsMore(folder string, n int) bool {
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n--
		}
		if n < 0 {
			return fs.SkipAll
		}
		return nil
	})
	return err == nil && n < 0
}

// ignoreAll makes git ignore a folder of a workspace, as Python's venv and other tools do for their folders. If that is
// not possible, its files are left out of commits one by one.
func ignoreAll(dir, folder string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	if f, err := root.OpenFile(path.Join(folder, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
		_, _ = f.WriteString("# made by the setup of the workspace\n*\n")
		_ = f.Close()
	}
}

// noteSetup tells the user once what the setup changes in each workspace.
func (p *Pool) noteSetup(changed, made []string) {
	p.mu.Lock()
	told := p.told
	p.told = true
	p.mu.Unlock()
	if told {
		return
	}
	if len(changed) > 0 {
		p.note("[workspace] setup changes " + phrase.Few(changed, 3) + ": workspaces have the committed content again")
	}
	if len(made) > 0 {
		p.note("[workspace] setup makes " + phrase.Few(made, 3) + ", which git does not ignore: runplan never commits it; " +
			"add it to .gitignore")
	}
}

// names reports whether the set-up runs or reads a file of the tree: a word of the command is its path, or the command
// calls make and the file is a makefile.
func (s Setup) names(file string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(s.Command, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("\"'`;&|()<>=$", r)
	}), func(word string) bool {
		return path.Clean(word) == file ||
			word == "make" && slices.Contains([]string{"Makefile", "makefile", "GNUmakefile"}, file)
	})
}

// runs reports whether the command runs a file. Lists of dependencies do not count: new code may need new dependencies.
func (s Setup) runs(file string) bool { return s.names(file) && !listsDependencies(file) }

func (p *Pool) runSetup(ctx context.Context, dir string, env []string) error {
	res, err := proc.Run(ctx, proc.Cmd{
		Args: []string{"bash", "-eu", "-o", "pipefail", "-c", p.setup.Command}, Dir: dir, Env: env,
		Limits: proc.Limits{Total: p.setup.Timeout, Grace: p.setup.Grace}, Reaper: p.setup.Reaper,
	})
	if err != nil {
		return fmt.Errorf("set up %s: %w", dir, err)
	}
	if !res.OK() {
		return &SetupError{Command: p.setup.Command, How: res.How(), Output: res.Tail}
	}
	return nil
}

// SetupError reports that a workspace could not be set up. It does not count as a failure of an agent.
type SetupError struct{ Command, How, Output string }

func (e *SetupError) Error() string {
	return fmt.Sprintf("the setup of the workspace (%s) %s: %s", e.Command, e.How, lastLines(e.Output, 3))
}

// inSubmodules returns why an attempt cannot count for its agent's changes in submodules, or "". A batch is one commit
// of this repository, which cannot contain files of another one. A commit of a submodule would be lost with the
// workspace.
func (w *work) inSubmodules(ctx context.Context, s *Space, g glance) string {
	now, err := s.Submodules(ctx, g.Base)
	if err != nil {
		return err.Error()
	}
	for _, m := range now {
		if slices.Contains(g.Submodules, m) { // the setup of the workspace made this change
			continue
		}
		known, err := s.Published(ctx, m)
		switch {
		case err != nil:
			return err.Error()
		case !known:
			return fmt.Sprintf("the agent made commit %s in submodule %s, which only this workspace has; a batch can move a "+
				"submodule to a commit that its remote has, and to no other", git.Short(m.Commit), m.Path)
		case m.Changed:
			return fmt.Sprintf("the agent changed files of submodule %s, which no commit of this repository can have; that is "+
				"work for the submodule's own repository", m.Path)
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
