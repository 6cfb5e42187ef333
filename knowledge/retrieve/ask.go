package retrieve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/llm"
)

// question is one model call of a stage.
type question struct {
	Type   string    // call type in the log
	Stage  string    // "" for the analysis of the task
	LLM    llm.Stage // selects the model
	Prompt string
	Schema json.RawMessage
	Accept json.RawMessage // minimal schema of an answer; nil: Schema
}

// ask sends a question and parses the answer. It logs both, whatever the result (RETR-12).
func ask[T any](ctx context.Context, p *pass, q question) (T, error) {
	var none T
	model, err := p.Model(q.LLM)
	if err != nil {
		return none, err
	}
	q.Prompt = p.Redact(q.Prompt) // log what is sent; indexed lines may contain secrets
	began := p.Now()
	completer, accept := p.LLM, q.Schema
	if q.Accept != nil {
		accept = q.Accept
		completer = llm.CompleterFunc(func(ctx context.Context, r llm.Request) (llm.Response, error) {
			r.Schema = q.Schema
			return p.LLM.Complete(ctx, r)
		})
	}
	answer, res, err := llm.JSON[T](ctx, completer,
		llm.Request{Model: model, Stage: q.LLM, Prompt: q.Prompt, Schema: accept})
	call := store.Call{
		Task: p.req.Task, Type: q.Type, Stage: q.Stage, Role: string(model.Role), Model: model.Label(), Prompt: q.Prompt,
		Response:     p.Redact(res.Text + res.Partial),
		PromptTokens: res.PromptTokens, CompletionTokens: res.CompletionTokens, Latency: res.Latency, At: began,
	}
	if bad, ok := errors.AsType[*llm.AnswerError](err); ok {
		call.Response = p.Redact(bad.Raw)
	}
	if err != nil {
		call.Error = p.Redact(err.Error())
	}
	return answer, errors.Join(err, p.Log.AddCall(context.WithoutCancel(ctx), call)) // also for a cancelled call
}

// room is the space for a question to a model.
type room struct {
	budget tokens.Budget // Window 0: unknown
	answer int           // tokens of an answer; 0: unknown
}

func (p *pass) room(s llm.Stage) (room, error) {
	m, err := p.Model(s)
	return room{tokens.Budget{Window: m.Window, Margin: p.req.Budget.Margin}, m.MaxTokens}, err
}

// fits reports whether a prompt leaves space for the answer.
func (r room) fits(prompt string) bool {
	return r.budget.Window <= 0 || r.budget.Of(prompt)+r.answer <= r.budget.Window
}

// share shortens a text that is too long for a question, and keeps its beginning and end. Half of the window is
// reserved for the items of the question.
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
	return string(runes[:head]) + fmt.Sprintf("\n[%d characters omitted]\n", left) +
		string(runes[len(runes)-tail:]), left
}

// fill renders a question with as many of the first items as fit.
func (r room) fill(items, most int, render func(n int) (string, error)) (prompt string, n int, err error) {
	low, high := 0, min(most, items)
	for low < high { // binary search for the largest number that fits
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

// judging is a question of a stage about several items, the most important ones first.
type judging struct {
	stage  string
	what   string // the items, for notes
	ids    []string
	limit  int                  // of the items to ask about
	schema string               // of the answer for one item
	tokens int                  // of that answer
	slot   string               // of the prompt, for the items
	lines  func(n int) []string // describe the first n items
	more   map[string]string    // other values of the prompt
}

// judge asks about as many of the items as there is room for. It returns the answers by id, and for each item the reason
// why it was not asked about.
func judge[T any](ctx context.Context, p *pass, q TaskQuery, j judging) (answer map[string]T, skipped []string,
	err error) {
	skipped = make([]string, len(j.ids))
	r, err := p.room(llm.Stage(j.stage))
	if err != nil {
		return nil, nil, err
	}
	task, _ := r.share(q.Text)
	values := map[string]string{"task": strings.TrimSpace(fence.Foreign("", strings.TrimSpace(task))), "intent": q.Intent,
		"kind": string(q.Kind)}
	maps.Copy(values, j.more)
	most := j.limit
	if r.answer > 0 {
		most = max(1, min(most, r.answer/j.tokens))
	}
	text, n, err := r.fill(len(j.ids), most, func(n int) (string, error) {
		values[j.slot] = strings.TrimSpace(fence.Foreign("", strings.Join(j.lines(n), "\n")))
		return p.Prompts.Render(j.stage, values)
	})
	if err != nil {
		return nil, nil, err
	}
	for i := n; i < len(skipped); i++ {
		switch {
		case i >= j.limit:
			skipped[i] = fmt.Sprintf("at most %d %s are", j.limit, j.what)
		case i >= most:
			skipped[i] = fmt.Sprintf("one answer has room for %d %s", most, j.what)
		default:
			skipped[i] = "no room in the window of the model"
		}
	}
	if n < len(skipped) {
		p.note("%s: the model did not judge %d of %d %s: the window has no room for more", j.stage, len(skipped)-n,
			len(skipped), j.what)
	}
	if n == 0 {
		return nil, skipped, nil
	}
	answer, err = ask[map[string]T](ctx, p, question{
		Type: j.stage + "_judgment", Stage: j.stage, LLM: llm.Stage(j.stage), Prompt: text,
		Schema: judged(j.ids[:n], j.schema), Accept: anyObject(),
	})
	for _, id := range slices.Sorted(maps.Keys(answer)) {
		if !slices.Contains(j.ids[:n], id) {
			p.note("%s: the model judged %q, which was not a candidate; that is ignored", j.stage, phrase.Cut(fence.Line(id), 60))
		}
	}
	return answer, skipped, err
}

// judged returns the schema of an object with exactly one property for each id. A server that enforces it cannot
// invent or omit an id.
func judged(ids []string, each string) json.RawMessage {
	properties := lists.Map(ids, func(id string) string { return fmt.Sprintf("%q:%s", id, each) })
	return json.RawMessage(
		fmt.Sprintf(`{"type":"object","properties":{%s},"required":["%s"],"additionalProperties":false}`,
			strings.Join(properties, ","), strings.Join(ids, `","`)))
}

// anyObject returns the minimal schema for answers about ids. Providers without schema support omit and invent ids,
// which the stages handle one by one.
func anyObject() json.RawMessage { return json.RawMessage(`{"type":"object"}`) }
