package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// longLines limits the lines over 120 columns to one in 200. "make lines" breaks long lines.
const longLines = 200

// TestColumns limits Go files to 120 columns, except for a few raw strings and words that cannot be broken.
func TestColumns(t *testing.T) {
	all, long, worst, most := 0, 0, "", 0
	eachGoFile(t, func(path string, text []byte) {
		n := 0
		for line := range strings.Lines(string(text)) {
			all++
			if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 120 {
				n++
			}
		}
		if long += n; n > most {
			worst, most = path, n
		}
	})
	if all < 100_000 || long*longLines > all {
		t.Errorf("%d of %d lines are longer than 120 columns, most of them in %s (%d): make lines", long, all, worst, most)
	}
	t.Logf("%d of %d lines are longer than 120 columns", long, all)
}

// eachGoFile calls f for each Go file of the project.
func eachGoFile(t *testing.T, f func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(root(t), func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || skippedFolders[d.Name()]):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" || d.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			f(path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
