package stream

import (
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/lazyre"
)

// farthest is the maximum distance of a credible retry time.
const farthest = 40 * 24 * time.Hour

var (
	stampRE = lazyre.New(`\b(\d{4}-\d\d-\d\d)[t ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?( ?(?:z|utc)|[+-]\d\d:?\d\d)?`)
	epochRE = lazyre.New(`(?:\||resets?_?at["': =]+|until )(\d{10})(\d{3})?\b`)
	// "try again at nov 23rd, 2026 7:21 am", "resets 3pm (europe/berlin)", "resets nov 23 at 3:30pm (utc)"
	clockRE = lazyre.New(`(?:resets?|reset|again|available|until)(?: (?:again|on|at|by))*:? (?:(?:(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?,?(?: at)? )|(tomorrow|today)(?: at)? )?(\d{1,2})(?::(\d\d))?(?::\d\d)? ?([ap]\.?m\b\.?)?(?: ?\(([a-z_]+(?:/[a-z0-9_+-]+)*)\)| (utc|gmt)\b)?`)
	// "in 20s", "after 1h30m", "in 2 hours and 5 minutes", "retry-after: 60"
	spanRE  = lazyre.New(`(?:\bin|\bafter|retry[-_ ]?after["']?|\bwait)(?: about| for| at least)?[:=]? ?["']?((?:\d+(?:\.\d+)? ?(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)?(?:,| and)? ?)+)`)
	partsRE = lazyre.New(`(\d+(?:\.\d+)?) ?([a-z]*)`)
)

// RetryTime parses the time of the next try from an error text: an absolute time, a clock time with or without a
// zone, or a duration. now is the reference for "tomorrow" and "in", and its zone applies to times without one.
func RetryTime(text string, now time.Time) (time.Time, bool) {
	text = Fold(text)
	for _, read := range []func(string, time.Time) (time.Time, bool){stamp, epoch, span, clock} {
		if at, ok := read(text, now); ok && at.After(now.Add(-time.Minute)) && at.Before(now.Add(farthest)) {
			return at, true
		}
	}
	return time.Time{}, false
}

func stamp(text string, now time.Time) (time.Time, bool) {
	m := stampRE.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, false
	}
	at := m[2]
	if len(at) == 5 {
		at += ":00"
	}
	switch zone := strings.TrimSpace(m[3]); zone {
	case "":
		t, err := time.ParseInLocation("2006-01-02 15:04:05", m[1]+" "+at, now.Location())
		return t, err == nil
	case "z", "utc":
		t, err := time.Parse("2006-01-02 15:04:05", m[1]+" "+at)
		return t, err == nil
	default:
		t, err := time.Parse("2006-01-02 15:04:05 -0700", m[1]+" "+at+" "+strings.ReplaceAll(zone, ":", ""))
		return t, err == nil
	}
}

func epoch(text string, _ time.Time) (time.Time, bool) {
	m := epochRE.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return time.Unix(n, 0).UTC(), err == nil
}

func span(text string, now time.Time) (time.Time, bool) {
	m := spanRE.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, false
	}
	var d time.Duration
	for _, part := range partsRE.FindAllStringSubmatch(m[1], -1) {
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil || n > 1e6 {
			return time.Time{}, false
		}
		unit := time.Second
		switch u := part[2]; {
		case u == "ms" || strings.HasPrefix(u, "milli"):
			unit = time.Millisecond
		case strings.HasPrefix(u, "m"):
			unit = time.Minute
		case strings.HasPrefix(u, "h"):
			unit = time.Hour
		case strings.HasPrefix(u, "d"):
			unit = 24 * time.Hour
		}
		d += time.Duration(n * float64(unit))
	}
	return now.Add(d), true
}

func clock(text string, now time.Time) (time.Time, bool) {
	m := clockRE.FindStringSubmatch(text)
	if m == nil || m[6] == "" && m[7] == "" { // a bare number is not a time
		return time.Time{}, false
	}
	where := now.Location()
	if zone := m[8] + m[9]; zone != "" {
		var ok bool
		if where, ok = location(zone); !ok {
			return time.Time{}, false // a guess could be half a day off
		}
	}
	hour, _ := strconv.Atoi(m[5])
	minute, _ := strconv.Atoi(m[6])
	switch half := strings.ReplaceAll(m[7], ".", ""); {
	case half != "" && (hour < 1 || hour > 12), hour > 23, minute > 59:
		return time.Time{}, false
	case half == "pm" && hour < 12:
		hour += 12
	case half == "am" && hour == 12:
		hour = 0
	}
	here := now.In(where)
	if m[1] != "" {
		month, err := time.Parse("Jan", m[1])
		day, _ := strconv.Atoi(m[2])
		if err != nil || day < 1 || day > 31 {
			return time.Time{}, false
		}
		year := here.Year()
		if m[3] != "" {
			year, _ = strconv.Atoi(m[3])
		}
		at := time.Date(year, month.Month(), day, hour, minute, 0, 0, where)
		if m[3] == "" && at.Before(here.Add(-24*time.Hour)) {
			at = at.AddDate(1, 0, 0)
		}
		return at, true
	}
	at := time.Date(here.Year(), here.Month(), here.Day(), hour, minute, 0, 0, where)
	if m[4] == "tomorrow" || at.Before(here) && m[4] == "" {
		at = time.Date(here.Year(), here.Month(), here.Day()+1, hour, minute, 0, 0, where)
	}
	return at, true
}

// location finds a zone by its name in lower case, as folded text has it.
func location(name string) (*time.Location, bool) {
	if name == "utc" || name == "gmt" {
		return time.UTC, true
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		words := strings.Split(part, "_")
		for k, w := range words {
			if w != "" && w != "of" && w != "es" {
				words[k] = strings.ToUpper(w[:1]) + w[1:]
			}
		}
		parts[i] = strings.Join(words, "_")
	}
	for _, try := range []string{strings.Join(parts, "/"), strings.ToUpper(name)} {
		if loc, err := time.LoadLocation(try); err == nil {
			return loc, true
		}
	}
	return nil, false
}

// waitsFor returns the reason of a CLI's retry that is reported on standard error only; "" for any other line.
func waitsFor(f Format, line string) string {
	switch f {
	case OpenCode: // timestamp=… level=ERROR … message="stream error" … small=false … error.error="AI_APICallError: …"
		_, why, ok := strings.Cut(line, ` error.error="`)
		if ok && strings.Contains(line, `message="stream error"`) && strings.Contains(line, " small=false ") {
			return strings.TrimSuffix(why, `"`)
		}
	case Qwen: // Retrying in 60s (attempt 1/10): [API Error: 429 …]
		// [qwen-code] Waiting for API capacity... attempt 1, retry in 570s
		if why, ok := strings.CutPrefix(line, "[qwen-code] Waiting for API capacity... "); ok {
			return "it waits for capacity (a rate limit or an overload): " + why
		}
		if _, why, ok := strings.Cut(line, ": [API Error: "); ok && strings.HasPrefix(line, "Retrying in ") {
			return strings.TrimSuffix(why, "]")
		}
	case Gemini: // Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {…}, or Attempt 1 failed: …
		n, why, ok := strings.Cut(strings.TrimPrefix(line, "Attempt "), " failed")
		if _, err := strconv.Atoi(n); ok && err == nil && strings.HasPrefix(line, "Attempt ") {
			why = strings.TrimPrefix(strings.TrimLeft(why, ":. "), "Retrying with backoff... ")
			return strings.TrimPrefix(why, "with ")
		}
	}
	return ""
}
