package app

import (
	"context"
	"fmt"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/proc"
)

// lateReaper is the process that ends runplan's children should it be killed, started when there may be one. It costs
// as much as runplan itself, and a look at a tree that was looked at before starts nothing.
type lateReaper struct {
	self   string
	once   sync.Once
	reaper *proc.Reaper
	err    error
}

func (l *lateReaper) get() (*proc.Reaper, error) {
	l.once.Do(func() {
		if l.reaper, l.err = startReaper(l.self); l.err != nil {
			l.err = fmt.Errorf("start the process that ends runplan's children should it be killed: %w", l.err)
		}
	})
	return l.reaper, l.err
}

// Close ends it where it runs.
func (l *lateReaper) Close() {
	if l.reaper != nil {
		l.reaper.Close()
	}
}

// supervised is a gate whose programs the reaper knows of.
type supervised struct {
	gates.Gate
	reaper *lateReaper
}

// underReaper puts the reaper behind the gates that start programs. Those that read files only are left as they are.
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
