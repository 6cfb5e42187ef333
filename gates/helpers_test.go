package gates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes files into a new folder. A name that ends in ! is executable.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	return dir
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		mode := os.FileMode(0o644)
		if n, ok := strings.CutSuffix(name, "!"); ok {
			name, mode = n, 0o755
		}
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func find(t *testing.T, gates []Gate, name string) Gate {
	t.Helper()
	var names []string
	for _, g := range gates {
		if g.Info().Name == name {
			return g
		}
		names = append(names, g.Info().Name)
	}
	t.Fatalf("no gate %q among %v", name, names)
	return nil
}

// look runs one builtin gate of the tree.
func look(t *testing.T, dir, name string) Report {
	t.Helper()
	rep, err := find(t, Builtin(dir, Settings{Detect: true}), name).Check(t.Context(), Subject{Dir: dir})
	if err != nil {
		t.Fatalf("%s could not run: %v", name, err)
	}
	return rep
}

func hasFinding(rep Report, rule, at string, line int, part string) bool {
	for _, f := range rep.Findings {
		if f.Rule == rule && f.Path == at && (line == 0 || f.Line == line) && strings.Contains(f.Message, part) {
			return true
		}
	}
	return false
}

func needs(t *testing.T, program string) {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
			return
		}
	}
	t.Skipf("%s is not installed", program)
}

var goProject = map[string]string{
	"go.mod":  "module example.com/x\n\ngo 1.21\n",
	"a/a.go":  "package a\n\n// One is 1.\nfunc One() int { return 1 }\n",
	"a/a1.go": "package a\n",
	"a/a_test.go": `package a

import "testing"

func TestOne(t *testing.T) {
	if One() != 1 {
		t.Fatal("one is not 1")
	}
}

func TestLater(t *testing.T) { t.Skip("later") }
`,
}

func with(base map[string]string, more map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range base {
		out[k] = v
	}
	for k, v := range more {
		out[k] = v
	}
	return out
}
