package judge

import (
	"context"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/proc"
)

// LateReaper starts the reaper only when a program may be started. The reaper ends runplan's children if runplan is
// killed. Starting it takes as long as starting runplan, and a check that hits the cache starts no program.
type LateReaper struct {
	Self   string
	Once   sync.Once
	Reaper *proc.Reaper
	err    error
}

func (l *LateReaper) get() (*proc.Reaper, error) {
	l.Once.Do(func() { l.Reaper, l.err = cli.StartReaper(l.Self) })
	return l.Reaper, l.err
}

// Close ends the reaper if it is running.
func (l *LateReaper) Close() {
	if l.Reaper != nil {
		l.Reaper.Close()
	}
}

// supervised is a gate that registers its programs with the reaper.
type supervised struct {
	gates.Gate
	reaper *LateReaper
}

// underReaper wraps the gates that start programs. It does not wrap gates that only read files.
func underReaper(list []gates.Gate, r *LateReaper) []gates.Gate {
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
