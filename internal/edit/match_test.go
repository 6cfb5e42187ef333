package edit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A line is suggested as the nearest only if more than half of its letter pairs match.
func TestNearest(t *testing.T) {
	for text, want := range map[string]int{
		"abcdefghij": 1, // the line itself
		"abcdefZYXW": 1, // 5 of 9 pairs
		"abcdeZYXWV": 0, // 4 of 9
		"abcZYXWVUT": 0,
		"a":          0,
	} {
		if _, asked, at := nearest(text+"\n", "\n  abcdefghij\n"); at != want || asked != "  abcdefghij" {
			t.Errorf("%q: line %d for %q, not %d", text, at, asked, want)
		}
	}
	// four of eight pairs are not more than one half
	if _, _, at := nearest("abcdeZYXW\n", "abcdefghi\n"); at != 0 {
		t.Errorf("exactly one half: line %d", at)
	}
}

// A path may have the markup that people and models add.
func TestFileName(t *testing.T) {
	for text, want := range map[string]string{
		"a/b.go": "a/b.go", "**a/b.go**": "a/b.go", "### `a/b.go`": "a/b.go", "File: a/b.go": "a/b.go",
		"**Path:** a/b.go": "a/b.go", "a/b.go:": "a/b.go", "**Filename: \"a/b.go\"**": "a/b.go",
	} {
		if got := fileName(text); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
}

// A broken delete block is reported with the line that it begins on.
func TestDeleteBlockErrorsNameLine(t *testing.T) {
	for text, want := range map[string]string{
		"x\n\n\n<<<<<<< DELETE\n>>>>>>> DELETE\n": "line 4: a delete block without a file",
		"\na.go\n<<<<<<< DELETE\n": "line 3: the delete block of a.go must end on the next line: >>>>>>> " +
			"DELETE",
	} {
		lines := splitLines(text)
		at := strings.Count(text[:strings.Index(text, "<")], "\n")
		if _, err := deletion(lines, at, 7); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A deleted file is restored with its old permissions, independent of the umask.
func TestRestoreKeepsPermissions(t *testing.T) {
	f := &file{path: "a", at: filepath.Join(t.TempDir(), "a"), was: "x", mode: 0o666, there: true, written: true}
	if err := f.restore(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(f.at); err != nil || info.Mode().Perm() != 0o666 {
		t.Error(info, err)
	}
}
