package host

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/runplan/runplan/temporal/shared"
)

// pulse sends heartbeats to the server, so that a host with a silent agent does not count as dead. Each heartbeat
// contains the last pushed step, for people and for the next try. Work that ends before the first heartbeat sends
// none, because each one is a write on the server.
type pulse struct {
	last shared.Pushed // of the try before
	tell func(shared.Pushed)
	done chan struct{}

	mu  sync.Mutex
	now shared.Pushed
}

func beat(ctx context.Context) *pulse {
	var last shared.Pushed
	if activity.HasHeartbeatDetails(ctx) {
		_ = activity.GetHeartbeatDetails(ctx, &last) // from another build, it may be different: git is authoritative
	}
	return newPulse(last, activity.GetInfo(ctx).HeartbeatTimeout/4,
		func(s shared.Pushed) { activity.RecordHeartbeat(ctx, s) })
}

// newPulse starts to send heartbeats at an interval, if that is above 0.
func newPulse(last shared.Pushed, every time.Duration, tell func(shared.Pushed)) *pulse {
	p := &pulse{last: last, now: last, tell: tell, done: make(chan struct{})}
	if every <= 0 {
		return p
	}
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.once()
			case <-p.done:
				return
			}
		}
	}()
	return p
}

func (p *pulse) once() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell(p.now)
}

func (p *pulse) mark(s shared.Pushed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = s
}

func (p *pulse) stop() { close(p.done) }
