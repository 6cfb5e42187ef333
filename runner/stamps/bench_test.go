package stamps

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkChanges checks the settings of a user with several tools and a workspace a few folders deep, without any
// change.
func BenchmarkChanges(b *testing.B) {
	home := b.TempDir()
	project := filepath.Join(home, "src", "project")
	bins := []string{filepath.Join(home, "bin"), filepath.Join(home, ".local", "bin"), filepath.Join(home, "go", "bin")}
	for _, dir := range append(bins, project) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	for _, name := range []string{".gitconfig", ".npmrc", ".bashrc", "bin/go", "bin/python3"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte("x"), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	w := New([]string{"HOME=" + home, "PATH=" + strings.Join(bins, string(os.PathListSeparator))}, project,
		[]string{filepath.Join(project, ".runplan", "worktrees", "p-w1")})
	w.Take()
	for b.Loop() {
		if got := w.Changes(); len(got) > 0 {
			b.Fatal(got)
		}
	}
}
