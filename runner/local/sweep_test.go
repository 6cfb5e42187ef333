package local

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/runner/failures"
)

// The next start of a run removes the temporary files of a process that was killed while it replaced a file: in all
// folders that runplan writes to, but not in workspaces.
func TestSweep(t *testing.T) {
	b := newBench(t)
	b.failures = failures.Open(b.Layout.FailurePatterns(), b.Note)
	const mark = ".0123456789abcdef.tmp"
	stays := []string{filepath.Join(b.Layout.Workspace("p", 1), "mine"+mark),
		filepath.Join(b.Layout.Logs("another"), "1-a1", "brief.md"+mark), filepath.Join(b.Layout.Root, "config.toml.tmp")}
	goes := []string{
		b.Layout.FailurePatterns(), b.Layout.SamplingOutcomes(), b.Layout.Receipt("run", "1"),
		filepath.Join(b.Layout.Attempt("run", "1", 1), "brief.md"), b.Layout.Config(),
		filepath.Join(b.Layout.GateCache(), "abc.json"), markerOf(b.Layout.Workspace("p", 1)),
		filepath.Join(b.Repo.Common, "config"), filepath.Join(b.Repo.Common, "info", "exclude"),
		filepath.Join(b.Repo.Common, "hooks", "pre-commit"),
	}
	for i := range goes {
		goes[i] += mark
	}
	for _, path := range append(goes, stays...) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.sweep()
	var left []string
	err := filepath.WalkDir(b.Repo.Root, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") {
			left = append(left, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{stays[2], stays[1], stays[0]}, left); d != "" {
		t.Error(d)
	}
	if len(b.said) > 0 {
		t.Error("notes:", b.said)
	}
}
