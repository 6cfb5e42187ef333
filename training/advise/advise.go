// Package advise has a reasoning model take part in decisions about training: what to train next (TRAIN-06), and which
// examples to use (TRAIN-07). Fixed rules decide first. The model may change their plan within limits, and may reject
// examples that they chose. An unusable answer changes nothing, and the result says so.
package advise

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/plan"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// LoadPrompts returns the prompts train_plan and curate_data. Files of these names in later layers replace them.
func LoadPrompts(layers ...prompt.Layer) (prompt.Set, error) {
	return prompt.LoadEmbedded("training/advise", promptFiles, layers...)
}

// Adviser asks the model of a stage.
type Adviser struct {
	LLM     llm.Completer
	Model   llm.Model
	Prompts prompt.Set
	Budget  tokens.Budget       // of a question
	Redact  func(string) string // removes secrets from a question
}

// planAnswer is a model's answer about a plan.
type planAnswer struct {
	Stage training.Stage `json:"stage"`
	Data  struct {
		MinQuality    float64 `json:"min_quality"`
		NegativeRatio float64 `json:"negative_ratio"`
		MaxExamples   int     `json:"max_examples"`
	} `json:"data"`
	Hyperparameters struct {
		Rank         int     `json:"rank"`
		Alpha        int     `json:"alpha"`
		LearningRate float64 `json:"learning_rate"`
		MaxSteps     int     `json:"max_steps"`
	} `json:"hyperparameters"`
	Targets map[string]float64 `json:"targets"`
	Reasons plan.Reasons       `json:"reasons"`
}

// Plan asks which plan to make of an analysis. draft is the plan of the fixed rules, stages are the ones to choose
// from. If the answer cannot be used, the result is draft, and its decision says why.
func (a Adviser) Plan(ctx context.Context, found plan.Analysis, draft plan.Plan, stages []training.Stage) (plan.Plan,
	error) {
	drafts := map[training.Stage]any{}
	for _, s := range stages {
		d := found.Draft(s, draft.Seed)
		drafts[s] = map[string]any{"data": d.Data, "hyperparameters": d.Hyperparameters, "metrics": d.Improvements}
	}
	figures, err := json.Marshal(found)
	if err != nil {
		return draft, err
	}
	own, err := json.Marshal(drafts)
	if err != nil {
		return draft, err
	}
	text, err := a.Prompts.Render("train_plan", map[string]string{"stages": phrase.List(stages),
		"analysis": fence.Foreign("json", string(figures)), "drafts": fence.Foreign("json", string(own))})
	if err != nil {
		return draft, err
	}
	got, _, err := llm.JSON[planAnswer](ctx, a.LLM,
		llm.Request{Model: a.Model, Stage: llm.TrainPlan, Prompt: a.Redact(text), Schema: planSchema(stages)})
	advised := draft
	if err == nil {
		advised, err = got.apply(found.Draft(got.Stage, draft.Seed), a.Model.Label(), a.line)
	}
	if bad, ok := errors.AsType[*llm.AnswerError](err); ok {
		draft.Decision = &plan.Decision{Model: a.Model.Label(), Unusable: a.line(bad.Err.Error())}
		return draft, nil
	}
	return advised, err
}

// apply changes a draft as the answer says. A value that a plan may not have is an [llm.AnswerError].
func (w planAnswer) apply(p plan.Plan, model string, line func(string) string) (plan.Plan, error) {
	p.Data.MinQuality, p.Data.NegativeRatio, p.Data.MaxExamples = w.Data.MinQuality, w.Data.NegativeRatio,
		w.Data.MaxExamples
	h := &p.Hyperparameters
	h.Rank, h.Alpha, h.LearningRate, h.MaxSteps = w.Hyperparameters.Rank, w.Hyperparameters.Alpha,
		w.Hyperparameters.LearningRate, w.Hyperparameters.MaxSteps
	h.EvaluateEverySteps = max(1, min(h.EvaluateEverySteps, h.MaxSteps/5))
	err := p.Check()
	for metric, target := range w.Targets {
		i := slices.IndexFunc(p.Improvements, func(m plan.Improvement) bool { return m.Metric == metric })
		switch {
		case i < 0:
			err = errors.Join(err, fmt.Errorf("stage %s has no metric %q", p.Stage, line(metric)))
		case target <= *p.Improvements[i].Now && target < 1:
			err = errors.Join(err, fmt.Errorf("the target %v of %s is not above its present value", target, metric))
		default:
			p.Improvements[i].Target = target
		}
	}
	if err != nil {
		return p, &llm.AnswerError{Model: model, Err: err}
	}
	r := w.Reasons
	p.Decision = &plan.Decision{Model: model, Reasons: plan.Reasons{Stage: line(r.Stage), Data: line(r.Data),
		Hyperparameters: line(r.Hyperparameters), Targets: line(r.Targets)}}
	return p, nil
}

// mostReason is the highest number of characters of a stored reason.
const mostReason = 300

// line makes a model's text safe to store and show.
func (a Adviser) line(text string) string { return phrase.Cut(fence.Line(a.Redact(text)), mostReason) }

//go:embed plan_schema.json
var planSchemaText string

// planSchema returns the JSON schema of a [planAnswer], with the range of each value.
func planSchema(stages []training.Stage) json.RawMessage {
	names, _ := json.Marshal(stages) // strings always encode
	compact, _ := json.Marshal(json.RawMessage(strings.Replace(planSchemaText, `"STAGES"`, string(names), 1)))
	return compact
}
