package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Grep finds lines in the commit, ignoring case, in the order of paths. It skips binary files, overlong generated
// lines and uncommitted changes.
func TestGrep(t *testing.T) {
	dir := made(t, map[string]string{
		"b c:d.txt":  "one\r\ntwo Limit\n",
		"a.go":       "x\nlimiter\nlimit " + strings.Repeat("x", grepLine) + "\n",
		"sub/é.md":   "LIMIT",
		"binary.bin": "limit\x00",
		"empty":      "",
	})
	write(t, dir, map[string]string{"a.go": "limit\n", "new.go": "limit\n"})
	r := opened(t, dir)
	head, _, err := r.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	look := func(texts ...string) (got []Hit) {
		t.Helper()
		if err := r.Grep(t.Context(), head, texts, func(h Hit) { got = append(got, h) }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := []Hit{{"a.go", 2, "limiter"}, {"b c:d.txt", 1, "one"}, {"b c:d.txt", 2, "two Limit"}, {"sub/é.md", 1, "LIMIT"}}
	if d := cmp.Diff(want, look("limit", "one")); d != "" {
		t.Error(d)
	}
	if got := look("nowhere"); got != nil {
		t.Errorf("%+v", got)
	}
	if err := r.Grep(t.Context(), hashOf("0"), []string{"x"}, func(Hit) {}); err == nil {
		t.Error("a missing commit has no hits and no error")
	}
	if err := os.WriteFile(filepath.Join(r.Common, "objects", "pack", "pack-1.promisor"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.Grep(t.Context(), head, []string{"limit"}, func(Hit) { t.Error("it was checked") }); !errors.Is(err,
		ErrPartial) {
		t.Errorf("a partial clone: %v", err)
	}
}

// The output of git is read the same in pieces of any size.
func TestGrepReadsOutputInPieces(t *testing.T) {
	text := "c0:a\nb.go\x007\x00one: two\nc0:z\x0012\x00\n"
	for _, step := range []int{1, 3, 100} {
		var got []Hit
		l := &hitReader{prefix: "c0:", each: func(h Hit) { got = append(got, h) }}
		for rest := []byte(text); len(rest) > 0; {
			n := min(step, len(rest))
			_, _ = l.Write(rest[:n])
			rest = rest[n:]
		}
		if d := cmp.Diff([]Hit{{"a\nb.go", 7, "one: two"}, {"z", 12, ""}}, got); d != "" || l.err != nil {
			t.Errorf("in pieces of %d: %v\n%s", step, l.err, d)
		}
	}
}
