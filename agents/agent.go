// Package agents drives agents that turn a brief into changes: the embedded script agent, any command-line agent,
// a local model.
//
// An agent works only in its workspace. Its own commits do not count: the runner commits the changes and the gates
// check them. The agent's own claim of success is ignored.
package agents

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
)

// Agent turns a brief into changes in a workspace.
type Agent interface {
	Name() string
	// Run works on t until it finishes, exceeds a limit or ctx ends. An error means that the agent could not start
	// at all (missing program, missing workspace). All failures of the agent itself are an [Outcome].
	Run(ctx context.Context, t Task, obs Observer) (Result, error)
}

// Task is one attempt at a batch.
type Task struct {
	Dir     string // the workspace; the agent's working directory
	Brief   Brief
	Run     string // run id
	Attempt int    // 1-based
	Model   string // "" lets the agent choose
	Variant string // prompt variant, "" outside a tournament
	Batch   planparse.Batch
	Limits  Limits
	Env     []string // complete environment of the agent's processes: KEY=VALUE
	Project []string // variables for programs of the project, such as PYTHONPATH
	LogPath string   // file for the agent's raw output; "" keeps none
	TempDir string   // the agent's TMPDIR, outside the workspace

	// Redact, if set, removes secrets from text that is logged, observed or stored in the result.
	Redact func(string) string `json:"-"`
}

// Brief holds the information for an agent, in parts. Programs get its text. An agent that asks a model itself may use
// the parts in another order, or omit some.
type Brief struct {
	Head    string // the batch, and the rules of the work
	Block   string // the context, under "## Run-Plan: Batch N"; "" if none
	Instead string // why this agent takes over; "" if none
	Failure string // the last failed attempt; "" if none
	Task    string // the batch and the text around it, as the plan has them
}

// Text returns the whole brief.
func (b Brief) Text() string {
	if b.Block != "" {
		b.Block = "\n" + b.Block
	}
	return b.Head + b.Block + b.Instead + b.Failure + b.Task
}

// Hide removes secrets from text that is logged, observed or stored.
func (t *Task) Hide(text string) string {
	if t.Redact == nil {
		return text
	}
	return t.Redact(text)
}

// Clean removes secrets and control codes.
func (t *Task) Clean(text string) string { return redact.Clean(t.Hide(text)) }

// Limits end an attempt. A zero field sets no limit.
type Limits struct {
	Total time.Duration // from start to end
	Idle  time.Duration // without a byte of output
	Grace time.Duration // between the signal that ends a process group and the kill

	MaxRepeats int     // tool calls in a row that were all made before
	MaxTokens  int64   // input, output and cache tokens together
	MaxCostUSD float64 // US dollars, where the cost is known while the agent works
	// ConcurrentUSD takes the cost of this attempt so far, and returns the cost of the concurrent attempts that share
	// RunCostUSD with it.
	ConcurrentUSD func(usd float64) float64
	RunCostUSD    float64 // US dollars for all of them together; 0 sets no limit
}

// Outcome says how an attempt ended according to the agent's process. It is never a verdict on the code.
type Outcome string

// The outcomes.
const (
	Done        Outcome = "done"
	GaveUp      Outcome = "gave_up" // exited with an error, or reported that it cannot do the task
	RateLimited Outcome = "rate_limited"
	TimedOut    Outcome = "timed_out" // Result.Summary names the limit
	NeedsHuman  Outcome = "needs_human"
	Failed      Outcome = "failed" // not the agent's fault: its program, connection or provider failed
)

// Kind refines an outcome, so that callers can decide what to do. It is empty for agents that runplan does not know.
type Kind string

// The kinds.
const (
	KindAuth         Kind = "auth"          // not signed in
	KindQuota        Kind = "quota"         // no credit, or no subscription
	KindDenied       Kind = "denied"        // a tool was not allowed
	KindMissingModel Kind = "missing_model" // the model does not exist
	KindSettings     Kind = "settings"      // the CLI rejects its arguments or settings
	KindLimit        Kind = "limit"         // rate limit, or exhausted quota of a subscription
	KindOverloaded   Kind = "overloaded"    // the provider has no capacity
	KindNetwork      Kind = "network"
	KindServer       Kind = "server" // the provider failed
	KindCrash        Kind = "crash"  // the program crashed or was killed
	KindCut          Kind = "cut"    // its last event is missing: the result is unknown
	KindNoAnswer     Kind = "no_answer"
	KindRefused      Kind = "refused"
	KindTurns        Kind = "turns"      // the CLI's own limit of turns
	KindBudget       Kind = "budget"     // the CLI's own limit of money
	KindContext      Kind = "context"    // too long for the model
	KindBackground   Kind = "background" // ended before its background work finished
	KindIdle         Kind = "idle"       // Limits.Idle
	KindTotal        Kind = "total"      // Limits.Total
	KindRunaway      Kind = "runaway"    // Limits.MaxRepeats, Limits.MaxTokens or Limits.MaxCostUSD
	KindCancelled    Kind = "cancelled"
	KindExit         Kind = "exit" // a non-zero exit status without further information
)

// Outage reports whether the provider failed or could not be reached. They end without any action by the user.
func (k Kind) Outage() bool { return k == KindOverloaded || k == KindNetwork || k == KindServer }

// Hopeless reports whether the same work is likely to end in the same way, also with a stronger model: the model
// refuses it, or it is too long for the model.
func (k Kind) Hopeless() bool { return k == KindRefused || k == KindContext }

// Result is the result of one run of an agent.
type Result struct {
	Outcome  Outcome
	Kind     Kind   // "" if unknown
	Rule     string // the rule that matched, for the log; "" if the agent needs none
	Model    string // the model that did the work, if known
	Summary  string // one line for people; for a failure: what failed
	Detail   string // the last lines of output, or the output of an embedded step; bounded
	Findings []Finding
	Usage    Usage
	RetryAt  time.Time // with RateLimited: when to try again; zero if unknown
	Response string    // full answer of the model without secrets, from agents that call the model themselves
}

// UnusableError means that an agent cannot work until a person changes something: its model is missing or too
// small. Another try ends the same way.
type UnusableError struct {
	Kind Kind
	Err  error
}

func (e *UnusableError) Error() string { return e.Err.Error() }
func (e *UnusableError) Unwrap() error { return e.Err }

// End says how a batch ended.
type End struct {
	Run     string
	Batch   string // key
	Success bool
	Diff    string // the merged diff; "" for a failed batch
}

// Ender is an agent that keeps state between the attempts at a batch. End is called when no attempt will follow.
type Ender interface {
	End(ctx context.Context, e End) error
}

// Finding is a place in the plan that the agent could not implement.
type Finding struct {
	Path    string
	Line    int
	Message string
}

// Usage is the consumption of an agent. A nil field is unknown, not zero.
type Usage struct {
	InputTokens      *int64   `json:"input_tokens,omitempty"` // uncached input tokens, without cache reads and writes
	OutputTokens     *int64   `json:"output_tokens,omitempty"`
	CacheReadTokens  *int64   `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens *int64   `json:"cache_write_tokens,omitempty"`
	ReasoningTokens  *int64   `json:"reasoning_tokens,omitempty"` // the reasoning part of OutputTokens
	ModelMS          *int64   `json:"model_ms,omitempty"`         // time in models, of agents that call them
	CostUSD          *float64 `json:"cost_usd,omitempty"`
	Source           Source   `json:"source,omitempty"`
}

// Source is the origin of the cost in a [Usage].
type Source string

// The sources.
const (
	SourceReported Source = "reported" // by the agent
	SourceComputed Source = "computed" // tokens times the price table
	SourceSummed   Source = "summed"   // of a stopped attempt: the tokens of its messages times the price table
	SourcePlan     Source = "plan"     // reported at list prices; a subscription pays it
	SourceLocal    Source = "local"    // local model, without cost
	SourceUnknown  Source = "unknown"
)

// Observer receives the output of a running agent. Calls are sequential.
type Observer interface {
	Line(text string) // one line of output, without control codes, bounded in length
}

// ObserverFunc adapts a function to [Observer].
type ObserverFunc func(text string)

func (f ObserverFunc) Line(text string) { f(text) }

// Step is one tool call, as reported by the agent's program.
type Step struct {
	Tool  string // as the program calls it: Edit, write_file, shell
	Text  string // its most important argument, on one line
	Input string // its arguments as JSON; long ones are truncated, and their brackets closed
	Cut   bool   // Input is truncated
}

// StepObserver is an [Observer] that also gets steps, from programs that report them. Step must not block the agent.
type StepObserver interface {
	Observer
	Step(s Step)
}

// Environ returns the environment of a program that works on t: t.Env, the variables of this attempt, and extra,
// which has priority.
func (t Task) Environ(extra ...string) []string {
	add := []string{
		"RUNPLAN_RUN=" + t.Run,
		"RUNPLAN_BATCH=" + t.Batch.Key,
		"RUNPLAN_ATTEMPT=" + strconv.Itoa(t.Attempt),
		"RUNPLAN_VARIANT=" + t.Variant,
		"RUNPLAN_MODEL=" + t.Model,
		// git must not look for a repository above the workspace: that would be the user's own.
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(t.Dir),
		"PWD=" + t.Dir,
	}
	if t.TempDir != "" {
		add = append(add, "TMPDIR="+t.TempDir)
	}
	add = append(add, extra...)
	set := map[string]bool{}
	for _, kv := range add {
		name, _, _ := strings.Cut(kv, "=")
		set[name] = true
	}
	env := slices.DeleteFunc(slices.Clone(t.Env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return set[name]
	})
	return append(env, add...)
}

// CheckDir returns an error if the workspace does not exist.
func (t Task) CheckDir() error {
	switch fi, err := os.Stat(t.Dir); {
	case t.Dir == "" || !filepath.IsAbs(t.Dir):
		return fmt.Errorf("workspace %q: its path must be absolute", t.Dir)
	case err != nil:
		return fmt.Errorf("workspace: %w", err)
	case !fi.IsDir():
		return fmt.Errorf("workspace %s is not a folder", t.Dir)
	}
	return nil
}

const (
	maxDetail      = 8 << 10
	maxDetailLines = 60
)

// Tail makes a [Result.Detail] of output: its last lines, without control codes.
func Tail(output string) string {
	if len(output) > 4*maxDetail {
		output = output[len(output)-4*maxDetail:]
	}
	output = strings.TrimSpace(redact.Clean(strings.ReplaceAll(output, "\r\n", "\n")))
	if len(output) > maxDetail {
		output = strings.ToValidUTF8(output[len(output)-maxDetail:], "")
		if _, rest, ok := strings.Cut(output, "\n"); ok {
			output = rest
		}
	}
	lines := strings.Split(output, "\n")
	return strings.Join(lines[max(0, len(lines)-maxDetailLines):], "\n")
}
