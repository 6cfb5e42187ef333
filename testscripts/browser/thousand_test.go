package browser

import (
	"fmt"
	"testing"
	"time"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
)

// The page of a run with a thousand batches is small, and shows each update. Times depend on the machine; to log them:
// go test -v -run TestThousandBatchesInTheBrowser ./testscripts/browser
func TestThousandBatchesInTheBrowser(t *testing.T) {
	chromium(t)
	p := newProject(t, "", "", map[string]string{"plan.md": "# A thousand\n"})
	layout := journal.LayoutOf(p.dir)
	if err := layout.Make(); err != nil {
		t.Fatal(err)
	}
	journal, err := store.OpenJournal(t.Context(), layout.Journal())
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	info := runner.Info{Plan: "plan.md", Title: "A thousand", Slug: "many", Branch: "runplan/many/main", Base: "b0",
		Agent: "a", Mode: "team", Workers: 16, Land: "branch", MaxAttempts: 3, LoopVersion: runner.LoopVersion}
	for i := range 1000 {
		b := runner.BatchInfo{Key: fmt.Sprint(i + 1), Number: fmt.Sprint(i + 1),
			Title: fmt.Sprintf("the batch that does thing number %d", i+1), Digest: "d"}
		if i >= 16 {
			b.Needs = []string{fmt.Sprint(i - 15)}
		}
		info.Batches = append(info.Batches, b)
	}
	run, seq := "0a1b2c3d-0000-4000-8000-000000000001", 0
	record := func(e runner.Event) store.Record {
		seq++
		e.Seq, e.Run, e.At = seq, run, time.Now().UTC()
		body, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return store.Record{Run: run, Seq: seq, At: e.At, Kind: string(e.Kind), Batch: e.Batch, Body: body}
	}
	if err := journal.AddRun(t.Context(),
		store.Run{ID: run, Slug: info.Slug, Plan: info.Plan, PlanText: []byte("x"), Started: time.Now()},
		record(runner.Event{Kind: runner.RunStarted, Job: &info})); err != nil {
		t.Fatal(err)
	}
	// start the page before taking the lock: runplan refuses a page that the process of a run starts
	page := p.serve("127.0.0.1:0")
	lock, err := local.TakeLock(layout.Lock(info.Slug), time.Now()) // the run is running
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	b := open(t, page.url)
	b.follow("A thousand")
	b.until(`document.querySelector("#link").dataset.state === "on"`)
	eval[int](b,
		`window.slow = []; new PerformanceObserver(l => slow.push(...l.getEntries().map(e => e.duration))).observe({type: "longtask"}); 1`)
	for n := range 16 {
		key := fmt.Sprint(n + 1)
		var records []store.Record
		records = append(records,
			record(runner.Event{Kind: runner.Dispatched, Command: key + "/r1-c1/execute", Batch: key, Attempt: 1, Base: "b0"}))
		if n > 0 {
			before := fmt.Sprint(n)
			records = append(records,
				record(runner.Event{Kind: runner.Executed, Command: before + "/r1-c1/execute", Batch: before, Attempt: 1,
					Outcome: runner.OutcomeOK, Base: "b0", Commit: "c" + before, Tree: "t" + before}))
		}
		if err := journal.Append(t.Context(), records...); err != nil {
			t.Fatal(err)
		}
		b.until(fmt.Sprintf(`document.querySelector("#story").textContent.includes("batch %d (")`, n+1))
	}
	bytes := eval[float64](b, `performance.getEntriesByType("navigation")[0].decodedBodySize`)
	paint := eval[float64](b, `(performance.getEntriesByName("first-contentful-paint")[0] || {startTime: -1}).startTime`)
	took := eval[float64](b, `Number(document.documentElement.dataset.took)`)
	slow := eval[float64](b, `Math.max(0, ...slow)`)
	t.Logf(
		"1,000 batches: page %.0f kB, first paint %.0f ms, longest update %.1f ms of script, longest task of the main "+
			"thread during updates %.0f ms (0: none above 50)", bytes/1000, paint, took, slow)
	if bytes > 300_000 {
		t.Errorf("the page has %.0f bytes", bytes)
	}
	if took <= 0 {
		t.Error("the page does not say how long an update takes")
	}
}
