package judge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/ui"
)

// working knows which gates run now, and since when.
type working struct {
	mu    sync.Mutex
	since map[string]time.Time
	ended int
	all   int
}

// watched returns the gates so that w knows when each starts and ends.
func watched(list []gates.Gate) ([]gates.Gate, *working) {
	w := &working{since: map[string]time.Time{}, all: len(list)}
	out := make([]gates.Gate, len(list))
	for i, g := range list {
		out[i] = observed{g, w}
	}
	return out, w
}

// text lists the running gates, longest-running first. It is empty while none runs.
func (w *working) text(now time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := slices.SortedFunc(maps.Keys(w.since), func(a, b string) int {
		return cmp.Or(w.since[a].Compare(w.since[b]), strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = name + " " + ui.Duration(now.Sub(w.since[name]).Truncate(time.Second))
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d  running %s", w.ended, w.all, strings.Join(names, ", "))
}

// observed is a gate that reports when it runs.
type observed struct {
	gates.Gate
	w *working
}

func (o observed) Check(ctx context.Context, s gates.Subject) (gates.Report, error) {
	name := o.Info().Name
	o.w.mu.Lock()
	o.w.since[name] = time.Now()
	o.w.mu.Unlock()
	defer func() {
		o.w.mu.Lock()
		delete(o.w.since, name)
		o.w.ended++
		o.w.mu.Unlock()
	}()
	return o.Gate.Check(ctx, s)
}

// status shows the running gates in a line on the terminal. Without a terminal it returns nil.
func status(a *cli.App, text func(time.Time) string) *ui.Status {
	in, _ := a.Stdin.(*os.File)
	out := a.StderrFile()
	return ui.ShowStatus(a.Getenv, in, out, text)
}
