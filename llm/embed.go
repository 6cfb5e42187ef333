package llm

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ollama/ollama/api"

	"github.com/runplan/runplan/internal/config"
)

// Embedder makes vectors of texts with a model of an Ollama server.
type Embedder struct {
	ID string // name and digest of the model: the same texts have the same vectors as long as it is the same

	ollama *ollamaClient
	model  Model
}

// EmbeddingModel returns the model of models.embedding. Its name is empty if there is none.
func EmbeddingModel(m config.Models) Model {
	return Model{Name: m.Embedding, Provider: Ollama, BaseURL: m.BaseURL, Source: "models.embedding"}
}

// NewEmbedder returns the embedder of the settings. It asks the server which version of the model it has, and rejects
// one that runs on another host.
func NewEmbedder(ctx context.Context, o Options, m config.Models) (*Embedder, error) {
	e := &Embedder{ollama: newOllamaClient(o), model: EmbeddingModel(m)}
	c, err := e.ollama.client(m.BaseURL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := e.ollama.limited(ctx, e.model)
	defer cancel()
	info, err := e.ollama.info(ctx, c, e.model)
	if err == nil {
		err = info.suits(e.model)
	}
	if err != nil {
		return nil, err
	}
	all, err := c.List(ctx)
	if err != nil {
		return nil, e.ollama.explain(ctx, Request{Model: e.model}, err)
	}
	i := slices.IndexFunc(all.Models, func(x api.ListModelResponse) bool {
		return x.Name == e.model.Name || x.Name == e.model.Name+":latest"
	})
	if i < 0 || all.Models[i].Digest == "" {
		return nil, fmt.Errorf("the server at %s does not report the digest of model %s", m.BaseURL, e.model.Name)
	}
	e.ID = e.model.Name + "@" + all.Models[i].Digest
	return e, nil
}

// Embed returns a vector of length 1 for each text. The server cuts a text that exceeds the model's context.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	c, err := e.ollama.client(e.model.BaseURL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := e.ollama.limited(ctx, e.model)
	defer cancel()
	res, err := c.Embed(ctx, &api.EmbedRequest{Model: e.model.Name, Input: texts})
	if err != nil {
		return nil, e.ollama.explain(ctx, Request{Model: e.model}, err)
	}
	if len(res.Embeddings) != len(texts) {
		return nil, fmt.Errorf("model %s made %d vectors of %d texts", e.model.Name, len(res.Embeddings), len(texts))
	}
	for _, v := range res.Embeddings {
		sum := 0.0
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if !(sum > 0) || math.IsInf(sum, 0) || len(v) != len(res.Embeddings[0]) {
			return nil, fmt.Errorf("model %s made a vector that cannot be compared", e.model.Name)
		}
		for i := range v {
			v[i] = float32(float64(v[i]) / math.Sqrt(sum))
		}
	}
	return res.Embeddings, nil
}
