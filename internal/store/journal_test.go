package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An event is read back as it was written.
func TestEventsRoundTrip(t *testing.T) {
	j := fresh(t)
	want := []Record{
		{Run: "r", Seq: 1, At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Kind: "started", Body: []byte(`{}`)},
		{Run: "r", Seq: 2, At: at(2), Kind: "noted", Batch: "3-2", Body: []byte(`{"text":"ünï 文 \u0000 'quoted' \" -- ;"}`)},
		{Run: "r", Seq: 7, At: at(1), Kind: "noted", Batch: "4b", Body: []byte(strings.Repeat("x", 1<<16))},
	}
	if err := j.AddRun(t.Context(), started("r"), want...); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, read(t, j, "r", 0)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want[1:], read(t, j, "r", 2)); d != "" {
		t.Error("from 2:", d)
	}
	if got := read(t, j, "another", 0); got != nil {
		t.Errorf("a missing run has events: %v", got)
	}
}

// Readers get all events in order, in any number of pages, and may stop anywhere.
func TestEventPagesKeepOrder(t *testing.T) {
	for name, n := range map[string]int{
		"none": 0, "one": 1, "one short of a page": page - 1, "a page": page, "one more than a page": page + 1,
		"two pages": 2 * page, "many": 3*page + 7,
	} {
		t.Run(name, func(t *testing.T) {
			j := fresh(t)
			if err := j.AddRun(t.Context(), started("other"), events("other", 1, 3)...); err != nil {
				t.Fatal(err)
			}
			if err := j.AddRun(t.Context(), started("r"), events("r", 1, n)...); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(events("r", 1, n), read(t, j, "r", 0)); d != "" {
				t.Error(d)
			}
			seen := 0
			for range j.Events(t.Context(), "r", 0) {
				if seen++; seen == n/2+1 {
					break
				}
			}
			if want := min(n, n/2+1); seen != want {
				t.Errorf("a reader that stops saw %d events, want %d", seen, want)
			}
		})
	}
}

// A reader does not block writers, and sees events that are appended while it reads.
func TestReadersAllowAppends(t *testing.T) {
	j := fresh(t)
	if err := j.AddRun(t.Context(), started("r"), events("r", 1, 2*page)...); err != nil {
		t.Fatal(err)
	}
	var seen []int
	for r, err := range j.Events(t.Context(), "r", 0) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, r.Seq)
		if r.Seq%100 == 0 && r.Seq < 3*page {
			if err := j.Append(t.Context(), event("r", 2*page+r.Seq/100)); err != nil {
				t.Fatal(err)
			}
			if got := len(read(t, j, "r", 2*page)); got < 1 {
				t.Fatal("a nested read returns no events")
			}
		}
	}
	if len(seen) != 2*page+2*page/100 || !slices.IsSorted(seen) {
		t.Errorf("saw %d events, sorted: %v", len(seen), slices.IsSorted(seen))
	}
}

// A reader whose context ends gets an error with the cause.
func TestEventsStopWithContext(t *testing.T) {
	j := fresh(t)
	if err := j.AddRun(t.Context(), started("r"), events("r", 1, page+1)...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for r, err := range j.Events(ctx, "r", 0) {
		if last = err; err == nil && r.Seq == page {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("the last error is %v, want %v", last, context.Canceled)
	}
	if got := len(read(t, j, "r", 0)); got != page+1 {
		t.Errorf("afterwards the journal reads %d events, want %d", got, page+1)
	}
}

// A fact is recorded even if the run was cancelled in the meantime.
func TestCancelledRunsStillWrite(t *testing.T) {
	j := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.AddRun(ctx, started("r"), event("r", 1)); err != nil {
		t.Error(err)
	}
	if err := j.Append(ctx, event("r", 2)); err != nil {
		t.Error(err)
	}
	if err := j.AddAttempt(ctx, Attempt{TaskID: "r/1", At: at(3)}); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(events("r", 1, 2), read(t, j, "r", 0)); d != "" {
		t.Error(d)
	}
}

// A write is stored completely or not at all, and the journal accepts further writes after a refusal.
func TestWritesAreAtomic(t *testing.T) {
	tests := map[string]func(context.Context, *Journal) error{
		"an append whose last number is already used": func(ctx context.Context, j *Journal) error {
			return j.Append(ctx, event("r", 4), event("r", 5), event("r", 3))
		},
		"an append with a number twice": func(ctx context.Context,
			j *Journal) error {
			return j.Append(ctx, event("r", 4), event("r", 4))
		},
		"an append to a run that was never started": func(ctx context.Context, j *Journal) error {
			return j.Append(ctx, event("r", 4), event("nobody", 1))
		},
		"an existing run": func(ctx context.Context, j *Journal) error {
			return j.AddRun(ctx, started("r"), event("r", 4))
		},
		"a run whose first events clash": func(ctx context.Context, j *Journal) error {
			return j.AddRun(ctx, started("s"), event("s", 1), event("s", 1))
		},
	}
	for name, write := range tests {
		t.Run(name, func(t *testing.T) {
			j := fresh(t)
			if err := j.AddRun(t.Context(), started("r"), events("r", 1, 3)...); err != nil {
				t.Fatal(err)
			}
			if err := write(t.Context(), j); err == nil {
				t.Error("no error")
			}
			if d := cmp.Diff(events("r", 1, 3), read(t, j, "r", 0)); d != "" {
				t.Error(d)
			}
			if runs, err := j.Runs(t.Context()); err != nil || len(runs) != 1 {
				t.Errorf("%d runs, %v", len(runs), err)
			}
			if err := j.Append(t.Context(), event("r", 4)); err != nil {
				t.Error(err)
			}
		})
	}
	if err := fresh(t).Append(t.Context()); err != nil {
		t.Error("appending nothing must not be an error:", err)
	}
}

// No SQL statement changes recorded facts (ADR 001).
func TestEventsAreImmutable(t *testing.T) {
	j := fresh(t)
	if err := j.AddRun(t.Context(), started("r"), events("r", 1, 3)...); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		"UPDATE events SET body = '{}' WHERE seq = 2", "UPDATE events SET seq = seq + 10", "DELETE FROM events",
		"DELETE FROM events WHERE seq = 3",
		"UPDATE runs SET plan_text = x''", "UPDATE runs SET run = 's'", "DELETE FROM runs",
	} {
		if _, err := j.db.ExecContext(t.Context(), s); err == nil || !strings.Contains(err.Error(), "never") {
			t.Errorf("%s: error %v; want a refusal that says so", s, err)
		}
	}
	if d := cmp.Diff(events("r", 1, 3), read(t, j, "r", 0)); d != "" {
		t.Error(d)
	}
}

func TestRunsSortNewestFirst(t *testing.T) {
	j := fresh(t)
	for _, r := range []struct {
		id      string
		started time.Time
	}{
		{"noon", at(50)}, {"late", at(50).Add(time.Nanosecond)}, {"early", at(1)}, {"tie", at(50)},
		{"zone", at(30).In(time.FixedZone("UTC+14", 14*3600))},
	} {
		run := started(r.id)
		run.Started = r.started
		if err := j.AddRun(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := j.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range runs {
		got = append(got, r.ID)
	}
	if d := cmp.Diff([]string{"late", "tie", "noon", "zone", "early"}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Run{ID: "early", Slug: "plan", Plan: "plan.md", Started: at(1)}, runs[4]); d != "" {
		t.Error(d)
	}
}

// The journal keeps the plan byte for byte, so that a resume parses the same text.
func TestJournalKeepsPlanBytes(t *testing.T) {
	j := fresh(t)
	for name, text := range map[string][]byte{
		"lf": []byte("# Plan\n"), "crlf": []byte("\ufeff# Plan\r\n\r\n"), "odd": {0xff, 0xfe, 0, 1, '\n'}, "empty": {},
		"large": []byte(strings.Repeat("plan ", 1<<20)),
	} {
		r := started(name)
		r.PlanText = text
		if err := j.AddRun(t.Context(), r); err != nil {
			t.Fatal(name, err)
		}
		got, err := j.PlanText(t.Context(), name)
		if err != nil || string(got) != string(text) {
			t.Errorf("%s: %d bytes, %v; want %d bytes", name, len(got), err, len(text))
		}
	}
	if _, err := j.PlanText(t.Context(), "nobody"); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("a missing run: %v, want %v", err, sql.ErrNoRows)
	}
}

// Times sort as text, so that SQL and people can sort by them.
func TestTimesSortAsText(t *testing.T) {
	times := []time.Time{
		time.Date(1999, 12, 31, 23, 59, 59, 999999999, time.UTC), at(0), at(0).Add(1), at(0).Add(10),
		at(0).Add(time.Millisecond),
		at(1), at(10), at(1).Add(time.Hour).In(time.FixedZone("UTC-12", -12*3600)),
		time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	var text []string
	for _, x := range times {
		text = append(text, stamp(x))
		back, err := time.Parse(time.RFC3339Nano, stamp(x))
		if err != nil || !back.Equal(x) {
			t.Errorf("%s is read as %s, %v", stamp(x), back, err)
		}
	}
	if !slices.IsSorted(text) {
		t.Errorf("not sorted: %v", text)
	}
}

// Two handles, as in two processes: each waits for the other, and both see all events.
func TestTwoWritersSeeAllEvents(t *testing.T) {
	a := fresh(t)
	var path string
	if err := a.db.QueryRowContext(t.Context(), "SELECT file FROM pragma_database_list").Scan(&path); err != nil {
		t.Fatal(err)
	}
	const n = 150
	journals := []*Journal{a, opened(t, path)}
	var all sync.WaitGroup
	for i, j := range journals {
		all.Go(func() {
			run := fmt.Sprint("r", i)
			if err := j.AddRun(t.Context(), started(run)); err != nil {
				t.Error(err)
			}
			for seq := 1; seq <= n; seq += 3 {
				if err := j.Append(t.Context(), events(run, seq, seq+2)...); err != nil {
					t.Error(err)
				}
				if err := j.AddAttempt(t.Context(), Attempt{TaskID: run + "/1", Number: seq, At: at(seq)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, j := range journals {
		for _, run := range []string{"r0", "r1"} {
			if d := cmp.Diff(events(run, 1, n), read(t, j, run, 0)); d != "" {
				t.Error(run, d)
			}
		}
	}
}

// If two writers append to one run, the first number that both use is refused.
func TestDuplicateEventNumberIsRefused(t *testing.T) {
	path := written(t, 3)
	a, b := opened(t, path), opened(t, path)
	if err := a.Append(t.Context(), event("r", 4)); err != nil {
		t.Fatal(err)
	}
	if err := b.Append(t.Context(), event("r", 4)); err == nil || !strings.Contains(err.Error(), "append to run r") {
		t.Errorf("error %v; want one that says what was done", err)
	}
}
