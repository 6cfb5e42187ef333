package git

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/tools/tooltest"
)

// readPast reads the output of git log in pieces of step bytes.
func readPast(text []byte, step int) ([]Past, error) {
	l := newPastReader(context.Background(), 1<<12)
	for len(text) > 0 {
		n := min(step, len(text))
		_, _ = l.Write(text[:n])
		text = text[n:]
	}
	err := l.close()
	close(l.to)
	var out []Past
	for list := range l.to {
		out = append(out, list...)
	}
	return out, err
}

func hashOf(c string) string { return strings.Repeat(c, 40) }

func TestReadPast(t *testing.T) {
	zero := hashOf("0")
	text := "\x01" + hashOf("a") + "\x00" + hashOf("b") + "\x001600000000\x00Say what\nchanged\n\x00\n\x00" +
		":100644 100644 " + hashOf("1") + " " + hashOf("2") + " M\x00z y.go\x00:000000 100644 " + zero + " " + hashOf("3") +
		" A\x00a\n\x01b.go\x00" +
		"\x00\x01" + hashOf("b") + "\x00" + hashOf("c") + " " + hashOf("d") + "\x001500000000\x00A merge\x00"
	for _, step := range []int{1, 7, 1 << 20} {
		got, err := readPast([]byte(text), step)
		if err != nil {
			t.Fatalf("in pieces of %d: %v", step, err)
		}
		if len(got) != 2 || len(got[1].Parents) != 2 || got[0].Message != "Say what\nchanged" ||
			!got[0].Time.Equal(time.Unix(1600000000, 0)) {
			t.Fatalf("in pieces of %d: %+v", step, got)
		}
		e := got[0].Entries
		if len(e) != 2 || e[0].Path != "a\n\x01b.go" || e[1].Path != "z y.go" {
			t.Fatalf("entries %+v", e)
		}
		if before, after := e[0].Blobs(); before != "" || after != hashOf("3") {
			t.Errorf("blobs of a new file %q %q", before, after)
		}
	}
	for name, bad := range map[string]string{
		"no commit":         "x\x00",
		"a half head":       "\x01" + hashOf("a") + "\x00",
		"a time of letters": "\x01" + hashOf("a") + "\x00\x00soon\x00m\x00",
		"an entry too many": ":100644 100644 1 2 M\x00a\x00",
		"a half entry":      "\x01" + hashOf("a") + "\x00\x001\x00m\x00:100644 100644 1 2 M\x00",
		"a short entry":     "\x01" + hashOf("a") + "\x00\x001\x00m\x00:100644 M\x00a\x00",
	} {
		if got, err := readPast([]byte(bad), 1<<20); err == nil {
			t.Errorf("%s is read as %+v", name, got)
		}
	}
}

func FuzzPast(f *testing.F) {
	f.Add([]byte("\x01"+hashOf("a")+"\x00"+hashOf("b")+"\x001\x00m\x00:100644 100644 1 2 M\x00a\x00"), 3)
	f.Add([]byte("\x00\n\x00:"), 1)
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		if step < 1 || len(text) > 1<<16 {
			return
		}
		whole, err := readPast(text, len(text)+1)
		parts, err2 := readPast(text, step)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("in one piece: error %v, in steps: error %v", err, err2)
		}
		if err == nil && fmt.Sprint(whole) != fmt.Sprint(parts) {
			t.Fatalf("in one piece %v, in steps %v", whole, parts)
		}
	})
}

func FuzzObject(f *testing.F) {
	f.Add([]byte(hashOf("a") + " blob 3\nabc\n"))
	f.Add([]byte("HEAD:x missing\n"))
	f.Add([]byte(hashOf("a") + " blob 99999999\nabc\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		in := bufio.NewReader(bytes.NewReader(text))
		for {
			o, err := readObject(in)
			if err != nil {
				return
			}
			if len(o.Data) > MaxBlob || o.Data != nil && len(o.Data) != o.Size {
				t.Fatalf("%+v", o)
			}
			_, _ = ParseTree(o.Data, o.Hash)
		}
	})
}

func TestPastAndObjects(t *testing.T) {
	tooltest.Slow(t)
	dir := t.TempDir()
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	var r *Repo
	run := func(args ...string) {
		t.Helper()
		if _, err := r.Run(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	r = &Repo{Root: dir, env: quiet(env)}
	run("init", "-q", "-b", "main")
	const commits = 200 // more than git is read ahead
	for i := range commits {
		if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(strings.Repeat("x\n", i+1)), 0o644); err != nil {
			t.Fatal(err)
		}
		run("add", "-A")
		run("commit", "-q", "-m", fmt.Sprintf("commit %d", i))
	}
	r, err := Open(t.Context(), dir, env)
	if err != nil {
		t.Fatal(err)
	}
	head, _, err := r.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.CountPast(t.Context(), Span{Head: head, Skip: 10}); err != nil || n != commits {
		t.Errorf("%d commits, %v", n, err)
	}
	var seen []Past
	for c, err := range r.Past(t.Context(), Span{Head: head, Skip: 10}) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, c)
	}
	if len(seen) != commits-10 || seen[0].Message != "commit 189" || len(seen[0].Entries) != 1 {
		t.Fatalf("%d commits, the first is %+v", len(seen), seen[0])
	}
	for c, err := range r.Past(t.Context(), Span{Head: head}) { // who stops listening stops git
		if err != nil || c.Message != "commit 199" {
			t.Fatal(c, err)
		}
		break
	}
	o := r.Objects(t.Context())
	defer o.Close()
	_, blob := seen[0].Entries[0].Blobs()
	if none, err := o.Read(nil); len(none) > 0 || err != nil { // and the next answers stay in step
		t.Errorf("%+v %v", none, err)
	}
	got, err := o.Read([]string{blob, hashOf("e"), head + "^{tree}"})
	if err != nil {
		t.Fatal(err)
	}
	if string(got[0].Data) != strings.Repeat("x\n", 190) || got[1].Hash != "" || got[2].Kind != "tree" {
		t.Errorf("%+v", got)
	}
	tree, err := ParseTree(got[2].Data, got[2].Hash)
	if err != nil || len(tree) != 1 || tree[0].Name != "a.go" || !tree[0].File() {
		t.Errorf("%+v %v", tree, err)
	}
	for _, err := range r.Past(t.Context(), Span{Head: hashOf("e")}) {
		if err == nil {
			t.Error("a history without a beginning is read")
		}
	}
}
