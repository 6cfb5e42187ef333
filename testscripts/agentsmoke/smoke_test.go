package agentsmoke

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// row is what the table at the end says of one CLI.
type row struct {
	cli                               cli
	ran, outcome, tokens, cost, limit string
	auth, denied                      string
}

// Every CLI of versions.txt writes a file through runplan, which gates and merges it and knows what it used; refused
// by its provider it is parked, or its user is told to sign in.
func TestRealAgents(t *testing.T) {
	cache := os.Getenv("RUNPLAN_AGENTS_SMOKE")
	if cache == "" {
		t.Skip("make agents-smoke installs the CLIs and runs them; RUNPLAN_AGENTS_SMOKE is the folder that they are in")
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		t.Fatal(err)
	}
	runplan := filepath.Join(t.TempDir(), "runplan")
	if out, err := exec.Command("go", "build", "-o", runplan, "../../cmd/runplan").CombinedOutput(); err != nil {
		t.Fatalf("build runplan: %v\n%s", err, out)
	}
	if os.Getenv("RUNPLAN_AGENTS_SMOKE_ALONE") != "" {
		alone(t)
	}
	var rows []*row
	for _, c := range clis(t, cache) {
		r := &row{cli: c, ran: "no: " + c.not}
		rows = append(rows, r)
		if c.not != "" {
			continue
		}
		r.ran = "no: it is not installed"
		t.Run(c.name, func(t *testing.T) { smoke(t, runplan, c, r) })
	}
	t.Log("\n" + table(rows))
}

// alone checks that there is no network but the loopback.
func alone(t *testing.T) {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
			t.Fatalf("there is a network beside the loopback: %s", i.Name)
		}
	}
	t.Log("no network but the loopback: nothing can leave this machine")
}

func smoke(t *testing.T, runplan string, c cli, r *row) {
	program := filepath.Join(c.bin, c.name)
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%s %s could not be installed: %v", c.name, c.version, err)
	}
	r.ran = "yes"
	t.Run("works", func(t *testing.T) {
		m := startModel(t)
		p := newPlace(t, runplan, c, m)
		o := p.run(t, c.name)
		r.outcome = fmt.Sprintf("%s in %s", o.last.Outcome, o.took.Round(time.Second))
		r.tokens, r.cost = spent(o.purpose)
		t.Logf("asked: %s; tools: %v; model %q", m.seen(), m.calls, o.last.Model)
		if o.exit != 0 || o.last.Outcome != "ok" || o.gated != "pass" || o.file != written+"\n" {
			t.Errorf("exit %d, agent %q (%s), gate %q, file %q", o.exit, o.last.Outcome, o.last.Reason, o.gated, o.file)
		}
		if len(o.purpose) != 1 || o.purpose[0].In == nil || o.purpose[0].Out == nil || *o.purpose[0].In <= 0 || *o.purpose[0].Out <= 0 {
			t.Errorf("the ledger has no tokens: %s", r.tokens)
		}
		p.explain(t, o)
	})
	t.Run("limit", func(t *testing.T) {
		m := startModel(t)
		m.refuse = http.StatusTooManyRequests
		p := newPlace(t, runplan, c, m)
		o := p.run(t, c.name)
		r.limit = refusal(o)
		if o.exit != 4 || o.last.Outcome != "limited" {
			t.Errorf("exit %d, agent %q: %s", o.exit, o.last.Outcome, o.last.Reason)
		}
		// It goes on once the limit is over.
		m.mu.Lock()
		m.refuse = 0
		m.mu.Unlock()
		if code, out := p.do(t, 3*time.Minute, runplan, "resume"); code != 0 {
			t.Errorf("resume: exit %d\n%s", code, out)
		}
		t.Logf("asked: %s", m.seen())
		p.explain(t, o)
	})
	t.Run("sign-in", func(t *testing.T) {
		m := startModel(t)
		m.refuse = http.StatusUnauthorized
		p := newPlace(t, runplan, c, m)
		o := p.run(t, c.name)
		r.auth = refusal(o)
		if o.exit != 3 || o.last.Outcome != "needs_human" || !strings.Contains(o.last.Reason, "not signed in") {
			t.Errorf("exit %d, agent %q: %s", o.exit, o.last.Outcome, o.last.Reason)
		}
		t.Logf("asked: %s", m.seen())
		p.explain(t, o)
	})
	t.Run("denied", func(t *testing.T) { denied(t, runplan, c, r) })
}

// A command that writes outside of the workspace does not get to do so with the permission that runplan gives by itself.
// A CLI that says that it was refused lets the run wait for a person, whatever its status; others do not offer a shell to
// their model, or have a sandbox of their own.
func denied(t *testing.T, runplan string, c cli, r *row) {
	m := startModel(t)
	m.shell = true
	p := newPlace(t, runplan, c, m)
	o := p.run(t, c.name)
	r.denied = refusal(o)
	if _, err := os.Stat(p.ran()); err == nil {
		r.denied = "RAN"
		t.Error("the command was run, and wrote outside of the workspace")
	}
	if o.last.Outcome == "ok" {
		t.Errorf("it passes for done: %s", o.last.Reason)
	}
	says := slices.Contains([]string{"claude", "opencode"}, c.name)
	if says && (o.exit != 3 || o.last.Outcome != "needs_human" || !strings.Contains(o.last.Reason, "not allowed")) {
		t.Errorf("exit %d, agent %q: %s", o.exit, o.last.Outcome, o.last.Reason)
	}
	t.Logf("asked: %s; tools: %v; %s", m.seen(), m.calls, o.last.Reason)
	p.explain(t, o)
}

// explain prints what the CLI said where something is wrong, and keeps it where RUNPLAN_AGENTS_SMOKE_LOGS is a folder.
func (p place) explain(t *testing.T, o outcome) {
	t.Helper()
	if t.Failed() {
		t.Logf("runplan said:\n%s\n%s", o.out, p.logs())
	}
	if dir := os.Getenv("RUNPLAN_AGENTS_SMOKE_LOGS"); dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		name := strings.ReplaceAll(strings.TrimPrefix(t.Name(), "TestRealAgents/"), "/", "-") + ".txt"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(o.out+"\n"+p.logs()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// refusal is what is known of a run that the provider refused.
func refusal(o outcome) string {
	s := fmt.Sprintf("exit %d, %s in %s", o.exit, o.last.Outcome, o.took.Round(time.Second))
	if !o.last.RetryAt.IsZero() {
		s += ", with the time to try again"
	}
	return s
}

func spent(lines []line) (tokens, cost string) {
	n := func(p *int64) string {
		if p == nil {
			return "?"
		}
		return fmt.Sprint(*p)
	}
	for _, l := range lines {
		tokens += fmt.Sprintf("%s in, %s cached, %s out", n(l.In), n(l.Cached), n(l.Out))
		cost += l.Source
		if l.Cost != nil {
			cost += fmt.Sprintf(" $%.6f", *l.Cost)
		}
	}
	return tokens, cost
}

func table(rows []*row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CLI\tversion\tran\toutcome\ttokens\tcost\t429\t401\tshell")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.cli.name, r.cli.version, r.ran, r.outcome, r.tokens, r.cost, r.limit, r.auth, r.denied)
	}
	w.Flush()
	return b.String()
}
