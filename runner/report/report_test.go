package report

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

var update = flag.Bool("update", false, "write the golden files again")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); d != "" {
		t.Errorf("%s (-want +got), -update rewrites it:\n%s", name, d)
	}
}

func lines(events []runner.Event) string {
	var p Printer
	var b strings.Builder
	for _, e := range events {
		for _, l := range p.Lines(e) {
			fmt.Fprintf(&b, "%-5s %s\n", l.Tone, l.Text)
		}
	}
	return b.String()
}

// pastOf returns the past of a run from its events.
func pastOf(events []runner.Event) *Past {
	p, _ := PastOf(func(yield func(runner.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	})
	return p
}

func courseOf(events []runner.Event) story.Course { return pastOf(events).course }

// pageOf returns the report of a run as an HTML page.
func pageOf(s runner.Summary, events []runner.Event) (string, error) {
	var b strings.Builder
	err := WriteHTML(&b, s, pastOf(events))
	return b.String(), err
}

func TestExampleRun(t *testing.T) {
	s, events := example(t)
	page, err := pageOf(s, events)
	if err != nil {
		t.Fatal(err)
	}
	var status strings.Builder
	if err := Status(&status, []Standing{{Summary: s}, {Summary: chain(t, 3, 1, before)}}, ui.Style{}, 120); err != nil {
		t.Fatal(err)
	}
	golden(t, "lines.txt", lines(events))
	golden(t, "status.txt", status.String())
	golden(t, "report.md", Markdown(s, pastOf(events)))
	golden(t, "report.html", page)
	golden(t, "report.svg", SVG(s))
}

func TestTeamRun(t *testing.T) {
	events := team(t)
	s := fold(t, events)
	page, err := pageOf(s, events)
	if err != nil {
		t.Fatal(err)
	}
	var status, plain strings.Builder
	if err := Status(&status, []Standing{{Summary: s}}, ui.Style{}, 160); err != nil {
		t.Fatal(err)
	}
	if err := StatusLines(&plain, []Standing{{Summary: s}}); err != nil {
		t.Fatal(err)
	}
	golden(t, "team-lines.txt", lines(events))
	golden(t, "team-status.txt", status.String())
	golden(t, "team-status-lines.txt", plain.String())
	golden(t, "team-report.md", Markdown(s, pastOf(events)))
	golden(t, "team-report.html", page)
	golden(t, "../../../docs/timeline.svg", Timeline(s, pastOf(events))) // the picture in README.md
}

func TestEmptyBatchIsAnnouncedOnce(t *testing.T) {
	_, events := example(t)
	if !strings.Contains(lines(events), "batch 3 (Notes): skipped (empty batch -- skipping)") {
		t.Error("the lines do not tell of the empty batch")
	}
	again := append(events[:1:1],
		runner.Event{Kind: runner.BatchSkipped, Batch: "b3", Reason: "(empty batch -- skipping)"})
	if n := strings.Count(lines(again), "empty batch"); n != 1 {
		t.Errorf("the empty batch is announced %d times", n)
	}
}

func TestResumedRunPrintsAttemptAgain(t *testing.T) {
	_, events := example(t)
	job := events[0].Job
	now := events[0].At
	events = []runner.Event{
		events[0],
		{At: now, Kind: runner.Dispatched, Command: "b1/r1-c0/execute", Batch: "b1", Attempt: 1},
		{At: now.Add(time.Second), Kind: runner.StopAsked, Outcome: runner.OutcomeCancelled},
		{At: now.Add(time.Second), Kind: runner.Executed, Command: "b1/r1-c0/execute", Batch: "b1", Attempt: 1,
			Outcome: runner.OutcomeCancelled},
		{At: now.Add(time.Second), Kind: runner.RunFinished, Outcome: runner.OutcomeCancelled, Reason: "interrupted"},
		{At: now.Add(time.Hour), Kind: runner.RunResumed, Commit: "3f2c1a9", Job: job},
		{At: now.Add(time.Hour), Kind: runner.Dispatched, Command: "b1/r1-c0/execute", Batch: "b1", Attempt: 1},
		{At: now.Add(time.Hour), Kind: runner.Note, Reason: "the disk is nearly full"},
	}
	golden(t, "resumed.txt", lines(events))
}

func TestLinesOfIncompleteEvents(t *testing.T) {
	var p Printer
	for _, e := range []runner.Event{
		{Kind: runner.RunStarted}, {Kind: runner.Gated, Batch: "nobody", Outcome: runner.OutcomeFailed},
		{Kind: "new.kind", Batch: "b"},
		{Kind: runner.RunFinished}, {Kind: runner.Landed, Outcome: runner.OutcomeRefused, Reason: "main\nhas moved"},
		{Kind: runner.RunResumed},
	} {
		for _, l := range p.Lines(e) {
			if l.Text != ui.Sanitize(l.Text) || l.Text == "" {
				t.Errorf("%s: %q is empty or has control characters", e.Kind, l.Text)
			}
		}
	}
}

func TestBoard(t *testing.T) {
	s := chain(t, 3, 1, before)
	now := s.Updated.Add(10 * time.Second)
	b := Board(Standing{Summary: s}, map[string]string{"b1": "reading a file"}, now)
	if b.Done || b.Elapsed != millis(s.DurationMS)+10*time.Second || now.Sub(b.Started) != b.Elapsed {
		t.Errorf("clock: done %v, elapsed %s, since %s", b.Done, b.Elapsed, now.Sub(b.Started))
	}
	got := []string{}
	for _, r := range b.Rows {
		got = append(got, fmt.Sprintf("%s %s|%s|%s|%s", r.Number, r.Label, r.State, r.Tone, r.Detail))
	}
	want := []string{"1 Skeleton|merged|good|0cc0123", "2 Lexer|checking|busy|reading a file",
		"3 A parser that recovers from errors|waiting|idle|after 2"}
	for i := range want {
		want[i] = strings.Replace(want[i], "0cc0123", short(s.Batches[0].Commit), 1)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	failed, _ := example(t)
	b = Board(Standing{Summary: failed}, nil, now)
	if !b.Done || b.Rows[6].Tone != ui.Bad || b.Rows[6].Detail == "" || b.Rows[7].State != "not run" {
		t.Errorf("a failed run: %+v", b.Rows[6:])
	}
	failed.Status, failed.Stop = runner.RunStopped, runner.OutcomeCancelled
	failed.Batches[6].State = string(runner.StateEdit)
	if r := Board(Standing{Summary: failed}, nil, now).Rows[6]; r.State != "stopped" || r.Tone != ui.Warn {
		t.Errorf("a stopped batch: %+v", r)
	}
}

func TestUnknownCostIsNotZero(t *testing.T) {
	zero, some := 0.0, 0.004
	for want, b := range map[string]runner.BatchSummary{
		"unknown": {State: "merged", Attempts: 1},
		"$0.00":   {State: "merged", Attempts: 1, CostUSD: &zero},
		"$0.0040": {State: "merged", Attempts: 1, CostUSD: &some},
		none:      {State: "waiting"},
	} {
		if got := CostOf(b); got != want {
			t.Errorf("cost of %+v: %s, want %s", b, got, want)
		}
	}
	f := figuresOf(runner.Summary{Batches: []runner.BatchSummary{{State: "merged", Attempts: 1, CostUSD: &zero},
		{State: "failed", Attempts: 2}}})
	if got, want := f.costWords(), "cost $0.00, unknown for 1 batch"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestShell(t *testing.T) {
	for in, want := range map[string]string{
		"runplan/demo/main": "runplan/demo/main",
		"a b":               "'a b'",
		"x'; rm -rf $HOME":  `'x'\''; rm -rf $HOME'`,
		"":                  "''",
	} {
		if got := shell(in); got != want {
			t.Errorf("shell(%q) = %s, want %s", in, got, want)
		}
	}
}

// wellFormed checks that s is valid XML without scripts and without control characters.
func wellFormed(t *testing.T, s string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, s)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			if !strings.Contains(" svg style defs marker g path rect text title ", " "+tok.Name.Local+" ") {
				t.Fatalf("element %s in the picture", tok.Name.Local)
			}
			for _, a := range tok.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
					t.Fatalf("attribute %s in the picture", a.Name.Local)
				}
			}
		case xml.CharData:
			for _, r := range string(tok) {
				if unicode.IsControl(r) && r != '\n' {
					t.Fatalf("control character %U in the picture", r)
				}
			}
		}
	}
}

// inert checks that text from outside has not become markup of the page.
func inert(t *testing.T, page string) {
	t.Helper()
	if i := strings.Index(strings.ToLower(page), "<script"); i >= 0 {
		t.Fatalf("a script in the page: %.80s", page[i:])
	}
	if strings.ContainsAny(page, "\x00\x07\x1b\u202e") {
		t.Fatal("a control character in the page")
	}
}

func TestReportEscapesForeignText(t *testing.T) {
	s, events := example(t)
	wellFormed(t, SVG(s))
	page, err := pageOf(s, events)
	if err != nil {
		t.Fatal(err)
	}
	inert(t, page)
	inert(t, Markdown(s, nil))
}

func FuzzText(f *testing.F) {
	f.Add(nasty, "b1")
	f.Add("\"><svg onload=alert(1)>", "b2")
	f.Add("]]></style><script>", "\x00\xff\ufffe")
	f.Fuzz(func(t *testing.T, text, need string) {
		hostile := text + "<script>"
		s := runner.Summary{
			Run: hostile, Plan: hostile, Title: hostile, Branch: hostile, Base: hostile, BaseBranch: hostile, Commit: hostile,
			Agent: hostile, Mode: hostile,
			Status: runner.RunStatus(hostile), Stop: runner.Outcome(hostile), Reason: hostile,
			Batches: []runner.BatchSummary{
				{Key: "b1", Number: hostile, Title: hostile, State: hostile, Attempts: 1, Agent: hostile, Model: hostile,
					Commit: hostile, Needs: []string{need, "b2"},
					Routed: hostile, Tier: hostile, Sampling: hostile,
					Candidates: []*runner.CandidateSummary{{Number: 1, Variant: hostile, State: "won", Reason: hostile,
						Terms: []runner.ScoreTerm{{Name: hostile}}}},
					Reason: hostile, Receipt: hostile,
					Gates: []runner.GateResult{{Gate: hostile, Status: gates.Status(hostile), Note: hostile}}},
				{Key: "b2", Number: "2", State: "failed", Reason: hostile, Needs: []string{need}},
			},
		}
		events := []runner.Event{{Kind: runner.Gated, Batch: "b2", Attempt: 1, Outcome: runner.Outcome(hostile),
			Reason: hostile, Log: hostile, Reports: []gates.Report{{
				Gate: hostile, Status: gates.Fail, Output: text, Command: hostile, Log: hostile,
				Findings: []gates.Finding{{Rule: hostile, Path: hostile, Message: hostile, Fix: hostile,
					Severity: gates.Severity(hostile)}},
			}}}}
		at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
		events = append(events, runner.Event{Kind: runner.Executed, Batch: "b1", Command: need + "/r1-c1/execute",
			Candidate: 1, Variant: hostile, At: at},
			runner.Event{Kind: runner.Gated, Batch: "b2", Command: "b2/r1-c0/gate", At: at.Add(time.Minute), DurationMS: 50_000,
				Reason: hostile, Outcome: runner.OutcomeFailed})
		wellFormed(t, SVG(s))
		wellFormed(t, Timeline(s, pastOf(events))+"<svg/>")
		if Timeline(s, pastOf(events)) == "" {
			t.Fatal("no timeline")
		}
		page, err := pageOf(s, events)
		if err != nil {
			t.Fatal(err)
		}
		inert(t, page)
		// Code blocks show their content unchanged, so these fields are cleared before the check.
		events[0].Reports[0].Output, s.Batches[0].Receipt = "", ""
		s.Run, s.Branch, s.Base, s.BaseBranch = "1", "b", "c", "d"
		inert(t, Markdown(s, pastOf(events[:1])))
		Board(Standing{Summary: s}, map[string]string{"b1": hostile}, time.Time{})
		var status strings.Builder
		if err := errors.Join(Status(&status, []Standing{{Summary: s}}, ui.Style{}, 80),
			StatusLines(&status, []Standing{{Summary: s}})); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(status.String(), "\x00\x07\x1b\u202e") {
			t.Fatalf("a control character in the status: %q", status.String())
		}
	})
}
