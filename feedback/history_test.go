package feedback

import (
	"errors"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/store"
)

// A damaged history is an error and is not repaired by guesses (FIX-06).
func TestDamagedHistoryIsError(t *testing.T) {
	b := newBench(t)
	b.process(PROpen)
	good, err := b.Store.Get(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(good); err != nil {
		t.Fatal(err)
	}
	for name, hurt := range map[string]func(*store.Feedback){
		"nothing":          func(r *store.Feedback) { r.Notes = "" },
		"an empty array":   func(r *store.Feedback) { r.Notes = "[]" },
		"null":             func(r *store.Feedback) { r.Notes = "null" },
		"an object":        func(r *store.Feedback) { r.Notes = `{"notes": []}` },
		"cut off":          func(r *store.Feedback) { r.Notes = r.Notes[:len(r.Notes)/2] },
		"something behind": func(r *store.Feedback) { r.Notes += "[]" },
		"a foreign field":  func(r *store.Feedback) { r.Notes = strings.Replace(r.Notes, `"from"`, `"form"`, 1) },
		"no such state":    func(r *store.Feedback) { r.Notes = strings.ReplaceAll(r.Notes, `"triaged"`, `"done"`) },
		"a step left out": func(r *store.Feedback) {
			r.Notes = strings.Replace(r.Notes, `"from":"pending","to":"triaged"`, `"from":"in-fix","to":"triaged"`, 1)
		},
		"another end":       func(r *store.Feedback) { r.Status = "verified" },
		"another approval":  func(r *store.Feedback) { r.Approval = "given" },
		"a state of none":   func(r *store.Feedback) { r.Status = "done" },
		"an id with a path": func(r *store.Feedback) { r.ID = "../one" },
	} {
		r := good
		hurt(&r)
		if i, err := Read(r); !errors.Is(err, ErrHistory) || len(i.Notes) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// An invalid result of a stage is found when the history is evaluated.
	for name, hurt := range map[string][2]string{
		"a stage of none":      {`"stage":"localise"`, `"stage":"guess"`},
		"a result of none":     {`"data":{"base":"b","places":null}`, `"data":[]`},
		"a result of a stage":  {`"data":{"base":"b","places":null}`, `"data":{"url":"x"}`},
		"a result that is not": {`,"data":{"base":"b","places":null}`, ``},
	} {
		r := good
		if r.Notes = strings.Replace(r.Notes, hurt[0], hurt[1], 1); r.Notes == good.Notes {
			t.Fatalf("%s changes nothing: %s", name, good.Notes)
		}
		i, err := Read(r)
		if err == nil {
			_, err = i.tell()
		}
		if !errors.Is(err, ErrHistory) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Reading a row never panics, and an accepted history begins with pending and ends with the status of the row.
func FuzzRead(f *testing.F) {
	f.Add(`[{"at":"2026-05-04T09:00:00Z","from":"","to":"pending","stage":"enqueue","text":"x"}]`, "pending", "")
	f.Add(`[]`, "closed", "given")
	f.Add(`[{"from":"","to":"pending"},{"from":"pending","to":"triaged","stage":"triage","data":{"fix_class":"doc"}}]`,
		"triaged", "")
	f.Fuzz(func(t *testing.T, notes, status, approval string) {
		i, err := Read(store.Feedback{ID: "one", Notes: notes, Status: status, Approval: approval})
		if err != nil {
			return
		}
		if i.Notes[0].To != Pending || i.Notes[len(i.Notes)-1].To != Status(status) {
			t.Errorf("%+v", i)
		}
		_, _ = i.tell()
	})
}

// The transitions between states are exactly those of the loop (FIX-04).
func TestStateTransitions(t *testing.T) {
	var all []string
	for _, from := range []Status{"", Pending, Triaged, InFix, PROpen, Verified, Rejected, Closed} {
		for _, to := range next()[from] {
			all = append(all, string(from)+">"+string(to))
		}
	}
	want := ">pending pending>triaged pending>rejected triaged>in-fix triaged>rejected in-fix>fix-pr-open " +
		"in-fix>rejected in-fix>triaged fix-pr-open>verified fix-pr-open>rejected verified>closed rejected>closed"
	if got := strings.Join(all, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
