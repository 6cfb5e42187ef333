//go:build unix

package git

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Named pipes and sockets are removed, even from folders without permissions and from ignored folders.
func TestSpecialFilesAreRemoved(t *testing.T) {
	dir := made(t, map[string]string{"a": "a\n", ".gitignore": "build/\n", "sub/b": "b\n"})
	r := opened(t, dir)
	ws, err := r.AddWorkspace(t.Context(), filepath.Join(t.TempDir(), "w"), "work", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	pipe := func(name string) {
		t.Helper()
		path := filepath.Join(ws.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pipe("x.go")
	pipe("sub/x.go")
	pipe("build/x.go")
	t.Chdir(ws.Dir) // names of sockets have to be short
	l, err := net.Listen("unix", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod("sub", 0o500); err != nil {
		t.Fatal(err)
	}
	found, err := ws.DropSpecial()
	if err != nil || len(found) != 4 {
		t.Fatalf("%v, %v", found, err)
	}
	pipe("y.go")
	if err := ws.Reset(t.Context(), "work", "HEAD"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x.go", "sub/x.go", "build/x.go", "s", "y.go"} {
		if _, err := os.Lstat(filepath.Join(ws.Dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}
