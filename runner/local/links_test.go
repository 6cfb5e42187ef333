package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/runplan/runplan/runner/room"
)

func TestUnlinkRemovesLinksInRunplanFolder(t *testing.T) {
	b := newBench(t)
	out := t.TempDir()
	logs := filepath.Join(b.Layout.Root, "logs")
	if err := os.RemoveAll(logs); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, logs); err != nil {
		t.Fatal(err)
	}
	if got := b.unlink(); len(got) != 1 || got[0].name != logs || got[0].stuck {
		t.Errorf("found %v, want the link %s", got, logs)
	}
	if _, err := os.Lstat(logs); err == nil {
		t.Error("the link is still there")
	}
}

// A source file that changed in the sealed room of the base is not a file that the test suite usually changes;
// another agent may have changed it.
func TestSuiteHabitsExcludeSourceFiles(t *testing.T) {
	d := withoutSource(room.Difference{Changed: []string{"calc_test.go", "schema.sql"},
		Touched: []string{"a.py", "data.json"}})
	if len(d.Changed) != 1 || d.Changed[0] != "schema.sql" || len(d.Touched) != 1 || d.Touched[0] != "data.json" {
		t.Errorf("habits are %v", d)
	}
}
