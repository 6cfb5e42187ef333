package servertest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A worker executes nothing from a configuration that it does not trust. The run prints the flag that makes a worker
// trust it, and continues on a worker with that flag.
func TestWorkerRefusesUntrustedConfiguration(t *testing.T) {
	s := newStage(t)
	s.slowAgent("0.01")
	s.write("plan.md", stormPlan(1))
	s.commit()
	s.serve()
	all := s.env
	s.env = slices.DeleteFunc(slices.Clone(all), func(kv string) bool { return strings.HasPrefix(kv, "RUNPLAN_TRUST=") })
	w := s.worker("w1")
	s.env = all
	run := s.run()
	s.await(time.Minute, "the run ends", func() bool {
		select {
		case <-run.done:
			return true
		default:
			return false
		}
	})
	if code := run.ProcessState.ExitCode(); code != 5 {
		t.Errorf("exit status %d, not 5:\n%s\n%s", code, run.text(), w.text())
	}
	if n := len(s.ledger()); n != 0 {
		t.Errorf("%d agents were started", n)
	}
	said := regexp.MustCompile(`the worker on \S+ refuses the run: .* is not trusted.*--trust-config ([0-9a-f]{12,})`).FindStringSubmatch(run.text())
	if said == nil {
		t.Fatal(run.text())
	}
	w.kill()
	s.worker("w2", "--trust-config", said[1])
	if out, code := s.call(append([]string{"resume", "--plain"}, s.on()...)...); code != 0 {
		t.Fatalf("exit status %d:\n%s\n%s", code, out, s.workers["w2"].text())
	}
	if err := s.landed(1); err != nil {
		t.Error(err)
	}
}
