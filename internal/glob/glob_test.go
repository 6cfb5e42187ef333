package glob

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A folder whose path looks like a pattern has its files found.
func TestBelow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop[1]")
	var want []string
	for _, name := range []string{"a/x.py", "b/x.py", "b/y.txt"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(name) == ".py" {
			want = append(want, file)
		}
	}
	if got := Below(dir, "*/*.py"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
