package blueprint

import (
	"os"
	"path/filepath"
	"testing"
)

// The designs and the code of the tests: a blueprint that uses every field, and a unit in Go with its code, which needs
// no other program.
var (
	sample   = fixture("full.yaml")
	goUnit   = fixture("orders.yaml")
	goodCode = fixture("orders.go.txt")
)

func fixture(name string) string {
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		panic(err)
	}
	return string(text)
}

func parsed(t *testing.T, text string) *Blueprint {
	t.Helper()
	b, err := Parse("b.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unit makes a repository with a unit in Go.
func unit(t *testing.T, state State, code string) string {
	t.Helper()
	root := t.TempDir()
	put(t, root, "go.mod", "module example.org/shop\n")
	put(t, root, "orders/orders.go", code)
	put(t, root, PathOf("orders", state), goUnit)
	return root
}
