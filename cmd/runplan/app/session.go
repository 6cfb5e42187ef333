package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/store"
)

// session opens the session of a task.
func (r *retrieval) session(ctx context.Context, task string) (solver.Session, error) {
	s, err := store.CreateSession(ctx, r.project.layout.Sessions(), task)
	if err != nil {
		return nil, fmt.Errorf("keep what is found out about the task: %w", err)
	}
	return hidingSession{s, r.redact.String}, nil
}

// hidingSession keeps values without the secrets in them: a session ends in the log, which is what models are trained on.
type hidingSession struct {
	*store.Session
	hide func(string) string
}

// Set keeps a value.
func (s hidingSession) Set(ctx context.Context, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("session of %s: keep %s: %w", s.Task(), key, err)
	}
	var plain any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&plain); err != nil {
		return fmt.Errorf("session of %s: keep %s: %w", s.Task(), key, err)
	}
	return s.Session.Set(ctx, key, hidden(plain, s.hide))
}

// hidden returns a JSON value with its texts cleaned, string by string. Paths stay: they are looked up again.
func hidden(v any, hide func(string) string) any {
	switch v := v.(type) {
	case string:
		return hide(v)
	case []any:
		for i := range v {
			v[i] = hidden(v[i], hide)
		}
	case map[string]any:
		for name, x := range v {
			if name != "path" {
				v[name] = hidden(x, hide)
			}
		}
	}
	return v
}
