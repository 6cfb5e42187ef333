package planparse

import (
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/lazyre"
)

// spans reads "20m", "90 s", "1h30m", "~2 hours" and "15-20 min".
var spans = lazyre.New(`^(?:~|≈|about |ca\.? )?\s*(\d+(?:\.\d+)?)(?:\s*(?:-|–|to)\s*(\d+(?:\.\d+)?))?\s*([a-z]+)\.?(?:\s*(?:and\s+)?(\d+)\s*([a-z]+))?$`)

// durationOf parses a stated duration. For a range it returns the middle. It ignores points, sizes and days, because
// they estimate the work of people and not the time of an agent.
func durationOf(text string) (time.Duration, bool) {
	m := spans.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil {
		return 0, false
	}
	from, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	if m[2] != "" {
		to, err := strconv.ParseFloat(m[2], 64)
		if err != nil || to < from {
			return 0, false
		}
		from = (from + to) / 2
	}
	unit := unitOf(m[3])
	d := from * float64(unit)
	if m[4] != "" {
		more, err := strconv.ParseFloat(m[4], 64)
		less := unitOf(m[5])
		if err != nil || less == 0 || less >= unit {
			return 0, false
		}
		d += more * float64(less)
	}
	if d <= 0 || d > float64(24*time.Hour) {
		return 0, false
	}
	return time.Duration(d), true
}

func unitOf(name string) time.Duration {
	switch name {
	case "ms":
		return time.Millisecond
	case "s", "sec", "secs", "second", "seconds":
		return time.Second
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour
	}
	return 0
}
