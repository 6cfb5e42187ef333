package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
)

// Call types in the log of calls for calls outside of retrieval.
const (
	IntentCall    = "inbox_intent"     // classify the intent of an inbox text
	ReviewCall    = "review"           // one pass of a review
	BlueprintCall = "blueprint_review" // compare code with a blueprint
)

// CallRow builds the log row of a call: the question, its answer and why the answer could not be used (RETR-12). hide
// removes secrets.
func CallRow(task, kind string, r llm.Request, res llm.Response, at time.Time, hide func(string) string,
	why error) store.Call {
	c := store.Call{
		Task: task, Type: kind, Stage: string(r.Stage), Role: string(r.Model.Role), Model: r.Model.Label(),
		System: hide(r.System), Prompt: hide(r.Prompt),
		Response: hide(res.Text + res.Partial), PromptTokens: res.PromptTokens, CompletionTokens: res.CompletionTokens,
		Latency: res.Latency, At: at,
	}
	if why != nil {
		c.Error = hide(why.Error())
	}
	return c
}

// Logged wraps c so that each call is logged. If the log cannot be written, it warns and the review continues.
func (a *App) Logged(p *Project, c llm.Completer, task, kind string) llm.Completer {
	return LogCalls(c, task, kind, a.Redactor(p), p.addCall, func(model, why string) {
		fmt.Fprintf(a.Stderr, "note: a call of %s was not logged: %s\n", model, why)
	})
}

// LogCalls wraps c so that add gets a row for each call, without secrets. If add fails, missing gets the model and the
// reason.
func LogCalls(c llm.Completer, task, kind string, secrets *redact.Redactor, add func(context.Context, store.Call) error,
	missing func(model, why string)) llm.Completer {
	hide := func(text string) string { return redact.Clean(secrets.String(text)) }
	return llm.CompleterFunc(func(ctx context.Context, r llm.Request) (llm.Response, error) {
		at := time.Now()
		res, err := c.Complete(ctx, r)
		if kept := add(context.WithoutCancel(ctx), CallRow(task, kind, r, res, at, hide, err)); kept != nil {
			missing(ui.Sanitize(r.Model.Label()), ui.Sanitize(kept.Error()))
		}
		return res, err
	})
}

func (p *Project) addCall(ctx context.Context, c store.Call) error {
	if err := p.Layout.Make(); err != nil {
		return err
	}
	j, err := store.OpenJournal(ctx, p.Layout.Journal())
	if err != nil {
		return err
	}
	defer j.Close()
	return j.AddCall(ctx, c)
}
