package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/runplan/runplan/cmd/runplan/app"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/temporal/engine"
	"github.com/runplan/runplan/temporal/host"
)

// workerOptions are the flags of worker.
type workerOptions struct {
	dir        string
	slots      int
	trust      string
	deployment string
	build      string
	current    bool
}

func newWorkerCommand(a *app.App, s *service) *cobra.Command {
	var o workerOptions
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Work for runs on Temporal",
		Long: `Listen on a task queue of Temporal and carry out the commands of runs: agents, gates, reviews, merges.

A worker has a clone of --remote for each run, under --dir. All that passes between workers is in that
repository: the run branch, which is moved by compare-and-swap only, and the reports and logs of commands.
What is killed goes on at another worker: the work of commands that were reported on is not done again.

The configuration is that of the checkout the run was started from. What it can run has to be trusted on
each worker: --trust-config SHA, or RUNPLAN_TRUST. Credentials are the worker's own; none is in the run.

Exit status:
    0  told to end
    2  usage or configuration
    5  the service cannot be reached`,
		Example: `  runplan-temporal worker --remote git@example.com:team/project.git --dir /var/lib/runplan --slots 2`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return work(cmd.Context(), a, s, o) },
	}
	f := cmd.Flags()
	f.IntVar(&o.slots, "slots", 1, "commands that are carried out at the same time")
	f.StringVar(&o.dir, "dir", "", "folder for the clones (default: runplan-worker in the user's cache folder)")
	f.StringVar(&o.trust, "trust-config", "", "digest of the configuration, to trust it unasked")
	f.StringVar(&o.deployment, "deployment", "", "name of the worker deployment: runs stay on the build that they began with")
	f.StringVar(&o.build, "build-id", "", "build of the deployment (default: version of runplan and of its loop)")
	f.BoolVar(&o.current, "make-current", false, "let new runs of the deployment begin on this build")
	s.flags(f)
	return cmd
}

// work is the worker command.
func work(ctx context.Context, a *app.App, s *service, o workerOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return app.Usage(err, "name a folder with --dir")
		}
		o.dir = filepath.Join(cache, "runplan-worker")
	}
	name, _ := os.Hostname()
	hide := redact.New(a.Environ)
	logger := log.NewStructuredLogger(slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(_ []string, at slog.Attr) slog.Attr {
		return slog.String(at.Key, hide.String(at.Value.String()))
	}})))
	c, err := s.dial(ctx, a.Getenv, fmt.Sprintf("runplan worker %d@%s", os.Getpid(), name), logger)
	if err != nil {
		return err
	}
	defer c.Close()
	w := &clones{app: a, service: s, options: o}
	defer w.close()
	h := &host.Host{Client: c, Queue: s.Queue, Open: w.open}
	if o.deployment != "" && o.build == "" {
		o.build = build()
	}
	end, err := h.Start(host.Options{Slots: o.slots, Deployment: o.deployment, Build: o.build})
	if err != nil {
		return app.CannotRun(err, "")
	}
	if o.current {
		if err := makeCurrent(ctx, c, o); err != nil {
			end()
			return app.CannotRun(fmt.Errorf("make build %s current: %w", o.build, err), "")
		}
	}
	fmt.Fprintf(a.Stderr, "worker: listening on %s, namespace %s, task queue %s, %d at a time\n", s.Address, s.Namespace, s.Queue, o.slots)
	<-ctx.Done()
	fmt.Fprintln(a.Stderr, "worker: ending; what is under way goes on at another worker")
	end()
	return nil
}

// build names this program: another loop is another build.
func build() string {
	version := "devel"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				version = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return fmt.Sprintf("%s-loop%d", version, runner.LoopVersion)
}

// makeCurrent lets new runs begin on this build, as soon as the service has heard of it.
func makeCurrent(ctx context.Context, c client.Client, o workerOptions) (err error) {
	handle := c.WorkerDeploymentClient().GetHandle(o.deployment)
	for range 20 {
		if _, err = handle.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: o.build}); err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// clones are the runs that this worker has a clone of.
type clones struct {
	app     *app.App
	service *service
	options workerOptions

	mu   sync.Mutex
	ends []func()
}

func (w *clones) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, end := range w.ends {
		end()
	}
}

// open makes a clone for a run and opens a worker in it.
func (w *clones) open(ctx context.Context, run string) (*local.Worker, error) {
	dir := filepath.Join(w.options.dir, fmt.Sprintf("%x", sha256.Sum256([]byte(run)))[:16])
	hide := redact.New(w.app.Environ).String
	repo, err := w.clone(ctx, dir)
	if err != nil {
		return nil, errors.New(hide(err.Error()))
	}
	d := &local.Depot{Repo: repo, Layout: local.LayoutOf(repo.Root), Remote: "origin", Prefix: w.service.prefix, Run: run, Redact: hide}
	if err := d.FetchPlan(ctx); err != nil {
		return nil, err
	}
	about, err := d.Offered(ctx, engine.InfoFile)
	if err == nil && about == nil {
		err = fmt.Errorf("the shared repository has no run %s", run)
	}
	if err != nil {
		return nil, err
	}
	var info runner.Info
	if err := json.Unmarshal(about, &info); err != nil {
		return nil, fmt.Errorf("read what run %s is about: %w", run, err)
	}
	d.Branch = info.Branch
	text, err := d.Offered(ctx, engine.PlanFile)
	if err != nil {
		return nil, err
	}
	settings, err := d.Offered(ctx, engine.ConfigFile)
	if err != nil {
		return nil, err
	}
	if _, err := repo.Run(ctx, "checkout", "--quiet", "--force", "--detach", info.Base); err != nil {
		return nil, fmt.Errorf("check out the commit that run %s began with: %w", run, err)
	}
	if err := configure(d.Layout, settings); err != nil {
		return nil, err
	}
	c, end, err := w.app.Host(ctx, app.Hosting{Dir: repo.Root, Run: run, Info: info, Text: text, Trust: w.options.trust, Note: func(text string) {
		fmt.Fprintf(w.app.Stderr, "worker: run %.8s: %s\n", run, hide(redact.Clean(text)))
	}})
	if err != nil {
		if app.IsUsage(err) {
			err = &host.Refusal{Err: fmt.Errorf("this worker refuses the run: %s", hide(err.Error()))}
		}
		return nil, err
	}
	worker, err := local.NewWorker(context.WithoutCancel(ctx), c, run, info, d)
	if err != nil {
		end()
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends = append(w.ends, end)
	return worker, nil
}

// clone makes a clone, or takes up the one that is there.
func (w *clones) clone(ctx context.Context, dir string) (*git.Repo, error) {
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
		return git.Open(ctx, dir, w.app.Environ)
	}
	if err := os.MkdirAll(w.options.dir, 0o755); err != nil {
		return nil, err
	}
	half := dir + ".new"
	if err := os.RemoveAll(half); err != nil {
		return nil, err
	}
	if err := git.Clone(ctx, w.service.remote, half, w.app.Environ); err != nil {
		return nil, err
	}
	if err := os.Rename(half, dir); err != nil {
		return nil, err
	}
	return git.Open(ctx, dir, w.app.Environ)
}

// configure gives the clone the configuration that the run was started with.
func configure(l local.Layout, settings []byte) error {
	if settings == nil {
		if err := os.Remove(l.Config()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := l.Make(); err != nil {
		return err
	}
	return os.WriteFile(l.Config(), settings, 0o644)
}
