package stream

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
)

// claude parses the output of "claude -p --output-format stream-json --verbose", and the output of qwen, which uses the
// same format. A result has subtype "success" even if the API failed. The evidence is is_error, and the error field of
// the CLI's own message. Only the tokens of the result count; the tokens of a message are placeholders.
type claude struct {
	qwen    bool
	pending []task // started in the background, not ended
	errWord string // error field of the CLI's own message
	ended   bool

	message string // id of the last message with a usage
	before  Tokens // usage of earlier messages

	rejected bool // the limit of the subscription is reached; it resets at the end of the window
}

type task struct{ id, name string }

type claudeLine struct {
	Type, Subtype string
	SessionID     string `json:"session_id"`
	Model         string
	Version       string `json:"claude_code_version"`
	QwenVersion   string `json:"qwen_code_version"`
	KeySource     string `json:"apiKeySource"`

	Message struct {
		ID      string
		Model   string
		Content json.RawMessage
		Usage   *claudeUsage
	}
	Error json.RawMessage // a word; an object from qwen

	// system
	ErrorStatus int    `json:"error_status"`
	TaskID      string `json:"task_id"`
	Description string
	Status      string
	Patch       struct{ Status string }

	// rate_limit_event
	Limit struct {
		Status   string
		ResetsAt float64
	} `json:"rate_limit_info"`

	// result
	IsError    bool `json:"is_error"`
	APIStatus  int  `json:"api_error_status"`
	Result     string
	Errors     []string
	StopReason string   `json:"stop_reason"`
	Cost       *float64 `json:"total_cost_usd"`
	Usage      *claudeUsage
	ModelUsage map[string]struct {
		In    *int64 `json:"inputTokens"`
		Out   *int64 `json:"outputTokens"`
		Read  *int64 `json:"cacheReadInputTokens"`
		Write *int64 `json:"cacheCreationInputTokens"`

		Thought *int64 `json:"thinkingTokens"`
	}
	Denials []struct {
		Name  string          `json:"tool_name"`
		Input json.RawMessage `json:"tool_input"`
	} `json:"permission_denials"`
}

type claudeUsage struct {
	In    *int64 `json:"input_tokens"`
	Write *int64 `json:"cache_creation_input_tokens"`
	Read  *int64 `json:"cache_read_input_tokens"`
	Out   *int64 `json:"output_tokens"`

	Details struct {
		Thought *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

type claudePart struct {
	Type, Text, Name, ID string
	Input, Content       json.RawMessage
	Of                   string `json:"tool_use_id"` // of a result
}

func (c *claude) event(p *Parser, line []byte) bool {
	var l claudeLine
	decode(line, &l)
	if l.SessionID != "" {
		p.t.Session = phrase.CutBytes(l.SessionID, 100)
	}
	switch l.Type {
	case "system":
		return c.system(p, &l)
	case "assistant":
		c.assistant(p, &l)
	case "user":
		var parts []claudePart
		decode(l.Message.Content, &parts)
		for _, part := range parts {
			if part.Type == "tool_result" {
				p.gave(part.Of, part.Content)
			}
		}
	case "stream_event":
	case "rate_limit_event":
		if s := l.Limit.ResetsAt; s > 0 && s < 1e11 {
			p.t.Window = time.Unix(int64(s), 0).UTC()
		}
		if l.Limit.Status == "rejected" {
			p.pass(&Fault{Kind: Limit, Message: "the limit of the plan is reached", RetryAt: p.t.Window})
			c.rejected = !p.t.Window.IsZero()
		}
	case "result":
		c.result(p, &l)
	default:
		return false
	}
	return true
}

func (c *claude) system(p *Parser, l *claudeLine) bool {
	switch l.Subtype {
	case "init":
		p.t.Model, p.t.Version = phrase.CutBytes(l.Model, 100), phrase.CutBytes(l.Version+l.QwenVersion, 50)
		// The message names a user's own API key. With a subscription there is none.
		p.t.OnPlan = l.KeySource == "none"
	case "api_retry":
		f := p.faultOf(l.ErrorStatus, plain(l.Error), "")
		f.Message = cmp.Or(f.Message, "error of the API")
		p.pass(f)
	case "task_started":
		if len(c.pending) < maxEntries {
			c.pending = append(c.pending, task{l.TaskID, phrase.CutBytes(phrase.Line(l.Description), 100)})
		}
	case "task_notification", "task_updated":
		status := l.Status + l.Patch.Status
		if !c.ended && (status == "completed" || status == "failed" || status == "killed" || status == "stopped") {
			c.pending = slices.DeleteFunc(c.pending, func(t task) bool { return t.id == l.TaskID })
		}
	case "retry": // of qwen
		p.again()
	case "model_refusal_no_fallback", "hook_started", "hook_response", "compact_boundary", "status", "task_progress":
	default:
		return false
	}
	return true
}

func (c *claude) assistant(p *Parser, l *claudeLine) {
	if l.Message.Model == "<synthetic>" {
		c.errWord = plain(l.Error)
		return // the CLI reports an error here and again in the result
	}
	p.t.Model = cmp.Or(p.t.Model, phrase.CutBytes(l.Message.Model, 100))
	c.sum(p, l)
	var parts []claudePart
	decode(l.Message.Content, &parts)
	for _, part := range parts {
		switch part.Type {
		case "text":
			// qwen reports a failure with a text, and success with a result.
			if !c.qwen || !strings.HasPrefix(part.Text, "[API Error:") {
				p.text(part.Text)
			}
		case "tool_use":
			p.tool(part.Name, part.Input)
			p.named(part.ID)
		}
	}
}

func (c *claude) result(p *Parser, l *claudeLine) {
	p.t.Ended, c.ended = true, true
	for _, t := range c.pending {
		p.t.Pending = append(p.t.Pending, t.name)
	}
	c.count(p, l)
	for _, d := range l.Denials {
		p.denied(d.Name, shortArgs(d.Input))
	}
	message := l.Result
	if len(l.Errors) > 0 {
		message = strings.Join(l.Errors, "; ")
	}
	var object struct{ Message string }
	decode(l.Error, &object) // the form of qwen
	switch failed := c.qwen && strings.HasPrefix(l.Result, "[API Error:"); {
	case l.IsError || failed:
		word := c.errWord
		switch {
		case l.StopReason == "refusal":
			word = l.StopReason
		case word == "" && l.Subtype != "success":
			word = l.Subtype
		}
		message = cmp.Or(message, object.Message)
		f := p.faultOf(l.APIStatus, word, message)
		// The field has the time to the second, the text only to the hour.
		if f.Kind == Limit && (c.rejected || f.RetryAt.IsZero() && p.t.Window.After(p.now())) {
			f.RetryAt = p.t.Window
		}
		p.fail(f)
	case strings.TrimSpace(l.Result) != "":
		p.t.Text, p.t.Fault = lastOf(l.Result), nil
	default:
		p.t.Text, p.t.Fault = "", nil
	}
}

// count uses the figures by model if there are any. The totals can be incomplete if a budget ended the work.
func (c *claude) count(p *Parser, l *claudeLine) {
	p.t.CostUSD = l.Cost
	p.t.Tokens = Tokens{}
	for _, u := range l.ModelUsage {
		p.t.Tokens.add(Tokens{Input: u.In, Output: u.Out, CacheRead: u.Read, CacheWrite: u.Write, Reasoning: u.Thought})
	}
	if len(l.ModelUsage) == 0 && l.Usage != nil {
		p.t.Tokens = c.tokens(l.Usage)
	}
}

func (c *claude) tokens(u *claudeUsage) (t Tokens) {
	in := u.In
	if c.qwen {
		in = less(in, u.Read) // qwen includes cache reads
	}
	t.add(Tokens{Input: in, Output: u.Out, CacheRead: u.Read, CacheWrite: u.Write, Reasoning: u.Details.Thought})
	return t
}

// sum keeps the tokens of the messages so far, which count if the final event does not arrive. A message comes in
// several events with one id. Its last usage replaces the earlier ones.
func (c *claude) sum(p *Parser, l *claudeLine) {
	u := l.Message.Usage
	if u == nil || c.ended {
		return
	}
	if l.Message.ID == "" || l.Message.ID != c.message {
		c.before, c.message = p.t.Tokens, l.Message.ID
	}
	p.t.Tokens = c.before
	p.t.Tokens.add(c.tokens(u))
}
