package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/temporal/connect"
	"github.com/runplan/runplan/temporal/engine"
	"github.com/runplan/runplan/temporal/flow"
)

type service struct {
	connect.Options
	remote    string
	prefix    string
	heartbeat time.Duration
	deadline  time.Duration
	longest   int
}

func (s *service) remoteHost() cli.RemoteHost {
	return cli.RemoteHost{
		Name: "temporal", Flags: s.flags, Open: s.open,
		Commands: func(a *cli.App) []*cobra.Command { return []*cobra.Command{newWorkerCommand(a, s)} },
	}
}

// flags holds the flags of all commands that connect to Temporal.
func (s *service) flags(f *pflag.FlagSet) {
	s.Options.Flags(f)
	f.StringVar(&s.remote, "remote", "origin", "repository that all machines share: a remote of this one, or a URL")
	f.StringVar(&s.prefix, "ref-prefix", local.EvidencePrefix, "folder for plans, reports and logs of runs in it")
	if f.Lookup("slots") != nil {
		return
	}
	f.DurationVar(&s.heartbeat, "heartbeat", flow.DefaultHeartbeat,
		"a worker without a heartbeat for this long counts as dead")
	f.DurationVar(&s.deadline, "command-deadline", flow.DefaultDeadline,
		"time limit of one command, with all its tries on all workers")
	f.IntVar(&s.longest, "history-events", flow.DefaultLongest, "events after which a workflow begins a new history")
}

// quiet discards the SDK's own log: the program reports errors of the client itself.
func quiet() log.Logger {
	return log.NewStructuredLogger(slog.New(slog.DiscardHandler))
}

// dial connects to the service. Its errors have an exit code.
func (s *service) dial(ctx context.Context, getenv func(string) (string, bool), identity string,
	logger log.Logger) (client.Client, connect.Coding, error) {
	c, as, err := connect.Dial(ctx, s.Options, getenv, identity, logger)
	var why *connect.Error
	switch {
	case err == nil:
		return c, as, nil
	case errors.As(err, &why) && why.Usage:
		return nil, as, cli.Usage(err, "%s", why.Hint)
	case errors.As(err, &why):
		return nil, as, cli.Fail(cli.ExitCannotRun, err, "%s", why.Hint)
	}
	return nil, as, cli.Fail(cli.ExitCannotRun, err, "")
}

// remoteEngine is the engine with the connection that it works through.
type remoteEngine struct {
	*engine.Engine
}

func (s *service) open(ctx context.Context, in cli.Session) (cli.RemoteEngine, error) {
	host, _ := os.Hostname()
	c, as, err := s.dial(ctx, in.Getenv, fmt.Sprintf("runplan %d@%s", os.Getpid(), host), quiet())
	if err != nil {
		return nil, err
	}
	return &remoteEngine{&engine.Engine{
		Config: in.Config, Client: c, Coding: as, Queue: s.Queue, Remote: s.remote, Prefix: s.prefix,
		ConfigText: in.ConfigText, Options: flow.Options{Heartbeat: s.heartbeat, Deadline: s.deadline, Longest: s.longest},
	}}, nil
}

// Start calls [engine.Engine.Start] and maps errors of the request to usage errors.
func (d *remoteEngine) Start(ctx context.Context, run string, info runner.Info) (runner.Result, error) {
	res, err := d.Engine.Start(ctx, run, info)
	if errors.Is(err, engine.ErrTooLarge) {
		err = cli.Usage(err, "nothing was started")
	}
	return res, err
}

// Close implements [cli.RemoteEngine].
func (d *remoteEngine) Close() { d.Client.Close() }
