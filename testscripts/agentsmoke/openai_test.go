package agentsmoke

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// completions serves the Chat Completions API of OpenAI, which most other providers support too.
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
	t := m.turn()
	if m.trouble(w, r, t, chat) {
		return
	}
	ask := question{body: body}
	for _, o := range q.Tools {
		ask.tools = append(ask.tools, tool{o.Function.Name, o.Function.Parameters})
	}
	for _, c := range q.Messages {
		ask.answered = ask.answered || c.Role == "tool"
	}
	a := m.answer(ask, t)
	usage := map[string]any{
		"prompt_tokens": tokensIn, "completion_tokens": tokensOut, "total_tokens": tokensIn + tokensOut,
		"prompt_tokens_details":     map[string]any{"cached_tokens": tokensCached},
		"completion_tokens_details": map[string]any{"reasoning_tokens": tokensThink},
	}
	said, stop := map[string]any{"role": "assistant", "content": a.text}, "stop"
	if a.tool != "" {
		call := map[string]any{"index": 0, "id": "call_" + a.id, "type": "function",
			"function": map[string]any{"name": a.tool, "arguments": a.argsText()}}
		said, stop = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	switch a.stop {
	case lengthStop:
		stop = "length"
	case refusalStop:
		stop = "content_filter"
	}
	if !q.Stream {
		m.whole(w, t, map[string]any{
			"id": "c1", "object": "chat.completion", "created": 1, "model": q.Model, "usage": usage,
			"choices": []any{map[string]any{"index": 0, "message": said, "finish_reason": stop}},
		})
		return
	}
	chunk := func(delta map[string]any, stop any) map[string]any {
		return map[string]any{
			"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": q.Model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": stop}},
		}
	}
	last := chunk(map[string]any{}, stop)
	last["usage"] = usage
	if m.stream(w, t, []any{chunk(said, nil), last}) {
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
}

// responses serves the Responses API of OpenAI.
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
	t := m.turn()
	if m.trouble(w, r, t, responsesAPI) {
		return
	}
	ask := question{body: body}
	for _, o := range q.Tools {
		ask.tools = append(ask.tools, tool{o.Name, o.Parameters})
	}
	ask.answered = strings.Contains(string(q.Input), `"function_call_output"`)
	a := m.answer(ask, t)
	item := map[string]any{"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": a.text, "annotations": []any{}}}}
	if a.tool != "" {
		item = map[string]any{"type": "function_call", "id": "fc_" + a.id, "call_id": "call_" + a.id, "status": "completed",
			"name": a.tool, "arguments": a.argsText()}
	}
	response := map[string]any{
		"id": "resp_1", "object": "response", "created_at": 1, "model": q.Model, "status": "completed", "output": []any{item},
		"usage": map[string]any{
			"input_tokens": tokensIn, "input_tokens_details": map[string]any{"cached_tokens": tokensCached},
			"output_tokens": tokensOut, "output_tokens_details": map[string]any{"reasoning_tokens": tokensThink},
			"total_tokens": tokensIn + tokensOut,
		},
	}
	if !q.Stream {
		m.whole(w, t, response)
		return
	}
	ended := "response.completed"
	why := map[string]string{lengthStop: "max_output_tokens", refusalStop: "content_filter"}[a.stop]
	if why != "" {
		ended, response["status"] = "response.incomplete", "incomplete"
		response["incomplete_details"] = map[string]any{"reason": why}
	}
	begun := map[string]any{"id": "resp_1", "object": "response", "status": "in_progress", "output": []any{}}
	events := []any{
		map[string]any{"type": "response.created", "response": begun},
		map[string]any{"type": "response.output_item.added", "output_index": 0, "item": item},
		map[string]any{"type": "response.output_item.done", "output_index": 0, "item": item},
		map[string]any{"type": ended, "response": response},
	}
	if a.tool == "" && a.text == "" {
		response["output"] = []any{}
		events = slices.Delete(events, 1, 3)
	}
	m.stream(w, t, events)
}
