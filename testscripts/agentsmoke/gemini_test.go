package agentsmoke

import (
	"encoding/json"
	"net/http"
	"strings"
)

// generate serves the Gemini API: generateContent and its streaming variant.
func (m *model) generate(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Tools []struct {
			Functions []struct {
				Name       string
				Parameters json.RawMessage
				JSONSchema json.RawMessage `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		}
		Contents []struct{ Parts []map[string]json.RawMessage }
		Config   struct {
			Schema     json.RawMessage `json:"responseSchema"`
			JSONSchema json.RawMessage `json:"responseJsonSchema"`
		} `json:"generationConfig"`
	}
	body, ok := read(w, r, &q)
	if !ok {
		return
	}
	name, call, _ := strings.Cut(r.PathValue("call"), ":")
	m.note(call)
	t := m.turn()
	if m.trouble(w, r, t, google) {
		return
	}
	if call == "countTokens" {
		reply(w, http.StatusOK, map[string]any{"totalTokens": tokensIn})
		return
	}
	ask := question{body: body}
	for _, o := range q.Tools {
		for _, f := range o.Functions {
			ask.tools = append(ask.tools, tool{f.Name, append(f.Parameters, f.JSONSchema...)})
		}
	}
	for _, c := range q.Contents {
		for _, p := range c.Parts {
			ask.answered = ask.answered || p["functionResponse"] != nil
		}
	}
	a := m.answer(ask, t)
	// The CLI first asks how difficult the task is, and requires an answer that matches a JSON schema.
	if form := append(q.Config.Schema, q.Config.JSONSchema...); len(form) > 0 {
		a = answer{text: filled(form)}
	}
	part := map[string]any{"text": a.text}
	if a.tool != "" {
		part = map[string]any{"functionCall": map[string]any{"name": a.tool, "args": a.args}}
	}
	stop := "STOP"
	switch a.stop {
	case lengthStop:
		stop = "MAX_TOKENS"
	case refusalStop:
		stop = "SAFETY"
	}
	content := map[string]any{"role": "model", "parts": []any{part}}
	if a.tool == "" && a.text == "" {
		content = map[string]any{"role": "model"}
	}
	response := map[string]any{
		"candidates": []any{map[string]any{"index": 0, "finishReason": stop, "content": content}},
		"usageMetadata": map[string]any{
			"promptTokenCount": tokensIn, "cachedContentTokenCount": tokensCached,
			"candidatesTokenCount": tokensOut - tokensThink,
			"thoughtsTokenCount":   tokensThink, "totalTokenCount": tokensIn + tokensOut,
		},
		"modelVersion": name, "responseId": "r1",
	}
	if call != "streamGenerateContent" {
		m.whole(w, t, response)
		return
	}
	m.stream(w, t, []any{response})
}

// filled returns the shortest JSON text that matches the schema.
func filled(form json.RawMessage) string {
	b, _ := json.Marshal(fill(form))
	return string(b)
}

func fill(form json.RawMessage) any {
	var f struct {
		Type       string
		Enum       []any
		Properties map[string]json.RawMessage
	}
	_ = json.Unmarshal(form, &f)
	switch {
	case len(f.Enum) > 0:
		return f.Enum[0]
	case strings.EqualFold(f.Type, "object"):
		out := map[string]any{}
		for name, p := range f.Properties {
			out[name] = fill(p)
		}
		return out
	case strings.EqualFold(f.Type, "array"):
		return []any{}
	case strings.EqualFold(f.Type, "integer"), strings.EqualFold(f.Type, "number"):
		return 1
	case strings.EqualFold(f.Type, "boolean"):
		return false
	}
	return "x"
}
