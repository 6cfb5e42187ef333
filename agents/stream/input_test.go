package stream

import (
	"encoding/json"
	"strings"
	"testing"
)

// What a tool is called with is told whole where it is short, and as JSON that is cut and closed where it is long.
func TestToolsAreToldWithTheirArguments(t *testing.T) {
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
