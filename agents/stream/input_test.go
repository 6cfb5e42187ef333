package stream

import (
	"encoding/json"
	"strings"
	"testing"
)

// A short tool input is reported in full. A long one is cut and closed, so that it stays valid JSON.
func TestLongToolInputStaysValidJSON(t *testing.T) {
	line := func(content string) string {
		return `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Write","input":{"file_path":"a.go","content":"` + content + `"}}]}}`
	}
	for name, c := range map[string]struct {
		line    string
		cutLine bool
		cut     bool
		has     string
	}{
		"short":                   {line("x"), false, false, `"content":"x"`},
		"long":                    {line(strings.Repeat("x", 2*maxInput)), false, true, `"content":"xxx`},
		"a line that was cut":     {line(strings.Repeat("x", 300))[:200], true, true, `"content":"xxx`},
		"a line that was torn":    {line(strings.Repeat("x", 300))[:200], false, true, `"content":"xxx`},
		"after a line that broke": {line("y"), false, false, `"content":"y"`},
	} {
		p := New(Claude, testClock())
		if name == "after a line that broke" {
			p.Line(`{"type":"assistant","mess`, false)
			p.Take()
		}
		p.Line(c.line, c.cutLine)
		events := p.Take()
		if len(events) != 1 || events[0].Kind != Tool {
			t.Errorf("%s: %+v", name, events)
			continue
		}
		e := events[0]
		if e.Cut != c.cut || !strings.Contains(e.Input, c.has) || len(e.Input) > maxInput+64 || !json.Valid([]byte(e.Input)) {
			t.Errorf("%s: cut %v, %d bytes: %.80s", name, e.Cut, len(e.Input), e.Input)
		}
	}
}

// The output of a tool has the id of its call, and is reported only if the caller asks for it.
func TestToolOutput(t *testing.T) {
	for format, c := range map[Format]struct{ lines, call, text string }{
		Claude: {`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}` + "\n" +
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"two "},{"type":"text","text":"parts"}]}]}}`,
			"t1", "two parts"},
		Codex: {`{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"ls"}}` + "\n" +
			`{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"a.go\n"}}`,
			"i1", "a.go\n"},
		Gemini: {`{"type":"tool_use","tool_name":"read_file","tool_id":"w1","parameters":{}}` + "\n" +
			`{"type":"tool_result","tool_id":"w1","status":"success","output":"text"}`, "w1", "text"},
		OpenCode: {`{"type":"tool_use","part":{"tool":"bash","callID":"x","state":{"status":"completed","input":{},"output":"ok"}}}`,
			"x", "ok"},
	} {
		for _, asked := range []bool{true, false} {
			p := New(format, testClock())
			want := []Event{{Kind: Tool, Call: c.call}}
			if asked {
				p = p.WithOutput()
				want = append(want, Event{Kind: Output, Call: c.call, Text: c.text})
			}
			for line := range strings.Lines(c.lines) {
				p.Line(line, false)
			}
			events := p.Take()
			if len(events) != len(want) {
				t.Errorf("%s: %+v", format, events)
				continue
			}
			for i, e := range events {
				if e.Kind != want[i].Kind || e.Call != want[i].Call || e.Kind == Output && e.Text != want[i].Text {
					t.Errorf("%s: %+v, want %+v", format, e, want[i])
				}
			}
		}
	}
}
