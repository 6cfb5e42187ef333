package agentsmoke

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// messages serves the Messages API of Anthropic.
func (m *model) messages(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model  string
		Stream bool
		Tools  []struct {
			Name   string
			Schema json.RawMessage `json:"input_schema"`
		}
		Messages []struct{ Content json.RawMessage }
	}
	body, ok := read(w, r, &q)
	if !ok {
		return
	}
	m.note("messages")
	t := m.turn()
	if m.trouble(w, r, t, anthropic) {
		return
	}
	ask := question{body: body}
	for _, o := range q.Tools {
		ask.tools = append(ask.tools, tool{o.Name, o.Schema})
	}
	for _, c := range q.Messages {
		ask.answered = ask.answered || strings.Contains(string(c.Content), `"tool_result"`)
	}
	a := m.answer(ask, t)
	block, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": a.text}
	whole, stop := map[string]any{"type": "text", "text": a.text}, "end_turn"
	if a.tool != "" {
		block = map[string]any{"type": "tool_use", "id": "toolu_" + a.id, "name": a.tool, "input": map[string]any{}}
		delta = map[string]any{"type": "input_json_delta", "partial_json": a.argsText()}
		whole, stop = map[string]any{"type": "tool_use", "id": "toolu_" + a.id, "name": a.tool, "input": a.args}, "tool_use"
	}
	switch a.stop {
	case lengthStop:
		stop = "max_tokens"
	case refusalStop:
		stop = "refusal"
	}
	usage := map[string]any{
		"input_tokens": tokensIn - tokensCached, "cache_creation_input_tokens": 0, "cache_read_input_tokens": tokensCached,
		"output_tokens": 1,
	}
	message := map[string]any{
		"id": fmt.Sprint("msg_", t.n), "type": "message", "role": "assistant", "model": q.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	if !q.Stream {
		usage["output_tokens"] = tokensOut
		message["content"], message["stop_reason"] = []any{whole}, stop
		m.whole(w, t, message)
		return
	}
	events := []any{
		map[string]any{"type": "message_start", "message": message},
		map[string]any{"type": "content_block_start", "index": 0, "content_block": block},
		map[string]any{"type": "content_block_delta", "index": 0, "delta": delta},
		map[string]any{"type": "content_block_stop", "index": 0},
		map[string]any{
			"type": "message_delta", "delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
			"usage": map[string]any{"output_tokens": tokensOut},
		},
		map[string]any{"type": "message_stop"},
	}
	if a.tool == "" && a.text == "" {
		events = slices.Delete(events, 1, 4)
	}
	m.stream(w, t, events)
}
