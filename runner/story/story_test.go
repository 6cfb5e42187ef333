package story

import (
	"testing"
	"time"
)

func TestTicks(t *testing.T) {
	for d := time.Second; d < 400*time.Hour; d += d/3 + time.Second {
		if n := d / Tick(d); n > 9 {
			t.Errorf("%d ticks in %s", n, d)
		}
	}
}
