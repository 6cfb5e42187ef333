package rooted

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Neither reading nor writing follows a link out of the folder.
func TestLinksOutOfTheFolder(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"file": secret, "folder": outside} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, name := range []string{"file", "folder/secret", "../x"} {
		if text, err := Read(root, name, 100); err == nil {
			t.Errorf("read %s: %q", name, text)
		}
		if err := Write(root, name, []byte("y")); err == nil {
			t.Errorf("wrote %s", name)
		}
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestReadReturnsWhatWriteWrote(t *testing.T) {
	root := t.TempDir()
	if err := Write(root, "a/b.json", []byte(`{"n": 3}`)); err != nil {
		t.Fatal(err)
	}
	all, names, err := ReadAll[struct{ N int }](root, "a/*.json", 100)
	if err != nil || len(all) != 1 || all[0].N != 3 || names[0] != "a/b.json" {
		t.Errorf("%v %v %v", all, names, err)
	}
	if _, err := Read(root, "a/b.json", 7); err == nil {
		t.Error("a file above the limit was read")
	}
	for range 2 { // a missing file is no error
		if err := Remove(root, "a/b.json"); err != nil {
			t.Error(err)
		}
	}
	if _, err := Read(root, "a/b.json", 100); !errors.Is(err, fs.ErrNotExist) || Exists(root, "a/b.json") {
		t.Errorf("the file is still there: %v", err)
	}
}
