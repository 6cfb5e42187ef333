package stream

import (
	"strconv"
	"strings"
)

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
