package app

import (
	"context"
	"fmt"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/proc"
)

// lateReaper starts the reaper only when a program may be started. The reaper ends runplan's children if runplan is
// killed. Starting it takes as long as starting runplan, and a check that hits the cache starts no program.
type lateReaper struct {
	self   string
	once   sync.Once
	reaper *proc.Reaper
	err    error
}

func (l *lateReaper) get() (*proc.Reaper, error) {
	l.once.Do(func() {
		if l.reaper, l.err = cli.StartReaper(l.self); l.err != nil {
			l.err = fmt.Errorf("start the reaper process: %w", l.err)
		}
	})
	return l.reaper, l.err
}

// Close ends the reaper if it is running.
func (l *lateReaper) Close() {
	if l.reaper != nil {
		l.reaper.Close()
	}
}

// supervised is a gate that registers its programs with the reaper.
type supervised struct {
	gates.Gate
	reaper *lateReaper
}

// underReaper wraps the gates that start programs. Gates that only read files stay as they are.
func underReaper(list []gates.Gate, r *lateReaper) []gates.Gate {
	out := make([]gates.Gate, len(list))
	for i, g := range list {
		out[i] = g
		if info := g.Info(); info.Cost > gates.Instant || info.Command != "" {
			out[i] = supervised{g, r}
		}
	}
	return out
}

func (g supervised) Check(ctx context.Context, s gates.Subject) (gates.Report, error) {
	var err error
	if s.Reaper, err = g.reaper.get(); err != nil {
		return gates.Report{}, err
	}
	return g.Gate.Check(ctx, s)
}
