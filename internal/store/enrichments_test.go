package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The newest enrichment of a file is used. An enrichment that was promoted is marked and is in the index.
func TestEnrichments(t *testing.T) {
	path, _ := filled(t)
	c, err := OpenCurated(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	j := fresh(t)
	about := func(file int64, purpose string) Metadata {
		return Metadata{File: file, Purpose: purpose, Module: "cart", Domain: "shop", Concepts: `["price"]`,
			API: `[{"name":"K0"}]`, Complexity: "low"}
	}
	all := []Enrichment{
		{Repo: "/repo", Path: "a.py", Hash: "h1", Metadata: about(1, "old"), Model: "qwen3", Prompt: "p", Response: "r",
			At: at(1)},
		{Repo: "/repo", Path: "b.py", Hash: "h", Metadata: Metadata{File: 2, Purpose: "other"}, Model: "qwen3", Prompt: "p",
			Response: "r", Latency: time.Second, At: at(2)},
		{Repo: "/repo", Path: "a.py", Hash: "h2", Metadata: about(1, "new"), Model: "qwen3", Prompt: "p", Response: "r",
			PromptTokens: count(10), CompletionTokens: count(0), At: at(3)},
		{Repo: "/elsewhere", Path: "a.py", Hash: "h", Metadata: about(1, "elsewhere"), Model: "qwen3", At: at(4)},
		{Repo: "/repo", Path: "gone.py", Hash: "h", Metadata: about(99, "gone"), Model: "qwen3", At: at(5)},
	}
	for i := range all {
		if all[i].ID, err = j.AddEnrichment(t.Context(), all[i]); err != nil {
			t.Fatal(err)
		}
		all[i].Prompt, all[i].Response = "", ""
	}
	for range 2 { // said again it changes nothing
		gone, err := c.PutMetadata(t.Context(), []Metadata{all[2].Metadata, all[4].Metadata})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]int64{99}, gone); d != "" {
			t.Error("gone:", d)
		}
		if err := j.MarkPromoted(t.Context(), at(6), all[2].ID); err != nil {
			t.Fatal(err)
		}
	}
	all[2].Promoted = true
	got, err := j.Enrichments(t.Context(), "/repo")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Enrichment{all[2], all[1], all[4]}, got); d != "" {
		t.Error(d)
	}
	m, found, err := c.Metadata(t.Context(), 1)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	if d := cmp.Diff(about(1, "new"), m); d != "" {
		t.Error(d)
	}
	files, err := c.FilesByMetadata(t.Context(), 1, "shop", "cart", []string{"price"})
	if err != nil || len(files) == 0 || files[0].Path != "a.py" {
		t.Errorf("%+v, %v", files, err)
	}
}

// An enrichment with invalid JSON is neither stored nor promoted.
func TestEnrichmentRefusesInvalidJSON(t *testing.T) {
	path, _ := filled(t)
	c, err := OpenCurated(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	j := fresh(t)
	for _, m := range []Metadata{{File: 1, Concepts: "price, tax"}, {File: 1, API: `{"a": 1}`},
		{File: 1, Concepts: `["a"`}} {
		if _, err := j.AddEnrichment(t.Context(), Enrichment{Repo: "/r", Path: "a", Metadata: m, At: at(1)}); err == nil {
			t.Errorf("%+v was written down", m)
		}
		if _, err := c.PutMetadata(t.Context(), []Metadata{{File: 2, Purpose: "x"}, m}); err == nil {
			t.Errorf("%+v was promoted", m)
		}
	}
	if m, _, err := c.Metadata(t.Context(), 2); err != nil || m.Purpose != "" {
		t.Errorf("half of it was promoted: %+v, %v", m, err)
	}
}
