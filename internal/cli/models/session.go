package models

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
)

// Session opens the session of a task.
func (r *retrieval) Session(ctx context.Context, task string) (solver.Session, error) {
	s, err := store.CreateSession(ctx, r.Project.Layout.Sessions(), task)
	if err != nil {
		return nil, fmt.Errorf("store the session of the task: %w", err)
	}
	return hidingSession{s, r.Redact.String}, nil
}

// hidingSession removes secrets from values before it stores them. Sessions end in the log, which is training data.
type hidingSession struct {
	*store.Session
	hide func(string) string
}

// Set stores a value without its secrets.
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
	return s.Session.Set(ctx, key, redact.Texts(plain, s.hide, "path")) // paths are looked up again later
}
