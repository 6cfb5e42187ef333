package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
)

// explain converts an error of Ollama's client into an error of this package.
func (o *ollamaClient) explain(ctx context.Context, r Request, err error) error {
	if ctx.Err() != nil {
		return o.ended(ctx, r.Model)
	}
	m := r.Model
	var status api.StatusError
	var auth api.AuthorizationError
	var transport *url.Error
	said := &ServerError{BaseURL: m.BaseURL}
	switch {
	case errors.As(err, &auth):
		said.Status, said.Message = auth.StatusCode, "it requires a sign-in, which runplan does not support"
		return said
	case errors.As(err, &status):
		said.Status, said.Message = status.StatusCode, telling(status.ErrorMessage, 1, r, o.o.Redact)
		return o.refused(r, said, status.ErrorMessage)
	case errors.Is(err, errRedirect):
		said.Message = errRedirect.Error()
		return said
	case errors.As(err, &transport):
		return &DownError{BaseURL: m.BaseURL, Err: transport.Err}
	}
	// The remaining errors come from the body: an error message during an answer, half a line after a server crash, or
	// a body that is not an answer.
	if strings.HasPrefix(err.Error(), "{") {
		return fmt.Errorf("ask model %s at %s: %w, in the middle of a line", m.Name, m.BaseURL, ErrCutOff)
	}
	said.Message = telling(err.Error(), 1, r, o.o.Redact)
	said.Passing = crashed(err.Error()) || lost(err)
	return said
}

// refused distinguishes the possible meanings of a status.
func (o *ollamaClient) refused(r Request, said *ServerError, message string) error {
	m := r.Model
	switch {
	case said.Status == http.StatusNotFound && strings.Contains(message, "model") &&
		strings.Contains(message, "not found"):
		return &NotFoundError{Model: m.Name, BaseURL: m.BaseURL}
	case said.Status == http.StatusNotFound:
		said.Message += "; is this an Ollama server?"
	case said.Status == http.StatusBadRequest && strings.Contains(message, "exceeds the context length"):
		return &WindowError{Model: m.Name, Role: m.Role, Prompt: Size(r, o.o.Margin), Answer: m.MaxTokens, Window: m.Window,
			Counted: true}
	case said.Status == http.StatusServiceUnavailable, said.Status == http.StatusBadGateway,
		said.Status == http.StatusGatewayTimeout, said.Status == http.StatusTooManyRequests:
		said.Passing = true
	case said.Status >= http.StatusInternalServerError:
		said.Passing = crashed(message)
	}
	said.Message = cmp.Or(said.Message, http.StatusText(said.Status))
	return said
}

// crashed reports whether a message means a crashed runner, which the server restarts for the next call. Otherwise the
// request is invalid.
func crashed(message string) bool {
	return slices.ContainsFunc([]string{"error was encountered while running the model", "runner process has terminated",
		"runner process no longer running", "runner has unexpectedly stopped"},
		func(sign string) bool { return strings.Contains(message, sign) })
}

// lost reports whether the connection broke while a short answer was read.
func lost(err error) bool {
	return errors.As(err, new(net.Error)) || strings.Contains(err.Error(), "unexpected EOF") ||
		strings.Contains(err.Error(), "unexpected end of JSON input")
}

var errRedirect = errors.New("it redirects, but runplan sends prompts only to the configured server")

// newHTTPClient returns a client without a timeout, because each call has one in its context. It never uses a proxy
// for a local server, whatever the environment says.
func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: &modest{&http.Transport{
			Proxy:               http.ProxyFromEnvironment, // excludes loopback
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConnsPerHost: 4,
			IdleConnTimeout:     30 * time.Second,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}
}

type stageKey struct{}

// modest sets a minimal user agent and removes the Authorization header.
type modest struct{ next http.RoundTripper }

// RoundTrip sends only runplan and the stage as the user agent.
func (m *modest) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	agent := "runplan"
	if stage, _ := r.Context().Value(stageKey{}).(Stage); stage != "" {
		agent = fmt.Sprintf("runplan (%s)", stage)
	}
	r.Header.Set("User-Agent", agent)
	r.Header.Del("Authorization")
	return m.next.RoundTrip(r)
}
