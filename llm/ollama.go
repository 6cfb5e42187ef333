package llm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/envconfig"
)

// ollamaClient asks Ollama servers for answers and facts about models. It never pulls a model and never signs a
// request.
type ollamaClient struct {
	o    Options
	http *http.Client

	mu    sync.Mutex
	known map[string]ModelInfo // cache by server and model
}

func newOllamaClient(o Options) *ollamaClient {
	return &ollamaClient{o: o, http: newHTTPClient(), known: map[string]ModelInfo{}}
}

// ModelInfo holds a server's facts about a model.
type ModelInfo struct {
	Context int    // context length in tokens; 0: unknown
	Remote  string // host to which the server forwards requests; "" if local

	Architecture string // such as llama; "": unknown
	Adapted      bool   // the model already has an adapter
}

// ServerVersion asks an Ollama server for its version.
func ServerVersion(ctx context.Context, o Options, baseURL string) (string, error) {
	var v string
	err := onServer(ctx, o, Request{Model: Model{Name: "(version)", BaseURL: baseURL}},
		func(ctx context.Context, c *api.Client) (err error) { v, err = c.Version(ctx); return err })
	return telling(v, 1, Request{}, o.Redact), err
}

// onServer calls do with a client for the server of a request, within the time limit. It explains the error of do.
func onServer(ctx context.Context, o Options, r Request, do func(context.Context, *api.Client) error) error {
	c := newOllamaClient(o)
	client, err := c.client(r.Model.BaseURL)
	if err != nil {
		return err
	}
	ctx, cancel := c.limited(ctx, r.Model)
	defer cancel()
	if err := do(ctx, client); err != nil {
		return c.explain(ctx, r, err)
	}
	return nil
}

// Inspect asks an Ollama server about a model and reports the errors that a call would have. It also returns the facts
// in that case.
func Inspect(ctx context.Context, o Options, m Model) (ModelInfo, error) {
	c := newOllamaClient(o)
	ctx, cancel := c.limited(ctx, m)
	defer cancel()
	client, err := c.client(m.BaseURL)
	if err != nil {
		return ModelInfo{}, err
	}
	info, err := c.info(ctx, client, m)
	if err != nil {
		return ModelInfo{}, err
	}
	return info, info.suits(m)
}

// ask makes one attempt.
func (o *ollamaClient) ask(parent context.Context, r Request) (Response, error) {
	c, err := o.client(r.Model.BaseURL)
	if err != nil {
		return Response{}, err
	}
	ctx, cancel := o.limited(parent, r.Model)
	defer cancel()
	ctx = context.WithValue(ctx, stageKey{}, r.Stage)
	info, err := o.info(ctx, c, r.Model)
	if err != nil {
		return Response{}, err
	}
	if err := info.suits(r.Model); err != nil {
		return Response{}, err
	}
	began := time.Now()
	var text strings.Builder
	var last api.ChatResponse
	err = c.Chat(ctx, chatRequest(r), func(part api.ChatResponse) error {
		if text.Len()+len(part.Message.Content) > mostAnswer {
			return fmt.Errorf("the answer of model %s is longer than %d MiB: %w", r.Model.Name, mostAnswer>>20, errTooLong)
		}
		text.WriteString(part.Message.Content)
		last = part
		return nil
	})
	res := Response{Model: last.Model, Latency: time.Since(began)}
	if last.Done && last.PromptEvalCount > 0 { // a server that does not count omits the field, which decodes as 0
		res.PromptTokens, res.CompletionTokens = &last.PromptEvalCount, &last.EvalCount
	}
	switch {
	case err == nil && last.Done && last.DoneReason == "length":
		err = &LengthError{Model: r.Model.Name, Tokens: last.EvalCount, MaxTokens: r.Model.MaxTokens, Window: r.Model.Window}
	case err == nil && last.Done: // before checking the context: a complete answer counts
		res.Text = text.String()
		return res, nil
	case ctx.Err() != nil:
		err = o.ended(ctx, r.Model)
	case errors.Is(err, errTooLong):
	case err != nil:
		err = o.explain(ctx, r, err)
	default:
		// The Ollama client reports a lost connection, a killed server and a server abort as success.
		err = fmt.Errorf("ask model %s at %s: %w, after %d bytes", r.Model.Name, r.Model.BaseURL, ErrCutOff, text.Len())
	}
	res.Partial = text.String()
	return res, err
}

var errTooLong = errors.New("the call was cancelled")

// chatRequest converts a question to Ollama's API. Truncate and Shift are off; otherwise the server would silently cut
// a long prompt, or shift the prompt out of the window during the answer.
func chatRequest(r Request) *api.ChatRequest {
	no := false
	req := &api.ChatRequest{
		Model: r.Model.Name, Truncate: &no, Shift: &no, Format: r.Schema,
		Options: map[string]any{"temperature": r.Model.Temperature},
	}
	if r.Model.Window > 0 {
		req.Options["num_ctx"] = r.Model.Window
	}
	if r.Model.MaxTokens > 0 {
		req.Options["num_predict"] = r.Model.MaxTokens
	}
	if r.System != "" {
		req.Messages = append(req.Messages, api.Message{Role: "system", Content: r.System})
	}
	req.Messages = append(req.Messages, api.Message{Role: "user", Content: r.Prompt})
	return req
}

// client returns Ollama's own client for a server. That client would sign requests with the user's key because of an
// environment variable or the host name; this function prevents both.
func (o *ollamaClient) client(baseURL string) (*api.Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" {
		return nil, errors.New("models.base_url must be a URL such as http://localhost:11434")
	}
	if h := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")); h == "ollama.com" ||
		strings.HasSuffix(h, ".ollama.com") {
		return nil, errors.New("models.base_url is ollama.com, which requires a sign-in; runplan does not support that, use a server of your own")
	}
	if envconfig.UseAuth() {
		return nil,
			errors.New("OLLAMA_AUTH is set, but runplan does not support signing in to Ollama; unset it")
	}
	return api.NewClient(u, o.http), nil
}

// info asks for facts about a model and caches them.
func (o *ollamaClient) info(ctx context.Context, c *api.Client, m Model) (ModelInfo, error) {
	key := m.BaseURL + " " + m.Name
	o.mu.Lock()
	info, ok := o.known[key]
	o.mu.Unlock()
	if ok {
		return info, nil
	}
	show, err := c.Show(ctx, &api.ShowRequest{Model: m.Name})
	if err != nil {
		return ModelInfo{}, o.explain(ctx, Request{Model: m}, err)
	}
	info = ModelInfo{Context: contextOf(show.ModelInfo), Remote: show.RemoteHost, Adapted: adapted(show.Modelfile)}
	info.Architecture, _ = show.ModelInfo["general.architecture"].(string)
	if info.Remote == "" && show.RemoteModel != "" {
		info.Remote = "another host"
	}
	o.mu.Lock()
	o.known[key] = info
	o.mu.Unlock()
	return info, nil
}

// contextOf returns the context length. Its key starts with the name of the architecture.
func contextOf(info map[string]any) int {
	arch, _ := info["general.architecture"].(string)
	if n, ok := info[arch+".context_length"].(float64); ok {
		return int(n)
	}
	for _, key := range slices.Sorted(maps.Keys(info)) {
		if n, ok := info[key].(float64); ok && strings.HasSuffix(key, ".context_length") && strings.Count(key, ".") == 1 {
			return int(n)
		}
	}
	return 0
}

// suits checks the requested use of a model. The server would silently reduce a window that exceeds the model's
// context.
func (i ModelInfo) suits(m Model) error {
	switch {
	case i.Remote != "":
		return &RemoteError{Model: m.Name, BaseURL: m.BaseURL, Host: i.Remote}
	case i.Context > 0 && m.Window > i.Context:
		return &WindowError{Model: m.Name, Role: m.Role, Window: m.Window, Context: i.Context}
	}
	return nil
}

func (o *ollamaClient) limited(ctx context.Context, m Model) (context.Context, context.CancelFunc) {
	if o.o.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, o.o.Timeout, &TimeoutError{Model: m.Label(), Limit: o.o.Timeout})
}

// ended distinguishes our time limit from a cancellation by the caller.
func (o *ollamaClient) ended(ctx context.Context, m Model) error {
	if late, ok := errors.AsType[*TimeoutError](context.Cause(ctx)); ok {
		return late
	}
	return stopped(ctx, m)
}
