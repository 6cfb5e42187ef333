package local

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A gate begins once no worker prepares an attempt, and at the latest after maxYield.
func TestGatesYieldToWorkers(t *testing.T) {
	for name, c := range map[string]struct {
		busy time.Duration // how long a worker needs, from the moment the gate would begin
		want time.Duration
	}{
		"no worker":     {0, time.Millisecond},
		"a worker":      {30 * time.Millisecond, 31 * time.Millisecond},
		"a slow worker": {2 * maxYield, maxYield},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s starting
				began := time.Now()
				if c.busy > 0 {
					leave := s.enter()
					go func() {
						time.Sleep(c.busy)
						leave()
						leave() // counts once
					}()
				}
				s.yield(t.Context())
				if took := time.Since(began); took > c.want || took < c.want-time.Millisecond {
					t.Errorf("the gate waited %s, want %s", took, c.want)
				}
				time.Sleep(2 * maxYield) // the slow worker ends
			})
		})
	}
}

func TestGateThatIsCancelledWaitsNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s starting
		defer s.enter()()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		s.yield(ctx)
		if took := time.Since(began); took > time.Millisecond {
			t.Errorf("it waited %s", took)
		}
	})
}
