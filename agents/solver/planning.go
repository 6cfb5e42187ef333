package solver

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/planparse/draft"
)

// Planner has a model make a plan of a task (SOLVE-01).
type Planner struct {
	LLM      llm.Completer
	Model    llm.Model // of the stage execute_plan
	Budget   tokens.Budget
	Stages   []string
	Prompts  prompt.Set
	Retrieve Retrieval
	Log      Log
	Repo     string // path of the repository, for the log
	Redact   func(string) string
	Say      func(string) // progress, line by line
	Now      func() time.Time
}

// Planned is a plan made by a model.
type Planned struct {
	Artifact draft.Plan
	Markdown string
	Model    string
	Context  retrieve.Package
	Calls    int
	Tokens   *int64 // of all calls; nil if a call did not report them
	Took     time.Duration
}

// Plan makes a plan of the task text for the tree at dir. id is the id of the task in the log and of the session. An
// answer that is not a plan is an [llm.AnswerError] or [draft.ErrUnusable]; other errors are returned unchanged.
func (p Planner) Plan(ctx context.Context, s Session, id, text, dir string) (Planned, error) {
	b := p.Budget
	if p.Model.Window > 0 {
		b.Window = p.Model.Window
	}
	if err := b.Validate(); err != nil {
		return Planned{}, err
	}
	err := p.Log.StartTask(ctx, store.Task{
		ID: id, Repo: p.Repo, Mode: store.ModePlan, Model: p.Model.Label(), Window: b.Window, Reserved: b.Reserved,
		Stages: p.Stages, At: p.Now(),
	})
	if err != nil {
		return Planned{}, err
	}
	m := &meter{Completer: p.LLM}
	made, err := p.plan(ctx, m, s, id, text, dir, b)
	made.Model, made.Calls, made.Took = p.Model.Label(), m.calls, m.took
	if sum := m.in + m.out; !m.unknown {
		made.Tokens = &sum
	}
	end := store.TaskEnd{Success: err == nil, Plan: made.Markdown}
	return made, errors.Join(err, p.Log.FinishTask(context.WithoutCancel(ctx), id, end))
}

func (p Planner) plan(ctx context.Context, m *meter, s Session, id, text, dir string, b tokens.Budget) (Planned,
	error) {
	var made Planned
	var err error
	made.Context, err = p.Retrieve(ctx, m, s,
		retrieve.Request{Task: id, Text: text, Dir: dir, Stages: p.Stages, Budget: b})
	if err != nil {
		return made, err
	}
	q := question{prompt: executePlan, context: made.Context, brief: agents.Brief{Task: fence.Clean(text)}}
	r, left, err := q.fit(p.Prompts,
		llm.Request{Model: p.Model, Stage: llm.ExecutePlan, Schema: json.RawMessage(artifactSchema)}, b)
	if err != nil {
		return made, err
	}
	for _, what := range left {
		p.Say("omitted, no room: " + what)
	}
	p.Say("ask " + p.Model.Label() + " for the plan")
	call := store.Call{
		Task: id, Type: string(llm.ExecutePlan), Stage: string(llm.ExecutePlan), Role: string(p.Model.Role),
		Model:  p.Model.Label(),
		System: p.hide(r.System), Prompt: p.hide(r.Prompt), At: p.Now(),
	}
	a, resp, err := llm.JSON[draft.Plan](ctx, m, r)
	call.Response, call.PromptTokens, call.CompletionTokens, call.Latency = p.hide(resp.Text+resp.Partial),
		resp.PromptTokens, resp.CompletionTokens, resp.Latency
	if err == nil {
		made.Artifact, made.Markdown, err = p.written(a)
	}
	if err != nil {
		call.Error = p.hide(err.Error())
	}
	if lerr := p.Log.AddCall(context.WithoutCancel(ctx), call); lerr != nil || err != nil {
		return made, errors.Join(err, lerr)
	}
	return made, s.Set(ctx, store.KeyPlanArtifact, made.Artifact)
}

// written makes a plan file of the model's answer, without secrets.
func (p Planner) written(a draft.Plan) (draft.Plan, string, error) {
	a, err := a.Normal()
	if err != nil {
		return a, "", err
	}
	body, err := json.Marshal(a)
	if err != nil {
		return a, "", err
	}
	var shown draft.Plan
	if err := json.Unmarshal([]byte(p.hide(string(body))), &shown); err != nil {
		return a, "", err
	}
	if shown, err = shown.Normal(); err != nil {
		return a, "", err
	}
	text, err := shown.Markdown()
	return shown, text, err
}

func (p Planner) hide(text string) string {
	if p.Redact != nil {
		text = p.Redact(text)
	}
	return redact.Clean(text)
}

// artifactSchema holds the model to the shape of a [draft.Plan].
//
//go:embed artifact_schema.json
var artifactSchema string
