package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/runplan/runplan/internal/cli"
	clirun "github.com/runplan/runplan/internal/cli/run"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/temporal/clones"
	"github.com/runplan/runplan/temporal/host"
	"github.com/runplan/runplan/temporal/shared"
)

// workerProcess holds the state of this worker process.
type workerProcess struct {
	app     *cli.App
	service *service
	options workerOptions
	folder  *clones.Folder
}

func (w *workerProcess) say(format string, args ...any) {
	fmt.Fprintf(w.app.Stderr, "worker: "+format+"\n", args...)
}

// prune removes the clones that can go, now and every hour, until ctx ends.
func (w *workerProcess) prune(ctx context.Context) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		gone, err := w.folder.Prune(w.options.keep)
		for _, x := range gone {
			w.say("removed clone %s, %s", x.Name, x.Why)
		}
		if err != nil {
			w.say("unused clones could not be removed: %v", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// open prepares a clone for a run and opens a worker in it. The returned function closes both.
func (w *workerProcess) open(ctx context.Context, run string) (_ *shared.Worker, closed func(), err error) {
	place, err := w.folder.Begin(run)
	if err != nil {
		return nil, nil, err
	}
	closers := []func(){func() {
		if err := w.folder.End(place); err != nil {
			w.say("the clone of run %.8s: %v", run, err)
		}
	}}
	away := func() {
		for _, f := range slices.Backward(closers) {
			f()
		}
	}
	defer func() {
		if err != nil {
			away()
		}
	}()
	hide := redact.New(w.app.Environ).String
	repo, err := w.folder.Fill(ctx, place, w.service.remote, w.app.Environ)
	if err != nil {
		return nil, nil, errors.New(hide(err.Error()))
	}
	d := &shared.SharedRepo{Repo: repo, Layout: journal.LayoutOf(repo.Root), Remote: "origin", Prefix: w.service.prefix,
		Run: run, Redact: hide}
	if err := d.Fetch(ctx); err != nil {
		return nil, nil, err
	}
	about, err := d.Offered(ctx, shared.OfferedInfo)
	if err == nil && about == nil {
		err = fmt.Errorf("the shared repository has no run %s", run)
	}
	if err != nil {
		return nil, nil, err
	}
	var info runner.Info
	if err := json.Unmarshal(about, &info); err != nil {
		return nil, nil, fmt.Errorf("read the description of run %s: %w", run, err)
	}
	d.Branch = info.Branch
	text, err := d.Offered(ctx, shared.OfferedPlan)
	if err != nil {
		return nil, nil, err
	}
	settings, err := d.Offered(ctx, shared.OfferedConfig)
	if err != nil {
		return nil, nil, err
	}
	if _, err := repo.Run(ctx, "checkout", "--quiet", "--force", "--detach", info.Base); err != nil {
		return nil, nil, fmt.Errorf("check out the commit that run %s began with: %w", run, err)
	}
	if err := configure(d.Layout, settings); err != nil {
		return nil, nil, err
	}
	c, end, err := clirun.Host(ctx, w.app,
		clirun.Hosting{Dir: repo.Root, Run: run, Info: info, Text: text, Trust: w.options.trust, Mark: place.Mark,
			Note: func(text string) {
				w.say("run %.8s: %s", run, hide(redact.Clean(text)))
			}})
	if err != nil {
		if code, hint := cli.CodeOf(err); code == cli.ExitUsage { // another try would fail in the same way
			name, _ := os.Hostname()
			err = &host.Refusal{Err: fmt.Errorf("the worker on %s refuses the run: %s (%s)", name, hide(err.Error()),
				hide(hint))}
		}
		return nil, nil, err
	}
	closers = append(closers, end)
	worker, err := shared.NewWorker(context.WithoutCancel(ctx), c, run, info, d)
	return worker, away, err
}

// configure writes the run's configuration into the clone.
func configure(l journal.Layout, settings []byte) error {
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
