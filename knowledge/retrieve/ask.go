package retrieve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/llm"
)

// question is one call of a stage.
type question struct {
	Type   string    // in the log
	Stage  string    // "" for the analysis of the task
	LLM    llm.Stage // says which model is asked
	Prompt string
	Schema json.RawMessage
	Accept json.RawMessage // what an answer has to meet at least; nil: Schema
}

// ask puts a question and reads the answer. Both are in the log, whatever became of them (RETR-12).
func ask[T any](ctx context.Context, p *pass, q question) (T, error) {
	var none T
	model, err := p.Model(q.LLM)
	if err != nil {
		return none, err
	}
	q.Prompt = p.Redact(q.Prompt) // what is sent is what is logged: the index has lines of files, and files have secrets
	began := p.Now()
	completer, accept := p.LLM, q.Schema
	if q.Accept != nil {
		accept = q.Accept
		completer = llm.CompleterFunc(func(ctx context.Context, r llm.Request) (llm.Response, error) {
			r.Schema = q.Schema
			return p.LLM.Complete(ctx, r)
		})
	}
	answer, res, err := llm.JSON[T](ctx, completer, llm.Request{Model: model, Stage: q.LLM, Prompt: q.Prompt, Schema: accept})
	call := store.Call{
		Task: p.req.Task, Type: q.Type, Stage: q.Stage, Role: string(model.Role), Model: model.Label(), Prompt: q.Prompt, Response: p.Redact(res.Text + res.Partial),
		PromptTokens: res.PromptTokens, CompletionTokens: res.CompletionTokens, Latency: res.Latency, At: began,
	}
	var bad *llm.AnswerError
	if errors.As(err, &bad) {
		call.Response = p.Redact(bad.Raw)
	}
	if err != nil {
		call.Error = p.Redact(err.Error())
	}
	return answer, errors.Join(err, p.Log.AddCall(context.WithoutCancel(ctx), call)) // also one that was stopped
}

// room is what a question to a model may hold.
type room struct {
	budget tokens.Budget // Window 0: unknown
	answer int           // tokens of an answer; 0: unknown
}

func (p *pass) room(s llm.Stage) (room, error) {
	m, err := p.Model(s)
	return room{tokens.Budget{Window: m.Window, Margin: p.req.Budget.Margin}, m.MaxTokens}, err
}

// fits tells whether a prompt leaves space for the answer.
func (r room) fits(prompt string) bool {
	return r.budget.Window <= 0 || r.budget.Of(prompt)+r.answer <= r.budget.Window
}

// items is how many things one answer can judge, at so many tokens each.
func (r room) items(each, most int) int {
	if r.answer <= 0 {
		return most
	}
	return max(1, min(most, r.answer/each))
}

// share cuts a text that is too long for a question: its beginning and its end stay. Half of the window is for what
// the question is about.
func (r room) share(text string) (cut string, left int) {
	if r.budget.Window <= 0 {
		return text, 0
	}
	most := max(400, int(float64(r.budget.Window-r.answer)/2/(1+r.budget.Margin))*tokens.PerToken)
	runes := []rune(text)
	if len(runes) <= most {
		return text, 0
	}
	head, tail := most*2/3, most/3
	left = len(runes) - head - tail
	return string(runes[:head]) + fmt.Sprintf("\n[%d characters are left out here]\n", left) + string(runes[len(runes)-tail:]), left
}

// fill renders a question with as many of its items as fit, the first ones.
func (r room) fill(items, most int, render func(n int) (string, error)) (prompt string, n int, err error) {
	low, high := 0, min(most, items)
	for low < high { // the largest number that fits
		mid := (low + high + 1) / 2
		if prompt, err = render(mid); err != nil {
			return "", 0, err
		}
		if r.fits(prompt) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	if low == 0 {
		return "", 0, nil
	}
	prompt, err = render(low)
	return prompt, low, err
}

// judged is the schema of an object with a property for each id, and nothing else. A server that holds its model to it
// gets no id that was not offered, and none is passed over.
func judged(ids []string, each string) json.RawMessage {
	properties := make([]string, len(ids))
	for i, id := range ids {
		properties[i] = fmt.Sprintf("%q:%s", id, each)
	}
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%s},"required":["%s"],"additionalProperties":false}`,
		strings.Join(properties, ","), strings.Join(ids, `","`)))
}

// anyObject is what an answer about ids has to be at least. Other providers pass ids over and invent some; the stages
// deal with that one by one.
func anyObject() json.RawMessage { return json.RawMessage(`{"type":"object"}`) }
