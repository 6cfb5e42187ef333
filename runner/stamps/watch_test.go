package stamps

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A program that shadows or replaces a program that gates run is a change; a tool with another name is not.
func TestWatchReportsReplacedPrograms(t *testing.T) {
	bin, more := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(bin, "go", "#!/bin/sh\n")
	write(more, "node", "#!/bin/sh\n")
	path := strings.Join([]string{"relative", bin, more}, string(os.PathListSeparator))
	w := New([]string{"HOME=" + t.TempDir(), "PATH=" + path}, t.TempDir(), nil)
	w.Take()
	write(bin, "sometool", "#!/bin/sh\n")
	if got := w.Changes(); len(got) != 0 {
		t.Errorf("a new tool counts as %v", got)
	}
	write(bin, "go", "#!/bin/sh\nexit 0\n")
	write(bin, "node", "#!/bin/sh\n")
	write(bin, "python3", "#!/bin/sh\n")
	got := w.Changes()
	for i, c := range []Change{{Path: "go", Had: true}, {Path: "node"}, {Path: "python3", Reported: true}} {
		if len(got) != 3 || got[i].Path != filepath.Join(bin, c.Path) || got[i].Had != c.Had ||
			got[i].Reported != c.Reported {
			t.Fatalf("changes are %+v; go changed, node hides another one, and the new python3 only has to be reported", got)
		}
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
	if got := w.Changes(); len(got) != 2 || !got[0].Reported || !got[0].Mild || !got[1].Reported || !got[1].Mild {
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

// The path of the home may look like a pattern: a file is found below each folder that the table's pattern matches.
func TestWatchInHomeLikePattern(t *testing.T) {
	for _, name := range []string{"ada", "ada[1]"} {
		home := filepath.Join(t.TempDir(), name)
		site := filepath.Join(home, ".local", "lib", "python3.12", "site-packages")
		if err := os.MkdirAll(site, 0o755); err != nil {
			t.Fatal(err)
		}
		w := New([]string{"HOME=" + home}, t.TempDir(), nil)
		w.Take()
		path := filepath.Join(site, "x.pth")
		if err := os.WriteFile(path, []byte("import os\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(w.Changes(), func(c Change) bool { return c.Path == path }) {
			t.Errorf("%s: no change of %s", name, path)
		}
	}
}
