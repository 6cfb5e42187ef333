package page

import (
	"fmt"
	"time"

	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// clocks separates the working time of a run and of each batch from its waiting time. The pauses between the sessions
// of a run do not count. Concurrent work counts once.
type clocks struct {
	open    map[string]string // batch of each command running, by the id of the command
	of      map[string]*clock // by batch
	working int64             // milliseconds in which any command was running
}

// clock is the time of one batch, in milliseconds of the run's own time.
type clock struct{ first, last, working int64 }

func newClocks() clocks { return clocks{open: map[string]string{}, of: map[string]*clock{}} }

// works reports whether a command is work. The others wait: for the end of a limit, or for a person.
func works(e runner.Event) bool {
	kind := runner.KindOf(e.Command)
	return kind != runner.Wait && kind != runner.Ask
}

// apply adds an event. delta is the time since the last one, and now the run's own time, both in milliseconds.
func (c *clocks) apply(e runner.Event, delta, now int64) {
	if delta > 0 && len(c.open) > 0 {
		c.working += delta
		busy := map[string]bool{}
		for _, batch := range c.open {
			if batch != "" && !busy[batch] {
				busy[batch] = true
				c.of[batch].working += delta
			}
		}
	}
	if e.Kind == runner.RunResumed || e.Kind == runner.RunFinished {
		clear(c.open) // the process of the running work has ended
	}
	if e.Command == "" {
		return
	}
	b := c.of[e.Batch]
	if b == nil && e.Batch != "" {
		b = &clock{first: now}
		c.of[e.Batch] = b
	}
	if b != nil {
		b.last = now
	}
	if e.Kind == runner.Dispatched && works(e) {
		c.open[e.Command] = e.Batch
	} else {
		delete(c.open, e.Command)
	}
}

// waited returns how long a batch waited between its first and its last step; 0 if that is under a second.
func (c *clocks) waited(batch string) time.Duration {
	b := c.of[batch]
	if b == nil {
		return 0
	}
	return atLeastSecond(b.last - b.first - b.working)
}

func atLeastSecond(ms int64) time.Duration {
	if ms < 1000 {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// note describes waiting and working time; "" without waiting time.
func waitedNote(waited time.Duration) string {
	if waited == 0 {
		return ""
	}
	return fmt.Sprintf("waited %s", ui.Duration(waited))
}
