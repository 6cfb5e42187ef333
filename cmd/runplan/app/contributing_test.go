package app

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestContributingNamesExistingFiles checks that each file and folder that a recipe of CONTRIBUTING.md names exists,
// except for those that the reader creates.
func TestContributingNamesExistingFiles(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	data, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	places := regexp.MustCompile("`([a-z.]+(?:/[A-Za-z0-9_.-]+)+)`").FindAllStringSubmatch(string(data), -1)
	if len(places) < 20 {
		t.Fatalf("only %d places were found in CONTRIBUTING.md", len(places))
	}
	for _, m := range places {
		place := m[1]
		if strings.Contains(place, "NAME") || strings.Contains(place, "NNNN") || strings.HasSuffix(place, "/name.yml") ||
			strings.HasPrefix(place, "bin/") {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(place))); err != nil {
			t.Errorf("CONTRIBUTING.md names %s: %v", place, err)
		}
	}
}
