package owner

import (
	"context"
	"time"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/llm"
)

// lastCall stores the last question to a model and its answer.
type lastCall struct {
	llm.Completer
	request  llm.Request
	response llm.Response
	at       time.Time
}

// Complete asks the model and stores the call.
func (l *lastCall) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	l.at, l.request = time.Now(), r
	var err error
	l.response, err = l.Completer.Complete(ctx, r)
	return l.response, err
}

// keep logs the call and why its answer could not be used (RETR-12). hide removes secrets.
func (l *lastCall) keep(ctx context.Context, j *store.Journal, task string, hide func(string) string, why error) error {
	if l.at.IsZero() {
		return nil // no model was asked
	}
	c := cli.CallRow(task, cli.IntentCall, l.request, l.response, l.at, hide, why)
	l.at = time.Time{}
	return j.AddCall(context.WithoutCancel(ctx), c)
}
