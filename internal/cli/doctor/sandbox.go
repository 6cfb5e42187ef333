package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/agents/sandbox"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
)

const doctorSandboxHelp = `

With --sandbox the sandbox of an agent is tried in a temporary
repository: what must work inside, and what must not. The agent itself is not started.`

// sandboxTrial is one test inside of a sandbox.
type sandboxTrial struct {
	what   string
	script string
	// seen reports, from outside, whether the test had an effect. If it is nil, the result of the script counts.
	seen func() bool
	want bool
}

// trySandbox runs a shell in the sandbox of an agent. It tests what agents need and what they must not do.
func trySandbox(ctx context.Context, a *cli.App, name string) error {
	p, err := a.OpenProject(ctx)
	if err != nil {
		return err
	}
	c, configured := p.Config.Agents[name]
	if !configured {
		return p.UnknownAgent(name)
	}
	spec := a.SandboxOf(c)
	if !spec.On() {
		return cli.Usage(fmt.Errorf("agent %s has no sandbox", name),
			"give it one: [agents.%s] sandbox = \"bwrap\", docker, sandbox-exec or custom", name)
	}
	if err := p.TrustConfig(); err != nil {
		return err
	}
	ctx, release := cli.Interruptible(ctx, syscall.SIGHUP)
	defer release()
	list, err := sandboxChecks(ctx, a, name, spec)
	switch {
	case ctx.Err() != nil:
		return cli.Interrupted("", "")
	case errors.Is(err, sandbox.ErrUnusable):
		return cli.Fail(cli.ExitFailed, err, "%s", sandboxRemedy(spec.Kind))
	case err != nil:
		return err
	}
	bad := 0
	var rows ui.Rows
	for _, c := range list {
		if c.Status == "problem" {
			bad++
		}
		rows.Add(c.Status, c.What, c.Detail)
	}
	err = a.PrintTable(list, "", []string{"", "what", "found"}, rows)
	if err == nil && bad > 0 {
		err = cli.Fail(cli.ExitFailed, fmt.Errorf("the sandbox of %s failed: %d problem(s)", name, bad), "")
	}
	return err
}

func sandboxRemedy(kind string) string {
	switch kind {
	case "bwrap":
		return "install bubblewrap; if it may not create namespaces, the system's administrator can allow that " +
			"(sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile)"
	case "docker":
		return "check that docker runs, and that agents.NAME.sandbox_image names an image with sh and git"
	case "sandbox-exec":
		return "sandbox-exec exists only on macOS"
	}
	return "correct agents.NAME.sandbox_command"
}

// sandboxChecks creates a repository with a worktree, as a run has, and runs the tests one by one.
func sandboxChecks(ctx context.Context, a *cli.App, name string, spec sandbox.Spec) ([]Check, error) {
	dir, err := os.MkdirTemp("", "runplan-sandbox-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	root, work, temp := filepath.Join(dir, "project"), filepath.Join(dir, "project", "worktree"), filepath.Join(dir, "tmp")
	for _, d := range []string{root, temp} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	env := append(redact.AgentEnv(a.Environ, nil), "TMPDIR="+temp, "GIT_CEILING_DIRECTORIES="+dir,
		"GIT_AUTHOR_NAME=runplan", "GIT_AUTHOR_EMAIL=runplan@localhost", "GIT_COMMITTER_NAME=runplan",
		"GIT_COMMITTER_EMAIL=runplan@localhost")
	git := func(args ...string) (string, error) {
		out, err := proc.Output(ctx, proc.Cmd{Args: append([]string{"git"}, args...), Dir: root, Env: env})
		return strings.TrimSpace(string(out)), err
	}
	const branch = "runplan/doctor/b1"
	for _, args := range [][]string{
		{"init", "--quiet"}, {"-c", "commit.gpgsign=false", "commit", "--quiet", "--no-verify", "--allow-empty", "-m",
			"start"},
		{"worktree", "add", "--quiet", "-b", branch, work},
	} {
		if _, err := git(args...); err != nil {
			return nil, err
		}
	}
	start, err := git("rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	exists := func(path string) func() bool {
		return func() bool { _, err := os.Lstat(path); return err == nil }
	}
	home, _ := a.Getenv("HOME")
	mark := ".runplan-sandbox-" + filepath.Base(dir)
	inHome := filepath.Join(home, mark)
	defer os.Remove(inHome)
	settings := filepath.Join(root, ".git", "config")
	before, err := os.ReadFile(settings)
	if err != nil {
		return nil, err
	}
	trials := []sandboxTrial{
		{"write in the workspace", `echo x >made.txt`, exists(filepath.Join(work, "made.txt")), true},
		{"write in TMPDIR", `echo x >"$TMPDIR/made.txt"`, exists(filepath.Join(temp, "made.txt")), true},
		{"git status, diff and log", `git status --short && git diff && git log -1 --format=%s`, nil, true},
		{"git commit", `git add -A && git -c commit.gpgsign=false commit --quiet --no-verify -m made`, func() bool {
			out, err := git("ls-tree", "--name-only", branch)
			return err == nil && strings.Contains(out, "made.txt")
		}, true},
		{"write in your checkout", `echo x >"` + filepath.Join(root, "outside.txt") + `"`,
			exists(filepath.Join(root, "outside.txt")), false},
		{"write in your home", `echo x >"$HOME/` + mark + `"`, exists(inHome), false},
		{"change git's settings", `printf '[alias]\n\tx = !x\n' >>"` + settings + `"`, func() bool {
			now, err := os.ReadFile(settings)
			return err != nil || string(now) != string(before)
		}, false},
		{"add a hook", `echo x >"` + filepath.Join(root, ".git", "hooks", "post-commit") + `"`,
			exists(filepath.Join(root, ".git", "hooks", "post-commit")), false},
		{"move another branch", `git update-ref refs/heads/other HEAD`,
			func() bool { _, err := git("rev-parse", "--verify", "--quiet", "refs/heads/other"); return err == nil }, false},
		{"delete history", `rm -rf "` + filepath.Join(root, ".git", "objects") + `"`,
			func() bool { _, err := git("cat-file", "-e", start); return err != nil }, false},
	}
	var out []Check
	for _, t := range trials {
		res, err := command.New(command.Config{
			Name: name, Command: []string{"sh", "-c", t.script}, Root: root, Environ: a.Environ, Sandbox: spec,
		}).Run(ctx, agents.Task{
			Dir: work, Run: "doctor", Attempt: 1, Batch: planparse.Batch{Key: "doctor"}, TempDir: temp, Env: env,
			Limits: agents.Limits{Total: time.Minute, Grace: time.Second}, Redact: redact.New(a.Environ).String,
		}, nil)
		if err != nil {
			return nil, err
		}
		did := res.Outcome == agents.Done
		if t.seen != nil {
			did = t.seen()
		}
		status, detail := "ok", "it changes nothing outside"
		switch {
		case did && t.want:
			detail = "it works"
		case did:
			status, detail = "problem", "it works, but must not"
		case t.want:
			status, detail = "problem", "it does not work: "+res.Summary+": "+phrase.LastLine(res.Detail)
		}
		out = append(out, Check{t.what, status, detail, ""})
	}
	return out, nil
}
