package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	root := filepath.Join("..", "..", "..")
	list := exec.Command("git", "ls-files", "--", "*.go", ":!*_test.go", ":!tools", ":!temporal", ":!examples")
	list.Dir = root
	files, err := list.Output()
	if err != nil {
		t.Skip("NOT TESTED: this is not a checkout")
	}
	eager := regexp.MustCompile(`(?m)^(?:var )?\t?\w+ += regexp\.MustCompile\(.*`)
	for _, name := range strings.Fields(string(files)) {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			continue // deleted, and not committed
		}
		for _, line := range eager.FindAllString(string(text), -1) {
			t.Errorf("%s: use lazyre.New: %s", name, line)
		}
	}
}
