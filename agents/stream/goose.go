package stream

import "encoding/json"

// goose parses the output of "goose run --output-format stream-json". The output has only the sum of the tokens, and
// no price.
type goose struct{}

type gooseLine struct {
	Type    string
	Error   string
	Message struct {
		Role    string
		Content []struct {
			Type, Text string
			ToolCall   struct {
				Value struct {
					Name      string
					Arguments json.RawMessage
				}
			} `json:"toolCall"`
		}
	}
}

func (g *goose) event(p *Parser, line []byte) bool {
	var l gooseLine
	decode(line, &l)
	switch l.Type {
	case "message":
		if l.Message.Role != "assistant" {
			return true
		}
		for _, part := range l.Message.Content {
			switch part.Type {
			case "text":
				p.piece(part.Text)
			case "toolRequest":
				p.tool(part.ToolCall.Value.Name, part.ToolCall.Value.Arguments)
			}
		}
	case "notification", "model_change":
	case "error":
		p.fail(p.faultOf(0, "", l.Error))
	case "complete":
		p.endText()
		p.t.Ended = true
	default:
		return false
	}
	return true
}
