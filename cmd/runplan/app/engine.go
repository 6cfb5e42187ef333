package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// RemoteHost is an engine that carries out runs on other machines. This program links none. A program that links one
// passes it to [Main].
type RemoteHost struct {
	Name     string // value of --engine
	Flags    func(*pflag.FlagSet)
	Open     func(ctx context.Context, s Session) (RemoteEngine, error)
	Commands func(*App) []*cobra.Command
}

// Session gives an engine the repository and the current run.
type Session struct {
	local.Config
	ConfigText []byte // the project's configuration; nil if there is none
	Getenv     func(string) (string, bool)
}

// RemoteEngine is an engine whose runs are on other machines.
type RemoteEngine interface {
	runner.Engine
	// Sync copies new events of a run into the local journal.
	Sync(ctx context.Context, run string, info runner.Info) error
	// Live reports whether a run is running.
	Live(ctx context.Context, run string) (bool, error)
	// UnderWay returns one line for each running command of a run: which worker has it and what that worker pushed
	// last.
	UnderWay(ctx context.Context, run string) ([]string, error)
	// Leftovers lists what runs left in the shared repository, and what remains in this one because of it. Data of
	// finished runs is kept for the duration keep. Remove removes one of them.
	Leftovers(ctx context.Context, keep time.Duration) ([]local.Leftover, error)
	Remove(ctx context.Context, x local.Leftover) error
	Close()
}

// here is the engine of this machine.
const here = "local"

// engineFlag is the key under which a run stores its engine.
const engineFlag = "engine"

// elsewhere returns the requested engine, or nil for the engine of this machine.
func (a *App) remoteHost() (*RemoteHost, error) {
	if a.engine == "" || a.engine == here {
		return nil, nil
	}
	names := []string{here}
	for i := range a.Engines {
		if a.Engines[i].Name == a.engine {
			return &a.Engines[i], nil
		}
		names = append(names, a.Engines[i].Name)
	}
	return nil, usage(fmt.Errorf("--engine %s: unknown", a.engine), "it is one of %s", strings.Join(names, ", "))
}

// addEngines adds the flags of linked engines to the commands that use an engine.
func (a *App) addEngines(root *cobra.Command) {
	if len(a.Engines) == 0 {
		return
	}
	for _, c := range root.Commands() {
		switch c.Name() {
		case "run", "resume", "gc":
		case "log", "approve", "cancel":
			c.RunE = a.beside(c.RunE, a.forward)
		case "status":
			c.RunE = a.beside(c.RunE, a.forward, a.underWay)
		default:
			continue
		}
		c.Flags().StringVar(&a.engine, engineFlag, here, "engine that executes the run")
		for _, e := range a.Engines {
			e.Flags(c.Flags())
		}
	}
	for _, e := range a.Engines {
		for _, c := range e.Commands(a) {
			c.GroupID = groupRun
			root.AddCommand(c)
		}
	}
}

// beside wraps a command of the journal so that it also covers runs on other machines. It syncs these runs first, runs
// the command, and then calls each function in then for each of them.
func (a *App) beside(do func(*cobra.Command, []string) error,
	then ...func(context.Context, remoteRun, *store.Journal) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		e, err := a.remoteHost()
		if err != nil {
			return err
		}
		if e == nil {
			return do(cmd, args)
		}
		ctx := cmd.Context()
		p, err := a.openProject(ctx)
		if err != nil {
			return err
		}
		p.repo.AllowPrograms() // sync fetches from other machines
		j, err := store.OpenExistingJournal(ctx, p.layout.Journal())
		if errors.Is(err, fs.ErrNotExist) {
			return do(cmd, args)
		}
		if err != nil {
			return err
		}
		defer j.Close()
		if err := a.signed(j); err != nil {
			return err
		}
		runs, err := a.syncRuns(ctx, e, p, j)
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
				if err := f(ctx, r, j); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// remoteRun is an unfinished run of the journal that is on another engine.
type remoteRun struct {
	id   string
	info runner.Info
	RemoteEngine
	lock *local.Lock // held while the run is running and no process follows it, so that others see the run as locked
}

// leave closes the engine and releases the lock.
func (r remoteRun) leave() {
	r.Close()
	if r.lock != nil {
		r.lock.Release()
	}
}

// syncRuns syncs the unfinished runs of an engine.
func (a *App) syncRuns(ctx context.Context, e *RemoteHost, p *project, j *store.Journal) ([]remoteRun, error) {
	sums, err := local.List(ctx, j, runner.Filter{})
	if err != nil {
		return nil, err
	}
	var runs []remoteRun
	for _, s := range sums {
		if s.Status.Over() {
			continue
		}
		info, err := p.recall(ctx, s.Run)
		if err != nil || info.Flags[engineFlag] != e.Name {
			continue
		}
		text, _, err := local.PlanText(ctx, j, p.layout, s.Run)
		if err != nil {
			return runs, err
		}
		d, err := a.openRemote(ctx, e, p, j, info, text)
		if err != nil {
			return runs, err
		}
		r := remoteRun{id: s.Run, info: info, RemoteEngine: d}
		if r.lock, err = local.TakeLock(p.layout.Lock(s.Slug), time.Now()); err == nil { // else it is followed
			if err := d.Sync(ctx, s.Run, info); err != nil {
				fmt.Fprintf(a.Stderr, "runplan: run %s could not be synchronised: %v\n", s.Run[:8], err)
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
func (a *App) forward(ctx context.Context, r remoteRun, j *store.Journal) error {
	said, err := local.Unheard(ctx, j, r.id)
	if err != nil {
		return err
	}
	for _, ev := range said {
		if err := r.Post(ctx, r.id, ev); err != nil {
			return fail(exitCannotRun, fmt.Errorf("run %s was not notified: %w", r.id[:8], err),
				"it is stored here; the next command with --engine %s delivers it", a.engine)
		}
	}
	if len(said) > 0 {
		fmt.Fprintf(a.Stderr, "run %s was notified and continues by itself\n", r.id[:8])
	}
	return nil
}

// underWay prints the running commands of a run and their workers.
func (a *App) underWay(ctx context.Context, r remoteRun, _ *store.Journal) error {
	lines, err := r.UnderWay(ctx, r.id)
	for _, line := range lines {
		fmt.Fprintf(a.Stderr, "run %s: %s\n", r.id[:8], line)
	}
	if err != nil {
		return fail(exitCannotRun, fmt.Errorf("run %s: list its active commands: %w", r.id[:8], err), "")
	}
	return nil
}

// openRemote opens an engine for an existing run, without the parts that only a worker needs.
func (a *App) openRemote(ctx context.Context, e *RemoteHost, p *project, j *store.Journal, info runner.Info,
	text []byte) (RemoteEngine, error) {
	plan, err := planparse.Parse(info.Plan, text)
	if err != nil {
		return nil, err
	}
	plan.Rename(info.Keys)
	a.hideTitles(p, plan)
	c := a.quietConfig(p)
	c.Journal, c.Plan, c.PlanText, c.Agent = j, plan, text, nobody(info.Agent)
	return e.Open(ctx, Session{Getenv: a.Getenv, Config: c})
}

// quietConfig returns the configuration of an engine that only reports and carries nothing out.
func (a *App) quietConfig(p *project) local.Config {
	return local.Config{
		Repo: p.repo, Layout: p.layout, Home: a.cacheDir(), Environ: a.Environ, Secrets: p.secrets(), Now: time.Now,
		Observe: func(runner.Event) {}, Line: func(string, string) {},
		Note: func(text string) { fmt.Fprintf(a.Stderr, "runplan: %s\n", text) },
	}
}

// sameEngine refuses to resume a run on a different engine. It runs before the cleanup of earlier processes, because a
// worker on this machine may be working for the same run.
func (x *execution) sameEngine(ctx context.Context) error {
	asked, was := cmp.Or(x.app.engine, here), cmp.Or(x.info.Flags[engineFlag], here)
	if asked == was {
		return nil
	}
	for range local.Events(ctx, x.journal, x.run, 0) {
		return usage(fmt.Errorf("run %s is on engine %s, not %s", x.run[:8], was, asked),
			"runplan resume --engine %s, of a runplan that has it", was)
	}
	return nil // the run is new
}

// engineFor returns the engine for the run and a function that closes it.
func (x *execution) engineFor(ctx context.Context, c local.Config) (runner.Engine, func(), error) {
	e, err := x.app.remoteHost()
	if err != nil {
		return nil, nil, err
	}
	if e == nil {
		return local.New(c), func() {}, nil
	}
	name := e.Name
	flags := map[string]string{engineFlag: name}
	maps.Copy(flags, x.info.Flags)
	x.info.Flags = flags
	text, err := os.ReadFile(x.project.layout.Config())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	d, err := e.Open(ctx, Session{Config: c, ConfigText: text, Getenv: x.app.Getenv})
	if err != nil {
		return nil, nil, err
	}
	return d, d.Close, nil
}

// Hosting describes a run for which a worker carries out commands, in a clone of its own.
type Hosting struct {
	Dir   string // of the clone
	Run   string
	Info  runner.Info
	Text  []byte // of the plan
	Trust string // value of --trust-config
	Mark  string // KEY=VALUE that all processes of the run on this machine carry
	Note  func(string)
}

// Host prepares a clone for the commands of a run: agent, gates and the rest, as the configuration of the clone says.
// The configuration must be trusted on this machine. The caller must call done at the end: it ends all processes that
// carry the mark. The reaper does the same if this program is killed.
func (a *App) Host(ctx context.Context, h Hosting) (c local.Config, done func(), err error) {
	b := *a
	b.dir = h.Dir
	p, err := b.openProject(ctx)
	if err != nil {
		return c, nil, err
	}
	if err := b.trustConfig(p, h.Trust); err != nil {
		return c, nil, err
	}
	p.repo.AllowPrograms()
	if err := p.layout.Make(); err != nil {
		return c, nil, err
	}
	plan, err := planparse.Parse(h.Info.Plan, h.Text)
	if err != nil {
		return c, nil, err
	}
	b.hideTitles(p, plan)
	o := runOptions{plain: true}
	o.take(h.Info.Flags)
	p.solver = o.solver
	decision := routing.Decision{}
	for _, batch := range h.Info.Batches {
		decision.Steps = append(decision.Steps, routing.Step{Batch: batch.Key, Needs: batch.Needs, Skip: batch.Skip})
	}
	agent, _, err := b.chooseAgent(p, h.Info.Plan, plan, decision, h.Info.Agent)
	if err != nil {
		return c, nil, err
	}
	others, err := o.limits.fallbackAgain(h.Info, p.config.Run)
	if err != nil {
		return c, nil, err
	}
	who, err := b.runAgentsOf(p, h.Info.Plan, agent, others)
	if err != nil {
		return c, nil, err
	}
	var closers []func()
	done = func() {
		for _, f := range slices.Backward(closers) {
			f()
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	journal, err := store.OpenJournal(ctx, p.layout.Journal())
	if err != nil {
		return c, nil, err
	}
	closers = append(closers, func() { journal.Close() })
	self, err := os.Executable()
	if err != nil {
		return c, nil, err
	}
	reaper, err := startReaper(self)
	if err != nil {
		return c, nil, err
	}
	reaper.Tag(h.Mark)
	closers = append(closers, func() { reaper.Close() })
	x := &execution{app: &b, project: p, plan: plan, text: h.Text, agents: who, options: o, run: h.Run, info: h.Info,
		journal: journal}
	c, end, err := x.ready(ctx, self, reaper, newView(&b, o, h.Info))
	if err != nil {
		return c, nil, err
	}
	closers = append(closers, end)
	c.Observe, c.Report, c.Note, c.Mark = func(runner.Event) {}, nil, h.Note, h.Mark
	c.Line = func(string, string) {}
	return c, done, nil
}

// ready builds what carries out the commands of a run: agents, gates, reviews. It also returns a function that ends
// them.
func (x *execution) ready(ctx context.Context, self string, reaper *proc.Reaper, view *view) (c local.Config,
	done func(), err error) {
	var closers []func()
	done = func() {
		for _, f := range slices.Backward(closers) {
			f()
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	agent, closeAgent, err := x.agents.list[0].start(ctx, x.journal, self, reaper)
	if err != nil {
		return c, nil, err
	}
	closers = append(closers, closeAgent)
	if x.why != "" {
		view.Note("agent " + agent.Name() + ": " + x.why)
	}
	x.project.config.Gates.StrictAST = x.project.config.Gates.StrictAST || x.options.strictAST
	settings, closeGates, err := x.app.gateSuite(ctx, x.project, self, x.options.requireTests, reaper,
		func(string) bool { return true })
	if err != nil {
		return c, nil, err
	}
	closers = append(closers, closeGates)
	if c, err = x.config(settings, x.journal, agent, view); err != nil {
		return c, nil, err
	}
	c.Reaper = reaper
	if c.Reviews, err = x.reviews(ctx, self, reaper); err != nil {
		return c, nil, err
	}
	if c.Critic, err = x.critic(ctx, view, x.modelOptions(reaper)); err != nil {
		return c, nil, err
	}
	for _, other := range x.agents.others() {
		agent, closeAgent, err := other.start(ctx, x.journal, self, reaper)
		if err != nil {
			return c, nil, err
		}
		closers = append(closers, closeAgent)
		c.Fallback = append(c.Fallback, agent)
	}
	return c, done, nil
}

// Usage returns a failure with exit code 2 and a hint.
func Usage(err error, hint string) error { return usage(err, "%s", hint) }

// CannotRun returns a failure with exit code 5 and a hint.
func CannotRun(err error, hint string) error { return fail(exitCannotRun, err, "%s", hint) }

// Hint returns the hint of an error, or "".
func Hint(err error) string {
	_, hint := codeOf(err)
	return hint
}

// IsUsage reports errors that do not depend on the machine. A retry gives the same error.
func IsUsage(err error) bool {
	var f *failure
	return errors.As(err, &f) && f.code == exitUsage
}
