package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// start opens a new journal and writes the first event of a run, as a loop of this version would.
func start(t *testing.T, run string, loop int, j *store.Journal) *store.Journal {
	t.Helper()
	if j == nil {
		var err error
		if j, err = store.OpenJournal(t.Context(), filepath.Join(t.TempDir(), "raw.sqlite")); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() })
	}
	info := runner.Info{Plan: "plan.md", Title: "Shop", Slug: run, Agent: "a", LoopVersion: loop, MaxAttempts: 1,
		Workers: 1, Batches: []runner.BatchInfo{{Key: "1", Number: "1", Title: "cart"}}}
	body, err := runner.Event{Seq: 1, At: began, Run: run, Kind: runner.RunStarted, Job: &info}.Encode()
	if err == nil {
		err = j.AddRun(t.Context(),
			store.Run{ID: run, Slug: run, Plan: "plan.md", PlanText: []byte("# Shop\n"), Started: began},
			store.Record{Run: run, Seq: 1, At: began, Kind: string(runner.RunStarted), Body: body})
	}
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// write adds an event of a run as this text.
func write(t *testing.T, j *store.Journal, run string, seq int, kind, body string) {
	t.Helper()
	err := j.Append(t.Context(), store.Record{Run: run, Seq: seq, At: began, Kind: kind, Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
}

// A last event that was not written completely is an error that names it. What comes before it is read.
func TestEventsEndAtATornEvent(t *testing.T) {
	j := start(t, "r", runner.LoopVersion, nil)
	write(t, j, "r", 2, "note", `{"seq":2,"kind":"note","reason":"it is whole"}`)
	write(t, j, "r", 3, "note", `{"seq":3,"kind":"no`)
	var read []int
	var failed error
	for ev, err := range Events(t.Context(), j, "r", 0) {
		if failed = err; err == nil {
			read = append(read, ev.Seq)
		}
	}
	if fmt.Sprint(read) != "[1 2]" || failed == nil ||
		!strings.Contains(failed.Error(), "event 3 of run r cannot be read") {
		t.Errorf("events %v, %v", read, failed)
	}
	if _, err := List(t.Context(), j, runner.Filter{}); err == nil {
		t.Error("a run with a torn event is listed as if it were whole")
	}
}

// A later runplan may write kinds and fields that this one does not know. They change nothing.
func TestUnknownEventsChangeNothing(t *testing.T) {
	j := start(t, "r", runner.LoopVersion, nil)
	write(t, j, "r", 2, "batch.started",
		fmt.Sprintf(`{"seq":2,"at":%q,"run":"r","kind":"batch.started","batch":"1"}`, began.Format(time.RFC3339)))
	list := func() string {
		t.Helper()
		sums, err := List(t.Context(), j, runner.Filter{})
		if err != nil || len(sums) != 1 {
			t.Fatalf("%v, %v", sums, err)
		}
		text, err := json.Marshal(sums)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := list()
	write(t, j, "r", 3, "batch.praised",
		fmt.Sprintf(`{"seq":3,"at":%q,"run":"r","kind":"batch.praised","batch":"1","attempt":9,"outcome":"splendid",`+
			`"by_whom":{"name":"x"}}`, began.Format(time.RFC3339)))
	if after := list(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// A run of another version of the loop is listed with the reason why it cannot be read, and the others as ever.
func TestListNamesRunsOfOtherVersions(t *testing.T) {
	j := start(t, "other", runner.LoopVersion+1, nil)
	start(t, "old", 3, start(t, "now", runner.LoopVersion, j))
	sums, err := List(t.Context(), j, runner.Filter{})
	if err != nil || len(sums) != 3 {
		t.Fatalf("%v, %v", sums, err)
	}
	for _, s := range sums {
		if s.Run != "other" {
			if s.Status != runner.RunActive || s.Title != "Shop" || len(s.Batches) != 1 {
				t.Errorf("%s: %+v", s.Run, s)
			}
		} else if s.Status != runner.RunStopped || s.Plan != "plan.md" ||
			!strings.Contains(s.Reason, runner.ErrLoopVersion.Error()) {
			t.Errorf("%s: %+v", s.Run, s)
		}
	}
}

// The last accepted plan counts, but only as it was accepted: a copy that was edited or is gone does not.
func TestPlanTextIsTheAcceptedOne(t *testing.T) {
	j, l := start(t, "r", runner.LoopVersion, nil), LayoutOf(t.TempDir())
	check := func(want string, fresh bool) {
		t.Helper()
		if text, ok, err := PlanText(context.Background(), j, l, "r"); string(text) != want || ok != fresh || err != nil {
			t.Errorf("%q, %v, %v; want %q, %v", text, ok, err, want, fresh)
		}
	}
	check("# Shop\n", true)
	text := "# Shop, changed\n"
	file := l.PlanCopy("r", checksum.SHA256(text))
	write(t, j, "r", 2, "plan.changed", fmt.Sprintf(`{"seq":2,"run":"r","kind":"plan.changed","log":%q,"fingerprint":%q}`,
		l.Rel(file), checksum.SHA256(text)))
	check("# Shop\n", false)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	check(text, true)
	if err := os.WriteFile(file, []byte(text+"- and more\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	check("# Shop\n", false)
}

// A folder of an older runplan gets the present .gitignore; one that the user wrote stays.
func TestMakeRenewsOnlyItsOwnIgnoreFile(t *testing.T) {
	for was, want := range map[string]string{
		"": ignored, "/.gitignore\n/raw.sqlite*\n": ignored, ignored: ignored, "*\n": "*\n",
	} {
		l := LayoutOf(t.TempDir())
		path := filepath.Join(l.Root, ".gitignore")
		if err := os.MkdirAll(l.Root, 0o755); err != nil {
			t.Fatal(err)
		}
		if was != "" {
			if err := os.WriteFile(path, []byte(was), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		err := l.Make()
		if got, _ := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%q became %q, %v", was, got, err)
		}
	}
}

// The path of the repository belongs to the user and may look like a pattern.
func TestGlobInFolderLikePattern(t *testing.T) {
	for _, name := range []string{"shop", "shop[1]", "shop*", "[shop"} {
		l := LayoutOf(filepath.Join(t.TempDir(), name))
		if got := l.Glob(l.Lock("*")); got != nil {
			t.Errorf("%s: %v before there is a folder", name, got)
		}
		if err := os.MkdirAll(filepath.Dir(l.Lock("a")), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{l.Lock("b"), l.Lock("a"), l.GitLock() + ".other"} {
			if err := os.WriteFile(file, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := l.Glob(l.Lock("*")); !slices.Equal(got, []string{l.Lock("a"), l.Lock("b")}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
