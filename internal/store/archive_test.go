package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// ArchiveSession stores a session in the journal as a complete file that can be opened again, and removes its files
// (DB-07).
func TestArchiveSession(t *testing.T) {
	dir, j := t.TempDir(), fresh(t)
	s := session(t, dir, "r/1")
	if err := s.Set(t.Context(), "n", 7); err != nil {
		t.Fatal(err)
	}
	s.Close()
	for range 2 { // said again it changes nothing
		if err := j.ArchiveSession(t.Context(), dir, "r/1", at(5)); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Error("left:", left, err)
	}
	all, err := j.SessionArchives(t.Context(), "r/1")
	if err != nil || len(all) != 1 {
		t.Fatalf("%d archives, %v", len(all), err)
	}
	if all[0].Task != "r/1" || !all[0].At.Equal(at(5)) {
		t.Errorf("%+v", all[0])
	}
	if n := archived(t, all[0]); n != 7 {
		t.Errorf("n is %d", n)
	}
	if others, err := j.SessionArchives(t.Context(), "r/2"); err != nil || len(others) != 0 {
		t.Error(others, err)
	}
}

// archived opens an archive as a session and returns its value n, or 0 without one.
func archived(t *testing.T, a SessionArchive) (n int) {
	t.Helper()
	dir := t.TempDir()
	path, err := SessionPath(dir, a.Task)
	if err == nil {
		err = os.WriteFile(path, a.Blob, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := CreateSession(t.Context(), dir, a.Task)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Get(t.Context(), "n", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The archive includes the data that a killed process left in the WAL.
func TestArchiveIncludesWAL(t *testing.T) {
	from, dir, j := t.TempDir(), t.TempDir(), fresh(t)
	s := session(t, from, "t")
	if err := s.Set(t.Context(), "n", 8); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "-wal"} { // as a process leaves them that is killed now
		data, err := os.ReadFile(s.path + end)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(s.path)+end), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := j.ArchiveSession(t.Context(), dir, "t", at(1)); err != nil {
		t.Fatal(err)
	}
	all, err := j.SessionArchives(t.Context(), "t")
	if err != nil || len(all) != 1 || archived(t, all[0]) != 8 {
		t.Error(len(all), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Error("left:", left, err)
	}
}

// A session that was archived and not removed is not archived again, unless it continued in the meantime.
func TestArchiveSkipsArchivedSession(t *testing.T) {
	dir, j := t.TempDir(), fresh(t)
	s := session(t, dir, "t")
	if err := s.Set(t.Context(), "n", 1); err != nil {
		t.Fatal(err)
	}
	s.Close()
	blob, err := sealed(t.Context(), s.path)
	if err == nil {
		err = j.keepSession(t.Context(), "t", blob, at(1)) // and now the process is killed
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := j.ArchiveSession(t.Context(), dir, "t", at(2)); err != nil {
		t.Fatal(err)
	}
	if all, err := j.SessionArchives(t.Context(), "t"); err != nil || len(all) != 1 || !bytes.Equal(all[0].Blob, blob) {
		t.Error(len(all), err)
	}
	s = session(t, dir, "t")
	if err := s.Set(t.Context(), "n", 2); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := j.ArchiveSession(t.Context(), dir, "t", at(3)); err != nil {
		t.Fatal(err)
	}
	if all, err := j.SessionArchives(t.Context(), "t"); err != nil || len(all) != 2 || archived(t, all[1]) != 2 {
		t.Error(len(all), err)
	}
}

// A session that another process has open is not archived.
func TestArchiveRefusesOpenSession(t *testing.T) {
	dir, j := t.TempDir(), fresh(t)
	s := session(t, dir, "t")
	if err := s.Set(t.Context(), "n", 1); err != nil {
		t.Fatal(err)
	}
	if err := j.ArchiveSession(t.Context(), dir, "t", at(1)); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v, want %v", err, ErrBusy)
	}
	if err := s.Set(t.Context(), "n", 2); err != nil {
		t.Error("the owner of the session cannot write:", err)
	}
	if all, err := j.SessionArchives(t.Context(), "t"); err != nil || len(all) != 0 {
		t.Error(len(all), err)
	}
}

// A process that is killed between creating and filling the file leaves an empty file, which is removed and not
// archived.
func TestArchiveRemovesEmptyFile(t *testing.T) {
	dir, j := t.TempDir(), fresh(t)
	path, err := SessionPath(dir, "t")
	if err == nil {
		err = os.WriteFile(path, nil, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := j.ArchiveSession(t.Context(), dir, "t", at(1)); err != nil {
		t.Fatal(err)
	}
	if all, err := j.SessionArchives(t.Context(), "t"); err != nil || len(all) != 0 || exists(path) {
		t.Error(len(all), err)
	}
}

// archiveForEver creates and archives sessions of one task until it is killed.
func archiveForEver(dir string) error {
	ctx := context.Background()
	j, err := OpenJournal(ctx, filepath.Join(dir, "raw.sqlite"))
	if err != nil {
		return err
	}
	var n int
	if err := j.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM session_archives").Scan(&n); err != nil {
		return err
	}
	for n++; ; n++ {
		s, err := CreateSession(ctx, dir, "t")
		if err == nil {
			err = errors.Join(s.Set(ctx, "n", n), s.Close(), j.ArchiveSession(ctx, dir, "t", at(n)))
		}
		if err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// If archiving is killed at any moment and then repeated, the archive has each session once.
func TestKilledArchiveCanBeRepeated(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	j := opened(t, filepath.Join(dir, "raw.sqlite"))
	for round := range 10 {
		said := killed(t, self, "archive", dir, 3+round)
		if err := j.ArchiveSession(t.Context(), dir, "t", at(0)); err != nil {
			t.Fatal(err)
		}
		all, err := j.SessionArchives(t.Context(), "t")
		if err != nil || len(all) < said {
			t.Fatalf("%d archives, %v; the writer said %d", len(all), err, said)
		}
		last := 0
		for _, a := range all[max(0, len(all)-20):] {
			n := archived(t, a)
			if n != 0 && n <= last { // 0: it was killed before it knew anything
				t.Errorf("session %d is kept behind session %d", n, last)
			}
			last = max(n, last)
		}
	}
}

// SessionArchive is the file of a session at the end of its task.
type SessionArchive struct {
	ID   int64
	Task string
	At   time.Time
	Blob []byte // an SQLite file, complete in itself
}

// SessionArchives returns the archived sessions of a task, oldest first. A batch that starts again has several.
func (j *Journal) SessionArchives(ctx context.Context, task string) ([]SessionArchive, error) {
	return rowsBy(ctx, j.db, "archived sessions", func(r *sql.Rows, a *SessionArchive) error {
		return r.Scan(&a.ID, &a.Task, moment{&a.At}, &a.Blob)
	}, "SELECT id, task_id, archived_at, session_blob FROM session_archives WHERE task_id = ? ORDER BY id", task)
}
