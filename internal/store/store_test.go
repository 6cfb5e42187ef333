package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at returns the time the given number of seconds after a fixed start time.
func at(seconds int) time.Time { return time.Date(2026, 5, 4, 9, 0, seconds, 0, time.UTC) }

// opened opens a journal and closes it at the end of the test.
func opened(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := OpenJournal(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// fresh returns an empty journal in its own temporary folder.
func fresh(t *testing.T) *Journal { return opened(t, filepath.Join(t.TempDir(), "raw.sqlite")) }

// event returns a record of a run. Its body contains its sequence number.
func event(run string, seq int) Record {
	return Record{Run: run, Seq: seq, At: at(seq), Kind: "noted", Batch: "1", Body: fmt.Appendf(nil, `{"seq":%d}`, seq)}
}

// events returns the records of a run from first to last.
func events(run string, first, last int) []Record {
	var out []Record
	for seq := first; seq <= last; seq++ {
		out = append(out, event(run, seq))
	}
	return out
}

func started(run string) Run {
	return Run{ID: run, Slug: "plan", Plan: "plan.md", PlanText: []byte("# Plan\n"), Started: at(0)}
}

// read returns the records of a run in the journal, starting at from.
func read(t *testing.T, j *Journal, run string, from int) []Record {
	t.Helper()
	var out []Record
	for r, err := range j.Events(t.Context(), run, from) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// written creates a journal file that contains a run with n events, and closes it.
func written(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "raw.sqlite")
	j, err := OpenJournal(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.AddRun(t.Context(), started("r"), events("r", 1, n)...); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// raw runs SQL statements on a file directly, as another program would.
func raw(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func schema(t *testing.T, j *Journal) int {
	t.Helper()
	var v int
	if err := j.db.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// known returns the number of the newest schema that this program supports.
func known(t *testing.T) int {
	t.Helper()
	return len(rawFile().names())
}

func TestMigrationsApplyOnce(t *testing.T) {
	path := written(t, 3)
	for range 3 { // each opening after the first finds nothing to do
		j := opened(t, path)
		if got := schema(t, j); got != known(t) {
			t.Fatalf("schema %d, want %d", got, known(t))
		}
		if d := cmp.Diff(events("r", 1, 3), read(t, j, "r", 0)); d != "" {
			t.Fatal(d)
		}
		j.Close()
	}
}

// Opening a file with an older schema migrates it to the current schema and keeps its data.
func TestMigrationKeepsData(t *testing.T) {
	names := rawFile().names()
	for have := range names {
		t.Run(fmt.Sprintf("from schema %d", have), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "raw.sqlite")
			var history []string
			for _, name := range names[:have] {
				script, err := scripts.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				history = append(history, string(script))
			}
			if have > 0 {
				history = append(history,
					`INSERT INTO runs VALUES ('r', 'plan', 'plan.md', x'23', '2026-05-04T09:00:00.000000000Z')`,
					`INSERT INTO events VALUES ('r', 1, '2026-05-04T09:00:01.000000000Z', 'noted', '1', '{"seq":1}')`)
			}
			raw(t, path, append(history, fmt.Sprintf("PRAGMA user_version = %d", have))...)
			j := opened(t, path)
			if got := schema(t, j); got != len(names) {
				t.Errorf("schema %d, want %d", got, len(names))
			}
			if have > 0 {
				if d := cmp.Diff(events("r", 1, 1), read(t, j, "r", 0)); d != "" {
					t.Error(d)
				}
			} else if err := j.AddRun(t.Context(), started("r"), event("r", 1)); err != nil {
				t.Error(err)
			}
		})
	}
}

// An unusable file is refused with the reason, and its bytes do not change (ERR-09, DB-14).
func TestOpenRefusesUnusableFile(t *testing.T) {
	overwrite := func(at int64, with []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt(with, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	cut := func(size int64) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
		}
	}
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i, r := 0, rand.NewPCG(1, 2); i < n; i++ {
			b[i] = byte(r.Uint64())
		}
		return b
	}
	replace := func(with []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, with, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := map[string]struct {
		harm func(t *testing.T, path string)
		want error
	}{
		"a schema of tomorrow": {want: ErrNewer, harm: func(t *testing.T, path string) {
			raw(t, path, fmt.Sprintf("PRAGMA user_version = %d", known(t)+1))
		}},
		"a schema of tomorrow, in a journal mode of tomorrow": {want: ErrNewer, harm: func(t *testing.T, path string) {
			raw(t, path, "PRAGMA journal_mode = delete", "PRAGMA user_version = 4711")
		}},
		"random bytes":                      {want: ErrCorrupt, harm: replace(noise(64 << 10))},
		"a few random bytes":                {want: ErrCorrupt, harm: replace(noise(10))},
		"another program's text":            {want: ErrCorrupt, harm: replace([]byte("# Notes\n\nThis is no database.\n"))},
		"a file that lost its second half":  {want: ErrCorrupt, harm: cut(24 << 10)},
		"a file that lost all but its head": {want: ErrCorrupt, harm: cut(100)},
		"a head of noise":                   {want: ErrCorrupt, harm: overwrite(0, noise(100))},
		"a page of noise":                   {want: ErrCorrupt, harm: overwrite(4096, noise(4096))},
		"a page of noise, without WAL": {want: ErrCorrupt, harm: func(t *testing.T, path string) {
			raw(t, path, "PRAGMA journal_mode = delete")
			overwrite(4096, noise(4096))(t, path)
		}},
		"a page of zeros": {want: ErrCorrupt, harm: overwrite(8192, make([]byte, 4096))},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := written(t, 600)
			tt.harm(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, open := range []func() (*Journal, error){
				func() (*Journal, error) { return OpenJournal(t.Context(), path) },
				func() (*Journal, error) { return OpenExistingJournal(t.Context(), path) },
			} {
				j, err := open()
				if !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if err == nil {
					j.Close()
				} else if !bytes.Contains([]byte(err.Error()), []byte(path)) {
					t.Errorf("%q does not name the file", err)
				}
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
			left, err := filepath.Glob(path + "*")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{path}, left); d != "" {
				t.Error("files were left behind:", d)
			}
		})
	}
}

func TestOpenExistingRequiresFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raw.sqlite")
	if _, err := OpenExistingJournal(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file was made")
	}
	opened(t, path)
	j, err := OpenExistingJournal(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	j.Close()
}

// An empty file, as left by a process that was killed before it wrote the schema, is filled on opening.
func TestOpenFillsEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raw.sqlite")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := opened(t, path).AddRun(t.Context(), started("r"), event("r", 1)); err != nil {
		t.Error(err)
	}
}

func TestOpenRefusesImpossiblePath(t *testing.T) {
	for name, path := range map[string]string{
		"a folder":           t.TempDir(),
		"in no folder":       filepath.Join(t.TempDir(), "missing", "raw.sqlite"),
		"below what is file": filepath.Join(written(t, 1), "raw.sqlite"),
	} {
		t.Run(name, func(t *testing.T) {
			j, err := OpenJournal(t.Context(), path)
			if err == nil {
				j.Close()
				t.Fatal("no error")
			}
			if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNewer) {
				t.Errorf("error %v blames the file", err)
			}
		})
	}
}

// A path is used literally, even if it contains characters with a meaning in URLs.
func TestPathsAreLiteral(t *testing.T) {
	for _, name := range []string{"with space", "ünï 文", "100%", "a%41", "what?x=1", "number#1", "a&b=c;d", "plus+",
		"'quoted'", "file:x"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "raw.sqlite")
			j := opened(t, path)
			if err := j.AddRun(t.Context(), started("r")); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
			var mode string
			if err := j.db.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
				t.Errorf("journal mode %q, %v; the settings were lost", mode, err)
			}
		})
	}
}

// Runs that start at the same time in a fresh repository all open a valid journal.
func TestJournalAllowsConcurrentOpens(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "raw.sqlite")
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				j, err := OpenJournal(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				defer j.Close()
				run := fmt.Sprint("r", i)
				if err := j.AddRun(t.Context(), started(run), events(run, 1, 3)...); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		runs, err := opened(t, path).Runs(t.Context())
		if err != nil || len(runs) != 4 {
			t.Fatalf("%d runs, %v; want 4", len(runs), err)
		}
	}
}
