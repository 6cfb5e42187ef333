package planparse

import (
	"testing"
	"time"
)

func TestDurationOf(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"20m": 20 * time.Minute, "90 s": 90 * time.Second, "1h30m": 90 * time.Minute, "1 hour 30 min": 90 * time.Minute,
		"~2 hours":  2 * time.Hour,
		"15-20 min": 17*time.Minute + 30*time.Second, "15 – 20 min.": 17*time.Minute + 30*time.Second,
		"1.5h": 90 * time.Minute, "250ms": 250 * time.Millisecond, "24h": 24 * time.Hour,
	} {
		if got, ok := durationOf(text); !ok || got != want {
			t.Errorf("%q: %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "L", "3 points", "2 days", "0m", "-5m", "20", "m", "5m 2h", "1h 1h", "30m 20m",
		"20-10 min", "25h", "1e9 h", "99999999999999999999h", "1h 99999999999999999999m",
		"1h 30 pages"} {
		if got, ok := durationOf(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzDurationOf(f *testing.F) {
	f.Add("15-20 min")
	f.Add("1h30m")
	f.Fuzz(func(t *testing.T, text string) {
		if d, ok := durationOf(text); ok && (d <= 0 || d > 24*time.Hour+time.Hour) || !ok && d != 0 {
			t.Errorf("%q: %v %v", text, d, ok)
		}
	})
}
