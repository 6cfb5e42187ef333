package stream

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/runplan/runplan/internal/phrase"
)

// Rollout reads the session file of codex: the model, and when the exhausted window with the latest end resets. It
// skips lines that are too long or invalid.
func Rollout(r io.Reader) (model string, resets time.Time) {
	br := bufio.NewReaderSize(io.LimitReader(r, 256<<20), maxLine)
	for {
		line, err := br.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			line = nil
			_, err = br.ReadSlice('\n')
		}
		var v map[string]any
		if len(line) > 0 && json.Unmarshal(line, &v) == nil {
			rollout(v, "", 0, &model, &resets)
		}
		if err != nil {
			return model, resets
		}
	}
}

// rollout searches one entry recursively, because the position of the fields differs between versions.
func rollout(v map[string]any, under string, depth int, model *string, resets *time.Time) {
	if depth > 8 {
		return
	}
	if m, ok := v["model"].(string); ok && (under == "thread_settings" || under == "payload") && m != "" {
		*model = phrase.CutBytes(m, 100)
	}
	if under == "rate_limits" {
		*resets = time.Time{} // a later report replaces an earlier one
		for _, name := range []string{"primary", "secondary"} {
			window, _ := v[name].(map[string]any)
			used, _ := window["used_percent"].(float64)
			at, _ := window["resets_at"].(float64)
			if t := time.Unix(int64(at), 0).UTC(); used >= 100 && at > 0 && at < 1e11 && t.After(*resets) {
				*resets = t
			}
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if m, ok := v[name].(map[string]any); ok {
			rollout(m, name, depth+1, model, resets)
		}
	}
}
