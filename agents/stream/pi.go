package stream

import (
	"cmp"
	"encoding/json"

	"github.com/runplan/runplan/internal/phrase"
)

// pi parses the output of "pi -p --mode json". It always exits with 0, and may retry after agent_end, so the end of
// the last message counts.
type pi struct{}

type piLine struct {
	Type, ID     string
	ErrorMessage string `json:"errorMessage"`
	Success      *bool
	ToolName     string `json:"toolName"`
	Args         json.RawMessage
	Message      struct {
		Role, Model  string
		StopReason   string `json:"stopReason"`
		ErrorMessage string `json:"errorMessage"`
		Content      []struct{ Type, Text string }
		Usage        *struct {
			Input, Output *int64
			CacheRead     *int64 `json:"cacheRead"`
			CacheWrite    *int64 `json:"cacheWrite"`
			Cost          struct{ Total *float64 }
		}
	}
}

func (r *pi) event(p *Parser, line []byte) bool {
	var l piLine
	decode(line, &l)
	switch l.Type {
	case "session":
		p.t.Session = phrase.CutBytes(l.ID, 100)
	case "agent_start":
		p.t.Ended = false
	case "agent_end":
		p.t.Ended = true
	case "message_end":
		r.message(p, &l)
	case "tool_execution_start":
		p.tool(l.ToolName, l.Args)
	case "auto_retry_start":
		p.t.Ended = false
		p.pass(p.faultOf(0, "", l.ErrorMessage))
	case "turn_start", "turn_end", "message_start", "message_update", "tool_execution_update", "tool_execution_end",
		"auto_retry_end", "auto_compaction_start", "auto_compaction_end", "compaction_start", "compaction_end":
	default:
		return false
	}
	return true
}

func (r *pi) message(p *Parser, l *piLine) {
	m := &l.Message
	if m.Role != "assistant" {
		return
	}
	p.t.Model = phrase.CutBytes(m.Model, 100)
	for _, part := range m.Content {
		if part.Type == "text" {
			p.text(part.Text)
		}
	}
	if u := m.Usage; u != nil {
		p.t.Tokens.add(Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite})
		addCost(p, u.Cost.Total)
	}
	switch m.StopReason {
	case "error", "aborted":
		message := cmp.Or(m.ErrorMessage, m.StopReason)
		p.fail(p.faultOf(0, "", message))
	case "length":
		p.fail(&Fault{Kind: Context, Message: "the answer was cut at the model's limit"})
	default:
		p.t.Fault = nil
	}
}
