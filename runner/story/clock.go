package story

import (
	"time"

	"github.com/runplan/runplan/runner"
)

// Clock separates the working time of a batch or run from its waiting time. Times are milliseconds since the start of
// the run, without the pauses between sessions. Concurrent work counts once.
type Clock struct {
	First, Last int64 // of the first and of the last step
	Working     int64
}

// Waited returns the time without work between the first and the last step; 0 if it is under a second.
func (c Clock) Waited() time.Duration {
	ms := c.Last - c.First - c.Working
	if ms < shortWait {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// Clock returns the clock of a batch; "" returns the clock of the run.
func (c *Course) Clock(batch string) Clock {
	if batch == "" {
		return Clock{Last: c.Now, Working: c.clocks[""].Working}
	}
	return c.clocks[batch]
}

// works reports whether a command is work. The others wait: for the end of a limit, or for a person.
func works(e runner.Event) bool {
	kind := runner.KindOf(e.Command)
	return kind != runner.Wait && kind != runner.Ask
}

// tick adds an event to the clocks. delta is the time since the last one.
func (c *Course) tick(e runner.Event, delta int64) {
	if delta > 0 && len(c.working) > 0 {
		busy := map[string]bool{"": true}
		for _, batch := range c.working {
			busy[batch] = true
		}
		for batch := range busy {
			c.work(batch, delta)
		}
	}
	if e.Kind == runner.RunResumed || e.Kind == runner.RunFinished {
		clear(c.working) // the process of what was running is gone
	}
	if e.Command == "" {
		return
	}
	if e.Batch != "" {
		b, known := c.clocks[e.Batch]
		if !known {
			b.First = c.Now
		}
		b.Last = c.Now
		c.clocks[e.Batch] = b
	}
	if e.Kind == runner.Dispatched && works(e) {
		c.working[e.Command] = e.Batch
	} else {
		delete(c.working, e.Command)
	}
}

func (c *Course) work(batch string, ms int64) {
	b := c.clocks[batch]
	b.Working += ms
	c.clocks[batch] = b
}
