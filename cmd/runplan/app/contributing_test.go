package app

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readerMakes reports whether a recipe names a file that the reader creates, or that a build makes.
func readerMakes(place string) bool {
	return strings.Contains(place, "NAME") || strings.Contains(place, "NNNN") || strings.HasPrefix(place, "bin/")
}

// CONTRIBUTING.md and the pages about the code name only files, folders and functions that exist.
func TestContributingNamesExistingFiles(t *testing.T) {
	for page, least := range map[string]int{"CONTRIBUTING.md": 20, "docs/ARCHITECTURE.md": 8, "docs/machine.md": 1} {
		namesExist(t, page, least)
	}
}

// namesExist checks a page that names at least so many places, and as many lists of functions.
func namesExist(t *testing.T, page string, least int) {
	t.Helper()
	text, top := document(t, page), root(t)
	places := regexp.MustCompile("`([a-z.]+(?:/[A-Za-z0-9_.-]+)+)`").FindAllStringSubmatch(text, -1)
	if len(places) < least {
		t.Fatalf("only %d places were found in %s", len(places), page)
	}
	for _, m := range places {
		if place := m[1]; !readerMakes(place) {
			if _, err := os.Stat(filepath.Join(top, filepath.FromSlash(place))); err != nil {
				t.Errorf("%s names %s: %v", page, place, err)
			}
		}
	}
	// "`a`, `b` and `c` in `folder/file.go`"
	lists := regexp.MustCompile("((?:`[A-Za-z]+`(?:,| and| or)? )+)in `([a-z.]+(?:/[A-Za-z0-9_.-]+)+\\.go)`").
		FindAllStringSubmatch(strings.Join(strings.Fields(text), " "), -1)
	if len(lists) < least {
		t.Fatalf("only %d lists of functions were found in %s", len(lists), page)
	}
	for _, m := range lists {
		source, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(m[2])))
		if err != nil {
			continue // reported above
		}
		for _, name := range regexp.MustCompile("[A-Za-z]+`").FindAllString(m[1], -1) {
			name = strings.TrimSuffix(name, "`")
			declared := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |const |var |\t)` + name + `\b`)
			if !declared.Match(source) {
				t.Errorf("%s names %s in %s, which does not declare it", page, name, m[2])
			}
		}
	}
}

// CONTRIBUTING.md names only acceptance scripts that exist: for other names, go test runs none and reports success.
func TestContributingNamesExistingScripts(t *testing.T) {
	runs := regexp.MustCompile(`TestScripts/\^\(([^)]*)\)\$`).FindAllStringSubmatch(document(t, "CONTRIBUTING.md"), -1)
	if len(runs) == 0 {
		t.Fatal("CONTRIBUTING.md shows no run of acceptance scripts by name")
	}
	for _, m := range runs {
		for name := range strings.SplitSeq(m[1], "|") {
			file := filepath.Join(root(t), "testscripts", "testdata", "script", name+".txtar")
			if _, err := os.Stat(file); err != nil {
				t.Errorf("CONTRIBUTING.md runs the script %s: %v", name, err)
			}
		}
	}
}
