package app

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/lazyre"
)

// What is compiled only when it is used has to be right all the same.
func TestRegularExpressionsCompile(t *testing.T) {
	all := lazyre.All()
	if len(all) < 100 {
		t.Fatalf("only %d regular expressions were found", len(all))
	}
	for _, re := range all {
		if _, err := regexp.Compile(re.String()); err != nil {
			t.Error(err)
		}
	}
}

// No package compiles a regular expression at the start of the program (START-01).
func TestRegularExpressionsAreLazy(t *testing.T) {
	eager := regexp.MustCompile(`(?m)^(?:var )?\t?\w+ += regexp\.MustCompile\(.*`)
	eachGoFile(t, func(path string, text []byte) {
		name, err := filepath.Rel(root(t), path)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		if strings.HasSuffix(name, "_test.go") || slices.Contains([]string{"tools", "temporal", "examples"}, first) {
			return
		}
		for _, line := range eager.FindAllString(string(text), -1) {
			t.Errorf("%s: use lazyre.New: %s", name, line)
		}
	})
}
