package corpus

import (
	"encoding/json"
	"fmt"
)

// scrub returns v with redact applied to each text in it, however deep.
func scrub[T any](v T, redact func(string) string) (T, error) {
	var out T
	text, err := json.Marshal(v)
	if err != nil {
		return out, fmt.Errorf("take secrets out: %w", err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return out, fmt.Errorf("take secrets out: %w", err)
	}
	if text, err = json.Marshal(scrubbed(tree, redact)); err != nil {
		return out, fmt.Errorf("take secrets out: %w", err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("take secrets out: %w", err)
	}
	return out, nil
}

func scrubbed(v any, redact func(string) string) any {
	switch v := v.(type) {
	case string:
		return redact(v)
	case []any:
		for i := range v {
			v[i] = scrubbed(v[i], redact)
		}
	case map[string]any:
		for k := range v {
			v[k] = scrubbed(v[k], redact)
		}
	}
	return v
}
