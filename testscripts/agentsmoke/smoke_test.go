package agentsmoke

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// With every CLI of versions.txt and its preset as shipped, runplan reports every situation with the right exit
// status, without being stopped at the time limit; afterwards the run continues.
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
	all := clis(t, cache)
	m := newMatrix(all)
	began := time.Now()
	t.Run("all", func(t *testing.T) {
		for _, s := range situations() {
			for _, c := range all {
				if c.not == "" {
					t.Run(strings.ReplaceAll(s.name, " ", "_")+"/"+c.name, func(t *testing.T) {
						t.Parallel()
						m.set(s, c, try(t, runplan, c, s))
					})
				}
			}
		}
	})
	t.Logf("in %s\n%s", time.Since(began).Round(time.Second), m)
}

// alone checks that the machine has no network except the loopback.
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

// try brings a CLI into a situation, then ends the fault and resumes the run.
func try(t *testing.T, runplan string, c cli, s situation) (got cell) {
	if why := s.not[c.name]; why != "" {
		return cell{not: why}
	}
	if _, err := os.Stat(filepath.Join(c.bin, c.name)); err != nil {
		t.Errorf("%s %s could not be installed: %v", c.name, c.version, err)
		return cell{}
	}
	m := startModel(t)
	m.script = s.script
	p := newPlace(t, runplan, c, m, s)
	if s.down {
		m.hangUp()
	}
	o := p.run(t, c.name, s)
	got = cell{ran: true, first: o}
	t.Logf("asked: %s; tools: %d", m.seen(), len(m.calls))
	want := s.want
	if w, ok := s.except[c.name]; ok {
		want = w
	}
	check(t, p, o, s, want)
	got.after = -1
	if want.exit != 0 {
		m.mend(t)
		got.after, got.resumed = p.do(t, 3*time.Minute, append([]string{runplan, "resume"}, s.resume...)...)
		if got.after != want.resume {
			t.Errorf("resume: exit %d, not %d\n%s", got.after, want.resume, got.resumed)
		}
		p.read(t, &o)
	}
	if got.after <= 0 && (o.gated != "pass" || o.file != written+"\n") && want.resume == 0 {
		t.Errorf("in the end the gate says %q of the file %q", o.gated, o.file)
	}
	got.told = !t.Failed()
	p.explain(t, got)
	return got
}

// check compares the outcome of the run with the expected one.
func check(t *testing.T, p place, o outcome, s situation, want want) {
	t.Helper()
	if o.exit != want.exit || o.last.Outcome != want.outcome {
		t.Errorf("exit %d, agent %q, not %d, %q: %s", o.exit, o.last.Outcome, want.exit, want.outcome, o.last.Reason)
	}
	for _, text := range want.words {
		if !strings.Contains(o.out, text) {
			t.Errorf("runplan does not say %q", text)
		}
	}
	if want.timed != !o.last.RetryAt.IsZero() {
		t.Errorf("the time of the next try is %v; known must be %v", o.last.RetryAt, want.timed)
	}
	if n := o.spent(); n != want.tries {
		t.Errorf("%d attempts are used up, not %d", n, want.tries)
	}
	for _, e := range o.ends {
		if !want.climbs && e.Tier != o.ends[0].Tier {
			t.Errorf("attempt %d was given to tier %s, after %s", e.Attempt, e.Tier, o.ends[0].Tier)
		}
	}
	if want.tokens && !o.counted() {
		t.Errorf("the ledger does not know the tokens: %s", spent(o.purpose))
	}
	if _, err := os.Stat(p.ran()); err == nil {
		t.Error("a command was run that wrote outside of the workspace")
	}
}

// spent counts the attempts that the batch has used up. Limits, outages and requests for a person use none.
func (o outcome) spent() (n int) {
	for _, e := range o.ends {
		if slices.Contains([]string{"failed", "unchanged", "timed_out"}, e.Outcome) {
			n++
		}
	}
	return n
}

// counted reports whether the tokens of all attempts are known.
func (o outcome) counted() bool {
	return len(o.purpose) > 0 && !slices.ContainsFunc(o.purpose, func(l line) bool { return l.In == nil || l.Out == nil })
}

// explain prints the output of the CLI if the test failed, and saves it if RUNPLAN_AGENTS_SMOKE_LOGS names a folder.
func (p place) explain(t *testing.T, c cell) {
	t.Helper()
	text := fmt.Sprintf("runplan said:\n%s\nand to resume:\n%s\n%s", c.first.out, c.resumed, p.logs())
	if t.Failed() {
		t.Log(text[max(0, len(text)-8000):])
	}
	if dir := os.Getenv("RUNPLAN_AGENTS_SMOKE_LOGS"); dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		name := strings.ReplaceAll(strings.TrimPrefix(t.Name(), "TestRealAgents/all/"), "/", "-") + ".txt"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
