// Package teamtest is a shared repository and clones of it, for tests: real git, and journals in files.
package teamtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/temporal/shared"
)

// Run is the run that the tests speak of.
const Run = "11111111-2222-4333-8444-555555555555"

// Now is when all of it happens.
var Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Team is a shared repository with one commit, on main.
type Team struct {
	URL string
	Env []string
	dir string
}

// New makes the shared repository.
func New(t *testing.T) *Team {
	t.Helper()
	dir := t.TempDir()
	m := &Team{URL: filepath.Join(dir, "origin.git"), dir: dir, Env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t",
	}}
	m.Git(t, "init", "-q", "--bare", "-b", "main", m.URL)
	m.Git(t, "init", "-q", "-b", "main", "seed")
	m.Git(t, "-C", "seed", "commit", "-q", "--allow-empty", "-m", "start")
	m.Git(t, "-C", "seed", "push", "-q", m.URL, "main")
	return m
}

// Git runs git in the folder that all lies in.
func (m *Team) Git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = m.dir, m.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// Plan is a plan of one batch.
const Plan = "# P\n\n## Batch 1: one\n\n```sh\ntrue\n```\n"

// nobody is an agent for tests without agent work.
type nobody struct{}

func (nobody) Name() string { return "nobody" }
func (nobody) Run(context.Context, agents.Task, agents.Observer) (agents.Result, error) {
	return agents.Result{}, errors.New("no worker is running")
}

// Clone is a clone of the shared repository with a journal, and the description of a run of the plan.
func (m *Team) Clone(t *testing.T, name string) (local.Config, runner.Info) {
	t.Helper()
	m.Git(t, "clone", "-q", m.URL, name)
	repo, err := git.Open(t.Context(), filepath.Join(m.dir, name), m.Env)
	if err != nil {
		t.Fatal(err)
	}
	layout := journal.LayoutOf(repo.Root)
	if err := layout.Make(); err != nil {
		t.Fatal(err)
	}
	raw, err := store.OpenJournal(t.Context(), layout.Journal())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	plan, err := planparse.Parse("p.md", []byte(Plan))
	if err != nil {
		t.Fatal(err)
	}
	base, _, err := repo.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return local.Config{
			Repo: repo, Layout: layout, Journal: raw, Plan: plan, PlanText: []byte(Plan), Agent: nobody{}, Environ: m.Env,
			Now:     func() time.Time { return Now },
			Observe: func(runner.Event) {}, Line: func(string, string) {}, Note: func(string) {},
		}, runner.Info{
			Plan: "p.md", Slug: "p", Branch: journal.RunBranch("p"), Base: base, BaseBranch: "main", Land: "branch",
			LoopVersion: runner.LoopVersion,
			Workers:     1, MaxAttempts: 1, Batches: []runner.BatchInfo{{Key: "1", Number: "1", Title: "one"}},
		}
}

// SharedRepo is the shared repository as a clone reaches it.
func SharedRepo(c local.Config, i runner.Info) *shared.SharedRepo {
	return &shared.SharedRepo{Repo: c.Repo, Layout: c.Layout, Remote: "origin", Prefix: local.EvidencePrefix, Run: Run,
		Branch: i.Branch}
}

// Journal writes the journal of a run with a start and the given end.
func Journal(t *testing.T, i runner.Info, end runner.Event) []runner.Event {
	t.Helper()
	m, err := runner.New(i)
	if err != nil {
		t.Fatal(err)
	}
	s := runner.NewRecorder(Run, m, func() time.Time { return Now })
	end.Kind = runner.RunFinished
	return slices.Concat(s.Begin(i).Events, s.Fold(end, nil).Events)
}
