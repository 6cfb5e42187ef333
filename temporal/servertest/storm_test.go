package servertest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

// batches is the number of batches in the storm's plan.
const batches = 12

// row is a line of the table that make storm-temporal prints.
type row struct {
	what, result string
	took         time.Duration
	agents       int
	note         string
}

// A run survives failures of its machines: each batch lands once, with all of its work.
func TestStorm(t *testing.T) {
	var rows []row
	defer func() {
		w := tabwriter.NewWriter(os.Stdout, 2, 2, 2, ' ', 0)
		fmt.Fprintln(w, "what happened\tresult\ttook\tagents started\t")
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d for %d batches\t%s\n", r.what, r.result, r.took.Round(100*time.Millisecond), r.agents,
				batches, r.note)
		}
		w.Flush()
	}()
	for _, c := range []struct {
		what string
		do   func(t *testing.T, s *stage, run *process) (note string, most int)
		code int

		record string
	}{
		{"nothing", func(*testing.T, *stage, *process) (string, int) { return "", batches }, 0, ""},
		{"kill -9 of a worker in the middle of a batch", killWorker, 0, "killed-worker"},
		{"kill -9 of the server, 4 s later again from its file", killServer, 0, "killed-server"},
		{"a worker is frozen past its timeout, then thawed", freezeWorker, 0, "frozen-worker"},
		{"the run is cancelled", cancelRun, 130, "cancelled"},
	} {
		t.Run(strings.ReplaceAll(c.what, " ", "-"), func(t *testing.T) {
			s := newStage(t)
			s.slowAgent("0.3")
			s.write("plan.md", stormPlan(batches))
			s.commit()
			s.serve()
			s.worker("w1")
			s.worker("w2")
			began := time.Now()
			run := s.run("--mode", "team", "--workers", "2")
			note, most := c.do(t, s, run)
			code := run.code(t, 4*time.Minute)
			r := row{c.what, fmt.Sprintf("exit %d", code), time.Since(began), len(s.ledger()), note}
			if code != c.code {
				r.result += ", WRONG"
				t.Errorf("exit status %d, not %d:\n%s\n%s\n%s", code, c.code, run.text(), s.workers["w1"].text(),
					s.workers["w2"].text())
			} else if code == 0 {
				r.result += ", each batch landed once"
				if err := s.landed(batches); err != nil {
					r.result = "exit 0, WRONG: " + err.Error()
					t.Error(err)
				}
			}
			if r.agents > most {
				t.Errorf("%d agents were started, at most %d were needed: %v", r.agents, most, s.ledger())
			}
			rows = append(rows, r)
			if id, ok := s.events()[0]["run"].(string); ok && c.record != "" {
				s.record(t, "runplan/"+id, c.record)
			}
		})
	}
}

// killWorker kills a worker while its agent works. The other worker continues without repeating work that has been
// reported.
func killWorker(t *testing.T, s *stage, _ *process) (string, int) {
	s.await(time.Minute, "two batches are done and w1 has a running agent",
		func() bool { return len(s.ledger()) > 3 && s.agentOf("w1") > 0 })
	agent := s.agentOf("w1")
	began := time.Now()
	before := len(s.ledger())
	s.workers["w1"].kill()
	s.await(10*time.Second, "the agent of the killed worker is dead", func() bool { return !alive(agent) })
	dead := time.Since(began)
	batch := s.ledger()[before-1][0]
	for _, l := range s.ledger() {
		if l[2] == fmt.Sprint(agent) {
			batch = l[0]
		}
	}
	s.await(time.Minute, "the other worker takes the batch over", func() bool {
		for _, l := range s.ledger()[before:] {
			if l[0] == batch && strings.Contains(l[3], "/w2/") {
				return true
			}
		}
		return false
	})
	return fmt.Sprintf("its agent was dead after %s, the other worker took the batch over after %s",
		dead.Round(10*time.Millisecond), time.Since(began).Round(100*time.Millisecond)), batches + 1
}

// killServer kills the server while agents work, and starts it again from its file. It was away for about a heartbeat, so
// it may give what both workers were doing to the other one.
func killServer(t *testing.T, s *stage, _ *process) (string, int) {
	s.await(time.Minute, "agents are running", func() bool { return len(s.ledger()) > 3 && s.agentOf("w1") > 0 })
	s.server.kill()
	time.Sleep(4 * time.Second)
	began := time.Now()
	s.serve()
	return fmt.Sprintf("listening again after %s", time.Since(began).Round(10*time.Millisecond)), batches + 2
}

// freezeWorker suspends a worker for longer than its heartbeat, so that the other worker continues its work, and then
// resumes it.
func freezeWorker(t *testing.T, s *stage, _ *process) (string, int) {
	s.await(time.Minute, "w1 has a running agent", func() bool { return len(s.ledger()) > 3 && s.agentOf("w1") > 0 })
	w := s.workers["w1"].Process
	if err := w.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * heartbeat)
	if err := w.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	return "frozen for " + (3 * heartbeat).String(), batches + 2
}

// cancelRun cancels the run while agents work. The agents are dead within two heartbeats.
func cancelRun(t *testing.T, s *stage, run *process) (string, int) {
	s.await(time.Minute, "both workers have running agents",
		func() bool { return s.agentOf("w1") > 0 && s.agentOf("w2") > 0 })
	one, two := s.agentOf("w1"), s.agentOf("w2")
	began := time.Now()
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.await(2*heartbeat, "the agents are dead", func() bool { return !alive(one) && !alive(two) })
	return fmt.Sprintf("both agents were dead after %s (a heartbeat is %s)", time.Since(began).Round(10*time.Millisecond),
		heartbeat), batches
}
