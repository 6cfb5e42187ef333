package atomicfile

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// writerEnv names the file that this program writes until it is killed, when a test starts it again.
const writerEnv = "RUNPLAN_TEST_ATOMIC_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		for n := 0; ; n++ {
			if err := WriteLoose(path, content(n), 0o644); err != nil {
				panic(err)
			}
			if n == 0 {
				os.Stdout.WriteString("written\n")
			}
		}
	}
	os.Exit(m.Run())
}

// content returns many equal bytes, so that a partial or mixed file is detected.
func content(n int) []byte { return bytes.Repeat([]byte{'a' + byte(n%26)}, 64<<10) }

// names lists the files in a folder and below it.
func names(t *testing.T, dir string) []string {
	t.Helper()
	out := []string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func put(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, name := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("left"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A write replaces the file, sets the requested permissions, and leaves nothing else in the folder.
func TestWrite(t *testing.T) {
	for name, write := range map[string]func(string, []byte, fs.FileMode) error{
		"durable": Write, "loose": WriteLoose,
		"copied": func(path string, data []byte, perm fs.FileMode) error {
			return Copy(path, "tmp_", bytes.NewReader(data), perm)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.json")
			for _, text := range []string{"first, and longer", "second", ""} {
				if err := write(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(path)
				if err != nil || string(got) != text {
					t.Errorf("%q, %v; want %q", got, err, text)
				}
			}
			if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
				t.Errorf("rights %v, %v", fi.Mode(), err)
			}
			if d := cmp.Diff([]string{"a.json"}, names(t, dir)); d != "" {
				t.Error(d)
			}
		})
	}
}

// A write that fails returns an error with the path, leaves the files unchanged, and leaves nothing behind.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "folder/in it")
	for name, path := range map[string]string{"onto a folder": filepath.Join(dir, "folder"),
		"in no folder": filepath.Join(dir, "missing", "a")} {
		t.Run(name, func(t *testing.T) {
			err := Write(path, []byte("x"), 0o644)
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v does not name the file", err)
			}
			if d := cmp.Diff([]string{"folder/in it"}, names(t, dir)); d != "" {
				t.Error(d)
			}
		})
	}
}

const (
	mark  = ".0123456789abcdef.tmp"
	other = ".fedcba9876543210.tmp"
)

// Sweep removes the leftovers of killed writers and nothing else, not even files of users with similar names.
func TestSweep(t *testing.T) {
	kept := []string{"a", "a.b", "a.0123456789abcdeg.tmp", "a.0123456789abcde.tmp", "a.0123456789abcdef", "a.tmp",
		".0123456789abcdef.tmp", "sub/c"}
	left := []string{"a" + mark, "a" + other, "a.b" + mark, "sub/c" + mark, "sub/deep/d" + mark}
	all := func(t *testing.T) string {
		dir := t.TempDir()
		put(t, dir, append(kept, left...)...)
		if err := os.MkdirAll(filepath.Join(dir, "folder"+mark), 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for name, tt := range map[string]struct {
		sweep func(dir string) error
		stays []string
	}{
		"of one file": {func(dir string) error { return Sweep(filepath.Join(dir, "a")) },
			[]string{"a.b" + mark, "sub/c" + mark, "sub/deep/d" + mark}},
		"of a folder":  {SweepFolder, []string{"sub/c" + mark, "sub/deep/d" + mark}},
		"of a tree":    {SweepTree, nil},
		"of no file":   {func(dir string) error { return Sweep(filepath.Join(dir, "none", "a")) }, left},
		"of no folder": {func(dir string) error { return SweepFolder(filepath.Join(dir, "none")) }, left},
		"of no tree":   {func(dir string) error { return SweepTree(filepath.Join(dir, "none")) }, left},
	} {
		t.Run(name, func(t *testing.T) {
			dir, want := all(t), t.TempDir()
			if err := tt.sweep(dir); err != nil {
				t.Fatal(err)
			}
			put(t, want, append(kept, tt.stays...)...)
			if d := cmp.Diff(names(t, want), names(t, dir)); d != "" {
				t.Error(d)
			}
			if _, err := os.Stat(filepath.Join(dir, "folder"+mark)); err != nil {
				t.Error("a folder was removed:", err)
			}
		})
	}
}

// Writers and sweepers do not disturb each other: each write succeeds, and readers see only complete files.
func TestConcurrentWriteAndSweep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := Write(path, content(0), 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var writers, others sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			for n := range 60 {
				if err := WriteLoose(path, content(n), 0o644); err != nil {
					t.Error(err)
				}
			}
		})
	}
	others.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(200 * time.Microsecond):
				if err := Sweep(path); err != nil {
					t.Error(err)
				}
			}
		}
	})
	others.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				whole(t, path)
			}
		}
	})
	writers.Wait()
	close(done)
	others.Wait()
	if d := cmp.Diff([]string{"a"}, names(t, filepath.Dir(path))); d != "" {
		t.Error(d)
	}
}

func whole(t *testing.T, path string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	} else if len(got) != 64<<10 || len(bytes.Trim(got, string(got[:1]))) != 0 {
		t.Errorf("%d bytes, of more than one write", len(got))
	}
}

// A writer that is killed leaves a complete file, and its leftovers are found.
func TestKilledWriter(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for round := range 12 {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), writerEnv+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out.Read(make([]byte, 1)) // it has written once
		time.Sleep(time.Duration(round) * 317 * time.Microsecond)
		cmd.Process.Kill()
		cmd.Wait() // it was killed: that is no news
		whole(t, path)
	}
	t.Logf("%d temporary files were left", len(names(t, dir))-1)
	if err := Sweep(path); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a"}, names(t, dir)); d != "" {
		t.Error(d)
	}
}
