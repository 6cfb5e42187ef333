package story

import (
	"testing"
	"time"
)

// Waiting is distinguished from work: side by side counts once, and the wait for a limit is not work.
func TestWaitedFor(t *testing.T) {
	c := Course{Total: 40_000, Spans: []Span{
		{Batch: "a", Kind: "edit", From: 2_000, To: 6_000}, {Batch: "a", Kind: "wait", From: 6_000, To: 16_000},
		{Batch: "b", Kind: "edit", From: 4_000, To: 9_000}, {Batch: "a", Kind: "check", From: 16_000, To: 18_000},
		{Batch: "a", Kind: "land", From: 18_500, To: 19_000},
	}}
	for batch, want := range map[string]time.Duration{"a": 10_500 * time.Millisecond, "b": 0,
		"": (2 + 7 + 21) * time.Second, "none": 0} {
		if batch == "" {
			want += 500 * time.Millisecond
		}
		if got := c.WaitedFor(batch); got != want {
			t.Errorf("%q waited %v, want %v", batch, got, want)
		}
	}
}

func TestTicks(t *testing.T) {
	for d := time.Second; d < 400*time.Hour; d += d/3 + time.Second {
		if n := d / Tick(d); n > 9 {
			t.Errorf("%d ticks in %s", n, d)
		}
	}
}
