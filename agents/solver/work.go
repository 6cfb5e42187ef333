package solver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/llm"
)

// work is one attempt.
type work struct {
	*Agent
	task    agents.Task
	id      string
	model   llm.Model
	budget  tokens.Budget
	session Session
	meter   *meter
	obs     agents.Observer
	log     io.WriteCloser
	answer  string // the last answer, redacted
	changed []string
}

// begin opens the session and the log of an attempt.
func (a *Agent) begin(ctx context.Context, t agents.Task, obs agents.Observer, model llm.Model) (*work, error) {
	w := &work{Agent: a, task: t, id: TaskID(t.Run, t.Batch.Key), model: model, budget: a.cfg.Budget, obs: obs,
		meter: &meter{Completer: a.cfg.LLM}}
	if model.Window > 0 {
		w.budget.Window = model.Window
	}
	if err := w.budget.Validate(); err != nil {
		return nil, &agents.UnusableError{Kind: agents.KindSettings,
			Err: fmt.Errorf("the budget of model %s: %w", model.Label(), err)}
	}
	err := a.cfg.Log.StartTask(ctx, store.Task{
		ID: w.id, Repo: a.cfg.Repo, Mode: store.ModeImplement, Model: model.Label(), Window: w.budget.Window,
		Reserved: w.budget.Reserved, Stages: a.cfg.Stages, Plan: a.cfg.Plan, At: a.cfg.Now(),
	})
	if err != nil {
		return nil, err
	}
	if t.LogPath != "" {
		if w.log, err = atomicfile.Append(t.LogPath, 0o600); err != nil {
			return nil, err
		}
	}
	if w.session, err = a.cfg.Sessions(ctx, w.id); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *work) close() {
	if w.session != nil {
		_ = w.session.Close() // Set has already written the data
	}
	if w.log != nil {
		_ = w.log.Close()
	}
}

// attempt asks the model until it answers with something other than a request, and applies that answer.
func (w *work) attempt(ctx context.Context) error {
	before, err := past(ctx, w.session, w.task.Attempt)
	if err != nil {
		return err
	}
	q := question{prompt: executeCode, task: w.cfg.Task, brief: w.task.Brief, history: before}
	if q.context, err = w.context(ctx); err != nil {
		return err
	}
	for loop := 0; ; loop++ {
		answer, err := w.ask(ctx, q, loop)
		if err != nil || answer.Needs == nil {
			return err
		}
		if q.context, err = w.more(ctx, *answer.Needs, before, q.context); err != nil {
			return err
		}
		q.granted = granted(*answer.Needs, q.context)
	}
}

// ask puts one question, and applies the edits of the answer. It logs the answer with its result, because an answer
// that could not be applied is not a training example.
func (w *work) ask(ctx context.Context, q question, loop int) (Answer, error) {
	r, left, err := q.fit(w.cfg.Prompts, llm.Request{Model: w.model, Stage: llm.ExecuteCode}, w.budget)
	if err != nil {
		return Answer{}, err
	}
	for _, what := range left {
		w.say("omitted, no room: " + what)
	}
	w.say("ask " + w.model.Label())
	at := w.cfg.Now()
	resp, err := w.meter.Complete(ctx, r)
	call := store.Call{
		Task: w.id, Type: string(llm.ExecuteCode), Stage: string(llm.ExecuteCode), Attempt: w.task.Attempt,
		Role: string(w.model.Role), Model: w.model.Label(), System: w.task.Clean(r.System), Prompt: w.task.Clean(r.Prompt),
		PromptTokens: resp.PromptTokens, CompletionTokens: resp.CompletionTokens, Latency: resp.Latency, At: at,
	}
	if resp.Partial != "" {
		call.Response = w.task.Clean(resp.Partial)
	}
	var answer Answer
	if err == nil {
		w.answer = w.task.Clean(resp.Text)
		call.Response = w.answer
		w.write(resp.Text)
		answer, err = w.use(resp.Text, loop)
	}
	if err != nil {
		call.Error = w.task.Clean(err.Error())
	}
	return answer, errors.Join(err, w.cfg.Log.AddCall(context.WithoutCancel(ctx), call)) // also for a stopped call
}

// use parses an answer and applies its edits. It only validates a request for more context.
func (w *work) use(text string, loop int) (Answer, error) {
	answer, err := ParseAnswer(text)
	switch {
	case err != nil:
		return answer, err
	case answer.Needs == nil:
		return answer, w.carryOut(answer.Edits)
	case loop >= w.cfg.Loops:
		return answer, &Fault{Class: InsufficientContext,
			Err: fmt.Errorf("it asks for more context (%s) after %s, and solve.max_refinement_loops allows no more",
				contextText(*answer.Needs), phrase.Count(loop, "refinement"))}
	}
	if err := answer.Needs.Check(); err != nil {
		return answer, &Fault{Class: InsufficientContext, Err: err}
	}
	return answer, nil
}

// carryOut applies the edits, all or none.
func (w *work) carryOut(edits []edit.Edit) error {
	paths, err := edit.Files(w.task.Dir, edits)
	if err != nil {
		if f, ok := classify(err); ok {
			return f
		}
		return err
	}
	w.changed = paths
	for _, p := range paths {
		w.say("edit " + p)
	}
	return nil
}

const maxSay = 300

func (w *work) say(text string) {
	text = phrase.CutBytes(phrase.Line(w.task.Clean(text)), maxSay)
	if w.obs != nil {
		w.obs.Line(text)
	}
	w.write(text)
}

// write writes text to the log of the attempt. An unwritable log loses no data: all calls are in the journal.
func (w *work) write(text string) {
	if w.log != nil {
		_, _ = io.WriteString(w.log, strings.TrimRight(w.task.Clean(text), "\n")+"\n")
	}
}
