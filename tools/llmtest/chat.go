package llmtest

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	jsonschema "github.com/runplan/runplan/internal/schema"
)

// chat answers as Ollama does. An error is a status with a JSON object. An answer is one JSON line for each piece, and
// only the last one has done set.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var req api.ChatRequest
	rec, err := s.note(r, &req)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	m, ok := s.model(req.Model)
	if !ok {
		refuse(w, http.StatusNotFound, "model '"+req.Model+"' not found")
		return
	}
	if len(req.Format) > 0 && !schema(req.Format) {
		refuse(w, http.StatusInternalServerError, "invalid JSON schema in format")
		return
	}
	window := min(number(req.Options, "num_ctx", 4096), m.Context)
	prompt := 0
	for _, msg := range req.Messages {
		prompt += m.tokens(msg.Content)
	}
	if prompt >= window {
		// With Truncate, the real server would silently cut the prompt. Callers must not rely on that.
		refuse(w, http.StatusBadRequest, "the input length exceeds the context length")
		return
	}
	a, err := s.pick(rec)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	if !pass(r, a.Delay) || s.refused(w, a, req.Model) {
		return
	}
	t := &talk{w: w, r: r, model: req.Model, answer: a, per: m.PerToken, prompt: prompt,
		most: number(req.Options, "num_predict", -1), room: window - prompt}
	t.say()
}

// refused answers with an error status if the fault requires one.
func (s *Server) refused(w http.ResponseWriter, a Answer, model string) bool {
	switch a.Fault {
	case Busy:
		refuse(w, http.StatusServiceUnavailable, "server busy, please try again.  maximum pending requests exceeded")
	case Broken:
		refuse(w, http.StatusInternalServerError, cmp.Or(a.Text, "internal error"))
	case Bad:
		refuse(w, http.StatusBadRequest, cmp.Or(a.Text, "bad request"))
	case Missing:
		refuse(w, http.StatusNotFound, "model '"+model+"' not found")
	case TooLong:
		refuse(w, http.StatusBadRequest, "the input length exceeds the context length")
	case NotOllama:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>welcome</body></html>\n")
	case Redirect:
		w.Header().Set("Location", cmp.Or(a.Text, "http://192.0.2.1/api/chat"))
		w.WriteHeader(http.StatusTemporaryRedirect)
	default:
		return false
	}
	return true
}

// talk is an answer being sent.
type talk struct {
	w      http.ResponseWriter
	r      *http.Request
	model  string
	answer Answer
	per    int
	prompt int // tokens
	most   int // token limit of the answer; -1: none
	room   int // tokens left in the window
}

func (t *talk) say() {
	text := t.answer.Text
	if len(t.answer.JSON) > 0 {
		text = string(t.answer.JSON)
	}
	pieces := split(text, t.per)
	reason, limit := "stop", t.room
	if t.most >= 0 {
		limit = min(limit, t.most)
	}
	if len(pieces) > limit {
		pieces, reason = pieces[:limit], "length"
	}
	if t.answer.Fault == Length {
		reason = "length"
	}
	t.w.Header().Set("Content-Type", "application/x-ndjson")
	broken := t.answer.Fault == Die || t.answer.Fault == HalfLine || t.answer.Fault == Quiet || t.answer.Fault == Crash
	for i, p := range pieces {
		if broken && i >= t.answer.After {
			break
		}
		if t.answer.Fault == Slow && !pass(t.r, t.answer.Delay) {
			return
		}
		t.line(map[string]any{"message": map[string]any{"role": "assistant", "content": p}, "done": false})
	}
	switch t.answer.Fault {
	case Quiet:
		return
	case Crash:
		t.raw(map[string]any{"error": "an error was encountered while running the model: unexpected EOF"})
		return
	case HalfLine:
		_, _ = io.WriteString(t.w, `{"model":"`+t.model+`","message":{"role":"assistant","content":"an answer that`)
		t.flush()
		panic(http.ErrAbortHandler)
	case Die:
		t.flush()
		panic(http.ErrAbortHandler) // closes the connection without the end of the body
	}
	t.line(map[string]any{
		"message": map[string]any{"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
		"total_duration": 12345678, "load_duration": 2345678,
		"prompt_eval_count": orNumber(t.answer.PromptTokens, t.prompt), "prompt_eval_duration": 1000000,
		"eval_count": orNumber(t.answer.AnswerTokens, len(pieces)), "eval_duration": 9000000,
	})
}

func (t *talk) line(fields map[string]any) {
	fields["model"], fields["created_at"] = t.model, "2026-01-01T00:00:00Z"
	t.raw(fields)
}

func (t *talk) raw(v any) {
	_ = json.NewEncoder(t.w).Encode(v)
	t.flush()
}

func (t *talk) flush() { _ = http.NewResponseController(t.w).Flush() }

// split cuts text into pieces of one token each.
func split(text string, per int) []string {
	var out []string
	runes := []rune(text)
	for len(runes) > 0 {
		n := min(per, len(runes))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}

// pass waits, and returns false if the client disconnects.
func pass(r *http.Request, ms int) bool {
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return true
	case <-r.Context().Done():
		return false
	}
}

// schema reports whether the server accepts a format.
func schema(format json.RawMessage) bool {
	if string(format) == `"json"` || string(format) == `""` {
		return true
	}
	_, err := jsonschema.Compile(format)
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(format)), "{")
}

func number(options map[string]any, key string, otherwise int) int {
	if n, ok := options[key].(float64); ok {
		return int(n)
	}
	return otherwise
}

func orNumber(n, otherwise int) int {
	if n != 0 {
		return n
	}
	return otherwise
}
