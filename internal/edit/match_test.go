package edit

import (
	"os"
	"path/filepath"
	"slices"
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

// Places are found within lines and over several, also if they overlap.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		src, text string
		want      []int
	}{
		{"aXbX", "X", []int{1, 3}}, {"aaa", "aa", []int{0, 1}}, {"ab", "c", nil}, {"", "c", nil},
		{"a\nb\na\nb\n", "a\nb\n", []int{0, 4}}, {"b\nb\nb\n", "b\nb\n", []int{0, 2}}, {"xa\nb", "a\nb", []int{1}},
		{"a\nb", "a\nc", nil}, {"\n\n", "\n", []int{0, 1}},
	} {
		if got := Places(c.src, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: %v, want %v", c.text, c.src, got, c.want)
		}
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
	f.at = filepath.Join(t.TempDir(), "gone", "a")
	if err := f.restore(); err == nil || !strings.Contains(err.Error(), "put a back: ") {
		t.Errorf("a file that cannot be restored: %v", err)
	}
}

// The error names the first line that differs in the longest partial match, and among equal ones in the first.
func TestLocateFindsLongestMatch(t *testing.T) {
	long := strings.Repeat("x", maxNearLines/1000)
	for name, c := range map[string]struct {
		src, search   string
		matched, line int
		near, want    string
	}{
		"the second line differs":            {"a1\nb1\nc1\n", "a1\nB2\n", 1, 2, "b1", "B2"},
		"without an end of line":             {"a1\nb1\nc1\n", "a1\nB2", 1, 2, "b1", "B2"},
		"the longer match wins":              {"a1\nx1\na1\nb1\ny1\n", "a1\nb1\nc1\n", 2, 5, "y1", "c1"},
		"the first of equal ones wins":       {"a1\nx1\na1\ny1\n", "a1\nb1\n", 1, 2, "x1", "b1"},
		"the file ends":                      {"a1\n", "a1\nb1\n", 1, 2, "", "b1"},
		"the file ends without a line end":   {"a1", "a1\nb1\n", 1, 2, "", "b1"},
		"a line of two letters":              {"ab\n", "abc\n", 0, 1, "ab", "abc"},
		"an empty line alone is no match":    {"\nfoo-bar\n", "\nfoo-baz\n", 0, 2, "foo-bar", "foo-baz"},
		"nothing is similar":                 {long + "\n", "abc\n", 0, 0, "", "abc"},
		"two letters are enough":             {"xab\n", "ab\n", 0, 1, "xab", "ab"},
		"a search text of empty lines alone": {"a1\n", "\n\n", 0, 0, "", ""},
	} {
		e := &MatchError{Edit: Edit{Search: c.search}}
		e.locate(c.src)
		if e.Matched != c.matched || e.NearLine != c.line || e.Near != c.near || e.Want != c.want {
			t.Errorf("%s: %d lines match, line %d is %q, not %q", name, e.Matched, e.NearLine, e.Near, e.Want)
		}
	}
}

func TestQuoteLimitsLines(t *testing.T) {
	if got := quote("a\r\n\tb\n"); got != "  | a\n  | \tb" {
		t.Errorf("%q", got)
	}
	if got := quote(strings.Repeat("a\n", maxQuoteLines)); strings.Contains(got, "…") ||
		strings.Count(got, "| a") != maxQuoteLines {
		t.Errorf("%d lines are cut:\n%s", maxQuoteLines, got)
	}
	if got := quote(strings.Repeat("a\n", maxQuoteLines+2)); !strings.HasSuffix(got, "\n  | …") ||
		strings.Count(got, "| a") != maxQuoteLines {
		t.Errorf("more lines:\n%s", got)
	}
}

// Links may not lead into .runplan of the workspace or into any .git. What cannot be checked is refused, with a reason.
func TestLinksIntoOwnFolders(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{".runplan/runs", "sub/.runplan", "sub/.git"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, "file"), "", 0o644)
	for name, to := range map[string]string{"own": ".runplan/runs", "foreign": "sub/.runplan", "git": "sub/.git",
		"dangling": "none"} {
		link(t, to, filepath.Join(root, name))
	}
	for p, want := range map[string]string{
		"own/a":                             "which leads into .runplan",
		"git/config":                        "which leads into .git",
		"foreign/a":                         "",
		"file/a":                            "goes through file, which is a file",
		"dangling":                          "through the link dangling, whose target does not exist",
		"a" + strings.Repeat("b", 300) + "": "cannot be checked: ",
	} {
		if _, err := SafePath(root, p); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", p, err, want)
		}
	}
	if _, err := SafePath(filepath.Join(root, "none"), "a"); err == nil ||
		!strings.Contains(err.Error(), "no longer exists") {
		t.Errorf("a missing workspace: %v", err)
	}
}
