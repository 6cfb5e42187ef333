package rulebook

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/git"
)

// A run reads a library before its first batch only if it has rules that are not built in.
func TestOwnRulesAreOfUserOrProject(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	has := func(lessons, patterns bool) {
		t.Helper()
		a := &cli.App{Environ: []string{"RUNPLAN_HOME=" + home}}
		b := OpenRuleBooks(context.Background(), &cli.Project{App: a, Repo: &git.Repo{Root: root}})
		if b.HasOwn("lessons") != lessons || b.HasOwn("patterns") != patterns || b.HasOwn("tests") {
			t.Errorf("lessons %v, patterns %v; want %v, %v", b.HasOwn("lessons"), b.HasOwn("patterns"), lessons, patterns)
		}
	}
	has(false, false)
	for _, dir := range []string{filepath.Join(home, "lessons"), filepath.Join(root, ".runplan", "patterns")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	has(true, true)
}
