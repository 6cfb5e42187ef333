// Package stream reads the output of command-line agents, each in its own format.
//
// A [Parser] takes output in chunks of any size. It produces [Event]s for display, and [Totals] for decisions and
// accounting. It does not trust its input: it counts and skips lines that are truncated, broken or of an unknown kind,
// and its memory use is limited.
//
// Text that an agent writes is never treated as an error of the agent. Errors come only from a CLI's fields for errors,
// so an agent can write about rate limits without being treated as limited.
package stream

import (
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

// Format is the output format of a CLI.
type Format string

// The formats. Plain is for programs that runplan does not know.
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

// Formats lists all formats except [Plain].
func Formats() []Format {
	return []Format{Claude, Codex, Gemini, OpenCode, Aider, Goose, Crush, Qwen, Pi}
}

// Lines reports whether the format has one JSON object per line.
func (f Format) Lines() bool { return f != Plain && f != Aider && f != Crush }

// Terminal reports whether a CLI of this format always ends successful work with a final event.
func (f Format) Terminal() bool { return f.Lines() }

// Kind says what an event is about.
type Kind string

// The kinds of events.
const (
	Text   Kind = "text"   // the agent writes text
	Tool   Kind = "tool"   // it calls a tool
	Retry  Kind = "retry"  // its CLI retries on its own
	Failed Kind = "failed" // something ended in an error
	Denied Kind = "denied" // a tool was not allowed
	Noise  Kind = "noise"  // a line that is not an event, mostly from standard error
	Output Kind = "output" // the result of a tool; only after [Parser.WithOutput]
)

// Event is one action of an agent, for display.
type Event struct {
	Kind Kind
	Tool string // with Tool and Denied: its name
	Text string // the text; for a tool, its shortened arguments

	Input string // with Tool: its arguments as JSON, possibly truncated
	Cut   bool   // with Tool: Input is truncated
	Call  string // with Tool and Output: the call that both belong to, if the program names it
}

// Lines formats the event for display, without control codes.
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

// Tokens counts tokens by class. A nil field is unknown, not zero.
type Tokens struct {
	Input      *int64 `json:"input,omitempty"`  // uncached input tokens, without cache reads and writes
	Output     *int64 `json:"output,omitempty"` // including reasoning
	CacheRead  *int64 `json:"cache_read,omitempty"`
	CacheWrite *int64 `json:"cache_write,omitempty"`
	Reasoning  *int64 `json:"reasoning,omitempty"` // the reasoning part of Output
}

// Any reports whether any count is positive, except reasoning.
func (t Tokens) Any() bool {
	return slices.ContainsFunc([]*int64{t.Input, t.Output, t.CacheRead, t.CacheWrite},
		func(n *int64) bool { return n != nil && *n > 0 })
}

// add adds known counts; a negative one is unknown. Copies of t keep their counts.
func (t *Tokens) add(more Tokens) {
	for to, n := range map[**int64]*int64{&t.Input: more.Input, &t.Output: more.Output, &t.CacheRead: more.CacheRead,
		&t.CacheWrite: more.CacheWrite, &t.Reasoning: more.Reasoning} {
		if n != nil && *n >= 0 {
			*to = new(sum(*to, n))
		}
	}
}

// Sum returns the number of known tokens: input, output, cache reads and cache writes.
func (t Tokens) Sum() int64 { return sum(t.Input, t.Output, t.CacheRead, t.CacheWrite) }

// Denial is a tool call that was not allowed.
type Denial struct {
	Tool string `json:"tool"`
	Args string `json:"args,omitempty"`
}

// Totals is the summary of a stream.
type Totals struct {
	Session string   `json:"session,omitempty"`
	Model   string   `json:"model,omitempty"`
	Version string   `json:"version,omitempty"` // the CLI's session
	Tokens  Tokens   `json:"tokens,omitzero"`
	CostUSD *float64 `json:"cost_usd,omitempty"` // as reported by the CLI
	OnPlan  bool     `json:"on_plan,omitempty"`  // signed in with a subscription: the cost is a list price, not a bill

	Text    string `json:"text,omitempty"` // the last message; only its end if it is long
	Tools   int    `json:"tools,omitempty"`
	Ended   bool   `json:"ended,omitempty"`   // the CLI's final event arrived
	Fault   *Fault `json:"fault,omitempty"`   // the error that ended the work, if any
	Passing *Fault `json:"passing,omitempty"` // the last error that the CLI planned to retry
	// successive errors of a limit, the provider or the connection that it planned to retry
	Tries   int      `json:"tries,omitempty"`
	Again   int      `json:"again,omitempty"` // as Tries, with retries whose reason is unknown
	Denials []Denial `json:"denials,omitempty"`
	Pending []string `json:"pending,omitempty"` // background work still unfinished at the agent's end
	// Window is when the limit that the CLI reports resets. It does not say whether the limit was met.
	Window time.Time `json:"window,omitzero"`

	Events  int `json:"events,omitempty"`
	Unknown int `json:"unknown,omitempty"` // events of an unknown kind
	Broken  int `json:"broken,omitempty"`  // lines that begin as a JSON object but are not a complete one
	// OtherLines holds the last lines that are not events: of standard error, or of programs that print in between.
	OtherLines []string `json:"stray,omitempty"`
}
