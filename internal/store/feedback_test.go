package store

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func openFeedback(t *testing.T) *Feedbacks {
	t.Helper()
	f, err := OpenFeedback(t.Context(), filepath.Join(t.TempDir(), "feedback.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// The text of feedback is stored unchanged with any content, and the same feedback only once.
func TestFeedbackTextIsUnchanged(t *testing.T) {
	f := openFeedback(t)
	at := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	r := Feedback{ID: "one", Body: "it's'); DROP TABLE feedback; --\x1b[2J\u0000", Severity: "low", Source: "cli",
		Status: "pending", Notes: `[{"n":1}]`, Created: at}
	for _, want := range []bool{true, false} {
		if added, err := f.Add(t.Context(), r); err != nil || added != want {
			t.Errorf("%v %v", added, err)
		}
	}
	other := r
	other.Body = "other words"
	if _, err := f.Add(t.Context(), other); !errors.Is(err, ErrFeedbackThere) {
		t.Error(err)
	}
	got, err := f.Get(t.Context(), "one")
	if err != nil || got.Body != r.Body || got.Notes != r.Notes {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := f.Get(t.Context(), "two"); !errors.Is(err, ErrNoFeedback) {
		t.Error(err)
	}
	for _, stmt := range []string{"UPDATE feedback SET body = 'x'", "DELETE FROM feedback",
		"UPDATE feedback SET notes_json = '[]'", "UPDATE feedback SET status = 'done'"} {
		if _, err := f.db.ExecContext(t.Context(), stmt); err == nil {
			t.Errorf("the database accepts %s", stmt)
		}
	}
}

// A history only grows, and only one of two concurrent writers succeeds.
func TestFeedbackHistoryIsAppendOnly(t *testing.T) {
	f := openFeedback(t)
	at := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	if _, err := f.Add(t.Context(),
		Feedback{ID: "one", Body: "x", Severity: "low", Source: "cli", Status: "pending", Notes: `[{"n":1}]`,
			Created: at}); err != nil {
		t.Fatal(err)
	}
	before, err := f.Get(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	after, err := f.Note(t.Context(), before, "triaged", "", `{"n":2}`, at)
	if err != nil || after.Notes != `[{"n":1},{"n":2}]` {
		t.Fatal(after.Notes, err)
	}
	if _, err := f.Note(t.Context(), before, "triaged", "", `{"n":3}`, at); !errors.Is(err, ErrFeedbackMoved) {
		t.Error(err)
	}
	if got, err := f.Get(t.Context(), "one"); err != nil || got.Notes != after.Notes || got.Status != "triaged" {
		t.Errorf("%+v %v", got, err)
	}
	broken := after
	broken.Notes = `{"oops":1}`
	if _, err := f.Note(t.Context(), broken, "in-fix", "", `{}`, at); err == nil {
		t.Error("a history that is no array was added to")
	}
}

// More severe feedback comes first, then older feedback.
func TestFeedbackSortsBySeverity(t *testing.T) {
	f := openFeedback(t)
	at := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	for i, r := range []Feedback{{ID: "a", Severity: "low"}, {ID: "b", Severity: "critical"},
		{ID: "c", Severity: "medium"}, {ID: "d", Severity: "critical"}} {
		r.Body, r.Source, r.Status, r.Notes, r.Created = "x", "cli", "pending", "[]", at.Add(time.Duration(i)*time.Second)
		if _, err := f.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	all, err := f.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, r := range all {
		got += r.ID
	}
	if got != "bdca" {
		t.Error(got)
	}
}

// A memory is stored once for each feedback and is found by its class.
func TestMemories(t *testing.T) {
	f := openFeedback(t)
	at := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	for i, m := range []Memory{{"reviews", "one", "tool", "a", at}, {"reviews", "again", "tool", "a", at},
		{"reviews", "two", "doc", "b", at}, {"reviews", "three", "tool", "c", at}} {
		if added, err := f.Remember(t.Context(), m); err != nil || added != (i != 1) {
			t.Errorf("%d: %v %v", i, added, err)
		}
	}
	got, err := f.Memories(t.Context(), "reviews", "tool", 5)
	if err != nil || len(got) != 2 || got[0].Content != "three" || got[1].Content != "one" {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := f.Memories(t.Context(), "reviews", "", 2); err != nil || len(got) != 2 {
		t.Errorf("%+v %v", got, err)
	}
}
