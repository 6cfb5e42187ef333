//go:build unix

package notify

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/runner"
)

// listener is a hook that stores the messages it gets.
type listener struct {
	t     *testing.T
	file  string
	hook  Hook
	mu    sync.Mutex
	notes []string
}

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{t: t, file: filepath.Join(t.TempDir(), "told")}
	l.hook = Hook{
		Command: []string{"sh", "-c", "cat >>" + l.file}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")},
		Timeout: 10 * time.Second,
		Redact:  func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") },
		Note: func(s string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.notes = append(l.notes, s)
		},
	}
	return l
}

func (l *listener) told() []Message {
	l.t.Helper()
	data, err := os.ReadFile(l.file)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		l.t.Fatal(err)
	}
	var out []Message
	for line := range strings.Lines(string(data)) {
		var m Message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			l.t.Fatalf("%v: %s", err, line)
		}
		out = append(out, m)
	}
	return out
}

func kinds(ms []Message) string {
	var out []string
	for _, m := range ms {
		out = append(out, strings.TrimSpace(string(m.Event)+" "+m.Batch))
	}
	return strings.Join(out, ", ")
}

func info() runner.Info {
	return runner.Info{
		Plan: "plan.md", Title: "Greetings", Branch: "runplan/plan/main", Base: "b", Workers: 2, MaxAttempts: 3,
		LoopVersion: runner.LoopVersion, Land: "branch",
		Batches:    []runner.BatchInfo{{Key: "k1", Number: "1", Title: "greet"}, {Key: "k2", Number: "2", Title: "bow"}},
		MaxCostUSD: 10, OnLimit: "exit",
	}
}

// story gives events their numbers, run id and times.
func story(events ...runner.Event) []runner.Event {
	job := info()
	out := append([]runner.Event{{Kind: runner.RunStarted, Job: &job}}, events...)
	for i := range out {
		out[i].Seq, out[i].Run, out[i].At = i+1, "11111111-2222", time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
	}
	return out
}

func executed(batch string, o runner.Outcome, reason string, cost *float64) runner.Event {
	return runner.Event{
		Kind: runner.Executed, Command: batch + "/r1-c0/execute", Batch: batch, Attempt: 1, Agent: "claude", Outcome: o,
		Reason: reason,
		Usage:  &agents.Usage{CostUSD: cost},
	}
}

func ended(o runner.Outcome, reason string) runner.Event {
	return runner.Event{Kind: runner.RunFinished, Outcome: o, Reason: reason}
}

func usd(v float64) *float64 { return &v }

func TestNotifiedEvents(t *testing.T) {
	limit := executed("k1", runner.OutcomeLimited, "rate limit: five hours", nil)
	limit.RetryAt = time.Date(2026, 1, 2, 8, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		events []runner.Event
		kinds  []string
		want   string
	}{
		"a run that ends well": {[]runner.Event{ended(runner.OutcomeOK, "")}, nil, "done"},
		"all there is to tell": {[]runner.Event{{Kind: runner.Gated, Batch: "k1", Outcome: runner.OutcomeFailed,
			Reason: "lint"}, ended(runner.OutcomeOK, "")}, []string{"started", "gate", "done"}, "started, gate 1, done"},
		"only the configured events": {[]runner.Event{executed("k1", runner.OutcomeHuman, "sign in", nil),
			ended(runner.OutcomeHuman, "batch 1: sign in")}, []string{"done"}, ""},
		"a needed person is notified once": {[]runner.Event{executed("k1", runner.OutcomeHuman, "sign in", nil),
			executed("k1", runner.OutcomeHuman, "sign in", nil), ended(runner.OutcomeHuman, "batch 1: sign in")}, nil,
			"blocked 1"},
		"another cause is another message": {[]runner.Event{executed("k1", runner.OutcomeHuman, "sign in", nil),
			executed("k1", runner.OutcomeHuman, "no money", nil)}, nil, "blocked 1, blocked 1"},
		"another batch is another message": {[]runner.Event{executed("k1", runner.OutcomeHuman, "sign in", nil),
			executed("k2", runner.OutcomeHuman, "sign in", nil)}, nil, "blocked 1, blocked 2"},
		"a limit of the provider": {[]runner.Event{limit,
			ended(runner.OutcomeLimited, "batch 1: rate limit: five hours")}, nil, "paused 1"},
		"a limit of the run": {[]runner.Event{ended(runner.OutcomeLimited, "the cost limit of $10.00")}, nil,
			"paused"},
		"four fifths of the money, once": {[]runner.Event{executed("k1", runner.OutcomeOK, "", usd(7.9)),
			executed("k2", runner.OutcomeOK, "", usd(0.1)), executed("k2", runner.OutcomeOK, "", usd(0.5))}, nil, "budget"},
		"cancelled work has a cost too": {[]runner.Event{{Kind: runner.Spent, Batch: "k1",
			Usage: &agents.Usage{CostUSD: usd(9)}}}, nil, "budget"},
		"a batch that failed, and its run": {[]runner.Event{{Kind: runner.BatchFailed, Batch: "k1", Attempt: 3,
			Reason: "tests"}, ended(runner.OutcomeFailed, "batch 1: tests")}, nil, "failed 1, failed"},
		"a tool that broke":         {[]runner.Event{ended(runner.OutcomeError, "disk full")}, nil, "failed"},
		"who stopped the run knows": {[]runner.Event{ended(runner.OutcomeCancelled, "interrupted")}, nil, ""},
		"notes and starts are not for hooks": {[]runner.Event{{Kind: runner.Note, Reason: "x"},
			{Kind: runner.BatchStarted, Batch: "k1"}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listen(t)
			n := New(Options{Hook: l.hook, Events: tt.kinds, Info: info(), Repository: "project"})
			for _, e := range story(tt.events...) {
				n.Event(e)
			}
			n.Close()
			if got := kinds(l.told()); got != tt.want || l.notes != nil {
				t.Errorf("told %q, want %q; noted %q", got, tt.want, l.notes)
			}
		})
	}
}

// A person is notified once of each question, with the command that answers it; a resumed run does not repeat the
// notification.
func TestApprovalsAreNotifiedOnce(t *testing.T) {
	job := info()
	job.Batches[0].Approve = true
	ask := func(tree, why string) []runner.Event {
		return []runner.Event{
			{Kind: runner.Executed, Command: "k1/r1-c0/execute", Batch: "k1", Attempt: 1, Outcome: runner.OutcomeOK,
				Commit: tree, Tree: tree},
			{Kind: runner.Gated, Command: "k1/r1-c0/gate", Batch: "k1", Attempt: 1, Outcome: runner.OutcomeOK, Tree: tree},
			{Kind: runner.ApprovalAsked, Command: "k1/r1-c0/ask", Batch: "k1", Attempt: 1, Outcome: runner.OutcomeOK,
				Commit: tree, Tree: tree, Reason: why},
		}
	}
	events := append([]runner.Event{{Kind: runner.RunStarted, Job: &job}}, ask("t", "the plan asks")...)
	events = append(events, ended(runner.OutcomeHuman, "batch 1 waits for a person: the plan asks"))
	for i := range events {
		events[i].Seq, events[i].Run, events[i].At = i+1, "11111111-2222", time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
	}
	for name, tt := range map[string]struct {
		kinds []string
		want  string
	}{
		"unasked":             {nil, "approval 1"},
		"not wanted as such":  {[]string{"blocked"}, "blocked"},
		"wanted, and no more": {[]string{"approval", "done"}, "approval 1"},
	} {
		l := listen(t)
		n := New(Options{Hook: l.hook, Events: tt.kinds, Info: job, Repository: "project"})
		for _, e := range events {
			n.Event(e)
		}
		n.Close()
		told := l.told()
		if got := kinds(told); got != tt.want {
			t.Errorf("%s: told %q, want %q", name, got, tt.want)
			continue
		}
		if m := told[0]; m.Event == Approval &&
			(m.Approval != "11111111/k1" || m.Approve != "runplan approve 11111111/k1" ||
				!strings.HasSuffix(m.Text, "batch 1 greet: waits for you: the plan asks: runplan approve 11111111/k1")) {
			t.Errorf("%s: %+v", name, m)
		}
		l = listen(t)
		n = New(Options{Hook: l.hook, Events: tt.kinds, Info: job, Repository: "project"})
		for _, e := range events {
			n.Recall(e)
		}
		n.Event(runner.Event{Kind: runner.RunResumed, Run: "11111111-2222", Seq: 9})
		again := events[len(events)-1]
		again.Seq = 10
		n.Event(again)
		n.Close()
		if got := kinds(l.told()); got != "" && tt.kinds == nil {
			t.Errorf("%s: resumed, it tells %q again", name, got)
		}
	}
}

func TestMessage(t *testing.T) {
	l := listen(t)
	l.hook.Command = []string{"sh", "-c", "cat >>" + l.file + `; printf '%s|%s' "$RUNPLAN_EVENT" "$RUNPLAN_TEXT" >env`}
	n := New(Options{Hook: l.hook, Info: info(), Repository: "project"})
	e := executed("k2", runner.OutcomeLimited, "rate limit:\n key hunter2 \x1b[31mis\x1b[0m out", usd(0.25))
	e.RetryAt = time.Date(2026, 1, 2, 9, 0, 0, 0, time.FixedZone("X", 3600))
	for _, e := range story(executed("k1", runner.OutcomeFailed, "", nil), e) {
		n.Event(e)
	}
	n.Close()
	want := Message{
		Version: 1, Event: Paused, At: time.Date(2026, 1, 2, 3, 4, 2, 0, time.UTC), Repository: "project",
		Run: "11111111-2222", Plan: "plan.md",
		Title: "Greetings", Branch: "runplan/plan/main", Batch: "2", BatchTitle: "bow", Attempt: 1, Agent: "claude",
		Reason: "rate limit: key [redacted] is out", RetryAt: time.Date(2026, 1, 2, 8, 0, 0, 0, time.UTC),
		CostUSD: usd(0.25), CostUnknown: 1, MaxCostUSD: 10, Batches: &Counts{ToGo: 2},
		Text: "project: plan.md, batch 2 bow: is paused until 2026-01-02 08:00:00 UTC: rate limit: key [redacted] is out",
	}
	if d := cmp.Diff([]Message{want}, l.told()); d != "" {
		t.Error(d)
	}
	if env, _ := os.ReadFile(filepath.Join(l.hook.Dir, "env")); string(env) != "paused|"+want.Text {
		t.Errorf("variables: %q", env)
	}
}

func TestDoneMessageContainsURLAndReport(t *testing.T) {
	l := listen(t)
	n := New(Options{Hook: l.hook, Info: info(), Repository: "project"})
	for _, e := range story(
		runner.Event{Kind: runner.Landed, Outcome: runner.OutcomeOK,
			Reason: "Warning: 1 uncommitted change\nhttps://example.org/pull/7"}, ended(runner.OutcomeOK, "")) {
		n.Event(e)
	}
	n.Close()
	m := l.told()[0]
	if m.URL != "https://example.org/pull/7" || m.Report != ".runplan/reports/11111111-2222/report.md" ||
		m.Text != "project: plan.md: is done: 0 merged, 0 skipped: https://example.org/pull/7" {
		t.Errorf("got %+v", m)
	}
}

// A run that is resumed several times does not repeat notifications, except those of its end.
func TestResumeSkipsSentNotifications(t *testing.T) {
	l := listen(t)
	before := story(executed("k1", runner.OutcomeHuman, "sign in", usd(9)), ended(runner.OutcomeHuman, "batch 1: sign in"))
	n := New(Options{Hook: l.hook, Info: info(), Repository: "project"})
	for _, e := range before {
		n.Recall(e)
	}
	n.Event(runner.Event{Kind: runner.RunResumed})
	n.Event(executed("k1", runner.OutcomeHuman, "sign in", usd(0.1)))
	n.Event(ended(runner.OutcomeHuman, "batch 1: sign in"))
	n.Event(runner.Event{Kind: runner.RunResumed})
	n.Event(ended(runner.OutcomeFailed, "batch 1: tests"))
	n.Event(runner.Event{Kind: runner.RunResumed})
	n.Event(ended(runner.OutcomeFailed, "batch 1: tests"))
	n.Close()
	if got := kinds(l.told()); got != "failed, failed" {
		t.Errorf("told %q", got)
	}
}

// An error of a hook is noted once and does not delay the run.
func TestHookErrorIsNotedOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		command string
		want    string
	}{
		"a status": {"echo no such topic hunter2 >&2; exit 3",
			"notification: sh exited with status 3: no such topic [redacted]"},
		"a signal": {"kill -KILL $$", "notification: sh was killed by SIGKILL"},
		"it hangs": {"sleep 3600", "notification: sh took longer than 300ms and was ended"},
		"its program": {"",
			"notification: run no-such-hook: program not found: install no-such-hook, or put its folder into PATH; correct " +
				"notify.command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listen(t)
			l.hook.Timeout = 300 * time.Millisecond
			if l.hook.Command = []string{"sh", "-c", tt.command}; tt.command == "" {
				l.hook.Command = []string{"no-such-hook"}
			}
			n := New(Options{Hook: l.hook, Info: info(), Repository: "project"})
			for _, e := range story(executed("k1", runner.OutcomeHuman, "a", nil),
				executed("k1", runner.OutcomeHuman, "b", nil)) {
				n.Event(e)
			}
			n.Close()
			if d := cmp.Diff([]string{tt.want}, l.notes); d != "" {
				t.Error(d)
			}
		})
	}
}

// Events do not wait for the hook: this hook waits for a file that is written only after the events.
func TestEventsDoNotWaitForHook(t *testing.T) {
	l := listen(t)
	l.hook.Timeout = time.Hour
	l.hook.Command = []string{"sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; cat >>" + l.file}
	n := New(Options{Hook: l.hook, Info: info(), Repository: "project"})
	for _, e := range story(executed("k1", runner.OutcomeHuman, "a", nil)) {
		n.Event(e)
	}
	if err := os.WriteFile(filepath.Join(l.hook.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n.Close()
	if len(l.told()) == 0 {
		t.Error("no notification was sent")
	}
}

// At its end a run waits for notifications no longer than one may take. Those that were not sent are counted, and no
// process remains.
func TestCloseLimitsWaitForHook(t *testing.T) {
	l := listen(t)
	l.hook.Timeout = 700 * time.Millisecond
	l.hook.Command = []string{"sh", "-c", "echo $$ >>" + l.file + "; sleep 61 & sleep 62"}
	n := New(Options{Hook: l.hook, Info: info(), Repository: "project"})
	for i := range 200 {
		n.Event(executed("k1", runner.OutcomeHuman, fmt.Sprint(i), nil))
	}
	n.Close()
	if last := l.notes[len(l.notes)-1]; !strings.Contains(last, "notifications were not sent: the hook took too long") {
		t.Errorf("noted %q", l.notes)
	}
	data, err := os.ReadFile(l.file)
	if err != nil {
		t.Fatal(err)
	}
	for pid := range strings.Lines(string(data)) {
		if _, err := os.Stat("/proc/" + strings.TrimSpace(pid)); err == nil {
			t.Errorf("process %s is still there", pid)
		}
	}
}

func TestWebhook(t *testing.T) {
	var mu sync.Mutex
	var got []string
	answer := http.StatusNoContent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m Message
		err := json.NewDecoder(r.Body).Decode(&m)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Content-Type"), " ", m.Event, " ", err))
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(answer)
	}))
	defer server.Close()
	l := listen(t)
	l.hook.Command, l.hook.Webhook = nil, server.URL+"/hook/hunter3"
	if err := l.hook.Send(Message{Event: Test}); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"POST /hook/hunter3 application/json test <nil>"}, got); d != "" {
		t.Error(d)
	}
	// The webhook does not follow redirects, and no error contains its address.
	for _, answer = range []int{http.StatusFound, http.StatusForbidden} {
		err := l.hook.Send(Message{Event: Test})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprint("it answered ", answer)) ||
			strings.Contains(err.Error(), "hunter3") {
			t.Errorf("got %v", err)
		}
	}
	if len(got) != 3 || slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "elsewhere") }) {
		t.Errorf("asked for %q", got)
	}
	server.Close()
	if err := l.hook.Send(Message{Event: Test}); err == nil || strings.Contains(err.Error(), "hunter3") ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
	hang := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer slow.Close()
	defer close(hang)
	l.hook.Webhook, l.hook.Timeout = slow.URL+"/hunter3", 200*time.Millisecond
	if err := l.hook.Send(Message{Event: Test}); err == nil ||
		!strings.HasSuffix(err.Error(), "/…: no answer within 200ms") {
		t.Errorf("got %v", err)
	}
}

// A limit sends no notification while another agent takes over. If all agents are limited, the run is paused, and the
// notification contains the end of the pause.
func TestPausedOnlyIfAllAgentsLimited(t *testing.T) {
	l := listen(t)
	job := info()
	job.OnLimit, job.Workers, job.Batches, job.MaxCostUSD = "wait", 1, job.Batches[:1], 0
	job.Agents = []runner.AgentInfo{{Name: "claude"}, {Name: "codex"}}
	n := New(Options{Hook: l.hook, Info: job, Repository: "project"})
	limit := func(command string, minute int) runner.Event {
		e := executed("k1", runner.OutcomeLimited, "rate limit", nil)
		e.Command, e.RetryAt = command, time.Date(2026, 1, 2, 8, minute, 0, 0, time.UTC)
		return e
	}
	events := story(limit("k1/r1-c0/execute", 9), limit("k1/r1-c1/execute", 7),
		runner.Event{Kind: runner.Note, Reason: "it is quiet"})
	events[0].Job = &job
	for i, e := range events {
		n.Event(e)
		if i == 1 && len(n.said) > 0 {
			t.Errorf("the limit of one agent was reported: %v", n.said)
		}
	}
	n.Close()
	told := l.told()
	if got := kinds(told); got != "paused" {
		t.Fatalf("told %q", got)
	}
	if m := told[0]; !m.RetryAt.Equal(time.Date(2026, 1, 2, 8, 7, 0, 0, time.UTC)) ||
		m.Reason != "batch 1: claude: rate limit; codex: rate limit" {
		t.Errorf("the notification has the time %s and the reason %s", m.RetryAt, m.Reason)
	}
}

// The cost in a message is that of the report: reviews, critiques and cancelled work count.
func TestMessageCostIncludesReviews(t *testing.T) {
	worked := executed("k1", runner.OutcomeOK, "", usd(1))
	worked.Critique = &runner.CritiqueCost{Usage: agents.Usage{CostUSD: usd(0.25)}}
	review := func(batch string, cost *float64) runner.Event {
		return runner.Event{Kind: runner.Reviewed, Batch: batch, Outcome: runner.OutcomeOK,
			Usage: &agents.Usage{CostUSD: cost}}
	}
	l := listen(t)
	n := New(Options{Hook: l.hook, Info: info()})
	for _, e := range []runner.Event{worked, review("k1", usd(0.5)), review("", usd(2)), review("", nil),
		ended(runner.OutcomeOK, "")} {
		n.Event(e)
	}
	n.Close()
	told := l.told()
	if len(told) == 0 {
		t.Fatal("no message was sent")
	}
	if m := told[len(told)-1]; m.CostUSD == nil || *m.CostUSD != 3.75 || m.CostUnknown != 1 {
		t.Errorf("the cost is %v with %d unknown, want 3.75 with 1", m.CostUSD, m.CostUnknown)
	}
}
