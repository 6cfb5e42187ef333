package room

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCacheCheckRemovesChangedFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name[:2], name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	output := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	right, wrong := output("right"), output("wrong")
	data := write(right+outputSuffix, "right")
	write(wrong+outputSuffix, "wrong")
	entry := write("aa11"+answerSuffix, "v1 aa11 "+right+" 5 1\n")
	c := goCache{dir: dir}
	check := func(want int) {
		t.Helper()
		if n, err := c.check(context.Background()); err != nil || n != want {
			t.Fatalf("%d files were removed (%v), want %d", n, err, want)
		}
	}
	check(0)
	check(0)

	write("aa11"+answerSuffix, "v1 aa11 "+right+" 5 2\n") // go notes that it was used
	check(0)
	write("aa11"+answerSuffix, "v1 aa11 "+wrong+" 5 2\n")
	check(1)
	if _, err := os.Stat(entry); err == nil {
		t.Error("an answer that names another output is kept")
	}

	old := time.Now().Add(-time.Hour)
	write(right+outputSuffix, "wrong")
	if err := os.Chtimes(data, old, old); err != nil {
		t.Fatal(err)
	}
	check(1)
	if _, err := os.Stat(data); err == nil {
		t.Error("an output that was changed is kept")
	}
	if err := os.Symlink("/etc/passwd", data); err != nil {
		t.Fatal(err)
	}
	check(1)
	check(0)
}

// A cache output that is still being written during the check is kept.
func TestCacheCheckKeepsUnfinishedOutput(t *testing.T) {
	dir := t.TempDir()
	sum := sha256.Sum256([]byte("right"))
	path := filepath.Join(dir, "aa", hex.EncodeToString(sum[:])+outputSuffix)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("righ"), 0o644); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(60*time.Millisecond, func() { _ = os.WriteFile(path, []byte("right"), 0o644) })
	c := goCache{dir: dir}
	if n, err := c.check(context.Background()); err != nil || n != 0 {
		t.Fatalf("%d files were removed (%v)", n, err)
	}
}
