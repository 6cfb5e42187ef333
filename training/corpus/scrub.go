package corpus

import (
	"encoding/json"
	"fmt"

	"github.com/runplan/runplan/internal/redact"
)

// scrub returns v with hide applied to each string in it, at any depth.
func scrub[T any](v T, hide func(string) string) (T, error) {
	var out T
	text, err := json.Marshal(v)
	if err != nil {
		return out, fmt.Errorf("remove secrets:  %w", err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return out, fmt.Errorf("remove secrets:  %w", err)
	}
	if text, err = json.Marshal(redact.Texts(tree, hide)); err != nil {
		return out, fmt.Errorf("remove secrets:  %w", err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("remove secrets:  %w", err)
	}
	return out, nil
}
