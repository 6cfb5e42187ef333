package stamps

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A program that shadows or replaces a program that gates run is a change; a tool with another name is not.
func TestWatchReportsReplacedPrograms(t *testing.T) {
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

// A program that this user cannot have installed or changed stays, and is reported as harmless.
func TestWatchKeepsOtherUsersPrograms(t *testing.T) {
	bin := t.TempDir()
	large := filepath.Join(bin, "node")
	if err := os.WriteFile(large, make([]byte, maxForeign+1), 0o755); err != nil {
		t.Fatal(err)
	}
	w := New([]string{"HOME=" + t.TempDir(), "PATH=" + bin}, t.TempDir(), nil)
	w.may = func(path string) bool { return filepath.Dir(path) != bin }
	w.Take()
	if err := os.WriteFile(filepath.Join(bin, "pytest"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := w.Changes(); len(got) != 2 || !got[0].Told || !got[0].Mild || !got[1].Told || !got[1].Mild {
		t.Errorf("changes are %+v, want two that are only reported", got)
	}
}

// A new file in a folder whose names are known is a change, also behind a symbolic link, and also if its folder is
// new.
func TestWatchReportsNewFiles(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "tools"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("tools", filepath.Join(home, "bin")); err != nil {
		t.Fatal(err)
	}
	w := New([]string{"HOME=" + home, "PATH=" + filepath.Join(home, "bin")}, t.TempDir(), nil)
	w.Take()
	for _, d := range w.dirs {
		d.settled = true // as if all of them were old
	}
	time.Sleep(30 * time.Millisecond) // time stamps have steps of up to ten milliseconds here
	for _, name := range []string{"tools/pytest", ".npmrc", ".config/pip/pip.conf", ".m2/settings-security.xml"} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, c := range w.Changes() {
		rel, err := filepath.Rel(home, c.Path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, filepath.ToSlash(rel))
	}
	want := []string{".config/pip/pip.conf", ".m2/settings-security.xml", ".npmrc", "bin/pytest"}
	if !slices.Equal(got, want) {
		t.Errorf("changes are %q, want %q", got, want)
	}
}
