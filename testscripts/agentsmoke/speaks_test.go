package agentsmoke

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// The server answers each API in its own words: first a tool, after the tool's result a text, and a refusal where one
// is set. So it can be relied on when a CLI is what is looked at.
func TestModelSpeaksFourWays(t *testing.T) {
	const dir = "/p/.runplan/worktrees/w1"
	for name, tt := range map[string]struct {
		path, first, then string
		call, text        string // what the answers have to hold
	}{
		"anthropic": {
			"/v1/messages",
			`{"model":"m","stream":true,"system":"cwd ` + dir + `","tools":[{"name":"Write","input_schema":{"properties":{"file_path":{}}}}],"messages":[{"content":"do it"}]}`,
			`{"model":"m","stream":true,"tools":[{"name":"Write"}],"messages":[{"content":[{"type":"tool_result"}]}]}`,
			`\"file_path\":\"` + dir + `/hello.txt\"`, `{"text":"Wrote hello.txt.","type":"text_delta"}`,
		},
		"chat": {
			"/v1/chat/completions",
			`{"model":"m","stream":true,"tools":[{"function":{"name":"write","parameters":{"properties":{"filePath":{}}}}}],"messages":[{"role":"user","content":"in ` + dir + `"}]}`,
			`{"model":"m","stream":true,"tools":[{"function":{"name":"write"}}],"messages":[{"role":"tool"}]}`,
			`\"filePath\":\"` + dir + `/hello.txt\"`, `"content":"Wrote hello.txt."`,
		},
		"responses": {
			"/v1/responses",
			`{"model":"m","stream":true,"tools":[{"type":"function","name":"exec_command","parameters":{}}],"input":[{"type":"message"}]}`,
			`{"model":"m","stream":true,"tools":[{"type":"function","name":"exec_command"}],"input":[{"type":"function_call_output"}]}`,
			`"name":"exec_command"`, `"text":"Wrote hello.txt."`,
		},
		"gemini": {
			"/v1beta/models/m:streamGenerateContent?alt=sse",
			`{"tools":[{"functionDeclarations":[{"name":"write_file"}]}],"contents":[{"parts":[{"text":"do it"}]}]}`,
			`{"tools":[{"functionDeclarations":[{"name":"write_file"}]}],"contents":[{"parts":[{"functionResponse":{}}]}]}`,
			`"functionCall":{"args":`, `"text":"Wrote hello.txt."`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := startModel(t)
			for _, step := range []struct {
				refuse, want int
				body, has    string
			}{
				{0, 200, tt.first, tt.call},
				{0, 200, tt.then, tt.text},
				{429, 429, tt.first, `"error"`},
				{401, 401, tt.first, `"error"`},
			} {
				m.refuse = step.refuse
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

func TestFormIsFilled(t *testing.T) {
	got := filled([]byte(`{"type":"OBJECT","properties":{"why":{"type":"STRING"},"level":{"type":"integer"},"pick":{"enum":["flash","pro"]}}}`))
	if got != `{"level":1,"pick":"flash","why":"x"}` {
		t.Error(got)
	}
}
