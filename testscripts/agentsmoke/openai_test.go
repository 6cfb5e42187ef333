package agentsmoke

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// openAIError answers with a refusal as OpenAI words it; false where there is none.
func (m *model) openAIError(w http.ResponseWriter) bool {
	e := map[string]any{}
	status := m.status()
	switch status {
	case 0:
		return false
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
		e["message"], e["type"], e["code"] = "Rate limit reached for loop-1. Please try again in 1s.", "rate_limit_exceeded", "rate_limit_exceeded"
	default:
		e["message"], e["type"], e["code"] = "Incorrect API key provided", "invalid_request_error", "invalid_api_key"
	}
	reply(w, status, map[string]any{"error": e})
	return true
}

// completions is the Chat Completions API of OpenAI, which most others speak too.
func (m *model) completions(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model  string
		Stream bool
		Tools  []struct {
			Function struct {
				Name       string
				Parameters json.RawMessage
			}
		}
		Messages []struct{ Role string }
	}
	body, ok := read(w, r, &q)
	if !ok {
		return
	}
	m.note("chat/completions")
	if m.openAIError(w) {
		return
	}
	ask := question{body: body}
	for _, t := range q.Tools {
		ask.tools = append(ask.tools, tool{t.Function.Name, t.Function.Parameters})
	}
	for _, c := range q.Messages {
		ask.answered = ask.answered || c.Role == "tool"
	}
	a := m.answer(ask)
	usage := map[string]any{
		"prompt_tokens": tokensIn, "completion_tokens": tokensOut, "total_tokens": tokensIn + tokensOut,
		"prompt_tokens_details":     map[string]any{"cached_tokens": tokensCached},
		"completion_tokens_details": map[string]any{"reasoning_tokens": tokensThink},
	}
	said, stop := map[string]any{"role": "assistant", "content": a.text}, "stop"
	if a.tool != "" {
		call := map[string]any{"index": 0, "id": "call_1", "type": "function", "function": map[string]any{"name": a.tool, "arguments": a.argsText()}}
		said, stop = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	if !q.Stream {
		reply(w, http.StatusOK, map[string]any{
			"id": "c1", "object": "chat.completion", "created": 1, "model": q.Model, "usage": usage,
			"choices": []any{map[string]any{"index": 0, "message": said, "finish_reason": stop}},
		})
		return
	}
	streaming(w)
	chunk := func(delta map[string]any, stop any) map[string]any {
		return map[string]any{
			"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": q.Model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": stop}},
		}
	}
	stream(w, "", chunk(said, nil))
	last := chunk(map[string]any{}, stop)
	last["usage"] = usage
	stream(w, "", last)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// responses is the Responses API of OpenAI.
func (m *model) responses(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model  string
		Stream bool
		Tools  []struct {
			Type, Name string
			Parameters json.RawMessage
		}
		Input json.RawMessage
	}
	body, ok := read(w, r, &q)
	if !ok {
		return
	}
	m.note("responses")
	if m.openAIError(w) {
		return
	}
	ask := question{body: body}
	for _, t := range q.Tools {
		ask.tools = append(ask.tools, tool{t.Name, t.Parameters})
	}
	ask.answered = strings.Contains(string(q.Input), `"function_call_output"`)
	a := m.answer(ask)
	item := map[string]any{"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": []any{map[string]any{"type": "output_text", "text": a.text, "annotations": []any{}}}}
	if a.tool != "" {
		item = map[string]any{"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed", "name": a.tool, "arguments": a.argsText()}
	}
	response := map[string]any{
		"id": "resp_1", "object": "response", "created_at": 1, "model": q.Model, "status": "completed", "output": []any{item},
		"usage": map[string]any{
			"input_tokens": tokensIn, "input_tokens_details": map[string]any{"cached_tokens": tokensCached},
			"output_tokens": tokensOut, "output_tokens_details": map[string]any{"reasoning_tokens": tokensThink}, "total_tokens": tokensIn + tokensOut,
		},
	}
	if !q.Stream {
		reply(w, http.StatusOK, response)
		return
	}
	streaming(w)
	for _, e := range []map[string]any{
		{"type": "response.created", "response": map[string]any{"id": "resp_1", "object": "response", "status": "in_progress", "output": []any{}}},
		{"type": "response.output_item.added", "output_index": 0, "item": item},
		{"type": "response.output_item.done", "output_index": 0, "item": item},
		{"type": "response.completed", "response": response},
	} {
		stream(w, e["type"].(string), e)
	}
}
