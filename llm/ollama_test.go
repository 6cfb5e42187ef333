package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/tools/llmtest"
	"github.com/runplan/runplan/tools/tooltest"
)

const secretPrompt = "the launch code is hunter2-hunter2-hunter2, tell nobody"

func request(url string) llm.Request {
	return llm.Request{
		Model: llm.Model{Role: llm.Coding, Name: "q", Provider: llm.Ollama, BaseURL: url, MaxTokens: 64, Window: 4096},
		Stage: llm.ExecuteCode, System: "be terse", Prompt: secretPrompt,
	}
}

func TestFakeConforms(t *testing.T) {
	srv := llmtest.Start(t, llmtest.ConformanceScript("tiny"))
	llmtest.Conformance(t, srv.URL, "tiny")
}

// The request tells the server not to truncate or shift the prompt, and contains nothing but the question and its
// settings.
func TestOllamaRequest(t *testing.T) {
	srv := llmtest.Start(t, llmtest.Script{Models: []llmtest.Model{{Name: "q"}},
		Answers: []llmtest.Answer{{Stage: "execute_code", Text: "yes", PromptTokens: 11, AnswerTokens: 1}}})
	c := llm.New(llm.Options{})
	r := request(srv.URL)
	r.Schema = json.RawMessage(`{"type":"string"}`)
	for range 2 {
		res, err := c.Complete(t.Context(), r)
		if err != nil || res.Text != "yes" || res.Model != "q" || *res.PromptTokens != 11 || *res.CompletionTokens != 1 ||
			res.Latency <= 0 {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	var paths []string
	for _, q := range srv.Requests() {
		paths = append(paths, q.Path)
	}
	if diff := cmp.Diff([]string{"/api/show", "/api/chat", "/api/chat"}, paths); diff != "" {
		t.Errorf("a model is checked once (-want +got):\n%s", diff)
	}
	var sent map[string]any
	if err := json.Unmarshal(srv.Chats()[0].Raw, &sent); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"model": "q", "truncate": false, "shift": false, "format": map[string]any{"type": "string"},
		"options": map[string]any{"temperature": 0.0, "num_ctx": 4096.0, "num_predict": 64.0},
		"messages": []any{map[string]any{"role": "system", "content": "be terse"},
			map[string]any{"role": "user", "content": secretPrompt}},
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Settings without a value are left to the server, and token counts that it does not report are unknown.
func TestOllamaReportsUnknownTokenCounts(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/show" {
			_, _ = w.Write([]byte(`{"model_info":{}}`))
			return
		}
		_, _ = w.Write(
			[]byte(`{"model":"q","message":{"role":"assistant","content":"yes"},"done":true,"done_reason":"stop"}` + "\n"))
	}))
	defer srv.Close()
	r := request(srv.URL)
	r.Model.Window, r.Model.MaxTokens = 0, 0
	res, err := llm.New(llm.Options{}).Complete(t.Context(), r)
	if err != nil || res.Text != "yes" || res.PromptTokens != nil || res.CompletionTokens != nil {
		t.Fatalf("%+v, %v", res, err)
	}
}

func TestOllamaFaults(t *testing.T) {
	tooltest.Slow(t)
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	server := func(err error) bool { var e *llm.ServerError; return errors.As(err, &e) }
	cases := map[string]struct {
		answer llmtest.Answer
		check  func(error) bool
		text   string
		again  bool // another try is made
	}{
		"the server dies in the middle": {llmtest.Answer{Fault: llmtest.Die, After: 2,
			Text: "an answer that is never finished"}, is(llm.ErrCutOff), "cut off", true},
		"the server dies before the first word": {llmtest.Answer{Fault: llmtest.Die},
			func(err error) bool { var e *llm.DownError; return errors.As(err, &e) || errors.Is(err, llm.ErrCutOff) },
			"127.0.0.1", true},
		"the server dies in the middle of a line": {llmtest.Answer{Fault: llmtest.HalfLine, After: 1,
			Text: "an answer that is never finished"}, is(llm.ErrCutOff), "middle of a line", true},
		"the server ends without a word": {llmtest.Answer{Fault: llmtest.Quiet, After: 2,
			Text: "an answer that is never finished"}, is(llm.ErrCutOff), "after 8 bytes", true},
		"the runner crashes": {llmtest.Answer{Fault: llmtest.Crash, After: 1,
			Text: "an answer that is never finished"}, server, "unexpected EOF", true},
		"the server is busy": {llmtest.Answer{Fault: llmtest.Busy}, server, "server busy", true},
		"the runner could not start": {llmtest.Answer{Fault: llmtest.Broken,
			Text: "llama runner process has terminated: exit status 2"}, server, "exit status 2", true},
		"the server cannot take the request": {llmtest.Answer{Fault: llmtest.Broken,
			Text: "option \"num_ctx\" must be of type integer"}, server, "status 500: option", false},
		"the request is bad": {llmtest.Answer{Fault: llmtest.Bad}, server, "bad request", false},
		"the model was removed": {llmtest.Answer{Fault: llmtest.Missing},
			func(err error) bool { var e *llm.NotFoundError; return errors.As(err, &e) }, "ollama pull q", false},
		"the server counts more tokens": {llmtest.Answer{Fault: llmtest.TooLong},
			func(err error) bool { var e *llm.WindowError; return errors.As(err, &e) && e.Counted }, "more than 4096 tokens",
			false},
		"the answer runs into a limit": {llmtest.Answer{Fault: llmtest.Length, Text: "some",
			AnswerTokens: 64}, is(llm.ErrCutOff), "after 64 tokens by models.max_tokens = 64", false},
		"the answer runs into the window": {llmtest.Answer{Fault: llmtest.Length, Text: "some",
			AnswerTokens: 20}, is(llm.ErrCutOff), "after 20 tokens by the window of 4096", false},
		"something else answers": {llmtest.Answer{Fault: llmtest.NotOllama}, server, "<html>", false},
		"the server sends elsewhere": {llmtest.Answer{Fault: llmtest.Redirect}, server, "it redirects",
			false},
		"the server quotes the question in its refusal": {llmtest.Answer{Fault: llmtest.Bad, Text: "cannot take: " +
			secretPrompt}, server, "a line that quotes the question", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			srv := llmtest.Start(t, llmtest.Script{Models: []llmtest.Model{{Name: "q"}}, Answers: []llmtest.Answer{c.answer}})
			res, err := llm.New(llm.Options{Retries: 2}).Complete(t.Context(), request(srv.URL))
			if err == nil || !c.check(err) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("%T: %v", err, err)
			}
			if res.Latency <= 0 {
				t.Errorf("the call took no time: %+v", res)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "never finished") || res.Text != "" {
				t.Fatalf("the error or the answer gives away what it should not: %v, %q", err, res.Text)
			}
			if tries := len(srv.Chats()); tries != map[bool]int{true: 3, false: 1}[c.again] {
				t.Fatalf("%d tries", tries)
			}
		})
	}
}

// A failed call also reports its token counts and its duration; the partial answer is used only for the log
// (RETR-12).
func TestOllamaReportsUsageOfFailedCalls(t *testing.T) {
	for name, c := range map[string]struct {
		answer     llmtest.Answer
		partial    string
		in, out    int
		knowsCount bool
	}{
		"cut off by a limit": {llmtest.Answer{Fault: llmtest.Length, Text: "some", PromptTokens: 30, AnswerTokens: 64},
			"some", 30, 64, true},
		"the server dies": {llmtest.Answer{Fault: llmtest.Die, After: 2, Text: "an answer that is never finished"},
			"an answe", 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			srv := llmtest.Start(t, llmtest.Script{Models: []llmtest.Model{{Name: "q"}}, Answers: []llmtest.Answer{c.answer}})
			res, err := llm.New(llm.Options{}).Complete(t.Context(), request(srv.URL))
			if err == nil || res.Text != "" || res.Partial != c.partial || res.Latency <= 0 {
				t.Fatalf("%+v, %v", res, err)
			}
			if c.knowsCount != (res.PromptTokens != nil && res.CompletionTokens != nil) {
				t.Fatalf("%+v", res)
			}
			if c.knowsCount && (*res.PromptTokens != c.in || *res.CompletionTokens != c.out) {
				t.Fatalf("%d in, %d out", *res.PromptTokens, *res.CompletionTokens)
			}
		})
	}
}

// A call is retried after a temporary error and returns the answer of the successful try.
func TestOllamaRetriesTemporaryErrors(t *testing.T) {
	srv := llmtest.Start(t, llmtest.Script{Models: []llmtest.Model{{Name: "q"}}, Answers: []llmtest.Answer{
		{Times: 1, Fault: llmtest.Busy}, {Times: 1, Fault: llmtest.Quiet, After: 1, Text: "half of it"}, {Text: "whole"},
	}})
	res, err := llm.New(llm.Options{Retries: 2}).Complete(t.Context(), request(srv.URL))
	if err != nil || res.Text != "whole" || len(srv.Chats()) != 3 {
		t.Fatalf("%+v, %v, %d tries", res, err, len(srv.Chats()))
	}
}

// A timeout and a cancellation by the caller are different errors, both before the first word of the answer and after
// it.
func TestOllamaTimeoutDiffersFromCancellation(t *testing.T) {
	for name, a := range map[string]llmtest.Answer{
		"before the first word": {Delay: 60_000, Text: "late"},
		"in the middle":         {Delay: 40, Fault: llmtest.Slow, Text: strings.Repeat("word", 5000)},
	} {
		t.Run(name, func(t *testing.T) {
			srv := llmtest.Start(t, llmtest.Script{Models: []llmtest.Model{{Name: "q"}}, Answers: []llmtest.Answer{a}})
			r := request(srv.URL)
			r.Model.MaxTokens, r.Model.Window = 0, 0
			_, err := llm.New(llm.Options{Timeout: 150 * time.Millisecond, Retries: 1}).Complete(t.Context(), r)
			var late *llm.TimeoutError
			if !errors.As(err, &late) || !strings.Contains(err.Error(), "did not answer within 150ms") || len(srv.Chats()) != 2 {
				t.Fatalf("%v after %d tries", err, len(srv.Chats()))
			}
			reason := errors.New("the user pressed ^C")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(150*time.Millisecond, func() { cancel(reason) })
			_, err = llm.New(llm.Options{Timeout: time.Minute, Retries: 5}).Complete(ctx, r)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, reason) || errors.As(err, &late) || len(srv.Chats()) != 3 {
				t.Fatalf("%v after %d tries", err, len(srv.Chats()))
			}
		})
	}
}

// A window larger than that of the model, and a model that the server runs on another host, are refused before any
// part of the question is sent.
func TestOllamaChecksModelBeforeQuestion(t *testing.T) {
	srv := llmtest.Start(t,
		llmtest.Script{Models: []llmtest.Model{{Name: "q", Context: 2048},
			{Name: "big-cloud", RemoteHost: "https://ollama.com:443"}}})
	_, err := llm.New(llm.Options{}).Complete(t.Context(), request(srv.URL))
	var small *llm.WindowError
	if !errors.As(err, &small) || small.Context != 2048 || small.Window != 4096 ||
		!strings.Contains(err.Error(), "set models.coding_window or budget.context_window to 2048 or less") {
		t.Errorf("%v", err)
	}
	r := request(srv.URL)
	r.Model.Name = "big-cloud"
	_, err = llm.New(llm.Options{}).Complete(t.Context(), r)
	var remote *llm.RemoteError
	if !errors.As(err, &remote) ||
		!strings.Contains(err.Error(), "would pass the prompt for model big-cloud on to https://ollama.com:443") {
		t.Errorf("%v", err)
	}
	if len(srv.Chats()) != 0 {
		t.Error("the prompt was sent")
	}
}

func TestOllamaReportsUnreachableServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	_, err = llm.New(llm.Options{Retries: 1}).Complete(t.Context(), request(url))
	var down *llm.DownError
	if !errors.As(err, &down) || llm.HintOf(err) != "start it: ollama serve; models.base_url has its address" ||
		!strings.Contains(err.Error(), "connection refused") {
		t.Fatal(err)
	}
}

// Requests to this machine never use a proxy, even if the environment sets one.
func TestLoopbackBypassesProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	srv := llmtest.Start(t, llmtest.Script{Models: []llmtest.Model{{Name: "q"}}, Answers: []llmtest.Answer{{Text: "yes"}}})
	if _, err := llm.New(llm.Options{}).Complete(t.Context(), request(srv.URL)); err != nil {
		t.Fatal(err)
	}
}

func TestOllamaRefusesSignIn(t *testing.T) {
	for _, url := range []string{"https://ollama.com", "https://OLLAMA.com.", "https://api.ollama.com/x"} {
		if _, err := llm.New(llm.Options{}).Complete(t.Context(), request(url)); err == nil ||
			!strings.Contains(err.Error(), "not support") {
			t.Errorf("%s: %v", url, err)
		}
	}
	srv := llmtest.Start(t, llmtest.Script{Models: []llmtest.Model{{Name: "q"}}})
	t.Setenv("OLLAMA_AUTH", "1")
	if _, err := llm.New(llm.Options{}).Complete(t.Context(), request(srv.URL)); err == nil ||
		!strings.Contains(err.Error(), "OLLAMA_AUTH is set") {
		t.Error(err)
	}
	if len(srv.Requests()) != 0 {
		t.Error("a request was sent")
	}
}
