package agentsmoke

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// messages is the Messages API of Anthropic.
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
	switch status := m.status(); status {
	case 0:
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
		w.Header().Set("X-Should-Retry", "false")
		w.Header().Set("Anthropic-Ratelimit-Unified-Status", "rejected")
		w.Header().Set("Anthropic-Ratelimit-Unified-Reset", strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10))
		reply(w, status, anthropicError("rate_limit_error", "This request would exceed your account's rate limit. Please try again later."))
		return
	default:
		reply(w, status, anthropicError("authentication_error", "invalid x-api-key"))
		return
	}
	ask := question{body: body}
	for _, t := range q.Tools {
		ask.tools = append(ask.tools, tool{t.Name, t.Schema})
	}
	for _, c := range q.Messages {
		ask.answered = ask.answered || strings.Contains(string(c.Content), `"tool_result"`)
	}
	a := m.answer(ask)
	block, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": a.text}
	whole, stop := map[string]any{"type": "text", "text": a.text}, "end_turn"
	if a.tool != "" {
		block = map[string]any{"type": "tool_use", "id": "toolu_1", "name": a.tool, "input": map[string]any{}}
		delta = map[string]any{"type": "input_json_delta", "partial_json": a.argsText()}
		whole, stop = map[string]any{"type": "tool_use", "id": "toolu_1", "name": a.tool, "input": a.args}, "tool_use"
	}
	usage := map[string]any{
		"input_tokens": tokensIn - tokensCached, "cache_creation_input_tokens": 0, "cache_read_input_tokens": tokensCached, "output_tokens": 1,
	}
	message := map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": q.Model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	if !q.Stream {
		usage["output_tokens"] = tokensOut
		message["content"], message["stop_reason"] = []any{whole}, stop
		reply(w, http.StatusOK, message)
		return
	}
	streaming(w)
	for _, e := range []map[string]any{
		{"type": "message_start", "message": message},
		{"type": "content_block_start", "index": 0, "content_block": block},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": tokensOut}},
		{"type": "message_stop"},
	} {
		stream(w, e["type"].(string), e)
	}
}

func anthropicError(kind, message string) any {
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}}
}
