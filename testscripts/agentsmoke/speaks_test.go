package agentsmoke

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// The server answers each API in its own format: first a tool call, after the tool's result a text, and a refusal if
// the script sets one. A test of a CLI can therefore rely on it.
func TestServerAnswersInEachFormat(t *testing.T) {
	const dir = "/p/.runplan/worktrees/w1"
	for name, tt := range map[string]struct {
		path, first, then string
		call, text        string // what the answers have to hold
		length, refused   string // and why they end
	}{
		"anthropic": {
			"/v1/messages",
			`{"model":"m","stream":true,"system":"cwd ` + dir +
				`","tools":[{"name":"Write","input_schema":{"properties":{"file_path":{}}}}],"messages":[{"content":"do it"}]}`,
			`{"model":"m","stream":true,"tools":[{"name":"Write"}],"messages":[{"content":[{"type":"tool_result"}]}]}`,
			`\"file_path\":\"` + dir + `/hello.txt\"`, `{"text":"Wrote hello.txt.","type":"text_delta"}`,
			`"stop_reason":"max_tokens"`, `"stop_reason":"refusal"`,
		},
		"chat": {
			"/v1/chat/completions",
			`{"model":"m","stream":true,"tools":[{"function":{"name":"write","parameters":{"properties":{"filePath":{}}}}}],"messages":[{"role":"user","content":"in ` + dir + `"}]}`,
			`{"model":"m","stream":true,"tools":[{"function":{"name":"write"}}],"messages":[{"role":"tool"}]}`,
			`\"filePath\":\"` + dir + `/hello.txt\"`, `"content":"Wrote hello.txt."`,
			`"finish_reason":"length"`, `"finish_reason":"content_filter"`,
		},
		"responses": {
			"/v1/responses",
			`{"model":"m","stream":true,"tools":[{"type":"function","name":"exec_command","parameters":{}}],"input":[{"type":"message"}]}`,
			`{"model":"m","stream":true,"tools":[{"type":"function","name":"exec_command"}],"input":[{"type":"function_call_output"}]}`,
			`"name":"exec_command"`, `"text":"Wrote hello.txt."`,
			`"reason":"max_output_tokens"`, `"reason":"content_filter"`,
		},
		"gemini": {
			"/v1beta/models/m:streamGenerateContent?alt=sse",
			`{"tools":[{"functionDeclarations":[{"name":"write_file"}]}],"contents":[{"parts":[{"text":"do it"}]}]}`,
			`{"tools":[{"functionDeclarations":[{"name":"write_file"}]}],"contents":[{"parts":[{"functionResponse":{}}]}]}`,
			`"functionCall":{"args":`, `"text":"Wrote hello.txt."`,
			`"finishReason":"MAX_TOKENS"`, `"finishReason":"SAFETY"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := startModel(t)
			refused := func(status int) func(int) turn {
				return always(turn{status: status, words: map[wire]words{"": {kind: "kind", message: "no"}}})
			}
			for _, step := range []struct {
				script    func(int) turn
				want      int
				body, has string
			}{
				{nil, 200, tt.first, tt.call},
				{nil, 200, tt.then, tt.text},
				{refused(429), 429, tt.first, `"error"`},
				{refused(401), 401, tt.first, `"error"`},
				{always(turn{how: "garbage"}), 200, tt.first, "data: {"},
				{always(turn{does: "say", text: "half", stop: lengthStop}), 200, tt.first, tt.length},
				{always(turn{does: "say", stop: refusalStop}), 200, tt.first, tt.refused},
			} {
				m.script = step.script
				resp, err := http.Post(m.URL+tt.path, "application/json", strings.NewReader(step.body))
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != step.want || !strings.Contains(string(b), step.has) {
					t.Errorf("%d, %v: lacks %s\n%s", resp.StatusCode, err, step.has, b)
				}
			}
		})
	}
}

func TestFilledMatchesSchema(t *testing.T) {
	got := filled(
		[]byte(`{"type":"OBJECT","properties":{"why":{"type":"STRING"},"level":{"type":"integer"},"pick":{"enum":["flash","pro"]}}}`))
	if got != `{"level":1,"pick":"flash","why":"x"}` {
		t.Error(got)
	}
}
