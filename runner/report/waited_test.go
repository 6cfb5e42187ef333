package report

import (
	"testing"
	"time"
)

// Waiting is distinguished from work: side by side counts once, and the wait for a limit is none of the work.
func TestWaitedFor(t *testing.T) {
	c := course{total: 40_000, spans: []span{
		{batch: "a", kind: "edit", from: 2_000, to: 6_000}, {batch: "a", kind: "wait", from: 6_000, to: 16_000},
		{batch: "b", kind: "edit", from: 4_000, to: 9_000}, {batch: "a", kind: "check", from: 16_000, to: 18_000}, {batch: "a", kind: "land", from: 18_500, to: 19_000},
	}}
	for batch, want := range map[string]time.Duration{"a": 10_500 * time.Millisecond, "b": 0, "": (2 + 7 + 21) * time.Second, "none": 0} {
		if batch == "" {
			want += 500 * time.Millisecond
		}
		if got := c.waitedFor(batch); got != want {
			t.Errorf("%q waited %v, want %v", batch, got, want)
		}
	}
}
