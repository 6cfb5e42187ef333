package local

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// starting counts the workers that prepare an attempt or record its result. Gates let them go first: a worker that
// waits for a processor delays all its later batches, but nothing waits for the gates of one batch except its merge.
type starting struct{ workers atomic.Int32 }

// maxYield limits how long gates wait for workers.
const maxYield = 100 * time.Millisecond

// enter counts one more worker. leave may be called more than once.
func (s *starting) enter() (leave func()) {
	s.workers.Add(1)
	return sync.OnceFunc(func() { s.workers.Add(-1) })
}

// yield waits until no worker is counted, at most [maxYield]. It waits for a millisecond in any case, because a worker
// that begins at the same moment may not be counted yet.
func (s *starting) yield(ctx context.Context) {
	for end := time.Now().Add(maxYield); time.Now().Before(end) && ctx.Err() == nil; {
		time.Sleep(time.Millisecond)
		if s.workers.Load() == 0 {
			return
		}
	}
}
