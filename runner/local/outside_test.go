package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
)

// atWork prepares the bench so that agents can work on its batches.
func (b *bench) atWork() {
	b.t.Helper()
	plan, err := planparse.Parse("plan.md",
		[]byte("# p\n\n## Batch 1: a word\n\n- Create: `word.txt`\n\n## Batch 2: another word\n\n- Create: `other.txt`\n"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.Plan = plan
}

// let runs an agent on a batch and returns the event about it.
func (b *bench) let(a agents.Agent, batch string) runner.Event {
	b.t.Helper()
	b.Agent = a
	c := runner.Command{ID: batch + "/r1-c0/execute", Kind: runner.Execute, Batch: batch, Attempt: 1, Base: b.base}
	e, err := b.Execute(b.t.Context(), c, func(string, string) {})
	if err != nil {
		b.t.Fatal(err)
	}
	return e
}

// An idle agent is not blamed for a branch that the previous agent moved.
func TestIdleAgentIsNotBlamed(t *testing.T) {
	b := newBench(t)
	b.atWork()
	b.git("git branch mine")
	for range 5 {
		b.let(switching{b, "mine"}, "1")
		b.let(named("idle"), "1")
		for _, r := range b.seenOutside("1") {
			t.Errorf("blamed: %s", r.Findings[0].Message)
		}
	}
}

// Changes by the setup of a workspace are not attributed to an agent.
func TestAgentIsNotBlamedForSetup(t *testing.T) {
	b := newBench(t)
	b.atWork()
	b.pool.setup = Setup{Command: "echo x >> " + filepath.Join(b.Repo.Root, "touched"), Timeout: time.Minute,
		Env: b.Environ}
	b.let(named("one"), "1")
	b.let(named("two"), "2")
	if d := cmp.Diff(2, countLines(t, filepath.Join(b.Repo.Root, "touched"))); d != "" {
		t.Fatal("the setup did not run twice", d)
	}
	for _, batch := range []string{"1", "2"} {
		for _, r := range b.seenOutside(batch) {
			t.Errorf("a change is attributed to batch %s: %s", batch, r.Findings[0].Message)
		}
	}
}

func countLines(t *testing.T, path string) (n int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range data {
		if c == '\n' {
			n++
		}
	}
	return n
}

// The cost of an agent is reported once, even if git cannot stage the files that it left. Only the staging is
// retried; the agent is not run again and not blamed.
func TestStagingFailureRetriesOnlyStaging(t *testing.T) {
	b := newBench(t)
	b.atWork()
	b.Limits.Grace = time.Second
	s := &session{Engine: New(b.Config), run: b.run, work: b.work, stopping: make(chan struct{}),
		noted: make(chan struct{}, 1)}
	b.work.Agent = unstageable{}
	c := runner.Command{ID: "1/r1-c0/execute", Kind: runner.Execute, Batch: "1", Attempt: 1, Base: b.base}
	e, lost := s.do(t.Context(), c)
	if e.Outcome != runner.OutcomeError || e.Usage == nil {
		t.Fatalf("%s %v", e.Outcome, e.Usage)
	}
	sum := *e.Usage.CostUSD
	for _, l := range lost {
		if l.Kind != runner.Spent || l.Batch != "1" || l.Attempt != 1 || l.Reason != c.ID {
			t.Errorf("%+v", l)
		}
		sum += *l.Usage.CostUSD
	}
	if len(lost) != 0 || sum != 1 {
		t.Errorf("one command cost a dollar; %d others are reported as lost, %.2f in total", len(lost), sum)
	}
}

// unstageable is an agent that leaves a file which git refuses to stage.
type unstageable struct{}

func (unstageable) Name() string { return "unstageable" }

func (unstageable) Run(_ context.Context, t agents.Task, _ agents.Observer) (agents.Result, error) {
	if err := os.WriteFile(filepath.Join(t.Dir, "git~1"), nil, 0o644); err != nil {
		return agents.Result{}, fmt.Errorf("leave a file: %w", err)
	}
	dollar := 1.0
	return agents.Result{Outcome: agents.Done, Usage: agents.Usage{CostUSD: &dollar}}, nil
}

// An attempt that does not count, because its agent changed git refs, still reports the files it changed in the
// checkout. The next attempt starts with these changes, so it cannot report them.
func TestUncountedAttemptReportsTouchedFiles(t *testing.T) {
	b := newBench(t)
	b.atWork()
	b.git("git branch mine")
	e := b.let(touching{switching{b, "mine"}}, "1")
	for _, r := range e.Reports {
		for _, f := range r.Findings {
			if f.Rule == "outside/checkout" && f.Path == "touched" {
				return
			}
		}
	}
	t.Errorf("%s, %s: %+v", e.Outcome, e.Reason, e.Reports)
}

// touching is a switching agent that also writes into the user's checkout.
type touching struct{ switching }

func (a touching) Run(ctx context.Context, t agents.Task, o agents.Observer) (agents.Result, error) {
	if err := os.WriteFile(filepath.Join(a.Repo.Root, "touched"), nil, 0o644); err != nil {
		return agents.Result{}, err
	}
	return a.switching.Run(ctx, t, o)
}
