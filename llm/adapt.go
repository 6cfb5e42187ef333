package llm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ollama/ollama/api"
)

// Adapted describes a model that a server creates from a base model and an adapter. A server stacks the adapter on any
// adapter of the base, so Base must not have one.
type Adapted struct {
	BaseURL string
	Name    string        // of the new model
	Base    string        // base model, which the server must have
	File    string        // name of the adapter file for the server
	Adapter io.ReadSeeker // a GGUF file
}

// AdaptedBaseError reports a base model that already has an adapter.
type AdaptedBaseError struct{ Base string }

func (e *AdaptedBaseError) Error() string {
	return fmt.Sprintf(
		"model %s already has an adapter, and a second one would be added to it; set its base model in the settings",
		e.Base)
}

// Adapt has an Ollama server create a model, and replaces one of the same name. Success does not mean that the server
// can run it. Adapt first checks that the server has the base, because the server would otherwise download it.
func Adapt(ctx context.Context, o Options, a Adapted) error {
	c := newOllamaClient(o)
	m := Model{Name: a.Base, BaseURL: a.BaseURL}
	ctx, cancel := c.limited(ctx, Model{Name: a.Name})
	defer cancel()
	client, err := c.client(a.BaseURL)
	if err != nil {
		return err
	}
	info, err := c.info(ctx, client, m)
	switch {
	case err != nil:
		return err
	case info.Adapted:
		return &AdaptedBaseError{a.Base}
	case info.Remote != "":
		return info.suits(m)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, a.Adapter); err != nil {
		return fmt.Errorf("read the adapter %s: %w", a.File, err)
	}
	if _, err := a.Adapter.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the adapter %s: %w", a.File, err)
	}
	digest := fmt.Sprintf("sha256:%x", sum.Sum(nil))
	about := Request{Model: Model{Name: a.Name, BaseURL: a.BaseURL}}
	// The client closes what it sends if it can, but the file belongs to the caller.
	if err := client.CreateBlob(ctx, digest, io.NopCloser(a.Adapter)); err != nil {
		return c.explain(ctx, about, err)
	}
	made := false
	err = client.Create(ctx, &api.CreateRequest{Model: a.Name, From: a.Base, Adapters: map[string]string{a.File: digest}},
		func(p api.ProgressResponse) error {
			made = made || p.Status == "success"
			return nil
		})
	switch {
	case err != nil:
		return c.explain(ctx, about, err)
	case ctx.Err() != nil:
		return c.ended(ctx, about.Model)
	case !made: // the client does not report a lost connection
		return fmt.Errorf("create model %s at %s: the server did not confirm it", a.Name, a.BaseURL)
	}
	return nil
}

// Remove deletes a model of an Ollama server. A missing model is not an error.
func Remove(ctx context.Context, o Options, baseURL, name string) error {
	return onServer(ctx, o, Request{Model: Model{Name: name, BaseURL: baseURL}},
		func(ctx context.Context, c *api.Client) error {
			err := c.Delete(ctx, &api.DeleteRequest{Model: name})
			if status, ok := errors.AsType[api.StatusError](err); ok && status.StatusCode == http.StatusNotFound {
				return nil
			}
			return err
		})
}

// adapted reports whether a Modelfile contains an adapter. A template line that looks like one counts too: that
// rejects a base, but never stacks two adapters.
func adapted(modelfile string) bool {
	for line := range strings.Lines(modelfile) {
		if word, _, _ := strings.Cut(line, " "); strings.EqualFold(word, "ADAPTER") {
			return true
		}
	}
	return false
}
