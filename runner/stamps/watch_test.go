package stamps

import (
	"os"
	"path/filepath"
	"testing"
)

// A program that shadows the one that gates run, or replaces it, is a change; a tool with another name is none.
func TestProgramsOnThePathAreWatched(t *testing.T) {
	bin := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("go", "#!/bin/sh\n")
	w := New([]string{"HOME=" + t.TempDir(), "PATH=relative" + string(os.PathListSeparator) + bin}, t.TempDir(), nil)
	w.Take()
	write("sometool", "#!/bin/sh\n")
	if got := w.Changes(); len(got) != 0 {
		t.Errorf("a new tool counts as %v", got)
	}
	write("go", "#!/bin/sh\nexit 0\n")
	write("python3", "#!/bin/sh\n")
	got := w.Changes()
	if len(got) != 2 || got[0].Path != filepath.Join(bin, "go") || !got[0].Had ||
		got[1].Path != filepath.Join(bin, "python3") || got[1].Had {
		t.Errorf("changes are %v, want that of go and the new python3", got)
	}
}

// A program that this user cannot have installed stays, and nobody is blamed for it.
func TestProgramsOfAnotherUserStay(t *testing.T) {
	bin := t.TempDir()
	w := New([]string{"HOME=" + t.TempDir(), "PATH=" + bin}, t.TempDir(), nil)
	w.may = func(path string) bool { return filepath.Dir(path) != bin }
	w.Take()
	if err := os.WriteFile(filepath.Join(bin, "pytest"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := w.Changes(); len(got) != 1 || !got[0].Told || !got[0].Mild {
		t.Errorf("changes are %+v, want one that is only reported", got)
	}
}
