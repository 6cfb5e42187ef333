package stream

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
)

// openCode parses the output of "opencode run --format json". There is no closing event: the work is complete when
// the last step ends with reason "stop". Each step has a cost, which is zero without a configured price.
type openCode struct{}

type openCodeLine struct {
	Type      string
	SessionID string `json:"sessionID"`
	Part      struct {
		Text, Tool, Reason string
		CallID             string `json:"callID"`
		State              struct {
			Status, Error string
			Input, Output json.RawMessage
		}
		Tokens *struct {
			Total, Input, Output, Reasoning *int64
			Cache                           struct{ Read, Write *int64 }
		}
		Cost *float64
	}
	Error struct {
		Name string
		Data struct {
			Message string
			Status  int               `json:"statusCode"`
			Headers map[string]string `json:"responseHeaders"`
			Body    string            `json:"responseBody"`
		}
	}
}

func (o *openCode) event(p *Parser, line []byte) bool {
	var l openCodeLine
	decode(line, &l)
	if l.SessionID != "" {
		p.t.Session = phrase.CutBytes(l.SessionID, 100)
	}
	switch l.Type {
	case "step_start":
		p.t.Ended = false
	case "text":
		p.text(l.Part.Text)
	case "reasoning":
	case "tool_use":
		p.tool(l.Part.Tool, l.Part.State.Input)
		p.named(l.Part.CallID)
		p.gave(l.Part.CallID, l.Part.State.Output)
		if l.Part.State.Status == "error" && strings.Contains(Fold(l.Part.State.Error), "rejected permission") {
			p.denied(l.Part.Tool, shortArgs(l.Part.State.Input))
		}
	case "step_finish":
		o.finish(p, &l)
	case "error":
		p.fail(o.fault(p, &l))
	default:
		return false
	}
	return true
}

func (o *openCode) finish(p *Parser, l *openCodeLine) {
	switch p.t.Ended = l.Part.Reason == "stop"; l.Part.Reason {
	case "stop":
		p.t.Fault = nil
	case "length":
		p.fail(&Fault{Kind: Context, Message: "the answer was cut at the model's limit"})
	}
	if u := l.Part.Tokens; u != nil {
		p.t.Tokens.add(Tokens{Input: u.Input, Output: u.Output, CacheRead: u.Cache.Read, CacheWrite: u.Cache.Write,
			Reasoning: u.Reasoning})
		// Reasoning tokens are not part of the output, as the total shows.
		if sum(u.Input, u.Output, u.Reasoning, u.Cache.Read, u.Cache.Write) == sum(u.Total) {
			p.t.Tokens.add(Tokens{Output: u.Reasoning})
		}
	}
	addCost(p, l.Part.Cost)
}

// addCost adds a reported cost. Zero means that the CLI knows no price.
func addCost(p *Parser, cost *float64) {
	if cost == nil || *cost <= 0 {
		return
	}
	if p.t.CostUSD == nil {
		p.t.CostUSD = new(float64)
	}
	*p.t.CostUSD += *cost
}

func (o *openCode) fault(p *Parser, l *openCodeLine) *Fault {
	message := cmp.Or(l.Error.Data.Message, l.Error.Name)
	var body struct {
		Error struct {
			Type string
			Code json.RawMessage
		}
	}
	decode([]byte(l.Error.Data.Body), &body)
	code := plain(body.Error.Code)
	if kindOfCode(code) == "" {
		code = body.Error.Type
	}
	if kindOfCode(code) == "" {
		code = l.Error.Name
	}
	f := p.faultOf(l.Error.Data.Status, code, message)
	for name, value := range l.Error.Data.Headers {
		if strings.EqualFold(name, "retry-after") && (f.Kind == Limit || f.Kind == Overloaded) {
			f.RetryAt = retryAfter(value, p.now())
		}
	}
	return f
}

// retryAfter reads the header of HTTP: seconds, or a date.
func retryAfter(value string, now time.Time) time.Time {
	if d, err := time.ParseDuration(strings.TrimSpace(value) + "s"); err == nil && d >= 0 && d < farthest {
		return now.Add(d)
	}
	if at, err := time.Parse(time.RFC1123, value); err == nil {
		return at.UTC()
	}
	return time.Time{}
}
