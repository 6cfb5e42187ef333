package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// RemoteHost is an engine that executes runs on other machines. This program links none. A program that links one
// passes it to [app.Main].
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
	// UnderWay returns one line for each running command of a run: its worker and the last push of that worker.
	UnderWay(ctx context.Context, run string) ([]string, error)
	// Leftovers lists what runs left in the shared repository, and what remains in this repository for them. Data of
	// finished runs is kept for the duration keep. Remove removes one of them.
	Leftovers(ctx context.Context, keep time.Duration) ([]local.Leftover, error)
	Remove(ctx context.Context, x local.Leftover) error
	Close()
}

// Here is the local engine.
const Here = "local"

// EngineFlag is the key under which a run stores its engine.
const EngineFlag = "engine"

// RemoteHost returns the requested engine, or nil for the engine of this machine.
func (a *App) RemoteHost() (*RemoteHost, error) {
	if a.Engine == "" || a.Engine == Here {
		return nil, nil
	}
	names := []string{Here}
	for i := range a.Engines {
		if a.Engines[i].Name == a.Engine {
			return &a.Engines[i], nil
		}
		names = append(names, a.Engines[i].Name)
	}
	return nil, Usage(fmt.Errorf("--engine %s: unknown", a.Engine), "use one of %s", strings.Join(names, ", "))
}
