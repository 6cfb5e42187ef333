package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// book is a journal to which a test adds events.
type book struct {
	t       *testing.T
	layout  journal.Layout
	journal *store.Journal
	run     string
	seq     int
}

func newBook(t *testing.T, info runner.Info) *book {
	t.Helper()
	b := &book{t: t, layout: journal.LayoutOf(t.TempDir()), run: "0a1b2c3d-0000-4000-8000-000000000001"}
	if err := b.layout.Make(); err != nil {
		t.Fatal(err)
	}
	j, err := store.OpenJournal(t.Context(), b.layout.Journal())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	b.journal = j
	first := b.record(runner.Event{Kind: runner.RunStarted, Job: &info})
	if err := j.AddRun(t.Context(),
		store.Run{ID: b.run, Slug: info.Slug, Plan: info.Plan, PlanText: []byte("x"), Started: began}, first); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *book) record(e runner.Event) store.Record {
	b.t.Helper()
	b.seq++
	e.Seq, e.Run, e.At = b.seq, b.run, began.Add(time.Duration(b.seq)*time.Second)
	body, err := e.Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	return store.Record{Run: b.run, Seq: e.Seq, At: e.At, Kind: string(e.Kind), Batch: e.Batch, Body: body}
}

func (b *book) add(events ...runner.Event) {
	b.t.Helper()
	var records []store.Record
	for _, e := range events {
		records = append(records, b.record(e))
	}
	if err := b.journal.Append(b.t.Context(), records...); err != nil {
		b.t.Fatal(err)
	}
}

// options returns options without questions that wait, and without an owner who signs.
func options(l journal.Layout) Options {
	return Options{
		Name: "shop", Layout: l, Repo: &git.Repo{Root: l.Root}, Now: time.Now, Zone: time.UTC,
		Alive: func([]runner.Summary) {}, Sign: func(*store.Journal) {},
		Waiting: func(context.Context) (Waiting, error) { return Waiting{}, nil },
		Preview: func(context.Context, string, string) (Outcome, error) { return Outcome{}, nil },
		Trace:   func(context.Context, string) (string, error) { return "", errors.New("the run has no trace") },
		Format:  func(string) stream.Format { return stream.Plain },
	}
}

func (b *book) pages(waiting Waiting) http.Handler {
	b.t.Helper()
	o := options(b.layout)
	o.Waiting = func(context.Context) (Waiting, error) { return waiting, nil }
	o.Acts = map[string]Act{"fail": func(context.Context, url.Values) (string, error) {
		return "", errors.New("<script>no</script>\x1b[2J")
	}}
	return New(o)
}

func get(t *testing.T, h http.Handler, method, target string, want int) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, nil))
	if w.Code != want {
		t.Fatalf("%s: %d, want %d\n%s", target, w.Code, want, w.Body)
	}
	return w.Body.String()
}

// team returns a run of n batches; from the third on, each depends on the batch two before it.
func team(n int) runner.Info {
	info := runner.Info{Plan: "plan.md", Title: "Many", Slug: "many", Branch: "runplan/many/main", Base: "b0", Agent: "a",
		Mode: "team", Workers: 4, Land: "branch", MaxAttempts: 3, LoopVersion: runner.LoopVersion}
	for i := range n {
		b := runner.BatchInfo{Key: fmt.Sprint(i + 1), Number: fmt.Sprint(i + 1),
			Title: fmt.Sprintf("the batch that does thing number %d", i+1), Digest: "d"}
		if i > 1 {
			b.Needs = []string{fmt.Sprint(i - 1)}
		}
		info.Batches = append(info.Batches, b)
	}
	return info
}

// The page of a run with a thousand batches is smaller than 300 kB, and an event changes only a few of its parts.
func TestThousandBatches(t *testing.T) {
	b := newBook(t, team(1000))
	b.add(runner.Event{Kind: runner.Dispatched, Command: "1/r1-c1/execute", Batch: "1", Attempt: 1, Base: "b0"})
	h := b.pages(Waiting{})
	began := time.Now()
	html := get(t, h, "GET", "/run/"+b.run+"/", 200)
	t.Logf("%d bytes, made in %v", len(html), time.Since(began))
	if len(html) > 300_000 {
		t.Errorf("the page has %d bytes", len(html))
	}
	if n := strings.Count(html, `class="dot`); n != 1000 {
		t.Errorf("%d batches are in the picture", n)
	}
	s := siteOf(t, b)
	look := func() map[string]string {
		m := map[string]string{}
		if err := s.hub.with(t.Context(), b.run, func(w *watch) error {
			_, parts, err := s.runParts(w, nil)
			for _, p := range parts {
				m[p.ID] = p.HTML
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return m
	}
	before := look()
	b.add(runner.Event{Kind: runner.Executed, Command: "1/r1-c1/execute", Batch: "1", Attempt: 1,
		Outcome: runner.OutcomeOK, Base: "b0", Commit: "c", Tree: "t"})
	after := look()
	changed, bytes := 0, 0
	for id, html := range after {
		if before[id] != html {
			changed++
			bytes += len(html)
		}
	}
	t.Logf("an event changes %d of %d parts, %d bytes", changed, len(after), bytes)
	if changed == 0 || changed > 10 || bytes > 40_000 {
		t.Errorf("an event changes %d parts, %d bytes", changed, bytes)
	}
}

func siteOf(t *testing.T, b *book) *site {
	t.Helper()
	s := newSite(options(b.layout))
	return s
}

// The memory that a watched run needs does not grow with its number of events.
func TestMemoryIsFlat(t *testing.T) {
	w := newWatch("r", time.UTC)
	info := team(20)
	seq := 0
	apply := func(e runner.Event) {
		seq++
		e.Seq, e.At = seq, began.Add(time.Duration(seq)*time.Second)
		w.apply(e)
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	apply(runner.Event{Kind: runner.RunStarted, Job: &info})
	var first int64
	for n := range 100_000 / 4 {
		key, command := fmt.Sprint(n%20+1), fmt.Sprintf("%d/r%d-c1", n%20+1, n/20+1)
		apply(runner.Event{Kind: runner.Dispatched, Command: command + "/execute", Batch: key, Attempt: n/20 + 1})
		apply(runner.Event{Kind: runner.Executed, Command: command + "/execute", Batch: key, Attempt: n/20 + 1,
			Outcome: runner.OutcomeFailed, Reason: "it does not exist yet", Agent: "a"})
		apply(runner.Event{Kind: runner.Note, Reason: fmt.Sprintf("note %d, with some text", n%50)})
		apply(runner.Event{Kind: runner.Gated, Command: command + "/gate", Batch: key, Attempt: n/20 + 1,
			Outcome: runner.OutcomeFailed, Reports: []gates.Report{{Gate: "g", Output: strings.Repeat("x", 500)}}})
		if n == 1000 {
			first = heap()
		}
	}
	last := heap()
	t.Logf("%d kB after 4,000 events, %d kB after %d", first>>10, last>>10, seq)
	if last-first > 3<<20 {
		t.Errorf("it grew by %d kB", (last-first)>>10)
	}
	runtime.KeepAlive(w)
}

// nasty is a text that a page must neither execute nor render as markup.
const nasty = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x1b]0;t\x07\x1b[2J\u202eexe.gnp\x00\x9b"

func harmless(t *testing.T, what, html string) {
	t.Helper()
	for _, bad := range []string{"<script>alert", "<img"} {
		if strings.Contains(html, bad) {
			t.Errorf("%s: %q is in the page", what, bad)
		}
	}
	for _, r := range html {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e || r >= 0x2066 &&
			r <= 0x2069 {
			t.Errorf("%s: %U is in the page", what, r)
			break
		}
	}
	if !utf8.ValidString(html) {
		t.Errorf("%s: it is not UTF-8", what)
	}
}

// On every page, titles, file names, reasons, findings, briefs, diffs and the output of agents appear as plain text.
func TestHostileText(t *testing.T) {
	info := team(2)
	info.Title, info.Batches[0].Title, info.Plan, info.Agent = nasty, nasty, nasty, nasty
	b := newBook(t, info)
	log := "logs/" + b.run + "/1-a1/agent.log"
	dir := filepath.Join(b.layout.Root, filepath.Dir(filepath.FromSlash(log)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1<<20)
	for name, text := range map[string]string{
		"agent.log": long + "\n" + nasty + "\xff\xfe\n", "brief.md": nasty + long,
		"changes.patch": "diff --git \"a/<img src=x>\\033.txt\" \"b/<img src=x>\\033.txt\"\n--- /dev/null\n+++ \"b/<img " +
			"src=x>\\033.txt\"\n@@ -0,0 +1 @@\n+" + nasty + "\n+" + long + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.add(
		runner.Event{Kind: runner.Dispatched, Command: "1/r1-c1/execute", Batch: "1", Attempt: 1, Agent: nasty, Model: nasty},
		runner.Event{Kind: runner.Executed, Command: "1/r1-c1/execute", Batch: "1", Attempt: 1, Outcome: runner.OutcomeFailed,
			Reason: nasty, Agent: nasty, Model: nasty, Log: log, Reports: []gates.Report{{
				Gate: nasty, Status: gates.Fail, Note: nasty, Output: nasty, Command: nasty, Log: nasty,
				Findings: []gates.Finding{{Path: nasty, Line: 3, Rule: nasty, Severity: gates.Error, Message: nasty, Fix: nasty}},
			}}},
		runner.Event{Kind: runner.Note, Reason: nasty},
	)
	h := b.pages(Waiting{
		Owner: nasty, Trouble: []string{nasty},
		Queue: []lifecycle.Item{{ID: "q1", Unit: nasty, Dimension: nasty, Severity: nasty, Claim: nasty, Evidence: nasty,
			Recommendation: nasty, File: nasty}},
		Inbox: []store.InboxItem{{ID: 1, Kind: nasty, Body: nasty, Reply: nasty, Channel: nasty}},
	})
	for _, target := range []string{"/", "/run/" + b.run + "/", "/run/" + b.run + "/batch/1", "/run/" + b.run +
		"/candidates/1", "/waiting", "/learning", "/?done=" + url.QueryEscape(nasty), "/run/" + b.run + "/?state=" +
		url.QueryEscape(nasty) + "&page=-1"} {
		html := get(t, h, "GET", target, 200)
		harmless(t, target, html)
		if len(html) > 600_000 {
			t.Errorf("%s has %d bytes", target, len(html))
		}
	}
	page := get(t, h, "GET", "/run/"+b.run+"/batch/1", 200)
	for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt;", "⟨U+202E⟩exe.gnp", "⟨FF⟩", "␛[2J", " bytes)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	harmless(t, "a refusal", get(t, h, "POST", "/act/fail", 422))
	harmless(t, "nothing", get(t, h, "GET", "/run/"+url.PathEscape(nasty)+"/", 404))
	harmless(t, "no batch", get(t, h, "GET", "/run/"+b.run+"/batch/"+url.PathEscape(nasty), 404))
}

func TestCriticalPath(t *testing.T) {
	batch := func(key string, ms int64, needs ...string) runner.BatchSummary {
		return runner.BatchSummary{Key: key, Needs: needs, DurationMS: ms, State: string(runner.Passed)}
	}
	all := []runner.BatchSummary{batch("d", 1, "b", "c"), batch("a", 5), batch("b", 2, "a"), batch("c", 9, "a"),
		batch("e", 14)}
	if got := fmt.Sprint(critical(all, runner.Info{}, true)); got != "[1 3 0]" {
		t.Errorf("got %s", got)
	}
	if got := critical([]runner.BatchSummary{batch("a", 1), batch("b", 1)}, runner.Info{}, true); got != nil {
		t.Errorf("without dependencies: %v", got)
	}
	circle := []runner.BatchSummary{batch("a", 1, "b"), batch("b", 1, "a")}
	if got := critical(circle, runner.Info{}, true); len(got) > 2 {
		t.Errorf("a cycle: %v", got)
	}
}

// Before the first run, each page says that it has nothing to show.
func TestPagesBeforeFirstRun(t *testing.T) {
	layout := journal.LayoutOf(t.TempDir())
	h := New(options(layout))
	for target, want := range map[string]string{"/": "Nothing was run here yet", "/waiting": "Nothing waits for you",
		"/learning": "No candidates have competed yet"} {
		if html := get(t, h, "GET", target, 200); !strings.Contains(html, want) {
			t.Errorf("%s does not say %q", target, want)
		}
	}
	get(t, h, "GET", "/run/x/", 404)
	if _, err := os.Stat(layout.Journal()); !errors.Is(err, os.ErrNotExist) {
		t.Error("reading created a journal")
	}
}

// A note needs no answer, so it does not count as a waiting item.
func TestNotesAreNotWaitingItems(t *testing.T) {
	w := Waiting{Jobs: []Job{{}}, Queue: []lifecycle.Item{{}},
		Inbox: []store.InboxItem{{Kind: "ask"}, {Kind: "note"}, {Kind: "critical"}}}
	if got := w.count(); got != 4 {
		t.Errorf("%d items wait, want 4", got)
	}
}

// The page of a batch shows the merged attempt first, not a candidate that lost.
func TestBatchPageShowsMergedAttempt(t *testing.T) {
	words := func(list ...string) (out []try) {
		for _, w := range list {
			out = append(out, try{Word: w})
		}
		return out
	}
	for want, tries := range map[int][]try{
		-1: nil,
		0:  words("merged", "passed", "failed"),
		1:  words("failed", "won", "passed"),
		2:  words("failed", "failed", "editing"),
	} {
		if got := opened(tries); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}

// The list of runs and the page of a run show until when the run is paused.
func TestPagesShowEndOfPause(t *testing.T) {
	info := team(1)
	info.OnLimit, info.Workers, info.Agents = "wait", 1, []runner.AgentInfo{{Name: "a"}}
	b := newBook(t, info)
	until := time.Date(2031, 2, 3, 4, 5, 0, 0, time.UTC)
	b.add(
		runner.Event{Kind: runner.BatchStarted, Batch: "1", Attempt: 1},
		runner.Event{Kind: runner.Dispatched, Command: "1/r1-c0/execute", Batch: "1", Attempt: 1, Base: "b0", Agent: "a"},
		runner.Event{Kind: runner.Executed, Command: "1/r1-c0/execute", Batch: "1", Attempt: 1,
			Outcome: runner.OutcomeLimited,
			Reason:  "429", Agent: "a", RetryAt: until},
	)
	h := b.pages(Waiting{})
	for _, target := range []string{"/", "/run/" + b.run + "/"} {
		if html := get(t, h, "GET", target, 200); !strings.Contains(html, "until 2031-02-03 04:05: ") {
			t.Errorf("%s does not say until when the run is paused:\n%s", target, html)
		}
	}
}
