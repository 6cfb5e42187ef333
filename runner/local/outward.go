package local

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

// manifests lists files in which projects name their dependencies, with the syntax for folders: a workspace is
// elsewhere than the checkout, so "../lib" means another folder there (TEAM-09).
var manifests = map[string]*lazyre.Regexp{
	"package.json":     lazyre.New(`"(?:file|link|portal):([^"]+)"`),
	"go.mod":           lazyre.New(`(?m)^(?:[^/\n]|/[^/\n])*=>\s*(\.\.?/\S+)`),
	"go.work":          lazyre.New(`(?m)^\s*(?:use\s+)?(\.\.?/\S+)`),
	"Cargo.toml":       lazyre.New(`(?m)^[^#\n]*\bpath\s*=\s*["']([^"']+)["']`),
	"pyproject.toml":   lazyre.New(`(?m)^[^#\n]*\bpath\s*=\s*["']([^"']+)["']`),
	"requirements.txt": lazyre.New(`(?m)^\s*(?:-e\s+|--editable[ =]|[\w.-]+\s*@\s*)?(?:file:)?(\.\.?/\S+)`),
}

// maxManifests limits how many of them are read at the start of a run.
const maxManifests = 200

// outward lists the dependencies of the checkout that lead out of the repository by a relative path, as "FILE: PATH".
func (w *work) outward(ctx context.Context) ([]string, error) {
	args := []string{"ls-files", "-z", "--"}
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		args = append(args, ":(glob)**/"+name)
	}
	out, err := w.Repo.Run(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("find dependencies outside of the repository: %w", err)
	}
	files := strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
	var found []string
	for _, file := range files[:min(len(files), maxManifests)] {
		data, err := os.ReadFile(filepath.Join(w.Repo.Root, filepath.FromSlash(file)))
		if err != nil {
			continue // it is not checked out
		}
		for _, m := range manifests[path.Base(file)].FindAllStringSubmatch(string(data), -1) {
			to := path.Join(path.Dir(file), m[1])
			if line := file + ": " + m[1]; !path.IsAbs(m[1]) && (to == ".." || strings.HasPrefix(to, "../")) &&
				!slices.Contains(found, line) {
				found = append(found, line)
			}
		}
	}
	return found, nil
}

// noteOutward notes, once per run, dependencies that a workspace cannot find.
func (w *work) noteOutward(ctx context.Context) {
	found, err := w.outward(ctx)
	if err != nil {
		w.Note(err.Error())
	}
	if len(found) > 0 {
		w.Note("batches are worked on in worktrees under " + DirName + ", where these relative paths mean other folders: " +
			phrase.Few(found, 3) + "; use absolute paths, or create them in workspace.setup")
	}
}
