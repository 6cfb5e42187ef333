// Package llmtest is a fake Ollama server for tests. It speaks the wire format of Ollama 0.17 and answers as a script
// says, including faults. [Conformance] tests both this server and a real one.
package llmtest

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ollama/ollama/api"
)

// Script defines the models and answers of a server.
type Script struct {
	Version string   `json:"version"` // "" is 0.17.4
	Models  []Model  `json:"models"`
	Answers []Answer `json:"answers"`
	Vectors []Vector `json:"vectors"`
}

// Vector is the vector of the texts that match. The first match that is not used up is used. Other texts have vectors
// that follow from their words.
type Vector struct {
	Match  string    `json:"match"`
	Vector []float32 `json:"vector"`
	Fault  Fault     `json:"fault"` // of the whole answer
	Times  int       `json:"times"` // how often fault and delay occur; 0: always
	Delay  int       `json:"delay"` // milliseconds before the answer
}

// Model is a model of the server. Any other model is not found.
type Model struct {
	Name       string `json:"name"`
	Digest     string `json:"digest"`      // "": derived from the name
	Context    int    `json:"context"`     // 0 is 32768
	RemoteHost string `json:"remote_host"` // host to which the server would forward requests
	PerToken   int    `json:"per_token"`   // characters per token; 0 is 4

	adapted bool // created with an adapter
}

// Answer is a scripted answer. The first match that is not used up is used. Without a match the server answers with
// status 500.
type Answer struct {
	Stage  string `json:"stage"`  // stage of package llm; "": any
	Model  string `json:"model"`  // regular expressions for the model, the last user message, and the system message
	Match  string `json:"match"`  //
	System string `json:"system"` //
	Times  int    `json:"times"`  // how often it may be used; 0: unlimited

	Text  string          `json:"text"`  // the answer
	JSON  json.RawMessage `json:"json"`  // or this JSON
	Fault Fault           `json:"fault"` // fault to simulate
	After int             `json:"after"` // pieces before a fault within the answer
	Delay int             `json:"delay"` // milliseconds before the answer, and before each piece with the fault "slow"

	PromptTokens int `json:"prompt_tokens"` // prompt tokens that the server reports; 0: computed
	AnswerTokens int `json:"answer_tokens"` //
}

// Fault is a simulated fault of an answer.
type Fault string

// The faults.
const (
	Die       Fault = "die"       // the connection closes during the answer
	HalfLine  Fault = "half-line" // the same, within a line
	Quiet     Fault = "quiet"     // the answer ends without its last message or an error
	Crash     Fault = "crash"     // the runner crashes: an error during the answer
	Length    Fault = "length"    // a token limit truncates the answer
	Busy      Fault = "busy"      // 503
	Broken    Fault = "broken"    // 500
	Bad       Fault = "bad"       // 400
	Missing   Fault = "missing"   // 404: the model was deleted
	TooLong   Fault = "too-long"  // 400: the server counts more tokens than its window
	Slow      Fault = "slow"      // delay before each piece
	NotOllama Fault = "html"      // an HTML page, as a proxy may send
	Redirect  Fault = "redirect"  // 307 to another server
)

// Recorded is a received request.
type Recorded struct {
	Path  string          `json:"path"`
	Stage string          `json:"stage,omitempty"`
	Chat  api.ChatRequest `json:"chat,omitzero"`
	Raw   json.RawMessage `json:"raw,omitempty"` // as received
}

// Server is a running server.
type Server struct {
	URL string

	script Script
	http   *http.Server
	closed chan struct{}

	mu     sync.Mutex
	used   []int
	faults []int // of vectors
	seen   []Recorded
	record func(Recorded)
	blobs  map[string]int   // size, by digest
	made   map[string]Model // created by clients from another model and an adapter
}

// Start runs a server for a test.
func Start(t testing.TB, s Script) *Server {
	t.Helper()
	srv, err := Serve("127.0.0.1:0", s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

// Serve runs a server at an address. It passes each request to record, one at a time; record may be nil.
func Serve(addr string, s Script, record func(Recorded)) (*Server, error) {
	for _, a := range s.Answers {
		for _, re := range []string{a.Model, a.Match, a.System} {
			if _, err := regexp.Compile(re); err != nil {
				return nil, fmt.Errorf("answer %q: %w", a.Text, err)
			}
		}
	}
	l, err := listen(addr)
	if err != nil {
		return nil, err
	}
	srv := &Server{URL: "http://" + l.Addr().String(), script: s, used: make([]int, len(s.Answers)), faults: make([]int, len(s.Vectors)),
		closed: make(chan struct{}), record: record}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/version", srv.version)
	mux.HandleFunc("GET /api/tags", srv.tags)
	mux.HandleFunc("POST /api/show", srv.show)
	mux.HandleFunc("POST /api/chat", srv.chat)
	mux.HandleFunc("POST /api/embed", srv.embed)
	mux.HandleFunc("POST /api/blobs/{digest}", srv.blob)
	mux.HandleFunc("POST /api/create", srv.create)
	mux.HandleFunc("DELETE /api/delete", srv.remove)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "Ollama is running") })
	srv.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(srv.closed)
		_ = srv.http.Serve(l) // returns an error when the server is closed
	}()
	return srv, nil
}

// tried counts the ports that listen has tried.
var tried atomic.Int64

// listen listens at an address. For port 0 it takes a port that no other server of this process had, because a test that
// stops a server expects no answer from its port. Systems choose free ports above 30,000, so all of these are below.
func listen(addr string) (l net.Listener, err error) {
	host, free := strings.CutSuffix(addr, ":0")
	if !free {
		return net.Listen("tcp", addr)
	}
	for range 1000 {
		port := 20_000 + (int64(os.Getpid())*97+tried.Add(1))%10_000
		if l, err = net.Listen("tcp", fmt.Sprintf("%s:%d", host, port)); err == nil {
			return l, nil
		}
	}
	return nil, err
}

// Close stops the server and its open answers.
func (s *Server) Close() {
	_ = s.http.Close()
	<-s.closed
}

// Requests returns the requests so far, in order.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Recorded(nil), s.seen...)
}

// Chats returns the chat requests.
func (s *Server) Chats() []Recorded {
	var out []Recorded
	for _, r := range s.Requests() {
		if r.Path == "/api/chat" {
			out = append(out, r)
		}
	}
	return out
}

// note records a request and decodes its body into v.
func (s *Server) note(r *http.Request, v any) (Recorded, error) {
	body, err := io.ReadAll(r.Body)
	rec := Recorded{Path: r.URL.Path, Stage: stageOf(r.UserAgent())}
	if len(body) > 0 {
		rec.Raw = body
	}
	if err == nil && v != nil {
		err = json.Unmarshal(body, v)
	}
	if c, ok := v.(*api.ChatRequest); ok {
		rec.Chat = *c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, rec)
	if s.record != nil {
		s.record(rec)
	}
	return rec, err
}

// stageOf parses a user agent such as "runplan (scope)".
func stageOf(agent string) string {
	_, rest, _ := strings.Cut(agent, "(")
	stage, _, _ := strings.Cut(rest, ")")
	return stage
}

func (s *Server) version(w http.ResponseWriter, r *http.Request) {
	_, _ = s.note(r, nil)
	v := s.script.Version
	if v == "" {
		v = "0.17.4"
	}
	reply(w, http.StatusOK, map[string]any{"version": v})
}

func (s *Server) tags(w http.ResponseWriter, r *http.Request) {
	_, _ = s.note(r, nil)
	list := []map[string]any{}
	for _, m := range s.models() {
		list = append(list, map[string]any{"name": m.Name, "model": m.Name, "size": 1,
			"digest":  cmp.Or(m.Digest, fmt.Sprintf("%x", sha256.Sum256([]byte(m.Name)))),
			"details": map[string]any{"family": "llama", "format": "gguf"}})
	}
	reply(w, http.StatusOK, map[string]any{"models": list})
}

func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	var req api.ShowRequest
	if _, err := s.note(r, &req); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	m, ok := s.model(req.Model)
	if !ok {
		refuse(w, http.StatusNotFound, fmt.Sprintf("model '%s' not found", req.Model))
		return
	}
	out := map[string]any{
		"details":      map[string]any{"family": "llama", "format": "gguf"},
		"model_info":   map[string]any{"general.architecture": "llama", "llama.context_length": m.Context},
		"capabilities": []string{"completion"}, "modified_at": "2026-01-01T00:00:00Z",
	}
	if m.adapted {
		out["modelfile"] = "FROM base\nADAPTER /blobs/adapter\n"
	}
	if m.RemoteHost != "" {
		out["remote_host"], out["remote_model"] = m.RemoteHost, m.Name
	}
	reply(w, http.StatusOK, out)
}

func (s *Server) model(name string) (Model, bool) {
	for _, m := range s.models() {
		if m.Name == name || m.Name == name+":latest" || m.Name+":latest" == name {
			if m.Context == 0 {
				m.Context = 32768
			}
			if m.PerToken == 0 {
				m.PerToken = 4
			}
			return m, true
		}
	}
	return Model{}, false
}

// tokens counts the tokens of a text for the model.
func (m Model) tokens(text string) int {
	return (utf8.RuneCountInString(text) + m.PerToken - 1) / m.PerToken
}

// pick returns the answer to a question and counts its use.
func (s *Server) pick(rec Recorded) (Answer, error) {
	var user, system string
	for _, m := range rec.Chat.Messages {
		switch m.Role {
		case "system":
			system = m.Content
		case "user":
			user = m.Content
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.script.Answers {
		fits := func(re, text string) bool { return re == "" || regexp.MustCompile(re).MatchString(text) }
		if a.Times > 0 && s.used[i] >= a.Times || a.Stage != "" && a.Stage != rec.Stage || !fits(a.Model, rec.Chat.Model) ||
			!fits(a.Match, user) || !fits(a.System, system) {
			continue
		}
		s.used[i]++
		return a, nil
	}
	return Answer{}, errors.New("the script of this server has no answer left for stage " + rec.Stage)
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}

func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]string{"error": message})
}
