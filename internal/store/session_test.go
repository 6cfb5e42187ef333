package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func session(t *testing.T, dir, task string) *Session {
	t.Helper()
	s, err := CreateSession(t.Context(), dir, task)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A value is read back as it was written, even after the session was closed.
func TestSessionKeepsValues(t *testing.T) {
	type context struct {
		Files []string       `json:"files"`
		Seen  map[string]int `json:"seen"`
		Text  string         `json:"text"`
	}
	dir := filepath.Join(t.TempDir(), "sessions")
	s := session(t, dir, "r/1")
	want := context{[]string{"a.go", "ünï 文"}, map[string]int{"b": 2, "a": 1}, "'quoted' <b>\x00" +
		strings.Repeat("x", 1<<16)}
	if err := errors.Join(s.Set(t.Context(), KeyFinalContext, context{Text: "old"}),
		s.Set(t.Context(), KeyFinalContext, want), s.Set(t.Context(), "none", nil)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s, err := CreateSession(t.Context(), dir, "r/1")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got context
	if found, err := s.Get(t.Context(), KeyFinalContext, &got); !found || err != nil {
		t.Fatal(found, err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if found, err := s.Get(t.Context(), "none", &got); !found || err != nil {
		t.Error("null must be read as a value:", found, err)
	}
	if found, err := s.Get(t.Context(), "unknown", &got); found || err != nil || got.Text != want.Text {
		t.Error("an unknown key:", found, err)
	}
	if found, err := s.Get(t.Context(), KeyFinalContext, new(int)); found || err == nil ||
		!strings.Contains(err.Error(), KeyFinalContext) {
		t.Error("a value of another type:", found, err)
	}
}

// valuesOf returns the number of values in a session.
func valuesOf(t *testing.T, s *Session) (n int, err error) {
	err = s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM kv").Scan(&n)
	return n, err
}

// SetAll stores all values or none.
func TestSetAllIsAtomic(t *testing.T) {
	s := session(t, t.TempDir(), "t")
	if err := s.SetAll(t.Context(), map[string]any{"a": 1, "b": make(chan int)}); err == nil {
		t.Error("a channel was kept")
	}
	if n, err := valuesOf(t, s); err != nil || n != 0 {
		t.Error(n, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Set(cancelled, "a", 1); err != nil {
		t.Error("a cancelled context must not prevent writing:", err)
	}
}

// The file of a task's session is always in the folder, and no two tasks share a file.
func TestSessionPath(t *testing.T) {
	long := strings.Repeat("p", 400)
	for task, want := range map[string]string{
		"0f7e2c9a-3a54-4a0e-9d4b-0123456789ab":   "session_0f7e2c9a-3a54-4a0e-9d4b-0123456789ab.sqlite",
		"0f7e2c9a-3a54-4a0e-9d4b-0123456789ab/3": "session_0f7e2c9a-3a54-4a0e-9d4b-0123456789ab_2f3.sqlite",
		"r/P5.2":                                 "session_r_2f_505.2.sqlite",
		"../../../etc/passwd":                    "session_.._2f.._2f.._2fetc_2fpasswd.sqlite", // runplan:ignore 0029 a path
		`..\x`:                                   "session_.._5cx.sqlite",
		"/":                                      "session__2f.sqlite",
		"..":                                     "session_...sqlite",
		"a_2f":                                   "session_a_5f2f.sqlite",
		"nul\x00:*?\"<>|\n":                      "session_nul_00_3a_2a_3f_22_3c_3e_7c_0a.sqlite",
		"ü":                                      "session__c3_bc.sqlite",
		"u\u0308":                                "session_u_cc_88.sqlite",
		"\xff":                                   "session__ff.sqlite",
		long: "session_" + long[:40] +
			"__14dc5c6a8c4fe6c3d0ba31bd8c9a4d7b31b5a3db3fee4eda09c1b4a1d6c2a3a8.sqlite",
		strings.Repeat("p", 40): "session_" + strings.Repeat("p", 40) + ".sqlite",
	} {
		got, err := SessionPath("dir", task)
		if err != nil {
			t.Fatal(err)
		}
		if task == long { // which hash it is does not matter here
			want = want[:len("session_")+42] + filepath.Base(got)[len("session_")+42:]
		}
		if d := cmp.Diff(filepath.Join("dir", want), got); d != "" {
			t.Errorf("%q: %s", task, d)
		}
	}
	if _, err := SessionPath("dir", ""); err == nil {
		t.Error("a task without an id has a session")
	}
}

// unsafe lists the characters that a file name must not have on any file system.
const unsafe = "/\\:*?\"<>|\x00\n ABCDEFGHIJKLMNOPQRSTUVWXYZ%"

func FuzzSessionPath(f *testing.F) {
	long := strings.Repeat("x/", 300)
	for _, pair := range [][2]string{{"a", "A"}, {"r/1", "r-1"}, {"a/b", "a_2fb"}, {"..", "."}, {long, long + "y"},
		{long, "x_2f"}, {"\xff", "\xfe"}, {"é", "e\u0301"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		dir := filepath.Join("some", "folder")
		path, err := SessionPath(dir, a)
		if (err != nil) != (a == "") {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		name := filepath.Base(path)
		if filepath.Dir(path) != dir || !filepath.IsLocal(name) || strings.ContainsAny(name, unsafe) || len(name) > 200 ||
			strings.HasSuffix(strings.TrimSuffix(name, ".sqlite"), " ") {
			t.Errorf("%q leads to %q", a, path)
		}
		if other, err := SessionPath(dir, b); err == nil && strings.EqualFold(other, path) != (a == b) {
			t.Errorf("%q and %q lead to %q and %q", a, b, path, other)
		}
	})
}

// Sessions of different tasks are independent and are removed one by one.
func TestSessionsAreIndependent(t *testing.T) {
	dir := t.TempDir()
	for i, task := range []string{"r/1", "r-1", "R/1"} {
		if err := session(t, dir, task).Set(t.Context(), "n", i); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(RemoveSession(dir, "r-1"), RemoveSession(dir, "never")); err != nil {
		t.Fatal(err)
	}
	var n int
	if found, err := session(t, dir, "R/1").Get(t.Context(), "n", &n); !found || err != nil || n != 2 {
		t.Error(n, found, err)
	}
	gone, err := SessionPath(dir, "r-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(gone); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A session that is newer, damaged or of another program is refused and left unchanged (DB-14).
func TestSessionRefusesUnusableFile(t *testing.T) {
	for name, tt := range map[string]struct {
		harm func(t *testing.T, path string)
		want error
	}{
		"of tomorrow": {func(t *testing.T, path string) { raw(t, path, "PRAGMA user_version = 99") }, ErrNewer},
		"of another": {func(t *testing.T, path string) { os.Remove(path); raw(t, path, "CREATE TABLE kv (x)") },
			ErrForeign},
		"a truncated file": {func(t *testing.T, path string) { os.Truncate(path, 100) }, ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := session(t, dir, "t")
			s.Close()
			tt.harm(t, s.path)
			before, err := os.ReadFile(s.path)
			if err != nil {
				t.Fatal(err)
			}
			j := fresh(t)
			for what, do := range map[string]func() error{
				"create":  func() error { _, err := CreateSession(t.Context(), dir, "t"); return err },
				"archive": func() error { return j.ArchiveSession(t.Context(), dir, "t", at(1)) },
			} {
				if err := do(); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), s.path) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if after, err := os.ReadFile(s.path); err != nil || !bytes.Equal(before, after) {
				t.Error("the file was changed", err)
			}
		})
	}
}

// rememberForEver writes consistent sets of values in an endless loop and prints the number of each completed write.
func rememberForEver(dir string) error {
	ctx := context.Background()
	s, err := CreateSession(ctx, dir, "t/1")
	if err != nil {
		return err
	}
	var n int
	if _, err := s.Get(ctx, "n", &n); err != nil {
		return err
	}
	for n++; ; n++ {
		if err := s.SetAll(ctx, map[string]any{"n": n, "twice": 2 * n,
			"text": strings.Repeat(fmt.Sprint(n%10), 20_000)}); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// If a process is killed, its session contains every completed write and no partial write.
func TestKilledSessionKeepsCompletedWrites(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for round := range 8 {
		said := killed(t, self, "session", dir, 20+7*round)
		s, err := CreateSession(t.Context(), dir, "t/1")
		if err != nil {
			t.Fatal(err)
		}
		var n, twice int
		var text string
		for key, into := range map[string]any{"n": &n, "twice": &twice, "text": &text} {
			if found, err := s.Get(t.Context(), key, into); !found || err != nil {
				t.Fatal(key, found, err)
			}
		}
		if n < said || twice != 2*n || text != strings.Repeat(fmt.Sprint(n%10), 20_000) {
			t.Errorf("the values n %d, twice %d and %d bytes of text do not match; the writer reported %d", n, twice, len(text),
				said)
		}
		s.Close()
	}
}

// Several goroutines can open the same session at once; writers wait for each other and lose no value.
func TestSessionAllowsConcurrentOpens(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			s, err := CreateSession(t.Context(), dir, "t")
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for n := range 20 {
				if err := s.Set(t.Context(), fmt.Sprint(i, "/", n), n); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n, err := valuesOf(t, session(t, dir, "t")); err != nil || n != 80 {
		t.Errorf("%d keys, %v", n, err)
	}
}

// Connections to all three files have the same SQLite settings (DB-05).
func TestConnectionsShareSettings(t *testing.T) {
	dir := t.TempDir()
	curated, err := OpenCurated(t.Context(), filepath.Join(dir, "curated.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer curated.Close()
	for name, db := range map[string]*sql.DB{"raw": fresh(t).db, "curated": curated.db,
		"session": session(t, dir, "t").db} {
		for pragma, want := range map[string]string{"journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "10000",
			"synchronous": "1"} {
			var got string
			if err := db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %s is %s, %v; want %s", name, pragma, got, err, want)
			}
		}
	}
}
