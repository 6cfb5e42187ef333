// Package llm asks language models: one prompt in, one answer out, for any provider.
//
// [Completer] is its only interface. The Ollama client and commands implement it, and tests supply their own
// (MODEL-12). A [Router] selects the model for a stage (MODEL-03). An answer is untrusted data: it is never used as a
// path, command or prompt without a check.
package llm

import (
	"context"
	"encoding/json"
	"time"

	"github.com/runplan/runplan/internal/config"
)

// Completer answers a prompt. A truncated answer is an error.
type Completer interface {
	Complete(ctx context.Context, r Request) (Response, error)
}

// CompleterFunc implements [Completer] with a function.
type CompleterFunc func(ctx context.Context, r Request) (Response, error)

// Complete calls f.
func (f CompleterFunc) Complete(ctx context.Context, r Request) (Response, error) { return f(ctx, r) }

// Request is one call.
type Request struct {
	Model  Model
	Stage  Stage  // purpose: for the log, and for tests that answer by stage
	System string // "" for none
	Prompt string
	Schema json.RawMessage // JSON schema of the answer; nil: free text
}

// Response is a complete answer. With an error, its text is empty, but the token counts are set.
type Response struct {
	Text             string
	Partial          string // with an error: beginning of the answer, only for the log (RETR-12)
	Model            string // name that the server reports
	PromptTokens     *int   // nil: unknown, which is not zero (MODEL-15)
	CompletionTokens *int
	Latency          time.Duration
}

// Role is the purpose of a model (MODEL-05).
type Role string

// The two roles.
const (
	Coding    Role = "coding"
	Reasoning Role = "reasoning"
)

// Stage is the purpose of a call. [models.overrides] uses the same names.
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

// Model is the model for a stage, as the router resolved it (MODEL-03).
type Model struct {
	Role        Role
	Name        string   // tag of the model
	Provider    string   // "ollama" or "command"
	BaseURL     string   // address of the server, for ollama
	Command     []string // program and arguments, for command
	Temperature float64
	MaxTokens   int    // token limit of an answer; 0: the provider's limit
	Window      int    // tokens for prompt and answer together; 0: unknown
	Source      string // origin, for people: "models.coding", "models.overrides.scope", "adapter tuned:v1"
}

// Local reports whether this machine serves the model.
func (m Model) Local() bool { return m.Provider == Ollama && config.LoopbackURL(m.BaseURL) }
