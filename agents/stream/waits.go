package stream

import (
	"strconv"
	"strings"
)

// waitsFor returns the reason of a CLI's retry that is reported on standard error only; "" for any other line.
func waitsFor(f Format, line string) string {
	switch f {
	case Qwen: // Retrying in 60s (attempt 1/10): [API Error: 429 …]
		if _, why, ok := strings.Cut(line, ": [API Error: "); ok && strings.HasPrefix(line, "Retrying in ") {
			return strings.TrimSuffix(why, "]")
		}
	case Gemini: // Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {…}, or Attempt 1 failed: …
		n, why, ok := strings.Cut(strings.TrimPrefix(line, "Attempt "), " failed")
		if _, err := strconv.Atoi(n); ok && err == nil && strings.HasPrefix(line, "Attempt ") {
			return strings.TrimPrefix(strings.TrimLeft(why, ": "), "with ")
		}
	}
	return ""
}
