package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
)

// page measures the page of a run of 1,000 batches: its size, the server's memory during 100,000 events, and the cost
// of an update in Chromium, if installed.
func (b *bench) page() error {
	dir, err := b.place.Repo("page", map[string]string{"plan.md": "# A thousand\n"})
	if err != nil {
		return err
	}
	j, err := b.longRun(dir, 1000)
	if err != nil {
		return err
	}
	defer j.Close()
	s, err := b.servePage(dir)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := j.begin(dir); err != nil {
		return err
	}
	var took []float64
	size := 0
	for range b.of(9, 3) {
		began := time.Now()
		html, err := s.get("/run/" + longRunID + "/")
		if err != nil {
			return err
		}
		if n := strings.Count(html, `class="dot`); n != 1000 {
			return fmt.Errorf("%d of 1000 batches are on the page", n)
		}
		took, size = append(took, float64(time.Since(began))), len(html)
	}
	b.figures = append(b.figures,
		figure{what: "page of 1,000 batches", value: fmt.Sprintf("%d kB", size/1000), goal: "< 300 kB", met: size < 300_000},
		figure{what: "page of 1,000 batches, made in", value: ms(median(took))})
	if err := b.pageMemory(j, s); err != nil {
		return err
	}
	return b.pageUpdates()
}

const longRunID = "0a1b2c3d-0000-4000-8000-000000000001"

// longRun is a journal that is written as a run would.
type longRun struct {
	journal *store.Journal
	lock    *local.Lock
	seq     int
}

func (b *bench) longRun(dir string, batches int) (*longRun, error) {
	layout := journal.LayoutOf(dir)
	if err := layout.Make(); err != nil {
		return nil, err
	}
	j, err := store.OpenJournal(context.Background(), layout.Journal())
	if err != nil {
		return nil, err
	}
	l := &longRun{journal: j}
	info := runner.Info{Plan: "plan.md", Title: "A thousand", Slug: "many", Branch: "runplan/many/main", Base: "b0",
		Agent: "a", Mode: "team", Workers: 16, Land: "branch", MaxAttempts: 3, LoopVersion: runner.LoopVersion}
	for i := range batches {
		batch := runner.BatchInfo{Key: fmt.Sprint(i + 1), Number: fmt.Sprint(i + 1),
			Title: fmt.Sprintf("the batch that does thing number %d", i+1), Digest: "d"}
		if i >= 16 {
			batch.Needs = []string{fmt.Sprint(i - 15)}
		}
		info.Batches = append(info.Batches, batch)
	}
	first, err := l.record(runner.Event{Kind: runner.RunStarted, Job: &info})
	if err == nil {
		err = j.AddRun(context.Background(),
			store.Run{ID: longRunID, Slug: info.Slug, Plan: info.Plan, PlanText: []byte("x"), Started: time.Now()}, first)
	}
	if err != nil {
		j.Close()
		return nil, err
	}
	return l, nil
}

// begin takes the lock of a running run. The server was started before, because runplan refuses to serve for a run's
// own process.
func (l *longRun) begin(dir string) (err error) {
	l.lock, err = local.TakeLock(journal.LayoutOf(dir).Lock("many"), time.Now())
	return err
}

// Close ends the run like a process that has died.
func (l *longRun) Close() {
	if l.lock != nil {
		l.lock.Release()
	}
	l.journal.Close()
}

func (l *longRun) record(e runner.Event) (store.Record, error) {
	l.seq++
	e.Seq, e.Run, e.At = l.seq, longRunID, time.Now().UTC()
	body, err := e.Encode()
	return store.Record{Run: longRunID, Seq: l.seq, At: e.At, Kind: string(e.Kind), Batch: e.Batch, Body: body}, err
}

// grow adds events until there are n.
func (l *longRun) grow(n int) error {
	for l.seq < n {
		var records []store.Record
		for range 125 {
			k := l.seq / 4
			key, attempt := fmt.Sprint(k%16+1), k/16+1
			command := fmt.Sprintf("%s/r%d-c1/execute", key, attempt)
			for _, e := range []runner.Event{
				{Kind: runner.Dispatched, Command: command, Batch: key, Attempt: attempt, Base: "b0"},
				{Kind: runner.Note, Reason: fmt.Sprintf("note %d, with some text", k)},
				{Kind: runner.Executed, Command: command, Batch: key, Attempt: attempt, Outcome: runner.OutcomeFailed,
					Reason: "it does not exist yet", Agent: "a"},
				{Kind: runner.Note, Reason: "and on it goes"},
			} {
				r, err := l.record(e)
				if err != nil {
					return err
				}
				records = append(records, r)
			}
		}
		if err := l.journal.Append(context.Background(), records...); err != nil {
			return err
		}
	}
	return nil
}

// served is a page that is served.
type served struct {
	cmd    *exec.Cmd
	client *http.Client
	base   string
}

func (b *bench) servePage(dir string) (*served, error) {
	cmd := b.place.Command(dir, b.place.Runplan, "serve")
	var story bytes.Buffer
	cmd.Stderr = &story
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	jar, _ := cookiejar.New(nil) // it never fails
	s := &served{cmd: cmd, client: &http.Client{Jar: jar}}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("serve: %w: %s", err, story.String())
	}
	s.base, _, _ = strings.Cut(strings.TrimSpace(line), "/?")
	if _, err := s.get(strings.TrimPrefix(strings.TrimSpace(line), s.base)); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *served) stop() {
	s.cmd.Process.Signal(syscall.SIGINT)
	s.cmd.Wait()
}

func (s *served) get(path string) (string, error) {
	r, err := s.client.Get(s.base + path)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", path, r.Status)
	}
	return string(body), err
}

// watch keeps a page of the run open, as a browser does, until the server ends.
func (s *served) watch(path string) (open func() error, err error) {
	r, err := s.client.Get(s.base + path)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		defer r.Body.Close()
		_, err := io.Copy(io.Discard, r.Body)
		ended <- err
	}()
	return func() error {
		select {
		case err := <-ended:
			return fmt.Errorf("the stream ended: %w", errors.Join(err, io.ErrUnexpectedEOF))
		default:
			return nil
		}
	}, nil
}

// held returns the present memory of the server; 0 if the system does not report it.
func (s *served) held() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	n, _ := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64)
	return n << 10
}

// pageMemory adds events while a page is open, and compares the server's memory after the first tenth and at the end.
func (b *bench) pageMemory(l *longRun, s *served) error {
	open, err := s.watch("/live/run/" + longRunID + "?v=")
	if err != nil {
		return err
	}
	all := b.of(100_000, 20_000)
	if err := l.grow(all / 10); err != nil {
		return err
	}
	early, err := s.settled()
	if err != nil {
		return err
	}
	if err := l.grow(all); err != nil {
		return err
	}
	late, err := s.settled()
	if err != nil {
		return err
	}
	if err := open(); err != nil {
		return err
	}
	what := fmt.Sprintf("page, memory of the server after %d events (after a tenth)", l.seq)
	if early == 0 || late == 0 {
		b.figures = append(b.figures, figure{what: what, value: "not measured"})
		return nil
	}
	b.add(what, fmt.Sprintf("%d MB", late>>20), fmt.Sprintf("%d MB", early>>20), float64(late)/float64(early), 1.5)
	return nil
}

// settled waits until the server has read all events, and returns its memory.
func (s *served) settled() (int64, error) {
	for range 3 {
		if _, err := s.get("/run/" + longRunID + "/"); err != nil {
			return 0, err
		}
		time.Sleep(time.Second)
	}
	return s.held(), nil
}

var updates = regexp.MustCompile(`first paint (\d+) ms, longest update ([0-9.]+) ms of script, longest task of the main thread during updates (\d+) ms`)

// pageUpdates runs the test that opens such a page in Chromium.
func (b *bench) pageUpdates() error {
	cmd := exec.Command("go", "test", "-count=1", "-v", "-run", "^TestThousandBatchesInTheBrowser$",
		"./testscripts/browser")
	cmd.Env = append(os.Environ(), "RUNPLAN_BIN="+b.place.Runplan)
	out, err := cmd.CombinedOutput()
	m := updates.FindStringSubmatch(string(out))
	const what = "page, longest update of 1,000 batches, main thread"
	switch {
	case m != nil:
		script, _ := strconv.ParseFloat(m[2], 64) // the expression matches only numbers
		task, _ := strconv.ParseFloat(m[3], 64)
		b.figures = append(b.figures,
			figure{what: "page of 1,000 batches, first paint", value: m[1] + " ms"},
			figure{what: what, value: fmt.Sprintf("%.1f ms", max(script, task)), goal: "< 50 ms", met: max(script, task) < 50})
	case err == nil, bytes.Contains(out, []byte("Chromium is missing")):
		b.figures = append(b.figures, figure{what: what, value: "not measured: Chromium is missing (make browser)"})
	default:
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
