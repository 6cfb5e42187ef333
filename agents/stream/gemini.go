package stream

import (
	"cmp"
	"encoding/json"

	"github.com/runplan/runplan/internal/phrase"
)

// gemini parses the output of "gemini -p -o stream-json".
type gemini struct{}

type geminiLine struct {
	Type, Role, Content, Model, Status string
	SessionID                          string `json:"session_id"`
	Severity, Message                  string
	ToolName                           string          `json:"tool_name"`
	ToolID                             string          `json:"tool_id"`
	Output                             json.RawMessage `json:"output"`
	Parameters                         json.RawMessage `json:"parameters"`
	Error                              struct{ Type, Message string }
	Stats                              struct {
		Total    *int64 `json:"total_tokens"`
		In       *int64 `json:"input_tokens"`
		Uncached *int64 `json:"input"`
		Cached   *int64 `json:"cached"`
		Out      *int64 `json:"output_tokens"`
		Models   map[string]json.RawMessage
	}
}

func (g *gemini) event(p *Parser, line []byte) bool {
	var l geminiLine
	decode(line, &l)
	switch l.Type {
	case "init":
		p.t.Session, p.t.Model = phrase.CutBytes(l.SessionID, 100), phrase.CutBytes(l.Model, 100)
	case "message":
		if l.Role == "assistant" {
			p.piece(l.Content)
		}
	case "tool_use":
		p.tool(l.ToolName, l.Parameters)
		p.named(l.ToolID)
	case "tool_result":
		p.endText()
		p.gave(l.ToolID, l.Output)
		// A tool that the policy forbids is reported as an error with its own code.
		if l.Status == "error" && (l.Error.Type == "policy_violation" || l.Error.Type == "execution_denied") {
			p.denied(l.ToolName, phrase.CutBytes(phrase.Line(l.Error.Message), 160))
		}
	case "error":
		if f := p.faultOf(0, "", l.Message); f.Kind == Loop {
			p.fail(f)
		} else {
			p.pass(f)
		}
	case "result":
		g.result(p, &l)
	default:
		return false
	}
	return true
}

func (g *gemini) result(p *Parser, l *geminiLine) {
	p.endText()
	p.t.Ended = true
	p.t.Tokens = Tokens{}
	p.t.Tokens.add(Tokens{Input: cmp.Or(l.Stats.Uncached, less(l.Stats.In, l.Stats.Cached)), Output: l.Stats.Out,
		CacheRead: l.Stats.Cached})
	// Reasoning tokens are in the total only. They are billed as output.
	if l.Stats.Total != nil && l.Stats.In != nil && l.Stats.Out != nil {
		if thought := *l.Stats.Total - *l.Stats.In - *l.Stats.Out; thought > 0 {
			p.t.Tokens.add(Tokens{Output: &thought, Reasoning: &thought})
		}
	}
	// The first event names the model "auto". The statistics at the end name the real model if only one was used.
	if len(l.Stats.Models) == 1 {
		for name := range l.Stats.Models {
			p.t.Model = phrase.CutBytes(name, 100)
		}
	}
	if l.Status == "success" {
		if p.t.Fault != nil && p.t.Fault.Kind != Loop { // it reports success after it stopped a loop
			p.t.Fault = nil
		}
		return
	}
	if l.Error.Message == "" && p.t.Passing != nil {
		l.Error.Message = p.t.Passing.Message
	}
	p.fail(p.faultOf(0, l.Error.Type, l.Error.Message))
}
