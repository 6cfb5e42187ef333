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
	sdk := filepath.Join(root, "sdk")
	own, err := os.ReadFile(filepath.Join(sdk, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(sdk, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	// The module file that go mod tidy would write: the same versions as those of sdk.
	mod := strings.Replace(string(own), "module github.com/runplan/runplan/sdk\n", "module example.com/gate-todo\n", 1)
	mod += "\nrequire github.com/runplan/runplan/sdk v0.0.0\n\nreplace github.com/runplan/runplan/sdk => " + sdk + "\n"
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": blocks[0][1], "main_test.go": blocks[1][1], "go.mod": mod,
		"go.sum": string(sums)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-trimpath -mod=mod")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("test", "./...")
	// A plugin stays small: what it compiles besides Go's own packages.
	packages := strings.Fields(run("list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "."))
	if len(packages) < 2 || len(packages) > 40 {
		t.Errorf("a plugin compiles %d packages, want at most 40: %s", len(packages), packages)
	}
}
