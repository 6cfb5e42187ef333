package llm

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// mostAnswer is the highest size of an answer in bytes. It limits memory use if a model or program never stops.
const mostAnswer = 16 << 20

// Options configures how models are asked.
type Options struct {
	Environ []string            // environment of this program; a command gets the part that agents get
	PassEnv []string            // additional variables for commands
	Root    string              // project folder: base of relative commands, and value of {root}
	Timeout time.Duration       // for one attempt; 0: none
	Retries int                 // number of retries of transient errors
	Margin  float64             // estimates of tokens are raised by this share (BUD-04)
	Redact  func(string) string // redacts foreign text in errors; nil: unchanged
	Reaper  *proc.Reaper        // ends a command if this program is killed; may be nil
}

// OptionsOf takes the options from the settings. The caller sets Environ, Root, Redact and Reaper.
func OptionsOf(m config.Models) Options {
	return Options{PassEnv: m.PassEnv, Timeout: time.Duration(m.Timeout), Retries: m.Retries, Margin: m.Margin}
}

// New returns a client for models of any provider. It is safe for concurrent use. It caches facts about a server's
// models, so make one per process.
func New(o Options) Completer {
	return &asker{o: o, ollama: newOllamaClient(o)}
}

type asker struct {
	o      Options
	ollama *ollamaClient
}

// Complete asks the model. It rejects a call that does not fit into the window (BUD-05).
func (a *asker) Complete(ctx context.Context, r Request) (Response, error) {
	if r.Prompt == "" {
		return Response{}, errors.New("ask a model: the prompt is empty")
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
		// A program makes its own retries, and each attempt may cost money.
		res, err = a.command(ctx, r)
	default:
		return res, a.unknown(r.Model)
	}
	if err != nil {
		res.Latency = time.Since(began) // of all attempts, also of a failed call
	}
	return res, err
}

func (a *asker) unknown(m Model) error {
	return fmt.Errorf("ask model %s: unknown provider %q; providers are %s and %s", m.Name, m.Provider, Ollama, Command)
}

// retried retries transient errors a limited number of times (MODEL-01).
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

// pause returns the delay before a retry: 0.1 s, 0.4 s, 1.6 s and so on, at most ten seconds.
func pause(try int) time.Duration {
	return min(100*time.Millisecond<<(2*min(try, 5)), 10*time.Second)
}

// mayPass reports whether an error is transient.
func mayPass(err error) bool {
	if errors.As(err, new(*LengthError)) {
		return false
	}
	if said, ok := errors.AsType[*ServerError](err); ok {
		return said.Passing
	}
	return errors.As(err, new(*DownError)) || errors.As(err, new(*TimeoutError)) || errors.Is(err, ErrCutOff)
}

// stopped returns the error of a cancelled call.
func stopped(ctx context.Context, m Model) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		return fmt.Errorf("ask model %s: %w (%w)", m.Label(), err, cause)
	}
	return fmt.Errorf("ask model %s: %w", m.Label(), err)
}

// Label returns the name of a model in messages and the log. A command without a model name is called after its
// program.
func (m Model) Label() string {
	switch {
	case m.Name != "":
		return m.Name
	case len(m.Command) > 0:
		return filepath.Base(m.Command[0])
	}
	return "without a name"
}

// Check rejects a call that does not fit into the window (BUD-05). It adds the estimate for system text and prompt,
// raised by the margin of b, and the limit of the answer. The window is the smaller of b's and the model's; if both
// are unknown, Check accepts. The caller decides what to leave out (BUD-06).
func Check(r Request, b tokens.Budget) error {
	window := r.Model.Window
	if b.Window > 0 && (window == 0 || b.Window < window) {
		window = b.Window
	}
	if window <= 0 {
		return nil
	}
	prompt := Size(r, b.Margin)
	if prompt+r.Model.MaxTokens <= window {
		return nil
	}
	return &WindowError{Model: r.Model.Label(), Role: r.Model.Role, Prompt: prompt, Answer: r.Model.MaxTokens,
		Window: window}
}

// Size estimates the tokens of a question, with a margin (BUD-04).
func Size(r Request, margin float64) int {
	return int(math.Ceil(float64(tokens.Estimate(r.System)+tokens.Estimate(r.Prompt)) * (1 + margin)))
}
