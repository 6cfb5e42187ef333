package agentsmoke

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// written is the text that the model makes an agent write into a file, and that the gate expects.
const written = "written by a tool"

// model replaces the providers: it is a server that speaks their four streaming APIs. It answers with a [turn] of its
// script; without a script it asks for a file to be written, and then reports that it is done.
type model struct {
	URL string

	at   string // the address, which stays the same over stop and start
	mux  *http.ServeMux
	over chan struct{} // closed at the end: ends the answers that hang

	mu     sync.Mutex
	server *http.Server
	script func(n int) turn // of the n-th request, from 1; nil works
	n      int
	asked  []string
	calls  []string // the tools that were asked for
}

// The token counts of one answer. They differ from each other, so that a test detects swapped counts.
const (
	tokensIn     = 120 // with those from the cache
	tokensCached = 40
	tokensOut    = 30
	tokensThink  = 10 // of tokensOut
)

// tool describes a tool that a CLI offers to its model.
type tool struct {
	Name   string
	Schema json.RawMessage
}

// question is a request to any of the four APIs.
type question struct {
	tools    []tool
	answered bool   // the conversation has the result of a tool
	body     []byte // all of it
}

// answer is a text or a tool call.
type answer struct {
	text string
	stop string // why it ends, as a turn has it
	tool string
	id   string // of the call
	args map[string]any
}

func startModel(t *testing.T) *model {
	t.Helper()
	m := &model{mux: http.NewServeMux(), over: make(chan struct{})}
	m.mux.HandleFunc("POST /v1/messages", m.messages)
	m.mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		m.note("count_tokens")
		reply(w, http.StatusOK, map[string]any{"input_tokens": tokensIn})
	})
	m.mux.HandleFunc("POST /v1/chat/completions", m.completions)
	m.mux.HandleFunc("POST /v1/responses", m.responses)
	m.mux.HandleFunc("POST /v1beta/models/{call}", m.generate)
	m.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"object": "list",
			"data": []any{map[string]any{"id": "loop-1", "object": "model"}}})
	})
	m.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		m.note("unknown: " + r.Method + " " + r.URL.Path)
		reply(w, http.StatusNotFound, map[string]any{"error": map[string]any{"message": "there is no " + r.URL.Path}})
	})
	m.at = "127.0.0.1:0"
	m.listen(t)
	m.URL = "http://" + m.at
	t.Cleanup(func() { close(m.over); m.hangUp() })
	return m
}

// listen accepts connections, at the previous address if there was one.
func (m *model) listen(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", m.at)
	if err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = l.Addr().String()
	s := &http.Server{Handler: m.mux, ErrorLog: log.New(io.Discard, "", 0)}
	m.server = s
	go func() { _ = s.Serve(l) }()
}

// hangUp closes the server, so that it refuses connections from now on.
func (m *model) hangUp() {
	m.mu.Lock()
	s := m.server
	m.server = nil
	m.mu.Unlock()
	if s != nil {
		_ = s.Close()
	}
}

// mend removes the script, and starts the server again if it is down.
func (m *model) mend(t *testing.T) {
	m.mu.Lock()
	m.script = nil
	down := m.server == nil
	m.mu.Unlock()
	if down {
		m.listen(t)
	}
}

// turn returns the script's answer to the next request.
func (m *model) turn() turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	if m.script == nil {
		return turn{}
	}
	t := m.script(m.n)
	t.n = m.n
	return t
}

func (m *model) note(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, what)
}

// seen counts the requests, in the order of their first occurrence.
func (m *model) seen() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := map[string]int{}
	var order, out []string
	for _, a := range m.asked {
		if n[a]++; n[a] == 1 {
			order = append(order, a)
		}
	}
	for _, a := range order {
		out = append(out, fmt.Sprintf("%s×%d", a, n[a]))
	}
	return strings.Join(out, ", ")
}

// workspace matches the path of the workspace that a CLI gives to its model.
var workspace = regexp.MustCompile(`/[^\s"'\\<>]*/\.runplan/worktrees/[\w.-]+`)

// writers returns the tools with which the CLIs write a file, the preferred ones first, with their arguments.
func writers(dir, file string) []answer {
	args := func(name string) map[string]any {
		return map[string]any{name: path.Join(dir, file), "content": written + "\n"}
	}
	shell := "echo " + written + " > " + file
	return []answer{
		{tool: "Write", args: args("file_path")},      // claude
		{tool: "write_file", args: args("file_path")}, // gemini, qwen
		{tool: "write", args: args("path")},           // opencode, pi, crush
		{tool: "exec_command", args: map[string]any{"cmd": shell}},
		{tool: "shell_command", args: map[string]any{"command": shell}},
	}
}

// shells returns the tools with which the CLIs run a command.
func shells() []answer {
	var all []answer
	for _, name := range []string{"Bash", "run_shell_command", "bash"} {
		all = append(all, answer{tool: name, args: map[string]any{"command": "make all", "description": "build it"}})
	}
	return append(all, answer{tool: "exec_command", args: map[string]any{"cmd": "make all"}})
}

// answer returns the answer to q. Only a question that offers tools belongs to the work itself, because CLIs also ask
// for titles.
func (m *model) answer(q question, t turn) answer {
	if len(q.tools) == 0 || q.answered && (t.does == "" || t.does == "shell") {
		return answer{text: "Wrote hello.txt."}
	}
	if t.does == "say" {
		return answer{text: t.text, stop: t.stop}
	}
	// Some tools accept only an absolute path, so the model takes the path of the workspace from the request, as a
	// real model does.
	name := "hello.txt"
	switch t.does {
	case "more":
		name = fmt.Sprintf("note-%d.txt", t.n)
	case "loop":
		name = "again.txt"
	}
	tools := writers(string(workspace.Find(q.body)), name)
	if t.does == "shell" {
		tools = shells()
	}
	for _, w := range tools {
		i := slices.IndexFunc(q.tools, func(t tool) bool { return t.Name == w.tool })
		if i < 0 {
			continue
		}
		// The same tool has different names for its path argument.
		for _, name := range []string{"file_path", "filePath", "path"} {
			if v, ok := w.args["path"]; ok && strings.Contains(string(q.tools[i].Schema), `"`+name+`"`) {
				delete(w.args, "path")
				w.args[name] = v
				break
			}
		}
		m.mu.Lock()
		m.calls = append(m.calls, w.tool)
		m.mu.Unlock()
		w.id = fmt.Sprint(t.n)
		return w
	}
	return answer{text: "hello"}
}

// read decodes the body of a request, and answers a body that is not JSON with an error.
func read(w http.ResponseWriter, r *http.Request, into any) ([]byte, bool) {
	b, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		reply(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": err.Error()}})
	}
	return b, err == nil
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// argsText returns the arguments of a call as one string.
func (a answer) argsText() string {
	b, _ := json.Marshal(a.args)
	return string(b)
}
