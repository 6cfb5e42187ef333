package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func auditAt(t *testing.T) (*Audit, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "home", "audit.sqlite")
	a, err := OpenAudit(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a, path
}

// chained appends n entries that together use every field.
func chained(t *testing.T, a *Audit, n int) []AuditEntry {
	t.Helper()
	last := ""
	for i := range n {
		e := AuditEntry{At: at(i), Action: "promote", FromTier: count(i), ToTier: count(i + 1), Owner: "ada",
			Reason: "because\x1b[31m", Signature: "ada", LoopVersion: 2}
		if i%3 == 2 {
			e = AuditEntry{At: at(i), Action: "approve", Subject: "run 1", Owner: "ada", SelfEdit: true, AutoMergePct: 80,
				Reason: "", LoopVersion: 2}
		}
		var err error
		if e, err = a.Append(t.Context(), last, e); err != nil {
			t.Fatal(err)
		}
		last = e.Digest
	}
	all, err := a.Verify(t.Context())
	if err != nil || len(all) != n {
		t.Fatal(len(all), err)
	}
	return all
}

// Verification detects each changed, inserted, swapped or removed entry of a chain. It names the first entry that is
// not in its place, or the changed entry or the one after it.
func TestTamperedChainsAreDetected(t *testing.T) {
	a, _ := auditAt(t)
	all := chained(t, a, 9)
	r := rand.New(rand.NewPCG(1, 2))
	edits := map[string]func(*AuditEntry){
		"time":      func(e *AuditEntry) { e.At = e.At.Add(time.Second) },
		"action":    func(e *AuditEntry) { e.Action += "x" },
		"subject":   func(e *AuditEntry) { e.Subject += "x" },
		"from":      func(e *AuditEntry) { e.FromTier = count(99) },
		"to":        func(e *AuditEntry) { e.ToTier = count(99) },
		"owner":     func(e *AuditEntry) { e.Owner = "eve" },
		"self-edit": func(e *AuditEntry) { e.SelfEdit = !e.SelfEdit },
		"bar":       func(e *AuditEntry) { e.AutoMergePct++ },
		"reason":    func(e *AuditEntry) { e.Reason += " " },
		"signature": func(e *AuditEntry) { e.Signature += "x" },
		"loop":      func(e *AuditEntry) { e.LoopVersion++ },
		"digest":    func(e *AuditEntry) { e.Digest = strings.Repeat("0", 64) },
		"moved over": func(e *AuditEntry) {
			e.Owner, e.Reason = e.Owner+e.Reason, ""
			if e.Reason == "" && e.Owner == "ada" {
				e.Owner = "ad"
			}
		},
		// the next entry no longer refers to this digest
		"digest made again": func(e *AuditEntry) { e.Reason += "x"; e.Digest = e.Sum() },
	}
	for name, edit := range edits {
		for range 20 {
			bad := append([]AuditEntry(nil), all...)
			at := r.IntN(len(bad))
			if name == "digest made again" {
				at = r.IntN(len(bad) - 1) // of the last one only the owner file knows
			}
			edit(&bad[at])
			var ce *ChainError
			if err := checkChain(bad, int64(len(bad))); !errors.As(err, &ce) || ce.ID < int64(at)+1 ||
				ce.ID > int64(at)+2 {
				t.Errorf("%s at %d: %v", name, at, err)
			}
		}
	}
	noticed := func(what string, bad []AuditEntry, counter, id int) {
		t.Helper()
		var ce *ChainError
		if err := checkChain(bad, int64(counter)); !errors.As(err, &ce) || ce.ID != int64(id) {
			t.Errorf("%s: %v, not noticed at entry %d", what, err, id)
		}
	}
	for n := range all {
		noticed(fmt.Sprintf("entry %d was removed", n+1), slices.Concat(all[:n], all[n+1:]), len(all), n+1)
		noticed(fmt.Sprintf("all entries after %d were removed", n), all[:n], len(all), n+1)
		bad := slices.Clone(all)
		m := (n + 1) % len(all)
		bad[n], bad[m] = bad[m], bad[n]
		noticed(fmt.Sprintf("entries %d and %d were swapped", n+1, m+1), bad, len(all), min(n, m)+1)
		// an entry that fits to those before it; the later ones get new numbers
		more := all[n]
		more.Owner = "eve"
		more.Digest = more.Sum()
		bad = slices.Insert(slices.Clone(all), n, more)
		for i := range bad[n+1:] {
			bad[n+1+i].ID++
		}
		noticed(fmt.Sprintf("an entry was inserted before %d", n+1), bad, len(bad), n+2)
		noticed(fmt.Sprintf("entry %d was copied", n+1), slices.Insert(slices.Clone(all), n, all[n]), len(all)+1, n+2)
	}
}

// Triggers refuse changes to the audit table, and verification detects changes that bypass the triggers.
func TestAuditIsAppendOnly(t *testing.T) {
	a, path := auditAt(t)
	chained(t, a, 4)
	for _, q := range []string{
		"UPDATE audit SET to_tier = 5 WHERE id = 1",
		"UPDATE audit SET reason = reason",
		"DELETE FROM audit",
		"DELETE FROM audit WHERE id = 4",
		"INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE id = 1",
		"REPLACE INTO audit SELECT id, timestamp, action, subject, from_tier, 5, owner, self_edit, auto_merge_pct, reason, " +
			"signature, loop_version, prev, 'x' FROM audit WHERE id = 2",
	} {
		if _, err := a.db.ExecContext(t.Context(), q); err == nil {
			t.Errorf("the database accepts %s", q)
		}
	}
	if _, err := a.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for _, q := range []string{"DROP TRIGGER audit_stays", "DELETE FROM audit WHERE id = 4"} {
		if _, err := raw.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	var ce *ChainError
	if _, err := a.Verify(t.Context()); !errors.As(err, &ce) || ce.ID != 4 {
		t.Errorf("a missing last row: %v", err)
	}
}

// A writer names the entry that it considers the last; of two writers that name the same entry, only one succeeds.
func TestAuditRefusesStaleWriter(t *testing.T) {
	a, path := auditAt(t)
	all := chained(t, a, 2)
	for _, after := range []string{"", all[0].Digest, "x"} {
		if _, err := a.Append(t.Context(), after, AuditEntry{Action: "demote", At: at(3)}); !errors.Is(err, ErrMoved) {
			t.Errorf("after %q: %v", after, err)
		}
	}
	r, err := ReadAudit(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Verify(t.Context())
	if d := cmp.Diff(all, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("other users may read the file: %v %v", info.Mode(), err)
	}
	if _, err := ReadAudit(t.Context(), path+"x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestInbox(t *testing.T) {
	path := filepath.Join(t.TempDir(), "home", "inbox.sqlite")
	if _, err := ReadInbox(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
	b, err := OpenInbox(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	said := []InboxItem{
		{Kind: "note", Body: "a\x1b[2J\x00b\xff", Channel: "cli", At: at(1), Acknowledged: at(1)},
		{Kind: "ask", Body: strings.Repeat("long ", 10000), Channel: "cli", Repo: "/r", At: at(2), Acknowledged: at(2)},
		{Kind: "critical", Body: "stop", Channel: "cli", At: at(3), Acknowledged: at(3)},
		{Kind: "ask", Body: "'); DROP TABLE inbox; --", Channel: "cli", At: at(4), Acknowledged: at(4)},
	}
	for i := range said {
		if said[i].ID, err = b.Add(t.Context(), said[i]); err != nil {
			t.Fatal(err)
		}
		said[i].Status = "pending"
	}
	if _, err := b.Add(t.Context(), InboxItem{Kind: "shout", Body: "x"}); err == nil {
		t.Error("an unknown kind was accepted")
	}
	list := func(f func() ([]InboxItem, error), want ...InboxItem) {
		t.Helper()
		got, err := f()
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	list(func() ([]InboxItem, error) { return b.Pending(t.Context()) }, said[2], said[1], said[3], said[0])
	for i, want := range []bool{true, false} { // the first reader's word stays
		if first, err := b.Read(t.Context(), 2, "promote", 70+i, "reply"); first != want || err != nil {
			t.Errorf("read: %v %v", first, err)
		}
		if first, err := b.Finish(t.Context(), 3, at(5+i), "done it"); first != want || err != nil {
			t.Errorf("finish: %v %v", first, err)
		}
	}
	done := at(5)
	said[1].Intent, said[1].Confidence, said[1].Reply = "promote", count(70), "reply"
	said[2].Status, said[2].Done, said[2].Outcome = "done", &done, "done it"
	list(func() ([]InboxItem, error) { return b.All(t.Context()) }, said...)
	list(func() ([]InboxItem, error) { return b.Pending(t.Context()) }, said[1], said[3], said[0])
	if _, err := b.Finish(t.Context(), 99, at(1), ""); !errors.Is(err, ErrNoItem) {
		t.Errorf("got %v", err)
	}
	if _, err := b.Item(t.Context(), 99); !errors.Is(err, ErrNoItem) {
		t.Errorf("got %v", err)
	}
	for _, q := range []string{"DELETE FROM inbox", "UPDATE inbox SET body = 'x'",
		"REPLACE INTO inbox SELECT * FROM inbox WHERE id = 1"} {
		if _, err := b.db.ExecContext(t.Context(), q); err == nil {
			t.Errorf("the database accepts %s", q)
		}
	}
}

// An empty file, as left by a process that was killed right after it created the file, is read as a file without
// entries.
func TestEmptyUserFileIsReadable(t *testing.T) {
	dir := t.TempDir()
	for name, read := range map[string]func(string) (int, error){
		"audit": func(path string) (int, error) {
			a, err := ReadAudit(t.Context(), path)
			if err != nil {
				return 0, err
			}
			defer a.Close()
			all, err := a.Verify(t.Context())
			return len(all), err
		},
		"inbox": func(path string) (int, error) {
			b, err := ReadInbox(t.Context(), path)
			if err != nil {
				return 0, err
			}
			defer b.Close()
			all, err := b.Pending(t.Context())
			return len(all), err
		},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if n, err := read(path); n != 0 || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
	}
}
