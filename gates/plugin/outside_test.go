package plugin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocsModule builds and tests the plugin of docs/plugins.md as a module outside of this one.
func TestDocsModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile(filepath.Join(root, "docs", "plugins.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindAllStringSubmatch(string(docs), -1)
	if len(blocks) != 2 {
		t.Fatalf("docs/plugins.md has %d whole Go files, want main.go and main_test.go", len(blocks))
	}
	own, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	// The module file that go mod tidy would write, made without the network: the same versions as runplan's own.
	mod := strings.Replace(string(own), "module github.com/runplan/runplan\n", "module example.com/gate-todo\n", 1)
	mod += "\nrequire github.com/runplan/runplan v0.0.0\n\nreplace github.com/runplan/runplan => " + root + "\n"
	// In a workspace runplan's packages have the same place as in its own build, so they are compiled only once.
	work := regexp.MustCompile(`(?m)^go .*$`).FindString(string(own)) + "\n\nuse (\n\t.\n\t" + root + "\n)\n"
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": blocks[0][1], "main_test.go": blocks[1][1], "go.mod": mod,
		"go.sum": string(sums), "go.work": work} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=", "GOPROXY=off", "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test: %v\n%s", err, out)
	}
}
