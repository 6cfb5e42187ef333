package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/seal"
)

// signing opens a journal that signs with the key in home.
func signing(t *testing.T, path, home string) *Journal {
	t.Helper()
	s, err := seal.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	j := opened(t, path)
	j.Seal(s)
	return j
}

func sealedRun(t *testing.T) (j *Journal, path, home string) {
	t.Helper()
	path, home = filepath.Join(t.TempDir(), "raw.sqlite"), t.TempDir()
	j = signing(t, path, home)
	if err := j.AddRun(t.Context(), started("r"), events("r", 1, 2)...); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(t.Context(), events("r", 3, 6)...); err != nil {
		t.Fatal(err)
	}
	return j, path, home
}

// tamper changes a journal like another program: without the key, and with the triggers dropped.
func tamper(t *testing.T, j *Journal, sql string) {
	t.Helper()
	for _, q := range append(
		[]string{"DROP TRIGGER IF EXISTS events_stay", "DROP TRIGGER IF EXISTS events_are_facts",
			"DROP TRIGGER IF EXISTS runs_are_facts", "DROP TRIGGER IF EXISTS posts_are_facts"}, strings.Split(sql, ";")...) {
		if _, err := j.db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(q, err)
		}
	}
}

// Each forged change of the events of a run is noticed, at the first event that it affects.
func TestForgedEventsAreDetected(t *testing.T) {
	for name, c := range map[string]struct {
		sql       string
		last, bad int
		missing   int
	}{
		"nothing": {"SELECT 1", 6, 0, 0},
		"a row added": {"INSERT INTO events (run, seq, at, kind, batch, body) VALUES ('r', 7, '', 'gated', '1', '{}')", 6, 7,
			0},
		"a row copied": {"INSERT INTO events SELECT run, 7, at, kind, batch, body, seal FROM events WHERE seq = 6", 6,
			7, 0},
		"a body edited":     {"UPDATE events SET body = '{}' WHERE seq = 4", 3, 4, 0},
		"a kind edited":     {"UPDATE events SET kind = 'merged' WHERE seq = 4", 3, 4, 0},
		"a batch edited":    {"UPDATE events SET batch = '2' WHERE seq = 4", 3, 4, 0},
		"a time edited":     {"UPDATE events SET at = '2020-01-01T00:00:00.000000000Z' WHERE seq = 4", 3, 4, 0},
		"an invalid time":   {"UPDATE events SET at = 'never' WHERE seq = 4", 3, 4, 0},
		"a row removed":     {"DELETE FROM events WHERE seq = 4", 3, 5, 0},
		"the first removed": {"DELETE FROM events WHERE seq = 1", 0, 2, 0},
		"rows swapped": {"UPDATE events SET seq = 40 WHERE seq = 4; UPDATE events SET seq = 4 WHERE seq = 5; UPDATE " +
			"events SET seq = 5 WHERE seq = 40", 3, 4, 0},
		"the end cut off":    {"DELETE FROM events WHERE seq > 4", 4, 0, 2},
		"the plan changed":   {"UPDATE runs SET plan_text = 'x'", 0, 1, 0},
		"all seals stripped": {"UPDATE events SET seal = ''", 0, 1, 0},
		"one seal stripped":  {"UPDATE events SET seal = '' WHERE seq = 6", 5, 6, 0},
	} {
		j, path, home := sealedRun(t)
		tamper(t, j, c.sql)
		got, err := signing(t, path, home).Verify(t.Context(), "r")
		if err != nil {
			t.Fatal(name, err)
		}
		bad := 0
		if got.Bad != nil {
			bad = got.Bad.Seq
		}
		if got.Last.Seq != c.last || bad != c.bad || got.Missing != c.missing || !got.Sealed {
			t.Errorf("%s: %+v %v", name, got, got.Bad)
		}
		endBad := c.bad > 4 || c.missing > 0 || name == "all seals stripped" || name == "rows swapped"
		if name == "a row removed" || name == "the first removed" {
			endBad = false // it is not at the end
		}
		if err := signing(t, path, home).VerifyEnd(t.Context(), "r"); errors.Is(err, ErrForged) != endBad {
			t.Errorf("%s: the end: %v", name, err)
		}
		// Before it appends, the running process compares the end with the event that it wrote last; it does not read the
		// earlier events again. The next process verifies all events. A missing end is up to the caller of Verify.
		ends := c.missing > 0 || c.bad > 5 || name == "all seals stripped"
		if err := j.Append(t.Context(), event("r", 7)); errors.Is(err, ErrForged) != ends || !ends && err != nil {
			t.Errorf("%s, the same process: %v", name, err)
		}
		seq := c.last + 1
		if !ends {
			seq = 8
		}
		if err := signing(t, path, home).Append(t.Context(), event("r", seq)); errors.Is(err, ErrForged) != (c.bad > 0) ||
			c.bad == 0 && err != nil {
			t.Errorf("%s, the next process: %v", name, err)
		}
	}
}

// Rows that do not verify are set aside and do not count; the chain continues before them.
func TestUnverifiedRowsAreSetAside(t *testing.T) {
	j, path, home := sealedRun(t)
	tamper(t, j,
		"INSERT INTO events (run, seq, at, kind, batch, body) VALUES ('r', 7, 'x', 'gated', '1', '{}'), ('r', 8, 'x', "+
			"'merged', '1', 'not json')")
	next := signing(t, path, home)
	claims, err := next.SetAside(t.Context(), "r", 7, "forged", at(9))
	if err != nil || strings.Join(claims, ", ") != "gated 1, merged 1" {
		t.Fatal(claims, err)
	}
	if err := next.Append(t.Context(), events("r", 7, 9)...); err != nil {
		t.Fatal(err)
	}
	if c, err := next.Verify(t.Context(), "r"); err != nil || c.Bad != nil || c.Last.Seq != 9 || c.Missing != 0 {
		t.Errorf("%+v %v", c, err)
	}
	if rows := table(t, next, "SELECT seq, kind, why FROM events_set_aside ORDER BY id"); len(rows) != 2 ||
		rows[1][1] != "merged" {
		t.Errorf("%v", rows)
	}
	for _, q := range []string{"DELETE FROM events WHERE seq = 9", "DELETE FROM events_set_aside",
		"UPDATE events_set_aside SET kind = 'x'"} {
		fresh := signing(t, path, home)
		if _, err := fresh.db.ExecContext(t.Context(), q); err == nil && !strings.HasPrefix(q, "DELETE FROM events WHERE") {
			t.Errorf("%s: no error", q)
		}
	}
}

// A run of an older program is read as before, but none of its events verifies.
func TestOldRunsAreUnsealed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raw.sqlite")
	if err := opened(t, path).AddRun(t.Context(), started("r"), events("r", 1, 2)...); err != nil {
		t.Fatal(err)
	}
	j := signing(t, path, t.TempDir())
	c, err := j.Verify(t.Context(), "r")
	if err != nil || c.Sealed || c.Rows != 2 || c.Bad != nil {
		t.Errorf("%+v %v", c, err)
	}
	if err := j.Append(t.Context(), event("r", 3)); err != nil {
		t.Error(err)
	}
}

// With another key no event of a run verifies.
func TestOtherKeyFailsVerification(t *testing.T) {
	_, path, _ := sealedRun(t)
	c, err := signing(t, path, t.TempDir()).Verify(t.Context(), "r")
	if err != nil || c.Last.Seq != 0 || c.Bad == nil || c.Bad.Seq != 1 {
		t.Errorf("%+v %v", c, err)
	}
}

// A post of another program, a changed post and a copied post are distinguished from those of runplan.
func TestForgedPostsAreDetected(t *testing.T) {
	j, _, _ := sealedRun(t)
	if _, err := j.AddPost(t.Context(), Post{Run: "r", At: at(1), Body: []byte(`{"by":"Ada"}`)}); err != nil {
		t.Fatal(err)
	}
	tamper(t, j, `INSERT INTO posts (run, at, body) VALUES ('r', '2026-01-01T00:00:00.000000000Z', '{}');
		INSERT INTO posts (run, at, body, seal) SELECT run, at, body, seal FROM posts WHERE id = 1`)
	posts, err := j.Posts(t.Context(), "r", 0)
	if err != nil || len(posts) != 3 {
		t.Fatal(posts, err)
	}
	for i, want := range []bool{true, false, false} {
		if j.Vouches(posts[i]) != want {
			t.Errorf("post %d: %v", posts[i].ID, !want)
		}
	}
	tamper(t, j, `UPDATE posts SET body = '{"by":"Eve"}' WHERE id = 1`)
	if posts, _ = j.Posts(t.Context(), "r", 0); j.Vouches(posts[0]) {
		t.Error("an edited post is believed")
	}
}

// If the open journal file was deleted, replaced or cut, it is noticed before anything is appended.
func TestDeletedJournalIsDetected(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(path string) error
		want error
	}{
		"deleted":     {func(p string) error { return os.Remove(p) }, ErrGone},
		"log deleted": {func(p string) error { return os.Remove(p + "-wal") }, ErrGone},
		"renamed":     {func(p string) error { return os.Rename(p, p+".old") }, ErrGone},
		"replaced": {func(p string) error { return errors.Join(os.Rename(p, p+".old"), os.WriteFile(p, nil, 0o644)) },
			ErrReplaced},
		"replaced, link": {func(p string) error { return errors.Join(os.Rename(p, p+".old"), os.Symlink(p+".old", p)) },
			ErrReplaced},
		"cut short": {func(p string) error { return os.Truncate(p, 0) }, ErrCut},
	} {
		j, path, _ := sealedRun(t)
		if err := j.Present(); err != nil {
			t.Fatal(name, err)
		}
		if err := c.do(path); err != nil {
			t.Fatal(name, err)
		}
		if err := j.Append(t.Context(), event("r", 7)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if c.want == ErrCut {
			continue
		}
		kept := path + ".kept"
		if err := j.Save(t.Context(), kept); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := read(t, opened(t, kept), "r", 0); len(got) != 6 {
			t.Errorf("%s: %d events were saved", name, len(got))
		}
	}
}
