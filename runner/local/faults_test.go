package local

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/sandbox"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// An error that cannot be fixed within a run is not retried.
func TestInfrastructure(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("agent claude: %w: bwrap: no namespaces", sandbox.ErrUnusable): true,
		&agents.UnusableError{Err: fmt.Errorf("no such model")}:                   true,
		fmt.Errorf("the disk is busy"):                                            false,
	} {
		if got := infrastructure(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

// The agent that a command names executes it; if this session does not have that agent, the command fails and no
// other agent replaces it.
func TestNamedAgentExecutesCommand(t *testing.T) {
	w := &work{Config: Config{Agent: named("claude"), Fallback: []agents.Agent{named("codex")}},
		info: runner.Info{Model: "sonnet"}}
	for name, want := range map[string]string{"": "claude sonnet", "claude": "claude sonnet", "codex": "codex "} {
		a, err := w.agent(runner.Command{Agent: name})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Name() + " " + w.model(runner.Command{Agent: name}); got != want {
			t.Errorf("%q: %q works, want %q", name, got, want)
		}
	}
	if a, err := w.agent(runner.Command{Batch: "1", Agent: "gemini"}); err == nil {
		t.Errorf("%s works instead of gemini", a.Name())
	}
}

type named string

func (n named) Name() string { return string(n) }
func (n named) Run(context.Context, agents.Task, agents.Observer) (agents.Result, error) {
	return agents.Result{}, nil
}

// The final failure of a batch is recorded also if a tournament without a winner caused it, as after a failed last
// attempt.
func TestLostTournamentRecordsBatchFailure(t *testing.T) {
	c := newTournament(t, "vanilla", "minimal-change")
	info := runner.Info{Slug: "p", Base: c.base, LoopVersion: runner.LoopVersion, Workers: 1, MaxAttempts: 1,
		Batches: []runner.BatchInfo{{Key: "1", Number: "1", Title: "a word", Sample: 2}}}
	m, err := runner.New(info)
	if err != nil {
		t.Fatal(err)
	}
	m.Start()
	s := &session{Engine: New(c.Config), run: c.run, machine: m, work: c.work}
	success := func() *bool {
		t.Helper()
		log, err := store.OpenLog(t.Context(), c.Layout.Journal())
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		tasks, err := log.Tasks(t.Context(), store.TaskFilter{Task: c.run + "/1"})
		if err != nil || len(tasks) != 1 {
			t.Fatalf("%d tasks: %v", len(tasks), err)
		}
		return tasks[0].Success
	}
	for _, e := range []runner.Event{
		{Kind: runner.Gated, Batch: "1", Attempt: 1, Candidate: 1, Outcome: runner.OutcomeFailed, Tree: "t", At: time.Now()},
		{Kind: runner.Gated, Batch: "1", Attempt: 1, Candidate: 2, Outcome: runner.OutcomeFailed, Tree: "t", At: time.Now()},
		{Kind: runner.Judged, Batch: "1", Attempt: 1, Outcome: runner.OutcomeFailed, At: time.Now()},
	} {
		if err := s.attempt(e); err != nil {
			t.Fatal(err)
		}
	}
	if ok := success(); ok != nil {
		t.Fatalf("the result is known before the end was reported: %v", *ok)
	}
	if err := s.attempt(runner.Event{Kind: runner.BatchFailed, Batch: "1", Attempt: 1, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if ok := success(); ok == nil || *ok {
		t.Errorf("success is %v after the batch failed", ok)
	}
	// A batch that failed before any of its attempts got a verdict has an end as well.
	if err := s.attempt(runner.Event{Kind: runner.BatchFailed, Batch: "2", At: time.Now()}); err != nil {
		t.Error(err)
	}
}

// If a branch of the run cannot be removed, the others are removed anyway, and the error names the branch.
func TestTidyContinuesAfterStuckBranch(t *testing.T) {
	b := newBench(t)
	info := runner.Info{Slug: "p", Branch: journal.RunBranch("p"), Base: b.base, LoopVersion: runner.LoopVersion, Workers: 1,
		MaxAttempts: 1, Batches: []runner.BatchInfo{{Key: "1", Number: "1"}, {Key: "2", Number: "2"}}}
	m, err := runner.New(info)
	if err != nil {
		t.Fatal(err)
	}
	b.git(
		"git branch runplan/p/b1; git branch runplan/p/b2; git branch runplan/p/candidates; " +
			">.git/refs/heads/runplan/p/b1.lock")
	err = (&session{Engine: New(b.Config), machine: m, work: b.work}).tidy(t.Context())
	if err == nil || !strings.Contains(err.Error(), "branch runplan/p/b1 stays: ") {
		t.Errorf("the branch that stays is not named: %v", err)
	}
	if left := b.git("git for-each-ref --format='%(refname:short)' refs/heads/runplan"); left != "runplan/p/b1" {
		t.Errorf("left are %q, want b1 alone", left)
	}
}

// The reason why an attempt does not count can contain a branch name, and a branch name can contain a secret.
func TestGitChangeReasonHidesSecrets(t *testing.T) {
	b := newBench(t)
	const secret = "tok-" + "4kQ7vTz2LmW9x"
	b.redact = redact.New([]string{"DEPLOY_TOKEN=" + secret})
	if _, err := b.Repo.Run(t.Context(), "branch", secret); err != nil {
		t.Fatal(err)
	}
	plan, err := planparse.Parse("plan.md", []byte("# p\n\n## Batch 1: a word\n\n- Create: `word.txt`\n"))
	if err != nil {
		t.Fatal(err)
	}
	b.Plan = plan
	b.Agent = switching{b, secret}
	e, err := b.Execute(t.Context(),
		runner.Command{ID: "1/r1-c0/execute", Kind: runner.Execute, Batch: "1", Attempt: 1, Base: b.base},
		func(string, string) {})
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if e.Outcome != runner.OutcomeFailed || !strings.Contains(e.Reason, "switched to branch") ||
		strings.Contains(string(text), secret) {
		t.Errorf("%s: %s", e.Outcome, text)
	}
	if e.Model != "[redacted DEPLOY_TOKEN]-large" {
		t.Errorf("the model is reported as %q", e.Model)
	}
}

// switching is an agent that switches to a branch of the user and moves it. The name of its model contains the name
// of the branch.
type switching struct {
	*bench
	branch string
}

func (switching) Name() string { return "switching" }

func (s switching) Run(ctx context.Context, t agents.Task, _ agents.Observer) (agents.Result, error) {
	for _, args := range [][]string{{"switch", "--quiet", s.branch},
		{"commit", "--quiet", "--allow-empty", "-m", "mine"}} {
		c := exec.CommandContext(ctx, "git", args...)
		c.Dir, c.Env = t.Dir, s.Environ
		if out, err := c.CombinedOutput(); err != nil {
			return agents.Result{}, fmt.Errorf("%w: %s", err, out)
		}
	}
	return agents.Result{Outcome: agents.Done, Model: s.branch + "-large"}, nil
}
