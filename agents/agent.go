// Package agents drives whoever turns a brief into changes: the embedded script agent, any command-line
// agent, a local model.
//
// An agent works in a workspace and nowhere else. It commits nothing that counts and judges nothing: what
// it left behind is committed by the runner and judged by the gates. What an agent says of its own success
// is therefore never asked for.
package agents

import (
	"context"
	"time"

	"github.com/runplan/runplan/planparse"
)

// Agent turns a brief into changes in a workspace.
type Agent interface {
	Name() string
	// Run works on t until it is done, out of limits or ctx ends. An error means that the agent could not
	// be run at all (missing program, workspace gone); whatever an agent does badly is an [Outcome].
	Run(ctx context.Context, t Task, obs Observer) (Result, error)
}

// Task is one attempt at a batch.
type Task struct {
	Dir     string // the workspace; the agent's working directory
	Brief   string // the text the agent gets
	Failure string // the part of Brief that tells of the last failed attempt, for an agent that is short of room; "" if there is none
	Run     string // run id
	Attempt int    // 1-based
	Model   string // "" lets the agent choose
	Variant string // prompt variant, "" outside a tournament
	Batch   planparse.Batch
	Limits  Limits
	Env     []string // environment for the agent's processes, complete: KEY=VALUE
	LogPath string   // file that receives the agent's raw output; "" keeps none
	TempDir string   // the agent's TMPDIR, outside the workspace

	// Redact, if set, takes secrets out of what is logged, observed and kept in the result.
	Redact func(string) string `json:"-"`
}

// Hide takes the secrets out of text that is logged, observed or kept.
func (t *Task) Hide(text string) string {
	if t.Redact == nil {
		return text
	}
	return t.Redact(text)
}

// Limits end an attempt. Zero means no such limit.
type Limits struct {
	Total time.Duration // from start to end
	Idle  time.Duration // without a byte of output
	Grace time.Duration // between asking a process group to end and killing it
}

// Outcome says how an attempt ended, as far as the agent's own process tells. It is never a verdict on
// the code.
type Outcome string

// The outcomes.
const (
	Done        Outcome = "done"
	GaveUp      Outcome = "gave_up" // exited with an error, or said that it cannot
	RateLimited Outcome = "rate_limited"
	TimedOut    Outcome = "timed_out" // Result.Summary names the limit
	NeedsHuman  Outcome = "needs_human"
	Failed      Outcome = "failed" // not the agent's doing: its program broke, its connection, its provider
)

// Kind says more of an outcome than its name, for those who decide what helps now. Of an agent that runplan
// knows nothing of there is none.
type Kind string

// The kinds.
const (
	KindAuth         Kind = "auth"          // not signed in
	KindQuota        Kind = "quota"         // no money, no plan
	KindDenied       Kind = "denied"        // a tool was not allowed
	KindMissingModel Kind = "missing_model" // no such model
	KindSettings     Kind = "settings"      // the CLI does not take its arguments or settings
	KindLimit        Kind = "limit"         // rate limit, or a used-up window of a plan
	KindOverloaded   Kind = "overloaded"    // the provider has no room
	KindNetwork      Kind = "network"
	KindServer       Kind = "server" // the provider failed
	KindCrash        Kind = "crash"  // the program broke, or was killed by somebody
	KindCut          Kind = "cut"    // the last event is missing: what was done is not known
	KindNoAnswer     Kind = "no_answer"
	KindRefused      Kind = "refused"
	KindTurns        Kind = "turns"      // the CLI's own limit of turns
	KindBudget       Kind = "budget"     // the CLI's own limit of money
	KindContext      Kind = "context"    // too long for the model
	KindBackground   Kind = "background" // ended while work in the background was not finished
	KindIdle         Kind = "idle"       // Limits.Idle
	KindTotal        Kind = "total"      // Limits.Total
	KindCancelled    Kind = "cancelled"
	KindExit         Kind = "exit" // an exit status that says nothing more
	KindUnchanged    Kind = "unchanged"
)

// Outage reports whether the provider failed or could not be reached, which passes without anybody's doing.
func (k Kind) Outage() bool { return k == KindOverloaded || k == KindNetwork || k == KindServer }

// Another reports whether another try, another prompt or another candidate can help: not where the account, the
// settings or the provider are what is wrong.
func (k Kind) Another() bool {
	switch k {
	case KindAuth, KindQuota, KindDenied, KindMissingModel, KindSettings, KindLimit, KindOverloaded, KindNetwork, KindServer, KindCancelled:
		return false
	}
	return true
}

// Result is what is known once an agent has stopped.
type Result struct {
	Outcome   Outcome
	Kind      Kind   // "" if there is nothing more to say
	Rule      string // the evidence that decided, for the log; "" of agents that need none
	Model     string // the model that did the work, if it is known
	Summary   string // one line for people; for a failure: what failed
	Detail    string // the last lines of output, or what an embedded step printed; bounded
	Findings  []Finding
	Usage     Usage
	SessionID string
	RetryAt   time.Time // with RateLimited: when another try makes sense; zero if unknown
	Response  string    // what the model answered, of an agent that asks it itself: whole, and without secrets
}

// UnusableError is an agent that cannot be used until somebody changes something: its model is not there, or too small
// for the work. Another try would end the same.
type UnusableError struct {
	Kind Kind
	Err  error
}

func (e *UnusableError) Error() string { return e.Err.Error() }
func (e *UnusableError) Unwrap() error { return e.Err }

// End is how a batch ended.
type End struct {
	Run     string
	Batch   string // key
	Success bool
	Diff    string // what was merged; "" of a batch that failed
}

// Ender is an agent that keeps something from one attempt at a batch to the next, and is told when there will be no other.
type Ender interface {
	End(ctx context.Context, e End) error
}

// Finding is a place in the plan that the agent could not carry out.
type Finding struct {
	Path    string
	Line    int
	Message string
}

// Usage is what an agent used. Nil fields are unknown, which is not zero.
type Usage struct {
	InputTokens      *int64   `json:"input_tokens,omitempty"` // read afresh: neither from the cache nor into it
	OutputTokens     *int64   `json:"output_tokens,omitempty"`
	CacheReadTokens  *int64   `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens *int64   `json:"cache_write_tokens,omitempty"`
	ReasoningTokens  *int64   `json:"reasoning_tokens,omitempty"` // the part of OutputTokens that was thought
	ModelMS          *int64   `json:"model_ms,omitempty"`         // time that models took, of an agent that asks them itself
	CostUSD          *float64 `json:"cost_usd,omitempty"`
	Source           Source   `json:"source,omitempty"`
}

// Source says where the cost of a [Usage] comes from.
type Source string

// The sources.
const (
	SourceReported Source = "reported" // by the agent
	SourceComputed Source = "computed" // tokens times the price table
	SourcePlan     Source = "plan"     // by the agent, at list prices: a subscription pays it
	SourceLocal    Source = "local"    // a model on this machine costs nothing
	SourceUnknown  Source = "unknown"
)

// Observer receives what an agent does while it does it. Calls come one at a time.
type Observer interface {
	Line(text string) // one line of output, without control codes, bounded in length
}

// ObserverFunc makes an [Observer] of a function.
type ObserverFunc func(text string)

// Line calls f.
func (f ObserverFunc) Line(text string) { f(text) }
