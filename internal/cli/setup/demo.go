package setup

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/cli/watch"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

//go:embed demo.txtar
var demoFiles []byte

// demoConfig is the user configuration of the demonstration. The candidates are small, so the usual memory needs of
// agents do not matter.
const demoConfig = `[run]
agent = "demo"

[agents.demo]
command = ["bash", %q]
env = { DEMO_PACE = %q }

[routing]
mode = "team"
max_workers = 3
worker_mem_threshold_gb = 0.1

[sampling]
sample_on_retry = false
sample_min_memory_per_gb = 0.05
`

type demoOptions struct {
	dir   string
	keep  bool
	serve bool
}

// NewDemoCommand returns the command demo.
func NewDemoCommand(a *cli.App) *cobra.Command {
	o := demoOptions{keep: true}
	return a.Command(cli.With{Exits: "0 1 2 5 130"}, &cobra.Command{
		Use:   "demo",
		Short: "Watch a run of a small project, in less than a minute",
		Long: `Make a small project in a new folder, run its plan, and describe the result and where to look.

The project is a shell command with a test suite; it needs only git and bash. Its plan has six batches in team
mode: one fails its tests and is tried again, three candidates compete for another one, and the last one waits for an
approval. The agent is a script with prepared answers. Everything else is real: worktrees, gates, the merge queue,
the journal.

Your settings are neither used nor changed: RUNPLAN_HOME is a folder of the demonstration.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), a, o) },
	}, func(f *cli.Flags) {
		f.StringVar(&o.dir, "dir", "", "new or empty working folder (default: a temporary one)")
		f.BoolVar(&o.keep, "keep", true, "keep the folder at the end; --keep=false removes it")
		f.BoolVar(&o.serve, "serve", false, "serve a page of the run, until Ctrl-C; see runplan serve")
	})
}

type demonstration struct {
	app   cli.App // works in the repository of the demonstration
	keep  bool
	dir   string
	repo  string
	style ui.Style
	slow  bool // a person is watching
	begun time.Time
}

func demo(ctx context.Context, a *cli.App, o demoOptions) (err error) {
	if _, err := proc.Run(ctx, proc.Cmd{Args: []string{"bash", "--version"}, Env: a.Environ}); err != nil {
		return cli.Fail(cli.ExitCannotRun, err, "the demonstration needs bash: install it")
	}
	dir, err := demoDir(o.dir)
	if err != nil {
		return err
	}
	d := &demonstration{app: *a, keep: o.keep, dir: dir, repo: filepath.Join(dir, "shelf"), begun: time.Now()}
	// The settings of the user have no effect, and those of the demonstration have their own home.
	own := func(kv string) bool { return strings.HasPrefix(kv, "RUNPLAN_") }
	d.app.Environ = append(slices.DeleteFunc(slices.Clone(a.Environ), own), "RUNPLAN_HOME="+filepath.Join(dir, "home"))
	if out, ok := a.Stdout.(*cli.Output); ok {
		d.app.Stdout = out.To // the commands count their own write errors
	}
	errFile := a.StderrFile()
	in, _ := a.Stdin.(*os.File)
	d.style, d.slow = ui.StyleFor(a.Getenv, errFile), ui.Interactive(a.Getenv, in, errFile)
	if !o.keep {
		defer func() { err = errors.Join(err, d.remove(o.dir != "")) }()
	}
	if err := d.write(ctx); err != nil {
		return cli.Fail(cli.ExitCannotRun, err, "check that %s is writable, and that git works", dir)
	}
	d.app.Dir = d.repo
	return d.play(ctx, o)
}

// demoDir returns the absolute path of the folder to work in, which is new or empty.
func demoDir(dir string) (string, error) {
	if dir == "" {
		dir, err := os.MkdirTemp("", "runplan-demo-")
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		return dir, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", cli.Usage(err, "give another folder with --dir")
	}
	there, err := os.ReadDir(dir)
	if err == nil && len(there) > 0 {
		err = fmt.Errorf("%s is not empty", dir)
	}
	if err != nil {
		return "", cli.Usage(err, "give a new or an empty folder with --dir")
	}
	return dir, nil
}

// write makes the files of the project, of the agent and of the settings, and the first commit.
func (d *demonstration) write(ctx context.Context) error {
	put := func(path string, text []byte, mode os.FileMode) error {
		path = filepath.Join(d.dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, text, mode)
	}
	for _, f := range txtar.Parse(demoFiles).Files {
		mode := os.FileMode(0o644)
		if strings.Contains(f.Name, "/bin/") {
			mode = 0o755
		}
		if err := put(f.Name, f.Data, mode); err != nil {
			return err
		}
	}
	pace := "0.1"
	if d.slow {
		pace = "0.7"
	}
	agent := filepath.Join(d.dir, "agent", "agent.sh")
	if err := put("home/config.toml", fmt.Appendf(nil, demoConfig, agent, pace), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		// The settings of this repository override those of the user, such as a signing key with a passphrase.
		{"config", "user.name", "Demo"}, {"config", "user.email", "demo@example.org"}, {"config", "commit.gpgsign", "false"},
		{"config", "core.hooksPath", ".git/hooks"}, {"config", "core.autocrlf", "false"},
		{"add", "--all"}, {"commit", "--quiet", "--message=A shelf without commands"},
	} {
		if _, err := d.git(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

func (d *demonstration) git(ctx context.Context, args ...string) (string, error) {
	res, err := proc.Run(ctx,
		proc.Cmd{Args: append([]string{"git"}, args...), Dir: d.repo, Env: d.app.Environ,
			Limits: proc.Limits{Total: time.Minute}})
	if err == nil && res.Exit != 0 {
		err = fmt.Errorf("git %s: exit status %d: %s", args[0], res.Exit, strings.TrimSpace(string(res.Tail)))
	}
	return string(res.Tail), err
}

// play runs the plan as a user would, and shows each command that it runs.
func (d *demonstration) play(ctx context.Context, o demoOptions) error {
	d.say("\n" + d.style.Bold("A small project, a plan of six batches, and an agent that makes mistakes."))
	d.say(
		d.style.Faint(
			"The agent is a script with prepared answers. The rest is real: worktrees, gates, merge queue, journal."))
	if o.serve {
		ctx, stop := cli.Interruptible(ctx)
		defer stop()
		p, err := d.app.OpenProject(ctx)
		if err != nil {
			return err
		}
		if err := p.Layout.Make(); err != nil {
			return err
		}
		end, err := watch.ServeDuring(ctx, p, func(s string) { d.say(d.style.Bold(s)) })
		if err != nil {
			return err
		}
		defer end()
		if err := d.run(ctx); err != nil {
			return err
		}
		d.say("\nThe page is served until Ctrl-C.")
		<-ctx.Done()
		return nil
	}
	return d.run(ctx)
}

func (d *demonstration) run(ctx context.Context) error {
	d.pause()
	d.prompt("cd " + d.repo)
	d.prompt("runplan plan.md")
	if code := d.app.Execute(ctx, "run", filepath.Join(d.repo, "plan.md")); code != cli.ExitHuman {
		return d.unexpected("the run", code)
	}
	d.pause()
	if err := d.command(ctx, "approve"); err != nil {
		return err
	}
	p, err := d.app.OpenProject(ctx)
	if err != nil {
		return err
	}
	waiting, err := control.Waiting(ctx, p)
	if err != nil || len(waiting) != 1 {
		return cli.Fail(cli.ExitFailed, errors.Join(fmt.Errorf("%d approvals wait, expected 1", len(waiting)), err),
			"look at %s",
			d.repo)
	}
	d.prompt("git diff --stat " + waiting[0].Diff())
	changes, err := d.git(ctx, append([]string{"diff", "--stat"}, strings.Fields(waiting[0].Diff())...)...)
	if err != nil {
		return err
	}
	d.say(strings.TrimRight(changes, "\n"))
	d.pause()
	if err := d.command(ctx, "approve", waiting[0].ID); err != nil {
		return err
	}
	if err := d.command(ctx, "resume"); err != nil {
		return err
	}
	sums, err := p.Summaries(ctx, runner.Filter{Latest: true})
	if err != nil {
		return err
	}
	if len(sums) != 1 || sums[0].Status != runner.RunDone {
		return cli.Fail(cli.ExitFailed, errors.New("the run is not finished"), "look at %s", d.repo)
	}
	failed := map[string]bool{}
	if err := p.EachEvent(ctx, sums[0].Run, func(e runner.Event) error {
		if e.Kind == runner.Gated && e.Outcome == runner.OutcomeFailed && e.Candidate == 0 {
			failed[e.Batch] = true
		}
		return nil
	}); err != nil {
		return err
	}
	d.tell(p, sums[0], failed)
	return nil
}

func (d *demonstration) command(ctx context.Context, args ...string) error {
	d.prompt("runplan " + strings.Join(args, " "))
	if code := d.app.Execute(ctx, args...); code != cli.ExitOK {
		return d.unexpected("runplan "+args[0], code)
	}
	return nil
}

// unexpected explains a command with an unexpected end. The command has printed the reason.
func (d *demonstration) unexpected(what string, code int) error {
	if code == cli.ExitInterrupted {
		return cli.Fail(cli.ExitInterrupted, errors.New("the demonstration was interrupted"), "")
	}
	if code == cli.ExitOK || code == cli.ExitHuman {
		code = cli.ExitFailed
	}
	return cli.Fail(code, fmt.Errorf("%s ended unexpectedly", what), "the folder %s shows the progress", d.dir)
}

// tell prints the result from the journal, and where to look. failed has the keys of batches whose gates failed.
func (d *demonstration) tell(p *cli.Project, s runner.Summary, failed map[string]bool) {
	d.say("\n" + d.style.Bold("What happened"))
	tests := 0
	if n := len(s.Batches); n > 0 && s.Batches[n-1].TestsAfter != nil {
		tests = *s.Batches[n-1].TestsAfter
	}
	d.fact(ui.Good, "%d of %d batches merged in %s, %d at a time; %s pass; the branch main is untouched",
		s.Tally().Merged, len(s.Batches), ui.Duration(time.Since(d.begun)), s.Workers, phrase.Count(tests, "test"))
	for _, b := range s.Batches {
		if failed[b.Key] {
			d.fact(ui.Warn, "batch %s, %s: its gates failed; attempt %d got the reason and passed", b.Number, b.Title,
				b.Attempts)
		}
		if len(b.Candidates) == 0 {
			continue
		}
		d.fact(ui.Warn, "batch %s, %s: %d candidates competed", b.Number, b.Title, len(b.Candidates))
		for _, c := range b.Candidates {
			d.say("      " + ui.Sanitize(
				cells.Cut(fmt.Sprintf("c%d %s: %s", c.Number, c.Variant, verdictOf(c)), 100, d.style.Ellipsis())))
		}
	}
	d.fact(ui.Warn, "batch %s waited for an approval", s.Batches[len(s.Batches)-1].Number)
	if d.keep {
		d.look(p, s)
	}
	d.say("\nIn your own repository: runplan init, then runplan plan.md")
}

func (d *demonstration) look(p *cli.Project, s runner.Summary) {
	d.say("\n" + d.style.Bold("Where to look"))
	report := filepath.Join(p.Layout.Report(s.Run), "report.html")
	lines := [][2]string{
		{"cd " + d.repo, "the project"},
		{"export RUNPLAN_HOME=" + filepath.Join(d.dir, "home"), "the settings and the key of this demonstration"},
		{"runplan status", "the batches; runplan log: all events"},
		{"runplan serve --open", "the run in a browser"},
		{"git log --stat main.." + s.Branch, "one commit a batch"},
		{"git merge " + s.Branch, "merge it; then: bin/shelf help"},
	}
	width := 0
	for _, line := range lines {
		width = max(width, cells.Width(line[0]))
	}
	for _, line := range lines {
		d.say("  " + cells.Pad(line[0], width) + "  " + d.style.Faint("# "+line[1]))
	}
	d.say("  report: " + report)
}

func verdictOf(c *runner.CandidateSummary) string {
	switch {
	case c.State == "won" && c.Score != nil:
		return fmt.Sprintf("%s, merged", phrase.Count(*c.Score, "point"))
	case c.State == "passed" && c.Score != nil:
		return phrase.Count(*c.Score, "point")
	}
	return cmp.Or(c.Reason, c.State)
}

func (d *demonstration) fact(t ui.Tone, format string, args ...any) {
	d.say("  " + d.style.Tone(t, d.style.Icon(t)) + " " + ui.Sanitize(fmt.Sprintf(format, args...)))
}

func (d *demonstration) prompt(line string) {
	d.say("\n" + d.style.Tone(ui.Busy, "$") + " " + d.style.Bold(line))
}

func (d *demonstration) say(line string) { fmt.Fprintln(d.app.Stderr, line) }

// pause gives a viewer time to read.
func (d *demonstration) pause() {
	if d.slow {
		time.Sleep(1500 * time.Millisecond)
	}
}

// remove deletes the folder of the demonstration. It empties a folder that the user named, and keeps it.
func (d *demonstration) remove(named bool) error {
	if !named {
		return os.RemoveAll(d.dir)
	}
	for _, name := range []string{"shelf", "agent", "home"} {
		if err := os.RemoveAll(filepath.Join(d.dir, name)); err != nil {
			return err
		}
	}
	return nil
}
