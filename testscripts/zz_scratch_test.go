//go:build unix

package testscripts

import (
	"encoding/json"
	"fmt"
	"testing"
	"slices"

	"github.com/ollama/ollama/api"
	"github.com/runplan/runplan/internal/tinymodel"
)

func TestScratchLoops(t *testing.T) {
	s, err := startOllama(ollamaProgram(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	if err := s.create(t.Context(), "r", tinymodel.Model{Seed: 0}); err != nil {
		t.Fatal(err)
	}
	schema := json.RawMessage(`{"type":"object","properties":{"intent":{"type":"string"},"names":{"type":"array","items":{"type":"string"}},"f1":{"type":"object","properties":{"relevant":{"type":"boolean"},"reason":{"type":"string"}},"required":["relevant","reason"]},"count":{"type":"integer"}},"required":["intent","names","f1","count"]}`)
	for _, f := range []json.RawMessage{schema, nil} {
		for _, temp := range []float64{0, 1} {
			var n []int
			for i := range 60 {
				text, last := s.chat(t, api.ChatRequest{Model: "r", Format: f, Messages: []api.Message{{Role: "user", Content: fmt.Sprintf("Say something about %d and %d.", i, i*i)}}, Options: map[string]any{"temperature": temp, "num_ctx": 4096, "num_predict": 2000}})
				if i < 4 {
					t.Log(text)
				}
				n = append(n, last.EvalCount)
			}
			slices.Sort(n)
			t.Log(temp, f != nil, n)
		}
	}
}
