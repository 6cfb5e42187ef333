package llm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/tokens"
)

// The providers.
const (
	Ollama  = "ollama"
	Command = "command"
)

// mostAnswer bounds an answer: a model or a program that never stops must not fill the memory.
const mostAnswer = 16 << 20

// Options say how models are asked.
type Options struct {
	Environ []string            // of this program; a command gets what agents get of it
	PassEnv []string            // variables that a command may see besides
	Root    string              // folder of the project: a command that is a relative path lies there, and {root} names it
	Timeout time.Duration       // of one try; 0 is none
	Retries int                 // tries more, where another one may help
	Margin  float64             // estimates of tokens are raised by this share (BUD-04)
	Redact  func(string) string // for what others say in errors; nil leaves it
	Reaper  *proc.Reaper        // ends a command should this program be killed; may be nil
}

// OptionsOf takes from the settings what they say. Environ, Root, Redact and Reaper are the caller's to add.
func OptionsOf(m config.Models) Options {
	return Options{PassEnv: m.PassEnv, Timeout: time.Duration(m.Timeout), Retries: m.Retries, Margin: m.Margin}
}

// New returns what asks any model, by its provider. It is safe for concurrent use and remembers what it has learned of
// a server's models, so one is made for each run of the program.
func New(o Options) Completer {
	return &asker{o: o, ollama: newOllamaClient(o)}
}

type asker struct {
	o      Options
	ollama *ollamaClient
}

// Complete asks. What does not fit is refused before the call (BUD-05).
func (a *asker) Complete(ctx context.Context, r Request) (Response, error) {
	if r.Prompt == "" {
		return Response{}, errors.New("ask a model: there is no prompt")
	}
	if err := Check(r, tokens.Budget{Margin: a.o.Margin}); err != nil {
		return Response{}, err
	}
	began := time.Now()
	var res Response
	var err error
	switch r.Model.Provider {
	case Ollama:
		res, err = a.retried(ctx, r)
	case Command:
		// A program has tries of its own, and each may cost money.
		res, err = a.command(ctx, r)
	default:
		return res, a.unknown(r.Model)
	}
	if err != nil {
		res.Latency = time.Since(began) // all tries of it: a call that failed took its time, too
	}
	return res, err
}

func (a *asker) unknown(m Model) error {
	return fmt.Errorf("ask model %s: there is no provider %q; providers are %s and %s", m.Name, m.Provider, Ollama, Command)
}

// retried asks again where that may help (MODEL-01), a bounded number of times.
func (a *asker) retried(ctx context.Context, r Request) (Response, error) {
	for try := 0; ; try++ {
		res, err := a.ollama.ask(ctx, r)
		if err == nil || ctx.Err() != nil || try >= a.o.Retries || !mayPass(err) {
			return res, err
		}
		select {
		case <-time.After(pause(try)):
		case <-ctx.Done():
			return Response{}, stopped(ctx, r.Model)
		}
	}
}

// pause is the time before another try: 0.1 s, 0.4 s, 1.6 s and so on, ten seconds at most.
func pause(try int) time.Duration {
	return min(100*time.Millisecond<<(2*min(try, 5)), 10*time.Second)
}

// mayPass tells trouble that another try may not meet from what will be the same again.
func mayPass(err error) bool {
	var down *DownError
	var late *TimeoutError
	var long *LengthError
	var said *ServerError
	switch {
	case errors.As(err, &long):
		return false
	case errors.As(err, &said):
		return said.Passing
	}
	return errors.As(err, &down) || errors.As(err, &late) || errors.Is(err, ErrCutOff)
}

// stopped is the error of a call whose caller has given up.
func stopped(ctx context.Context, m Model) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		return fmt.Errorf("ask model %s: %w (%w)", m.Label(), err, cause)
	}
	return fmt.Errorf("ask model %s: %w", m.Label(), err)
}

// Label is how messages and the log name a model. That of a command may have no name, and is called after its program.
func (m Model) Label() string {
	switch {
	case m.Name != "":
		return m.Name
	case len(m.Command) > 0:
		return filepath.Base(m.Command[0])
	}
	return "without a name"
}
