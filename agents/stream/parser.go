package stream

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

const (
	maxLine       = 1 << 20 // longer lines are truncated
	maxText       = 4 << 10
	maxOtherLines = 40
	maxWaiting    = 4096 // events not yet taken
	maxInput      = 8 << 10
	maxEntries    = 50 // of denials and of background work
)

// Parser reads one agent's output. It is not safe for concurrent use.
type Parser struct {
	format Format
	now    func() time.Time
	read   reader
	t      Totals
	out    []Event
	said   strings.Builder // text without a line end yet
	buf    []byte
	long   bool
	cut    bool // the current line is incomplete
	output bool // emit Output events
}

// reader reads the events of one format. It returns false for an unknown kind.
type reader interface {
	event(p *Parser, line []byte) bool
}

// New returns a parser. now is the clock for "try again in" and "resets 3pm"; times without a zone are in its location.
func New(f Format, now func() time.Time) *Parser {
	p := &Parser{format: f, now: now}
	switch f {
	case Claude:
		p.read = &claude{}
	case Qwen:
		p.read = &claude{qwen: true}
	case Codex:
		p.read = &codex{}
	case Gemini:
		p.read = &gemini{}
	case OpenCode:
		p.read = &openCode{}
	case Goose:
		p.read = &goose{}
	case Pi:
		p.read = &pi{}
	}
	return p
}

// WithOutput makes the parser emit the results of tools too, and returns it. Displays do not need them.
func (p *Parser) WithOutput() *Parser {
	p.output = true
	return p
}

// Write parses a chunk of output. It never fails.
func (p *Parser) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		piece := b
		if i >= 0 {
			piece = b[:i]
		}
		room := min(max(maxLine-len(p.buf), 0), len(piece))
		p.buf = append(p.buf, piece[:room]...)
		p.long = p.long || room < len(piece)
		if i < 0 {
			break
		}
		p.flush()
		b = b[i+1:]
	}
	return n, nil
}

func (p *Parser) flush() {
	line, cut := p.buf, p.long
	p.line(line, cut)
	p.buf, p.long = p.buf[:0], false
}

// Line parses one line, without its line end. cut means that the line is truncated.
func (p *Parser) Line(line string, cut bool) { p.line([]byte(line), cut) }

func (p *Parser) line(line []byte, cut bool) {
	if len(line) > maxLine {
		line, cut = line[:maxLine], true
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if p.read == nil {
		p.plainLine(string(line))
		return
	}
	if line[0] != '{' {
		p.otherLine(string(line))
		return
	}
	ended, torn := p.t.Ended, false
	p.cut = cut
	if cut || !json.Valid(line) {
		p.t.Broken++
		if inner := within(line); inner != nil && !cut {
			line = inner
		} else {
			line, torn = mend(line), !cut
			p.cut = true
		}
	}
	p.t.Events++
	if !p.read.event(p, line) {
		p.t.Unknown++
	}
	if torn {
		p.t.Ended = ended // a truncated final event does not count: the rest may report an error
	}
}

// within finds a complete event after a truncated one: some CLIs print one event into another.
func within(line []byte) []byte {
	rest := line
	for range 8 {
		i := bytes.Index(rest[1:], []byte(`{"type":"`))
		if i < 0 {
			return nil
		}
		if rest = rest[i+1:]; json.Valid(rest) {
			return rest
		}
	}
	return nil
}

// Take returns the events since the last call.
func (p *Parser) Take() []Event {
	out := p.out
	p.out = nil
	return out
}

// Close parses the last line without a line end. Take and Totals still work afterwards.
func (p *Parser) Close() {
	if len(p.buf) > 0 {
		p.flush()
	}
	p.endText()
}

// Totals returns the totals so far.
func (p *Parser) Totals() Totals { return p.t }

func (p *Parser) otherLine(line string) {
	line = redact.Clean(phrase.CutBytes(line, 1<<10))
	if line == "" || p.format == Codex && line == codexGreeting {
		return
	}
	why := waitsFor(p.format, line)
	if p.format == OpenCode && strings.HasPrefix(line, "timestamp=") { // its log, whose times are not reset times
		if why != "" {
			p.pass(p.faultOf(0, "", why))
		}
		return
	}
	if len(p.t.OtherLines) == maxOtherLines {
		p.t.OtherLines = append(p.t.OtherLines[:0], p.t.OtherLines[1:]...)
	}
	p.t.OtherLines = append(p.t.OtherLines, line)
	if why != "" {
		p.pass(p.faultOf(0, "", why))
		return
	}
	p.emit(Event{Kind: Noise, Text: line})
}

// emit queues an event. It drops the older half of a full queue, because there may be no reader.
func (p *Parser) emit(e Event) {
	if len(p.out) == maxWaiting {
		p.out = append(p.out[:0], p.out[maxWaiting/2:]...)
	}
	p.out = append(p.out, e)
}

// text records a complete message of the agent.
func (p *Parser) text(s string) {
	p.endText()
	p.say(s)
}

// piece records a part of a message. It emits complete lines at once.
func (p *Parser) piece(s string) {
	p.t.Tries, p.t.Again = 0, 0
	p.said.WriteString(s)
	text := p.said.String()
	i := strings.LastIndexByte(text, '\n')
	if i < 0 && len(text) < maxText {
		return
	}
	if i < 0 {
		i = len(text) - 1
	}
	p.say(text[:i+1])
	p.said.Reset()
	p.said.WriteString(text[i+1:])
}

func (p *Parser) endText() {
	if p.said.Len() > 0 {
		p.say(p.said.String())
		p.said.Reset()
	}
}

func (p *Parser) say(s string) {
	if s = strings.TrimRight(s, "\n"); strings.TrimSpace(s) != "" {
		p.t.Text, p.t.Tries, p.t.Again = lastOf(s), 0, 0
		p.emit(Event{Kind: Text, Text: phrase.CutBytes(s, 64<<10)})
	}
}

func (p *Parser) tool(name string, args json.RawMessage) {
	p.endText()
	p.t.Tools++
	p.t.Tries, p.t.Again = 0, 0
	e := Event{Kind: Tool, Tool: phrase.CutBytes(name, 100), Text: shortArgs(args), Input: string(args), Cut: p.cut}
	if len(args) > maxInput {
		e.Input, e.Cut = string(mend(args[:maxInput])), true
	}
	p.emit(e)
}

// named sets the id of the call in the last event, which is a tool call.
func (p *Parser) named(call string) { p.out[len(p.out)-1].Call = phrase.CutBytes(call, 100) }

// gave records the result of a tool: a text, or a list in which some parts are texts.
func (p *Parser) gave(call string, content json.RawMessage) {
	if !p.output || len(content) == 0 {
		return
	}
	var text string
	var parts []struct{ Text string }
	if decode(content, &text); text == "" {
		decode(content, &parts)
		for _, part := range parts {
			text += part.Text
		}
	}
	p.endText()
	p.emit(Event{Kind: Output, Text: phrase.CutBytes(text, maxInput), Call: phrase.CutBytes(call, 100)})
}

func (p *Parser) denied(tool, args string) {
	p.endText()
	if len(p.t.Denials) < maxEntries {
		p.t.Denials = append(p.t.Denials, Denial{Tool: phrase.CutBytes(tool, 100), Args: args})
	}
	p.emit(Event{Kind: Denied, Tool: tool, Text: args})
}

// fail records the error that ended the work or a part of it.
func (p *Parser) fail(f *Fault) {
	p.endText()
	p.t.Fault = f
	p.emit(Event{Kind: Failed, Text: f.Message})
}

// pass records an error that the CLI plans to retry. When a limit repeats, not every error has a time, so the
// known one stays.
func (p *Parser) pass(f *Fault) {
	p.endText()
	if old := p.t.Passing; old != nil && old.Kind == f.Kind && f.RetryAt.IsZero() && old.RetryAt.After(p.now()) {
		f.RetryAt = old.RetryAt
	}
	p.t.Passing = f
	switch f.Kind {
	case Limit, Overloaded, Network, Server:
		p.t.Tries++
		p.t.Again++
	}
	p.emit(Event{Kind: Retry, Text: f.Message})
}

// again records a retry whose reason the CLI does not report.
func (p *Parser) again() {
	p.endText()
	f := &Fault{Kind: Server, Message: "it asks the provider again, and does not report why"}
	p.t.Passing = cmp.Or(p.t.Passing, f)
	p.t.Again++
	p.emit(Event{Kind: Retry, Text: f.Message})
}

// decode reads line into v. It ignores fields with an unexpected type and keeps the others.
func decode(line []byte, v any) {
	if err := json.Unmarshal(line, v); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
		return // cannot happen: the line is valid JSON
	}
}

func sum(of ...*int64) int64 {
	var n int64
	for _, p := range of {
		if p != nil {
			n += *p
		}
	}
	return n
}

// less returns n minus part, for CLIs whose counts include cached tokens.
func less(n, part *int64) *int64 {
	if n == nil || part == nil {
		return n
	}
	d := max(*n-*part, 0)
	return &d
}

func lastOf(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[len(s)-maxText:], "")
	}
	return s
}
