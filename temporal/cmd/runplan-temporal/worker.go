package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/temporal/clones"
	"github.com/runplan/runplan/temporal/host"
)

type workerOptions struct {
	dir        string
	keep       time.Duration
	slots      int
	trust      string
	deployment string
	build      string
	current    bool
}

func newWorkerCommand(a *cli.App, s *service) *cobra.Command {
	var o workerOptions
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Work for runs on Temporal",
		Long: `Listen on a task queue of Temporal and execute the commands of runs: agents, gates, reviews, merges.

A worker has a clone of --remote for each run, under --dir. Workers exchange all data through that
repository: the run branch, which is moved only by compare-and-swap, and the reports and logs of commands.
Killed work continues on another worker; commands with a report are not repeated.

The configuration comes from the checkout that the run was started from. Each worker must trust what it can
run: --trust-config SHA, or RUNPLAN_TRUST. Credentials are the worker's own; the run contains none.

A folder belongs to one worker. At its start, it kills running processes of an earlier worker of the folder,
and it removes the clones that no run has used for --keep-clones, then and every hour.

Exit status:
    0  stopped on request
    2  usage or configuration
    5  the service cannot be reached
    6  another worker has the folder`,
		Example: `  runplan-temporal worker --remote git@example.com:team/project.git --dir /var/lib/runplan --slots 2`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return work(cmd.Context(), a, s, o) },
	}
	o.folderFlags(cmd.PersistentFlags())
	f := cmd.Flags()
	f.IntVar(&o.slots, "slots", 1, "commands that are carried out at the same time")
	f.StringVar(&o.trust, "trust-config", "", "digest of the configuration, to trust it without a question")
	f.StringVar(&o.deployment, "deployment", "",
		"name of the worker deployment: runs stay on the build that they began with")
	f.StringVar(&o.build, "build-id", "", "build of the deployment (default: version of runplan and of its loop)")
	f.BoolVar(&o.current, "make-current", false, "start new runs of the deployment on this build")
	s.flags(f)
	cmd.AddCommand(newWorkerGCCommand(a, &o))
	return cmd
}

// folderFlags holds the flags for the folder of the clones.
func (o *workerOptions) folderFlags(f *pflag.FlagSet) {
	f.StringVar(&o.dir, "dir", "", "folder for the clones (default: runplan-worker in the user's cache folder)")
	f.DurationVar(&o.keep, "keep-clones", clones.DefaultKeep, "how long an unused clone stays")
}

// folder returns the folder of the clones.
func (o workerOptions) folder() (string, error) {
	if o.dir != "" {
		return o.dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", cli.Usage(err, "name a folder with --dir")
	}
	return filepath.Join(cache, "runplan-worker"), nil
}

func work(ctx context.Context, a *cli.App, s *service, o workerOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := o.folder()
	if err != nil {
		return err
	}
	name, _ := os.Hostname()
	hide := redact.New(a.Environ)
	logger := log.NewStructuredLogger(
		slog.New(slog.NewTextHandler(a.Stderr,
			&slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(_ []string, at slog.Attr) slog.Attr {
				return slog.String(at.Key, hide.String(at.Value.String()))
			}})))
	c, _, err := s.dial(ctx, a.Getenv, fmt.Sprintf("runplan worker %d@%s", os.Getpid(), name), logger)
	if err != nil {
		return err
	}
	defer c.Close()
	folder, killed, err := clones.Take(dir, time.Now)
	if errors.Is(err, local.ErrLocked) {
		return fmt.Errorf("%w; give each worker its own --dir, or one worker more --slots", err)
	}
	if err != nil {
		return cli.Fail(cli.ExitCannotRun, fmt.Errorf("take the folder for clones: %w", err), "")
	}
	defer folder.Close()
	w := &workerProcess{app: a, service: s, options: o, folder: folder}
	if killed > 0 {
		w.say("killed %d processes that an earlier worker had left", killed)
	}
	h := &host.Host{Client: c, Queue: s.Queue, Open: w.open}
	if o.deployment != "" && o.build == "" {
		o.build = build()
	}
	end, err := h.Start(host.Options{Slots: o.slots, Deployment: o.deployment, Build: o.build})
	if err != nil {
		return cli.Fail(cli.ExitCannotRun, err, "")
	}
	if o.current {
		if err := makeCurrent(ctx, c, o); err != nil {
			end()
			return cli.Fail(cli.ExitCannotRun, fmt.Errorf("make build %s current: %w", o.build, err), "")
		}
	}
	w.say("listening on %s, namespace %s, task queue %s, %d at a time", s.Address, s.Namespace, s.Queue, o.slots)
	w.prune(ctx)
	w.say("stopping; work in progress continues on another worker")
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

// makeCurrent makes this build the current one for new runs, when the service knows it.
func makeCurrent(ctx context.Context, c client.Client, o workerOptions) (err error) {
	handle := c.WorkerDeploymentClient().GetHandle(o.deployment)
	for range 20 {
		if _, err = handle.SetCurrentVersion(ctx,
			client.WorkerDeploymentSetCurrentVersionOptions{BuildID: o.build}); err == nil {
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
