package llm

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

// ErrNoModels reports that [models] configures no models (MODEL-04).
var ErrNoModels = errors.New(`no models are configured; write a [models] section into .runplan/config.toml, or have it written: runplan init --coding-model NAME --reasoning-model NAME --ollama http://localhost:11434`)

// ErrCutOff reports a truncated answer. [Response.Partial] has its beginning, only for the log.
var ErrCutOff = errors.New("the answer was cut off before its end")

// MissingModelError reports a role for which [models] names no model.
type MissingModelError struct{ Role Role }

func (e *MissingModelError) Error() string {
	return fmt.Sprintf("models.%s is not set; name the model that has this role in .runplan/config.toml", e.Role)
}

// MissingSettingError reports a missing setting that is needed to ask models.
type MissingSettingError struct{ Key, Example string }

func (e *MissingSettingError) Error() string {
	return fmt.Sprintf("%s is not set; write %s into .runplan/config.toml", e.Key, e.Example)
}

// UnknownModelError reports a requested model that the settings do not contain (MODEL-07).
type UnknownModelError struct {
	Name  string
	Known []string
}

func (e *UnknownModelError) Error() string {
	return fmt.Sprintf("no model %q is configured; models are %s", e.Name, strings.Join(e.Known, ", "))
}

// NotFoundError reports a model that the server does not have.
type NotFoundError struct{ Model, BaseURL string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("the Ollama server at %s has no model %q; %s", e.BaseURL, e.Model, HintOf(e))
}

// DownError reports an unreachable server.
type DownError struct {
	BaseURL string
	Err     error
}

func (e *DownError) Error() string {
	return fmt.Sprintf("the Ollama server at %s cannot be reached (%v); %s", e.BaseURL, e.Err, HintOf(e))
}

func (e *DownError) Unwrap() error { return e.Err }

// WindowError reports a call that exceeds the window of its model, or a window that exceeds the model's context.
type WindowError struct {
	Model   string
	Role    Role
	Prompt  int  // estimated tokens of the prompt
	Answer  int  // limit for the answer in tokens
	Window  int  // tokens for both; 0: unknown
	Context int  // context of the model in tokens, if that is too small
	Counted bool // the server counted more tokens than estimated
}

func (e *WindowError) Error() string {
	var what string
	switch {
	case e.Context > 0:
		what = fmt.Sprintf("model %s takes %d tokens, but its configured window is %d", e.Model, e.Context,
			e.Window)
	case e.Counted && e.Window == 0:
		what = fmt.Sprintf(
			"the server of model %s counts more tokens in the prompt than its own window allows; the estimate is %d", e.Model,
			e.Prompt)
	case e.Counted:
		what = fmt.Sprintf(
			"the server of model %s counts more than %d tokens in the prompt, and the window has no more; the estimate is %d",
			e.Model, e.Window, e.Prompt)
	default:
		what = fmt.Sprintf(
			"the prompt for model %s has about %d tokens and its answer may have %d, together %d; the window is %d", e.Model,
			e.Prompt, e.Answer, e.Prompt+e.Answer, e.Window)
	}
	return what + "; " + HintOf(e)
}

// LengthError reports an answer that reached a token limit. It is an [ErrCutOff]; a retry would end the same way.
type LengthError struct {
	Model     string
	Tokens    int // tokens of the answer as the server counted
	MaxTokens int // 0: no limit
	Window    int // 0: no limit
}

func (e *LengthError) Error() string {
	limit := "the window of the server"
	switch {
	case e.MaxTokens > 0 && e.Tokens >= e.MaxTokens:
		limit = fmt.Sprintf("models.max_tokens = %d", e.MaxTokens)
	case e.Window > 0:
		limit = fmt.Sprintf("the window of %d", e.Window)
	}
	return fmt.Sprintf("the answer of model %s was cut off after %d tokens by %s; %s", e.Model, e.Tokens, limit, HintOf(e))
}

func (e *LengthError) Unwrap() error { return ErrCutOff }

// TimeoutError reports an attempt that exceeded [Options.Timeout].
type TimeoutError struct {
	Model string
	Limit time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("model %s did not answer within %s; %s", e.Model, e.Limit, HintOf(e))
}

// RemoteError reports a model that the server would request from another machine (MODEL-17).
type RemoteError struct{ Model, BaseURL, Host string }

func (e *RemoteError) Error() string {
	return fmt.Sprintf("the Ollama server at %s would pass the prompt for model %s on to %s; %s", e.BaseURL, e.Model,
		e.Host, HintOf(e))
}

// ServerError reports any other error of a server.
type ServerError struct {
	BaseURL string
	Status  int    // HTTP status; 0: it came during an answer
	Message string // one line, without parts of the prompt
	Passing bool   // a retry may succeed
}

func (e *ServerError) Error() string {
	status := "in the middle of an answer"
	if e.Status != 0 {
		status = fmt.Sprintf("with status %d", e.Status)
	}
	return fmt.Sprintf("the server at %s refused %s: %s", e.BaseURL, status, e.Message)
}

// CommandError reports a program that gave no answer.
type CommandError struct {
	Program string
	Why     string // "exited with status 3"
	Tail    string // last output lines, redacted, without parts of the prompt
}

func (e *CommandError) Error() string {
	text := fmt.Sprintf("the model's program %s %s", e.Program, e.Why)
	if e.Tail != "" {
		text += "; its last lines:\n" + e.Tail
	}
	return text
}

// AnswerError reports an invalid answer. Its text does not contain the answer.
type AnswerError struct {
	Model string
	Raw   string // the complete answer
	Err   error
}

func (e *AnswerError) Error() string {
	model := ""
	if e.Model != "" {
		model = " of model " + e.Model
	}
	// The reason may name an unknown field, which the model chose.
	return fmt.Sprintf("the answer%s is not the requested JSON (%d bytes): %s", model, len(e.Raw),
		phrase.Cut(e.Err.Error(), 201))
}

func (e *AnswerError) Unwrap() error { return e.Err }

// HintOf returns the hint for an error of this package, or "". The text of the error contains it too.
func HintOf(err error) string {
	var missing *NotFoundError
	var window *WindowError
	switch {
	case errors.As(err, &missing):
		return "get it: ollama pull " + missing.Model
	case errors.As(err, new(*DownError)):
		return "start it: ollama serve; models.base_url has its address"
	case errors.As(err, new(*RemoteError)):
		return "choose a model that runs on the server itself"
	case errors.As(err, &window) && window.Context > 0:
		return fmt.Sprintf("set models.%s_window or budget.context_window to %d or less",
			cmp.Or(window.Role, Reasoning), window.Context)
	case errors.As(err, &window) && window.Counted:
		return "send less context, or raise models.margin for higher estimates"
	case errors.As(err, &window):
		return fmt.Sprintf(
			"send less context, lower models.max_tokens, or raise models.%s_window if the model takes more",
			cmp.Or(window.Role, Reasoning))
	case errors.As(err, new(*LengthError)):
		return "raise models.max_tokens, or the window if the model takes more, or request less at once"
	case errors.As(err, new(*TimeoutError)):
		return "raise models.timeout, or choose a smaller model"
	}
	return ""
}

// telling makes foreign output safe for a message: the last lines, redacted, shortened, without control codes and
// without lines that quote the question.
func telling(text string, lines int, r Request, hide func(string) string) string {
	if hide != nil {
		text = hide(text)
	}
	var kept []string
	for line := range strings.Lines(redact.Clean(strings.ToValidUTF8(text, "\uFFFD"))) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if quotes(line, r.Prompt) || quotes(line, r.System) {
			line = "[a line that quotes the question]"
		}
		kept = append(kept, phrase.Cut(line, 301))
	}
	return strings.Join(kept[max(0, len(kept)-lines):], "\n")
}

// quoted is the number of equal consecutive bytes that count as a quotation.
const quoted = 20

// quotes reports whether a line quotes a part of text. It unescapes JSON where the escapes are letters.
func quotes(line, text string) bool {
	line = line[:min(len(line), 4096)]
	for i := 0; i+quoted <= len(line); i++ {
		if strings.Contains(text, line[i:i+quoted]) {
			return true
		}
	}
	short := strings.TrimSpace(text)
	return len(short) > 0 && len(short) < quoted && len(short) > 3 && strings.Contains(line, short)
}
