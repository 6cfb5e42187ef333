// Package llm asks language models: one prompt in, one answer out, whoever serves the model.
//
// A [Completer] is the only seam: the Ollama client and a command as a model stand behind it, and tests put an answer of
// their own there (MODEL-12). A [Router] says which model answers for a stage (MODEL-03). What a model says is data: it
// is never a path, a command or a prompt until somebody has checked it.
package llm

import (
	"context"
	"encoding/json"
	"time"
)

// Completer answers a prompt. An answer that ended early is an error, never a short answer.
type Completer interface {
	Complete(ctx context.Context, r Request) (Response, error)
}

// CompleterFunc is a [Completer] that is one function.
type CompleterFunc func(ctx context.Context, r Request) (Response, error)

// Complete calls f.
func (f CompleterFunc) Complete(ctx context.Context, r Request) (Response, error) { return f(ctx, r) }

// Request is one call.
type Request struct {
	Model  Model
	Stage  Stage  // what it is for: for the log, and for tests that answer by stage
	System string // "" for none
	Prompt string
	Schema json.RawMessage // JSON schema that the answer has to meet; nil for free text
}

// Response is an answer that is complete. Beside an error it has no text, and tells what the call took all the same.
type Response struct {
	Text             string
	Partial          string // beside an error: what had come of the answer; for the log, and for nothing else (RETR-12)
	Model            string // as the server names it
	PromptTokens     *int   // nil: unknown, which is not zero (MODEL-15)
	CompletionTokens *int
	Latency          time.Duration
}

// Role is what a model is good for (MODEL-05).
type Role string

// The two roles.
const (
	Coding    Role = "coding"
	Reasoning Role = "reasoning"
)

// Stage is what a model is asked for. The names are those of [models.overrides].
type Stage string

// The stages (MODEL-06).
const (
	TaskAnalysis Stage = "task_analysis"
	Scope        Stage = "scope"
	Precision    Stage = "precision"
	ExecutePlan  Stage = "execute_plan"
	ExecuteCode  Stage = "execute_code"
	Enrichment   Stage = "enrichment"
	TrainPlan    Stage = "train_plan"
	CurateData   Stage = "curate_data"
	Review       Stage = "review"
	Critique     Stage = "critique"
)

// Model is what answers for a stage, as the router resolved it (MODEL-03).
type Model struct {
	Role        Role
	Name        string   // tag of the model
	Provider    string   // "ollama" or "command"
	BaseURL     string   // of the server, for ollama
	Command     []string // program and arguments, for command
	Temperature float64
	MaxTokens   int    // most tokens of an answer; 0: the provider's own limit
	Window      int    // tokens that prompt and answer may have together; 0: unknown
	Source      string // what chose it, for people: "models.coding", "models.overrides.scope", "adapter tuned:v1"
}
