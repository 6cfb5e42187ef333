package outcome

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // not every machine knows the zones

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/proc"
)

var update = flag.Bool("update", false, "write the results beside the streams")

// corpus has a folder for each CLI with a file for each situation: a description, how the program ended, and its
// output. The .want file of the same name has the expected result. Add a file for each new behavior of a CLI.
const corpus = "../testdata/agents"

// now is the time at which all situations happen.
var now = time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC)

// situation is one file of the corpus.
type situation struct {
	format         stream.Format
	stdout, stderr string
	evidence       Evidence
}

func read(t *testing.T, file string) situation {
	t.Helper()
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := situation{format: stream.Format(filepath.Base(filepath.Dir(file)))}
	if !slices.Contains(stream.Formats(), s.format) {
		t.Fatalf("%s is no format", s.format)
	}
	s.evidence = Evidence{Name: "it", Format: s.format, Now: now,
		Limits: agents.Limits{Total: time.Hour, Idle: time.Minute}}
	r := &s.evidence.Result
	r.Ended = proc.Exited
	huge := 0
	for line := range strings.Lines(string(ar.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "exit":
			r.Exit, err = strconv.Atoi(value)
		case "signal":
			r.Ended, r.Signal = proc.Signaled, value
		case "ended":
			r.Ended = proc.Reason(value)
		case "waits":
			s.evidence.Waits = value == "true"
		case "huge":
			huge, err = strconv.Atoi(value)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	for _, f := range ar.Files {
		text := strings.ReplaceAll(string(f.Data), "@huge@", strings.Repeat("long \\\" ", huge/8))
		switch f.Name {
		case "stdout":
			s.stdout = text
		case "stderr":
			s.stderr = text
		default:
			t.Fatalf("%s: what is %s?", file, f.Name)
		}
	}
	return s
}

// parse reads the situation's output in pieces of the given size.
func (s situation) parse(size int) (stream.Totals, []string) {
	p := stream.New(s.format, func() time.Time { return now })
	var said []string
	texts := []string{s.stderr, s.stdout}
	if !s.format.Lines() {
		slices.Reverse(texts) // what is said of a failure comes last
	}
	for _, text := range texts {
		for part := range slices.Chunk([]byte(text), size) {
			_, _ = p.Write(part)
			for _, e := range p.Take() {
				said = append(said, e.Lines()...)
			}
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			_, _ = p.Write([]byte("\n"))
		}
	}
	p.Close()
	for _, e := range p.Take() {
		said = append(said, e.Lines()...)
	}
	return p.Totals(), said
}

// wanted holds the content of a .want file.
type wanted struct {
	Outcome agents.Outcome `json:"outcome"`
	Kind    agents.Kind    `json:"kind,omitempty"`
	RetryAt time.Time      `json:"retry_at,omitzero"`
	Summary string         `json:"summary"`
	Rule    string         `json:"rule"`
	Said    []string       `json:"said"` // what those who watch see
	Totals  stream.Totals  `json:"totals"`
}

func TestCorpus(t *testing.T) {
	files, err := filepath.Glob(corpus + "/*/*.txt")
	if err != nil || len(files) < 90 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			s := read(t, file)
			totals, said := s.parse(max(len(s.stdout), len(s.stderr), 1))
			s.evidence.Totals = totals
			v := Decide(s.evidence)
			got := wanted{v.Outcome, v.Kind, v.RetryAt, v.Summary, v.Rule, short(said), totals}
			check(t, strings.TrimSuffix(file, ".txt")+".want", got)
			for _, size := range []int{7, 4096} {
				again, _ := s.parse(size)
				if d := cmp.Diff(totals, again); d != "" {
					t.Errorf("in pieces of %d bytes: %s", size, d)
				}
			}
		})
	}
}

func short(lines []string) []string {
	for i, s := range lines {
		if len(s) > 200 {
			lines[i] = s[:200] + fmt.Sprintf(" (%d bytes)", len(s))
		}
	}
	return lines
}

func check(t *testing.T, file string, got wanted) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(got); err != nil {
		t.Fatal(err)
	}
	text := b.Bytes()
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(text)); d != "" {
		t.Error(d)
	}
}

// Each situation is classified as its name requires, independently of its .want file.
func TestDecideMatchesSituationName(t *testing.T) {
	good := []string{"success", "success_on_a_plan", "no_change", "writes_about_limits", "background_done", "noise",
		"huge_line", "warning", "recovered", "no_price", "error_then_stop", "type_last", "thought", "stdin_open"}
	kinds := map[string][]agents.Kind{
		"auth_missing": {agents.KindAuth}, "auth_expired": {agents.KindAuth}, "quota": {agents.KindQuota},
		"denied":   {agents.KindDenied},
		"declined": {agents.KindDenied}, "limit_with_time": {agents.KindLimit}, "limit_in_text": {agents.KindLimit},
		"limit_today": {agents.KindLimit},
		"limit_short": {agents.KindLimit}, "limit_daily": {agents.KindLimit}, "overloaded": {agents.KindOverloaded},
		"unknown_model": {agents.KindMissingModel},
		"network_down":  {agents.KindNetwork, agents.KindIdle}, "refused": {agents.KindRefused},
		"max_turns": {agents.KindTurns}, "max_budget": {agents.KindBudget},
		"background": {agents.KindBackground}, "empty_answer": {agents.KindNoAnswer},
		"unknown_flag": {agents.KindSettings, agents.KindExit}, "untrusted": {agents.KindSettings},
		"crash": {agents.KindCrash}, "killed": {agents.KindCrash}, "truncated": {agents.KindCut, agents.KindLimit},
		"interrupted": {agents.KindCut, agents.KindCrash}, "cut_answer": {agents.KindContext},
		"context_full": {agents.KindContext}, "cut_before_retry": {agents.KindOverloaded},
		"auth_expired_on_a_plan": {agents.KindAuth},
		"auth_retried":           {agents.KindAuth}, "auth_in_error": {agents.KindAuth}, "limit_retried": {agents.KindLimit},
		"limit_waits": {agents.KindLimit},
	}
	for name, kind := range map[string][]agents.Kind{
		"cut": {agents.KindNetwork}, "network_waits": {agents.KindNetwork},
		"server_error": {agents.KindServer, agents.KindOverloaded},
		"garbage":      {agents.KindServer}, "limit_header": {agents.KindLimit}, "forbidden": {agents.KindAuth},
		"loop":               {agents.KindRunaway},
		"refused_safeguards": {agents.KindRefused}, "unsaid_retry": {agents.KindServer},
	} {
		kinds[name] = kind
	}
	kinds["terminated"], kinds["hung_up"], kinds["silent"], kinds["overloaded_waits"] = kinds["crash"], kinds["crash"],
		[]agents.Kind{agents.KindIdle}, kinds["overloaded"]
	timed := []string{"limit_with_time", "limit_in_text", "limit_today"}
	files, _ := filepath.Glob(corpus + "/*/*.txt")
	for _, file := range files {
		s := read(t, file)
		s.evidence.Totals, _ = s.parse(1 << 16)
		v := Decide(s.evidence)
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		cli := string(s.format)
		want, known := kinds[name]
		switch {
		case slices.Contains(good, name) && !(cli == "crush" && name == "writes_about_limits") && s.evidence.Result.OK():
			if v.Outcome != agents.Done {
				t.Errorf("%s/%s: %+v", cli, name, v)
			}
		case v.Outcome == agents.Done:
			t.Errorf("%s/%s counts as done: %+v", cli, name, v)
		case known && !slices.Contains(want, v.Kind):
			t.Errorf("%s/%s is %q, not %q: %s", cli, name, v.Kind, want, v.Summary)
		}
		if slices.Contains(timed, name) != !v.RetryAt.IsZero() && slices.Contains(timed, name) {
			t.Errorf("%s/%s: the time of the next try is missing: %+v", cli, name, v)
		}
		if v.Kind == agents.KindLimit && v.Outcome != agents.RateLimited {
			t.Errorf("%s/%s: %+v", cli, name, v)
		}
	}
}

func TestDecidePrefersProcessEnd(t *testing.T) {
	limit := &stream.Fault{Kind: stream.Limit, Message: "429"}
	tests := map[string]struct {
		e       Evidence
		outcome agents.Outcome
		has     []string
	}{
		"total": {Evidence{Format: stream.Claude, Result: proc.Result{Ended: proc.Total},
			Limits: agents.Limits{Total: time.Minute}}, agents.TimedOut, []string{"time limit reached: 1m0s"}},
		"idle": {Evidence{Format: stream.OpenCode, Result: proc.Result{Ended: proc.Idle},
			Limits: agents.Limits{Idle: time.Minute}, Totals: stream.Totals{Passing: limit}}, agents.TimedOut,
			[]string{"idle limit reached", "retrying after: 429"}},
		"cancelled": {Evidence{Format: stream.Pi, Result: proc.Result{Ended: proc.Cancelled, Cause: errors.New("enough")},
			Totals: stream.Totals{Fault: limit}}, agents.GaveUp, []string{"stopped: enough"}},
		"lingered": {Evidence{Format: stream.Claude, Result: proc.Result{Ended: proc.Cancelled, Exit: -1}, Lingered: true,
			Totals: stream.Totals{Ended: true, Text: "all done"}},
			agents.Done, []string{"all done", "did not exit after its last event"}},
		"swept": {Evidence{Format: stream.Claude, Result: proc.Result{Ended: proc.Exited, Swept: 2},
			Totals: stream.Totals{Ended: true, Text: "x"}}, agents.Done,
			[]string{"2 processes left in the background were killed"}},
		"swept, named": {Evidence{Format: stream.Plain,
			Result: proc.Result{Ended: proc.Exited, Swept: 2, Left: []string{"sleep 600", "npm run dev"}}}, agents.Done,
			[]string{"2 processes left in the background were killed: sleep 600, npm run dev"}},
		"plain": {Evidence{Result: proc.Result{Ended: proc.Exited}, Last: "said so"}, agents.Done,
			[]string{"said so"}},
		"plain, failed": {Evidence{Result: proc.Result{Ended: proc.Exited, Exit: 3},
			Totals: stream.Totals{OtherLines: []string{"429"}}}, agents.GaveUp, []string{"exited with status 3"}},
		"plain, no word": {Evidence{Result: proc.Result{Ended: proc.Exited}}, agents.Done, []string{"exited without output"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.e.Now = now
			v := Decide(tt.e)
			if v.Outcome != tt.outcome {
				t.Errorf("got %+v", v)
			}
			for _, s := range tt.has {
				if !strings.Contains(v.Summary, s) {
					t.Errorf("%q lacks %q", v.Summary, s)
				}
			}
		})
	}
}

// If the error that ended the work has no retry time, a time from an earlier try or from standard error is used.
func TestDecideKeepsEarlierRetryTime(t *testing.T) {
	at := now.Add(time.Hour)
	limit := func(at time.Time) *stream.Fault {
		return &stream.Fault{Kind: stream.Limit, Message: "429", RetryAt: at}
	}
	untold := limit(time.Time{})
	for name, tt := range map[string]struct {
		totals stream.Totals
		waits  bool
		want   time.Time
	}{
		"the error has the time": {stream.Totals{Fault: limit(at), Passing: limit(at.Add(time.Hour))},
			false, at},
		"an earlier try has the time":                     {stream.Totals{Fault: untold, Passing: limit(at)}, false, at},
		"the error has the time, a later try was cut off": {stream.Totals{Fault: limit(at), Passing: untold}, true, at},
		"standard error has the time": {stream.Totals{Fault: untold,
			OtherLines: []string{"429: rate limit, try again at 2026-11-20T15:00:00Z"}}, false, at},
		"over by now": {stream.Totals{Fault: untold, Passing: limit(now.Add(-time.Minute))},
			false, time.Time{}},
		"of something else": {stream.Totals{Fault: untold,
			Passing: &stream.Fault{Kind: stream.Overloaded, RetryAt: at}}, false, time.Time{}},
		"no source has the time": {stream.Totals{Fault: untold}, false, time.Time{}},
	} {
		v := Decide(Evidence{Format: stream.Claude, Totals: tt.totals, Waits: tt.waits, Lingered: true, Now: now})
		if v.Outcome != agents.RateLimited || !v.RetryAt.Equal(tt.want) {
			t.Errorf("%s: %+v, want %v", name, v, tt.want)
		}
	}
}
