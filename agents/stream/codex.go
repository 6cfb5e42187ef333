package stream

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
)

// codex parses the output of "codex exec --json". An error event is a note, and an item of type error a warning; only
// turn.failed reports a failure. The output has no price and no model.
type codex struct{}

// codexGreeting is the line on standard error for each task on standard input.
const codexGreeting = "Reading additional input from stdin..."

type codexLine struct {
	Type     string
	ThreadID string `json:"thread_id"`
	Message  string
	Error    struct{ Message string }
	Item     struct {
		Type, Text, Message, Status string
		ID                          string
		Output                      json.RawMessage `json:"aggregated_output"`
		Command                     json.RawMessage
		Query, Tool, Server         string
		Changes                     []struct{ Path, Kind string }
	}
	Usage *struct {
		In        *int64 `json:"input_tokens"`
		Read      *int64 `json:"cached_input_tokens"`
		Write     *int64 `json:"cache_write_input_tokens"`
		Out       *int64 `json:"output_tokens"`
		Reasoning *int64 `json:"reasoning_output_tokens"`
	}
}

func (c *codex) event(p *Parser, line []byte) bool {
	var l codexLine
	decode(line, &l)
	switch l.Type {
	case "thread.started":
		p.t.Session = phrase.CutBytes(l.ThreadID, 100)
	case "turn.started":
		p.t.Ended = false
	case "item.started":
		if l.Item.Type == "command_execution" {
			p.tool("shell", codexArgs("command", l.Item.Command))
			p.named(l.Item.ID)
		}
	case "item.updated":
	case "item.completed":
		c.item(p, &l)
	case "turn.completed":
		p.t.Ended, p.t.Fault = true, nil
		if u := l.Usage; u != nil {
			p.t.Tokens.add(Tokens{Input: less(less(u.In, u.Read), u.Write), Output: u.Out, CacheRead: u.Read,
				CacheWrite: u.Write, Reasoning: u.Reasoning})
		}
	case "turn.failed":
		p.t.Ended = true
		p.fail(p.faultOf(0, "", l.Error.Message))
	case "error":
		p.pass(p.faultOf(0, "", l.Message))
	default:
		return false
	}
	return true
}

func (c *codex) item(p *Parser, l *codexLine) {
	switch l.Item.Type {
	case "agent_message":
		p.text(l.Item.Text)
	case "command_execution":
		p.gave(l.Item.ID, l.Item.Output)
		if l.Item.Status == "declined" {
			p.denied("shell", shortArgs(codexArgs("command", l.Item.Command)))
		}
	case "file_change":
		for _, ch := range l.Item.Changes {
			b, _ := json.Marshal(ch.Path)
			p.tool(strings.TrimSpace("write "+ch.Kind), codexArgs("path", b))
		}
	case "mcp_tool_call":
		p.tool(l.Item.Server+"."+l.Item.Tool, nil)
	case "web_search":
		b, _ := json.Marshal(l.Item.Query)
		p.tool("web_search", codexArgs("query", b))
	}
}

func codexArgs(name string, value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return nil
	}
	b, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return nil
	}
	return b
}

// Rollout reads the session file of codex: the model, and when the exhausted window with the latest end resets. It
// skips lines that are too long or invalid.
func Rollout(r io.Reader) (model string, resets time.Time) {
	br := bufio.NewReaderSize(io.LimitReader(r, 256<<20), maxLine)
	for {
		line, err := br.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			line = nil
			_, err = br.ReadSlice('\n')
		}
		var v map[string]any
		if len(line) > 0 && json.Unmarshal(line, &v) == nil {
			rollout(v, "", 0, &model, &resets)
		}
		if err != nil {
			return model, resets
		}
	}
}

// rollout searches one entry recursively, because the position of the fields differs between versions.
func rollout(v map[string]any, under string, depth int, model *string, resets *time.Time) {
	if depth > 8 {
		return
	}
	if m, ok := v["model"].(string); ok && (under == "thread_settings" || under == "payload") && m != "" {
		*model = phrase.CutBytes(m, 100)
	}
	if under == "rate_limits" {
		*resets = time.Time{} // a later report replaces an earlier one
		for _, name := range []string{"primary", "secondary"} {
			window, _ := v[name].(map[string]any)
			used, _ := window["used_percent"].(float64)
			at, _ := window["resets_at"].(float64)
			if t := time.Unix(int64(at), 0).UTC(); used >= 100 && at > 0 && at < 1e11 && t.After(*resets) {
				*resets = t
			}
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if m, ok := v[name].(map[string]any); ok {
			rollout(m, name, depth+1, model, resets)
		}
	}
}
