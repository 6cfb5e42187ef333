//go:build unix

package testscripts

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/tools/llmtest"
	"github.com/runplan/runplan/tools/tinymodel"
)

// The fake server of the unit tests matches the real one: its answers have the same fields and types, and its errors
// have the same text.
func testWire(t *testing.T, real *ollamaServer) {
	const model, window = "wire", 2048
	if err := real.create(t.Context(), model,
		tinymodel.Model{Window: window,
			Rules: []tinymodel.Rule{{Say: "A few words of an answer, which is cut into pieces of sixteen letters and more, so " +
				"that there are some."}}}); err != nil {
		t.Fatal(err)
	}
	fake := llmtest.Start(t, llmtest.Script{
		Models:  []llmtest.Model{{Name: model, Context: window, PerToken: 1}},
		Answers: []llmtest.Answer{{Text: "A few words of an answer."}},
	})
	chat := func(more string) string {
		return `{"model":"wire","messages":[{"role":"user","content":"Say it."}],"truncate":false,"shift":false,"options":{"temperature":0,"num_ctx":2048}` + more + `}`
	}
	for name, c := range map[string]struct {
		path, body string // without a body it is GET
	}{
		"is it there":           {"/", ""},
		"version":               {"/api/version", ""},
		"a model":               {"/api/show", `{"model":"wire"}`},
		"a model, with its tag": {"/api/show", `{"model":"wire:latest"}`},
		"a missing model":       {"/api/show", `{"model":"no-such-model"}`},
		"an answer":             {"/api/chat", chat("")},
		"an answer by a schema": {"/api/chat",
			chat(`,"format":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
		"an answer of a tagged model": {"/api/chat", strings.Replace(chat(""), "wire", "wire:latest", 1)},
		"a truncated answer": {"/api/chat",
			strings.Replace(chat(""), `"num_ctx"`, `"num_predict":2,"num_ctx"`, 1)},
		"an answer of a model not here": {"/api/chat", strings.Replace(chat(""), "wire", "no-such-model", 1)},
		"an invalid schema":             {"/api/chat", chat(`,"format":{"type":"bogus"}`)},
		"a prompt that exceeds the window": {"/api/chat",
			strings.Replace(chat(""), "Say it.", strings.Repeat("~{`^", window), 1)},
		"a missing page": {"/api/nothing", ""},
	} {
		t.Run(name, func(t *testing.T) {
			want, got := wireForm(t, real.url, c.path, c.body), wireForm(t, fake.URL, c.path, c.body)
			for _, key := range got.Keys {
				if !slices.Contains(want.Keys, key) {
					t.Errorf("the fake says %s, which the real server does not", key)
				}
			}
			for _, key := range want.Keys {
				if read := slices.ContainsFunc(clientReads, func(k string) bool { return strings.HasSuffix(key, k) }); read &&
					!slices.Contains(got.Keys, key) {
					t.Errorf("the real server says %s, which the client reads, and the fake does not", key)
				}
			}
			want.Keys, got.Keys = nil, nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-real +fake:\n%s", diff)
			}
		})
	}
}

// clientReads lists the fields that llm reads.
var clientReads = []string{" version", " model", " message", " message.content", " done", " done_reason", " eval_count",
	" prompt_eval_count", " error",
	" model_info", " model_info.general.architecture", " model_info.llama.context_length"}

// wire is the form of a response.
type wire struct {
	Status int
	Kind   string
	Error  string
	Reason string   // why an answer ended
	Model  string   // that it names
	Text   string   // of an answer that is not JSON
	Keys   []string // "first|more|last KIND NAME" of all values
}

func wireForm(t *testing.T, base, path, body string) wire {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")) // the real server names the charset here and there
	if err != nil {
		t.Fatal(err)
	}
	w := wire{Status: res.StatusCode, Kind: kind}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		var v map[string]any
		if json.Unmarshal([]byte(line), &v) != nil {
			w.Text = strings.TrimSpace(string(text))
			break
		}
		if s, ok := v["error"].(string); ok {
			w.Error = s
		}
		if s, ok := v["done_reason"].(string); ok {
			w.Reason = s
		}
		if s, ok := v["model"].(string); ok {
			w.Model = s
		}
		place := "first"
		if i > 0 && i == len(lines)-1 {
			place = "last"
		}
		if i == 0 || place == "last" { // those between are as the first
			w.Keys = append(w.Keys, keysOf(place, "", v)...)
		}
	}
	slices.Sort(w.Keys)
	return w
}

func keysOf(place, prefix string, v map[string]any) []string {
	var all []string
	for key, value := range v {
		all = append(all, fmt.Sprintf("%s %T %s%s", place, value, prefix, key))
		if inner, ok := value.(map[string]any); ok {
			all = append(all, keysOf(place, prefix+key+".", inner)...)
		}
	}
	return all
}
