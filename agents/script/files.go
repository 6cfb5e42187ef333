package script

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/planparse"
)

// file writes a file, and makes scripts executable.
func (w *work) file(b planparse.Block) error {
	path, err := edit.SafePath(w.task.Dir, b.Path)
	if err != nil {
		return err
	}
	w.say("write " + b.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", b.Path, err)
	}
	if err := os.WriteFile(path, []byte(b.Text), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", b.Path, err)
	}
	if strings.HasPrefix(b.Text, "#!") {
		if err := os.Chmod(path, 0o755); err != nil {
			return fmt.Errorf("write %s: %w", b.Path, err)
		}
	}
	return nil
}

// remove deletes a file or folder. A missing one is not an error.
func (w *work) remove(b planparse.Block) error {
	path, err := edit.SafePath(w.task.Dir, b.Path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		w.say("delete " + b.Path + ": it does not exist")
		return nil
	}
	w.say("delete " + b.Path)
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("delete %s: %w", b.Path, err)
	}
	return nil
}

// edit carries out search/replace edits.
func (w *work) edit(b planparse.Block) error {
	edits, err := edit.Parse(b.Text, b.Path)
	if err != nil {
		return fmt.Errorf("edit block: %w", err)
	}
	for _, e := range edits {
		w.say("edit " + e.Path)
	}
	_, err = edit.Files(w.task.Dir, edits)
	if m, ok := errors.AsType[*edit.MatchError](err); ok {
		return &failure{line: b.Line + m.Edit.Line, message: m.Error()}
	}
	return err
}

// diff has git apply a patch, after its paths have been checked.
func (w *work) diff(ctx context.Context, b planparse.Block) error {
	text := b.Text
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	files, _, err := gitdiff.Parse(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("read the diff: %w", err)
	}
	if len(files) == 0 {
		return errors.New("the diff changes no file; it must begin with diff --git, or with --- and +++")
	}
	strip, cut := stripLevel(text)
	for _, f := range files {
		for _, name := range []string{f.OldName, f.NewName} {
			if cut {
				_, name, _ = strings.Cut(name, "/")
			}
			if name == "" {
				continue
			}
			if _, err := edit.SafePath(w.task.Dir, name); err != nil {
				return err
			}
		}
		name := f.NewName
		if f.IsDelete || name == "" {
			name = f.OldName
		}
		if cut {
			_, name, _ = strings.Cut(name, "/")
		}
		w.say("apply the diff of " + name)
	}
	res, err := w.run(ctx, proc.Cmd{
		Args:  []string{"git", "apply", "--whitespace=nowarn", fmt.Sprintf("-p%d", strip), "-"},
		Stdin: strings.NewReader(text),
	})
	if err != nil {
		return err
	}
	return w.expectSuccess(res, "git apply")
}

// stripLevel returns 1 for paths with the prefixes a/ and b/ of git, and 0 for plain ones. Without a line "diff
// --git" the parser keeps the prefixes; then cut reports that the caller has to remove them.
func stripLevel(diff string) (level int, cut bool) {
	lines := strings.Split(diff, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "diff --git ") {
			return 1, false
		}
		from, ok := strings.CutPrefix(line, "--- ")
		if !ok || i+1 == len(lines) {
			continue
		}
		to, ok := strings.CutPrefix(lines[i+1], "+++ ")
		if !ok {
			continue
		}
		if !hasPrefix(from, "a/") || !hasPrefix(to, "b/") {
			return 0, false
		}
	}
	return 1, true
}

func hasPrefix(name, prefix string) bool {
	return strings.HasPrefix(strings.TrimPrefix(name, `"`), prefix) || strings.HasPrefix(name, "/dev/null")
}
