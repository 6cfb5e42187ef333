package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A page reads only files below .runplan, even if the journal contains other paths.
func TestPagesReadOnlyRunplanFiles(t *testing.T) {
	b := newBook(t, team(1))
	secret := filepath.Join(filepath.Dir(b.layout.Root), "secret")
	if err := os.WriteFile(secret, []byte("the secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(b.layout.Root, "link")); err != nil {
		t.Fatal(err)
	}
	h := newHub(options(b.layout))
	for _, name := range []string{"../secret", "link", secret, "a/../../secret"} {
		if text, _, err := h.readAll(name, 1<<20); strings.Contains(text, "secret") {
			t.Errorf("%s was read (%v)", name, err)
		}
		if text, _, _, _ := h.readEnd(name, 1<<20); strings.Contains(text, "secret") {
			t.Errorf("the end of %s was read", name)
		}
	}
}

// Chunks of a log do not change while it grows, and no character is split.
func TestChunksDoNotChange(t *testing.T) {
	b := newBook(t, team(1))
	h := newHub(options(b.layout))
	file := filepath.Join(b.layout.Root, "x.log")
	text := strings.Repeat("größer als gedacht – ", 20_000)
	known := map[string]string{}
	for size := 1000; size < len(text); size += 70_001 {
		if err := os.WriteFile(file, []byte(text[:size]), 0o644); err != nil {
			t.Fatal(err)
		}
		list, skipped, err := h.chunks("x.log", logShown)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for i, c := range list {
			if i < len(list)-1 {
				if was, ok := known[c.ID]; ok && was != c.Text {
					t.Fatalf("%s has changed", c.ID)
				}
				known[c.ID] = c.Text
			}
			all.WriteString(c.Text)
		}
		if got := all.String(); !strings.HasSuffix(text[:size], got) || len(got) < min(size, logShown)-chunkBytes-4 ||
			skipped+int64(len(got)) > int64(size) {
			t.Fatalf("size %d: %d bytes are shown, %d are skipped", size, len(got), skipped)
		}
	}
}

func TestParseDiff(t *testing.T) {
	d := parseDiff(
		"diff --git a/a b.txt b/a b.txt\nindex 1..2 100644\n--- a/a b.txt\n+++ b/a b.txt\n@@ -1,2 +1,2 @@\n " +
			"same\n-old\n+++ new\ndiff --git a/x.png b/x.png\nnew file mode 100644\nBinary files /dev/null and b/x.png " +
			"differ\ndiff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n--- was " +
			"here\n")
	var got []string
	for _, f := range d.Files {
		got = append(got, fmt.Sprintf("%s|%s|+%d-%d|%d", f.Name, f.Note, f.Added, f.Del, len(f.Lines)))
	}
	if want := "a b.txt||+1-1|4 x.png|new binary|+0-0|0 gone|deleted|+0-1|2"; strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}
