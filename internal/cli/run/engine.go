package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
)

// AddEngines adds the flags of linked engines to the commands that use an engine.
func AddEngines(a *cli.App, root *cobra.Command) {
	if len(a.Engines) == 0 {
		return
	}
	for _, c := range root.Commands() {
		switch c.Name() {
		case "run", "resume", "gc":
		case "log", "approve", "cancel":
			c.RunE = beside(a, c.RunE, forward)
		case "status":
			c.RunE = beside(a, c.RunE, forward, underWay)
		default:
			continue
		}
		c.Flags().StringVar(&a.Engine, cli.EngineFlag, cli.Here, "engine that executes the run")
		for _, e := range a.Engines {
			e.Flags(c.Flags())
		}
	}
	for _, e := range a.Engines {
		for _, c := range e.Commands(a) {
			c.GroupID = cli.GroupRun
			root.AddCommand(c)
		}
	}
}

// beside wraps a command of the journal so that it also covers runs on other machines. It syncs these runs first, runs
// the command, and then calls each function in then for each of them.
func beside(a *cli.App, do func(*cobra.Command, []string) error,
	then ...func(context.Context, *cli.App, remoteRun, *store.Journal) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		e, err := a.RemoteHost()
		if err != nil {
			return err
		}
		if e == nil {
			return do(cmd, args)
		}
		ctx := cmd.Context()
		p, err := a.OpenProject(ctx)
		if err != nil {
			return err
		}
		p.Repo.AllowPrograms() // sync fetches from other machines
		j, err := store.OpenExistingJournal(ctx, p.Layout.Journal())
		if errors.Is(err, fs.ErrNotExist) {
			return do(cmd, args)
		}
		if err != nil {
			return err
		}
		defer j.Close()
		if err := a.Signed(j); err != nil {
			return err
		}
		runs, err := syncRuns(ctx, e, p, j)
		defer func() {
			for _, r := range runs {
				r.leave()
			}
		}()
		if err != nil {
			return err
		}
		if err := do(cmd, args); err != nil {
			return err
		}
		for _, r := range runs {
			for _, f := range then {
				if err := f(ctx, a, r, j); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// remoteRun is an unfinished run of the journal that is on another engine.
type remoteRun struct {
	id string
	cli.RemoteEngine
	lock *local.Lock // held while the run is running and no process follows it, so that others see the run as locked
}

func (r remoteRun) leave() {
	r.Close()
	if r.lock != nil {
		r.lock.Release()
	}
}

// syncRuns syncs the unfinished runs of an engine.
func syncRuns(ctx context.Context, e *cli.RemoteHost, p *cli.Project, j *store.Journal) ([]remoteRun, error) {
	sums, err := journal.List(ctx, j, runner.Filter{})
	if err != nil {
		return nil, err
	}
	var runs []remoteRun
	for _, s := range sums {
		if s.Status.Over() {
			continue
		}
		info, err := p.Recall(ctx, s.Run)
		if err != nil || info.Flags[cli.EngineFlag] != e.Name {
			continue
		}
		text, _, err := journal.PlanText(ctx, j, p.Layout, s.Run)
		if err != nil {
			return runs, err
		}
		d, err := openRemote(ctx, e, p, j, info, text)
		if err != nil {
			return runs, err
		}
		r := remoteRun{id: s.Run, RemoteEngine: d}
		if r.lock, err = local.TakeLock(p.Layout.Lock(s.Slug), time.Now()); err == nil { // else it is followed
			if err := d.Sync(ctx, s.Run, info); err != nil {
				fmt.Fprintf(p.Stderr, "runplan: run %s could not be synchronized: %v\n", s.Run[:8], err)
			}
			if live, err := d.Live(ctx, s.Run); err != nil || !live {
				r.lock.Release()
				r.lock = nil
			}
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// forward sends the answers that people gave here to the run.
func forward(ctx context.Context, a *cli.App, r remoteRun, j *store.Journal) error {
	said, err := journal.Unheard(ctx, j, r.id)
	if err != nil {
		return err
	}
	for _, ev := range said {
		if err := r.Post(ctx, r.id, ev); err != nil {
			return cli.Fail(cli.ExitCannotRun, fmt.Errorf("run %s was not notified: %w", r.id[:8], err),
				"it is stored here; the next command with --engine %s delivers it", a.Engine)
		}
	}
	if len(said) > 0 {
		fmt.Fprintf(a.Stderr, "run %s was notified and continues by itself\n", r.id[:8])
	}
	return nil
}

func underWay(ctx context.Context, a *cli.App, r remoteRun, _ *store.Journal) error {
	lines, err := r.UnderWay(ctx, r.id)
	for _, line := range lines {
		fmt.Fprintf(a.Stderr, "run %s: %s\n", r.id[:8], line)
	}
	if err != nil {
		return cli.Fail(cli.ExitCannotRun, fmt.Errorf("run %s: list its active commands: %w", r.id[:8], err), "")
	}
	return nil
}

// openRemote opens an engine for an existing run, without the parts that only a worker needs.
func openRemote(ctx context.Context, e *cli.RemoteHost, p *cli.Project, j *store.Journal, info runner.Info,
	text []byte) (cli.RemoteEngine, error) {
	plan, err := planparse.Parse(info.Plan, text)
	if err != nil {
		return nil, err
	}
	plan.Rename(info.Keys)
	cli.HideTitles(p.Redactor(), plan)
	c := QuietConfig(p)
	c.Journal, c.Plan, c.PlanText, c.Agent = j, plan, text, remoteAgent(info.Agent)
	return e.Open(ctx, cli.Session{Getenv: p.Getenv, Config: c})
}

// QuietConfig returns the configuration of an engine that only reports and executes nothing.
func QuietConfig(p *cli.Project) local.Config {
	return local.Config{
		Repo: p.Repo, Layout: p.Layout, Home: p.CacheDir(), Environ: p.Environ, Secrets: p.Secrets(), Now: time.Now,
		Observe: func(runner.Event) {}, Line: func(string, string) {},
		Note: func(text string) { fmt.Fprintf(p.Stderr, "runplan: %s\n", text) },
	}
}

// engineFor returns the engine for the run and a function that closes it.
func (x *Execution) engineFor(ctx context.Context, c local.Config) (runner.Engine, func(), error) {
	e, err := x.App.RemoteHost()
	if err != nil {
		return nil, nil, err
	}
	if e == nil {
		return local.New(c), func() {}, nil
	}
	text, err := os.ReadFile(x.Project.Layout.Config())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	d, err := e.Open(ctx, cli.Session{Config: c, ConfigText: text, Getenv: x.App.Getenv})
	if err != nil {
		return nil, nil, err
	}
	return d, d.Close, nil
}

// Hosting describes a run for which a worker executes commands, in its own clone.
type Hosting struct {
	Dir   string // of the clone
	Run   string
	Info  runner.Info
	Text  []byte // of the plan
	Trust string // value of --trust-config
	Mark  string // KEY=VALUE that all processes of the run on this machine carry
	Note  func(string)
}

// Host prepares a clone for the commands of a run: agent, gates and the rest, by the configuration of the clone.
// The configuration must be trusted on this machine. The caller must call done at the end: it ends all processes that
// carry the mark. The reaper does the same if this program is killed.
func Host(ctx context.Context, a *cli.App, h Hosting) (c local.Config, done func(), err error) {
	b := *a
	b.Dir, b.Trust = h.Dir, h.Trust
	p, err := b.OpenProject(ctx)
	if err != nil {
		return c, nil, err
	}
	if err := p.TrustConfig(); err != nil {
		return c, nil, err
	}
	p.Repo.AllowPrograms()
	if err := p.Layout.Make(); err != nil {
		return c, nil, err
	}
	ready, err := prepare.Hosted(p, h.Run, h.Info, h.Text)
	if err != nil {
		return c, nil, err
	}
	var opened cli.Closers
	defer opened.CloseAfter(&err)
	journal, err := store.OpenJournal(ctx, p.Layout.Journal())
	if err != nil {
		return c, nil, err
	}
	opened.Add(func() { journal.Close() })
	reaper, err := cli.StartReaper()
	if err != nil {
		return c, nil, err
	}
	reaper.Tag(h.Mark)
	opened.Add(func() { reaper.Close() })
	x := &Execution{Prepared: *ready, journal: journal}
	c, end, err := x.ready(ctx, reaper, newView(&b, ready.Options))
	if err != nil {
		return c, nil, err
	}
	opened.Add(end)
	c.Observe, c.Report, c.Note, c.Mark = func(runner.Event) {}, nil, h.Note, h.Mark
	c.Line = func(string, string) {}
	return c, opened.Close, nil
}

// ready builds the parts that execute the commands of a run: agents, gates, reviews. It also returns a function that
// ends them.
func (x *Execution) ready(ctx context.Context, reaper *proc.Reaper, view *view) (c local.Config,
	done func(), err error) {
	var opened cli.Closers
	defer opened.CloseAfter(&err)
	var list []agents.Agent
	for _, chosen := range x.Agents.List {
		agent, closeAgent, err := chosen.Start(ctx, x.journal, reaper)
		if err != nil {
			return c, nil, err
		}
		opened.Add(closeAgent)
		list = append(list, agent)
	}
	x.Project.Config.Gates.StrictAST = x.Project.Config.Gates.StrictAST || x.Options.StrictAST
	settings, closeGates, err := judge.GateSuite(ctx, x.Project, x.Options.RequireTests, x.Project.Layout.Temp(x.Run))
	if err != nil {
		return c, nil, err
	}
	opened.Add(closeGates)
	if c, err = x.config(settings, x.journal, list[0], view); err != nil {
		return c, nil, err
	}
	c.Reaper, c.Fallback = reaper, list[1:]
	if c.Reviews, err = x.reviews(ctx, reaper); err != nil {
		return c, nil, err
	}
	if c.Critic, err = x.critic(ctx, view, x.Project.ModelOptions(reaper)); err != nil {
		return c, nil, err
	}
	return c, opened.Close, nil
}
