package servertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gc clears the shared repository: it removes the plan, logs and journal of a run some time after the run is done, and
// its branch once it is merged.
func TestGCClearsSharedRepository(t *testing.T) {
	s := ready(t, 2)
	run := s.finished(t)
	refs := func() (runs, branches string) {
		return s.git(s.remote(), "for-each-ref", "--format=%(refname)", "refs/runplan/"),
			s.git(s.remote(), "for-each-ref", "--format=%(refname:short)", "refs/heads/")
	}
	if _, branches := refs(); branches != "main\nrunplan/plan/main" {
		t.Errorf("branches in the shared repository: %q", branches)
	}
	gc := func(args ...string) string {
		t.Helper()
		out, code := s.call(append(append([]string{"gc"}, args...), s.on()...)...)
		if code != 0 {
			t.Fatalf("exit status %d:\n%s", code, out)
		}
		return out
	}
	before, _ := refs()
	if out := gc(); !strings.Contains(out, "its run is done; kept until") ||
		!strings.Contains(out, "not merged into main") {
		t.Error(out)
	}
	if after, branches := refs(); after != before || !strings.Contains(branches, "runplan/plan/main") {
		t.Errorf("refs or branches were removed: %q %q", after, branches)
	}
	config, err := os.ReadFile(filepath.Join(s.project, ".runplan/config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(".runplan/config.toml", strings.Replace(string(config), "[run]\n", "[run]\nkeep_evidence = \"0s\"\n", 1))
	s.git(s.project, "push", "-q", "origin", "runplan/plan/main:main")
	if out := gc("--list"); strings.Count(out, "can go") < 2 {
		t.Error(out)
	}
	gc()
	if after, branches := refs(); after != "" || branches != "main" {
		t.Errorf("left in the shared repository: %q %q", after, branches)
	}
	if here := s.git(s.project, "for-each-ref", "--format=%(refname)", "refs/runplan/"); here != "" {
		t.Errorf("left in the checkout: %q", here)
	}
	if _, err := os.Stat(filepath.Join(s.project, ".runplan/reports", run, "report.md")); err != nil {
		t.Error("the report in the checkout is gone:", err)
	}
}

// For an active run, status prints the worker of each command and the last push; gc removes nothing of it.
func TestStatusShowsWorkersOfActiveRun(t *testing.T) {
	s := newStage(t)
	s.slowAgent("2")
	s.write("plan.md", stormPlan(2))
	s.commit()
	s.serve()
	s.worker("w1")
	run := s.run()
	s.await(time.Minute, "the agent of the second batch is running", func() bool { return len(s.ledger()) > 1 })
	want := []string{"/execute: at runplan worker ", ", last heartbeat ", ", last pushed refs/runplan/"}
	var out string
	s.await(20*time.Second, "status tells of a heartbeat with a step", func() bool {
		out, _ = s.call(append([]string{"status"}, s.on()...)...)
		for _, w := range want {
			if !strings.Contains(out, w) {
				return false
			}
		}
		return true
	})
	if out, code := s.call(append([]string{"gc"}, s.on()...)...); code != 0 ||
		!strings.Contains(out, "its run is not finished") || strings.Contains(out, "removed") {
		t.Errorf("exit status %d:\n%s", code, out)
	}
	if code := run.code(t, 2*time.Minute); code != 0 {
		t.Fatalf("exit status %d:\n%s\n%s", code, run.text(), out)
	}
	if err := s.landed(2); err != nil {
		t.Error(err)
	}
}
