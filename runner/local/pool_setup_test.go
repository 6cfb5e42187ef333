package local

import (
	"os"
	"path/filepath"
	"testing"
)

// A room that an older script prepared must not serve a tree with another one.
func TestSetupNamesItsScripts(t *testing.T) {
	for _, c := range []struct {
		command, file string
		want          bool
	}{
		{"JEST=/opt/jest sh setup.sh", "setup.sh", true},
		{"cd web && ./tools/install.sh --quick; echo done", "tools/install.sh", true},
		{`bash -c "python3 tools/install.py"`, "tools/install.py", true},
		{"make deps", "Makefile", true},
		{"npm ci", "Makefile", false},
		{"sh setup.sh", "web/setup.sh", false},
		{"", "setup.sh", false},
	} {
		if got := (Setup{Command: c.command}).names(c.file); got != c.want {
			t.Errorf("%q names %s: %v, want %v", c.command, c.file, got, c.want)
		}
	}
	if (Setup{Command: "pip install -r requirements.txt"}).runs("requirements.txt") {
		t.Error("a list of dependencies counts as a script")
	}
}

// A folder with many files is ignored as a whole, because git gets the others one by one in a command line.
func TestHoldsMore(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b/c", "b/d/e"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range map[int]bool{2: true, 3: false, 4: false} {
		if got := holdsMore(dir, n); got != want {
			t.Errorf("more than %d of 3 files: %v", n, got)
		}
	}
	if holdsMore(filepath.Join(dir, "missing"), 0) {
		t.Error("a missing folder holds files")
	}
}
