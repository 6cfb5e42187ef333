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

// Adapted is a model that a server is to make of another one and an adapter. A server puts an adapter on top of one that the base
// has already, so Base is never a model that was made so.
type Adapted struct {
	BaseURL string
	Name    string        // of the new model
	Base    string        // of the model below; the server has to have it
	File    string        // what the server is told that the adapter is called
	Adapter io.ReadSeeker // a GGUF file
}

// AdaptedBaseError is a base that has an adapter of its own.
type AdaptedBaseError struct{ Base string }

func (e *AdaptedBaseError) Error() string {
	return fmt.Sprintf("model %s has an adapter already, and a second one would come on top of it; name the model below it in the settings", e.Base)
}

// Adapt has an Ollama server make a model. One of that name is replaced. That the server makes it does not say that it can run it.
// Without its base the server would look for that on the network, so that is asked for first.
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
	// The client closes what it sends where it can, and the file is the caller's.
	if err := client.CreateBlob(ctx, digest, io.NopCloser(a.Adapter)); err != nil {
		return c.explain(ctx, about, err)
	}
	made := false
	err = client.Create(ctx, &api.CreateRequest{Model: a.Name, From: a.Base, Adapters: map[string]string{a.File: digest}}, func(p api.ProgressResponse) error {
		made = made || p.Status == "success"
		return nil
	})
	switch {
	case err != nil:
		return c.explain(ctx, about, err)
	case ctx.Err() != nil:
		return c.ended(ctx, about.Model)
	case !made: // a lost connection is no error to the client
		return fmt.Errorf("make model %s at %s: the server did not say that it is made", a.Name, a.BaseURL)
	}
	return nil
}

// Remove deletes a model of an Ollama server. One that is not there is no error.
func Remove(ctx context.Context, o Options, baseURL, name string) error {
	c := newOllamaClient(o)
	m := Model{Name: name, BaseURL: baseURL}
	ctx, cancel := c.limited(ctx, m)
	defer cancel()
	client, err := c.client(baseURL)
	if err != nil {
		return err
	}
	err = client.Delete(ctx, &api.DeleteRequest{Model: name})
	var status api.StatusError
	switch {
	case err == nil, errors.As(err, &status) && status.StatusCode == http.StatusNotFound:
		return nil
	}
	return c.explain(ctx, Request{Model: m}, err)
}

// adapted reads from a Modelfile whether it has an adapter. A line of a template that looks like one counts as well: that would
// refuse a base, and never stack two.
func adapted(modelfile string) bool {
	for line := range strings.Lines(modelfile) {
		if word, _, _ := strings.Cut(line, " "); strings.EqualFold(word, "ADAPTER") {
			return true
		}
	}
	return false
}
