package models

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/store"
)

// A session stores no secret at any depth of a value, and changes nothing else.
func TestSessionHidesSecrets(t *testing.T) {
	s, err := store.CreateSession(t.Context(), t.TempDir(), "task")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	hide := func(text string) string { return strings.ReplaceAll(text, "hunter2", "…") }
	value := map[string]any{
		"text": "it is \"hunter2\"\n", "path": "hunter2.go", "list": []any{"hunter2", 1 << 60, nil, true},
		"deep": map[string]any{"doc": "hunter2"},
	}
	if err := (hidingSession{s, hide}).Set(t.Context(), "k", value); err != nil {
		t.Fatal(err)
	}
	var got json.RawMessage
	if found, err := s.Get(t.Context(), "k", &got); err != nil || !found {
		t.Fatal(found, err)
	}
	if want := `{"deep":{"doc":"…"},"list":["…",1152921504606846976,null,true],"path":"hunter2.go","text":"it is \"…\"\n"}`; string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
