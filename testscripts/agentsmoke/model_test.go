package agentsmoke

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// written is what the model lets an agent write into a file, and what the gate looks for.
const written = "written by a tool"

// model stands for the providers: a server that speaks their four ways to stream an answer. In a conversation without
// the result of a tool it asks for a file to be written; after that it says that it is done.
type model struct {
	URL string

	mu     sync.Mutex
	refuse int  // status of HTTP for all that is asked; 0 answers
	shell  bool // a command is asked for instead of a file
	asked  []string
	calls  []string // the tools that were asked for
}

// The tokens of one answer. They differ from each other, so that mixing two up shows.
const (
	tokensIn     = 120 // with those from the cache
	tokensCached = 40
	tokensOut    = 30
	tokensThink  = 10 // of tokensOut
)

// tool is what a CLI offers, in the parts that matter here.
type tool struct {
	Name   string
	Schema json.RawMessage
}

// question is a request of any of the four kinds.
type question struct {
	tools    []tool
	answered bool   // the conversation has the result of a tool
	body     []byte // all of it
}

// answer is a text, or a tool to call.
type answer struct {
	text string
	tool string
	args map[string]any
}

func startModel(t *testing.T) *model {
	t.Helper()
	m := &model{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		m.note("count_tokens")
		reply(w, http.StatusOK, map[string]any{"input_tokens": tokensIn})
	})
	mux.HandleFunc("POST /v1/chat/completions", m.completions)
	mux.HandleFunc("POST /v1/responses", m.responses)
	mux.HandleFunc("POST /v1beta/models/{call}", m.generate)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": "loop-1", "object": "model"}}})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		m.note("unknown: " + r.Method + " " + r.URL.Path)
		reply(w, http.StatusNotFound, map[string]any{"error": map[string]any{"message": "there is no " + r.URL.Path}})
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	m.URL = s.URL
	return m
}

func (m *model) note(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, what)
}

// status is what every request is refused with, or 0.
func (m *model) status() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refuse
}

// seen counts what was asked, in the order in which it came first.
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

// workspace is how a CLI tells its model where it works.
var workspace = regexp.MustCompile(`/[^\s"'\\<>]*/\.runplan/worktrees/[\w.-]+`)

// writers are the tools with which one of the CLIs writes a file, the better ones first, with what they are given.
func writers(dir string) []answer {
	file := func(name string) map[string]any {
		return map[string]any{name: path.Join(dir, "hello.txt"), "content": written + "\n"}
	}
	shell := "echo " + written + " > hello.txt"
	return []answer{
		{tool: "Write", args: file("file_path")},      // claude
		{tool: "write_file", args: file("file_path")}, // gemini, qwen
		{tool: "write", args: file("path")},           // opencode, pi, crush
		{tool: "exec_command", args: map[string]any{"cmd": shell}},
		{tool: "shell_command", args: map[string]any{"command": shell}},
	}
}

// shells are the tools with which one of the CLIs runs a command.
func shells() []answer {
	var all []answer
	for _, name := range []string{"Bash", "run_shell_command", "bash"} {
		all = append(all, answer{tool: name, args: map[string]any{"command": "make all", "description": "build it"}})
	}
	return append(all, answer{tool: "exec_command", args: map[string]any{"cmd": "make all"}})
}

// answer decides what is said to q.
func (m *model) answer(q question) answer {
	if q.answered {
		return answer{text: "Wrote hello.txt."}
	}
	// Some take no path but a whole one, so the model reads where it is, as a real one does.
	tools := writers(string(workspace.Find(q.body)))
	if m.shell {
		tools = shells()
	}
	for _, w := range tools {
		i := slices.IndexFunc(q.tools, func(t tool) bool { return t.Name == w.tool })
		if i < 0 {
			continue
		}
		// The same tool calls its path by different names.
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
		return w
	}
	return answer{text: "hello"}
}

// read takes the body of a request apart. One that is no JSON is told to the caller.
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

// stream writes one event of server-sent events, with its name where there is one.
func stream(w http.ResponseWriter, name string, v any) {
	b, _ := json.Marshal(v)
	if name != "" {
		fmt.Fprintf(w, "event: %s\n", name)
	}
	fmt.Fprintf(w, "data: %s\n\n", b)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

func streaming(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }

// argsText is the arguments of a call as one string.
func (a answer) argsText() string {
	b, _ := json.Marshal(a.args)
	return string(b)
}
