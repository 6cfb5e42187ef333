// Package stream reads what the command-line agents print while they work, each in the form of its own.
//
// A [Parser] takes output in pieces of any size and turns it into [Event]s for those who watch, and into
// [Totals] for those who judge and count. It trusts nothing: lines that are cut, broken or of a kind that
// nobody knows are counted and passed over, and memory stays bounded whatever comes.
//
// Text that an agent writes is never taken for an error of the agent. Errors come from the fields that a
// CLI has for them, so that an agent may write about rate limits without being taken to have met one.
package stream

import (
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

// Format is the form of a CLI's output.
type Format string

// The formats. Plain is that of a program that runplan knows nothing of.
const (
	Plain    Format = ""
	Claude   Format = "claude"
	Codex    Format = "codex"
	Gemini   Format = "gemini"
	OpenCode Format = "opencode"
	Aider    Format = "aider"
	Goose    Format = "goose"
	Crush    Format = "crush"
	Qwen     Format = "qwen"
	Pi       Format = "pi"
)

// Formats lists them all, but for [Plain].
func Formats() []Format {
	return []Format{Claude, Codex, Gemini, OpenCode, Aider, Goose, Crush, Qwen, Pi}
}

// Lines reports whether the format is JSON, one object a line.
func (f Format) Lines() bool { return f != Plain && f != Aider && f != Crush }

// Terminal reports whether a CLI of this format that did its work always says so in the end.
func (f Format) Terminal() bool { return f.Lines() }

// Kind is what an event is about.
type Kind string

// The kinds of events.
const (
	Text   Kind = "text"   // the agent says something
	Tool   Kind = "tool"   // it calls a tool
	Retry  Kind = "retry"  // its CLI tries something again by itself
	Failed Kind = "failed" // something ended in an error
	Denied Kind = "denied" // a tool was not allowed
	Noise  Kind = "noise"  // a line that is no event: most often of standard error
)

// Event is one thing that an agent did, for people.
type Event struct {
	Kind Kind
	Tool string // with Tool and Denied: its name
	Text string // what was said; of a tool a short form of its arguments

	Input string // with Tool: its arguments as JSON, as far as they were told
	Cut   bool   // with Tool: Input is not all of it
}

// Lines writes the event for people, without control codes.
func (e Event) Lines() []string {
	text := redact.Clean(strings.ReplaceAll(e.Text, "\r\n", "\n"))
	switch e.Kind {
	case Tool:
		return []string{strings.TrimRight("▸ "+redact.Clean(e.Tool)+": "+text, ": ")}
	case Denied:
		return []string{"✗ not allowed: " + strings.TrimRight(redact.Clean(e.Tool)+": "+text, ": ")}
	case Retry:
		return []string{"… tries again: " + text}
	case Failed:
		return []string{"! " + phrase.Line(text)}
	}
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

// Tokens counts by class. A nil field was not told, which is not zero.
type Tokens struct {
	Input      *int64 `json:"input,omitempty"`  // read afresh: neither from the cache nor into it
	Output     *int64 `json:"output,omitempty"` // with what was thought
	CacheRead  *int64 `json:"cache_read,omitempty"`
	CacheWrite *int64 `json:"cache_write,omitempty"`
	Reasoning  *int64 `json:"reasoning,omitempty"` // the part of Output that was thought
}

// Any reports whether anything was counted.
func (t Tokens) Any() bool {
	for _, n := range []*int64{t.Input, t.Output, t.CacheRead, t.CacheWrite} {
		if n != nil && *n > 0 {
			return true
		}
	}
	return false
}

// Denial is a tool call that was not allowed.
type Denial struct {
	Tool string `json:"tool"`
	Args string `json:"args,omitempty"`
}

// Totals is what a stream came to.
type Totals struct {
	Session string   `json:"session,omitempty"`
	Model   string   `json:"model,omitempty"`
	Version string   `json:"version,omitempty"` // of the CLI
	Tokens  Tokens   `json:"tokens,omitzero"`
	CostUSD *float64 `json:"cost_usd,omitempty"` // as the CLI reports it
	OnPlan  bool     `json:"on_plan,omitempty"`  // signed in with a subscription: the cost is a list price, not a bill

	Text    string   `json:"text,omitempty"` // what was said last, its end if it is long
	Tools   int      `json:"tools,omitempty"`
	Ended   bool     `json:"ended,omitempty"`   // the event came with which the CLI ends its work
	Fault   *Fault   `json:"fault,omitempty"`   // what ended it, if that was an error
	Passing *Fault   `json:"passing,omitempty"` // the last error that the CLI meant to get over by itself
	Tries   int      `json:"tries,omitempty"`   // errors in a row of a limit or of a provider without room, that it meant to get over
	Denials []Denial `json:"denials,omitempty"`
	Pending []string `json:"pending,omitempty"` // work in the background that was not finished when the agent was
	// Window is when the limit that the CLI tells of opens again. It says nothing of whether it was met.
	Window time.Time `json:"window,omitzero"`

	Events  int `json:"events,omitempty"`
	Unknown int `json:"unknown,omitempty"` // events of a kind that is not known
	Broken  int `json:"broken,omitempty"`  // lines that are no whole JSON object although they begin as one
	// Stray holds the last lines that are no events: of standard error, of a program that prints beside them.
	Stray []string `json:"stray,omitempty"`
}
