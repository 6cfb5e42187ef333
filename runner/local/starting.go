package local

import (
	"context"
	"sync"
	"time"
)

// starting counts the workers that prepare an attempt or record its result. Gates let them go first: a worker that
// waits for a processor delays all its later batches, but nothing waits for the gates of one batch except its merge.
type starting struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n becomes 0; nil if n is 0
}

// maxYield limits how long gates wait for workers.
const maxYield = 100 * time.Millisecond

// enter counts one more worker. leave may be called more than once.
func (s *starting) enter() (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n++; s.n == 1 {
		s.none = make(chan struct{})
	}
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.n--; s.n == 0 {
			close(s.none)
			s.none = nil
		}
	})
}

// yield waits until no worker is counted, at most [maxYield].
func (s *starting) yield(ctx context.Context) {
	end := time.NewTimer(maxYield)
	defer end.Stop()
	for pause := time.Millisecond; ; { // a worker that begins at the same moment needs a moment to be counted
		select {
		case <-time.After(pause):
		case <-end.C:
			return
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		none := s.none
		s.mu.Unlock()
		if none == nil {
			return
		}
		select {
		case <-none:
		case <-end.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
