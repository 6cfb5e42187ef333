//go:build unix

package testscripts

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/ollama/ollama/api"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/runplan/runplan/tools/llmtest"
	"github.com/runplan/runplan/tools/tinymodel"
	"github.com/runplan/runplan/tools/tooltest"
)

// TestOllama runs all tests that need the real Ollama server: with one server, and with models that the tests create.
func TestOllama(t *testing.T) {
	tooltest.Slow(t)
	lookAtSources(t)
	program := ollamaProgram(t)
	server, err := startOllama(program, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.stop(); err != nil {
			t.Error(err)
		}
	})
	t.Run("model", func(t *testing.T) { testModel(t, server) })
	t.Run("many models at once", func(t *testing.T) {
		var making sync.WaitGroup
		for i := range 32 {
			making.Go(func() {
				if err := server.create(t.Context(), fmt.Sprintf("at-once-%d", i), tinymodel.Model{Seed: uint64(i)}); err != nil {
					t.Error(err)
				}
			})
		}
		making.Wait()
	})
	t.Run("client", func(t *testing.T) {
		if err := server.create(t.Context(), "conformance", tinymodel.Model{Seed: 1}); err != nil {
			t.Fatal(err)
		}
		llmtest.Conformance(t, server.url, "conformance")
	})
	t.Run("wire", func(t *testing.T) { testWire(t, server) })
	t.Run("faults", func(t *testing.T) { testFaults(t, program) })
	t.Run("stop", func(t *testing.T) { testStop(t, program) })
	t.Run("scripts", func(t *testing.T) {
		o := &ollamaScripts{program: program, shared: server}
		testscript.Run(t, testscript.Params{
			Dir: "testdata/ollama",
			Setup: func(env *testscript.Env) error {
				env.Vars = append(env.Vars, "OLLAMA="+server.url, "OLLAMA_PROGRAM="+program)
				return setup(env)
			},
			Condition:          ollamaCondition,
			Cmds:               o.commands(),
			UpdateScripts:      *update,
			RequireUniqueNames: true,
			Deadline:           deadline(t),
		})
	})
}

// The model behaves as the scripts expect.
func testModel(t *testing.T, s *ollamaServer) {
	long := "I change one line.\n\n```go\nfunc main() {\n\tfmt.Println(\"x\")\n}\n```\n" +
		strings.Repeat("Again and again the same. ", 40) + "Ünïcödé, done.\n"
	models := map[string]tinymodel.Model{
		"model-random":  {Seed: 1},
		"model-endless": {Seed: 1, Endless: true},
		"model-rules": {Rules: []tinymodel.Rule{
			{When: "SECOND ATTEMPT", Say: "the second answer"},
			{When: "FIRST ATTEMPT", Say: long},
			{When: "as JSON", Say: `{"names":["a","b"],"count":17}`},
			{Say: "I know nothing of that."},
		}},
	}
	for name, m := range models {
		if err := s.create(t.Context(), name, m); err != nil {
			t.Fatal(err)
		}
	}
	schema := json.RawMessage(`{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"}},"count":{"type":"integer"}},"required":["names","count"]}`)
	far := strings.Repeat("This is about another thing.\n", 100)
	for name, c := range map[string]struct {
		prompt string
		schema json.RawMessage
		want   string
	}{
		"a phrase brings its answer, to the last letter": {prompt: "The FIRST ATTEMPT:\n" + far, want: long},
		"the first rule that fits is followed": {prompt: "FIRST ATTEMPT and\n" + far + "SECOND ATTEMPT" + far,
			want: "the second answer"},
		"no phrase, the last rule": {prompt: far, want: "I know nothing of that."},
		"an answer that meets the schema stays as it is": {prompt: "Say it as JSON.", schema: schema,
			want: `{"names":["a","b"],"count":17}`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, temperature := range []float64{0, 1} {
				if got := s.ask(t, "model-rules", c.prompt, c.schema, temperature); got != c.want {
					t.Errorf("at temperature %g: %q, want %q", temperature, got, c.want)
				}
			}
		})
	}
	t.Run("random talk is the same again at temperature 0", func(t *testing.T) {
		one, two := s.ask(t, "model-random", "Talk.", nil, 0), s.ask(t, "model-random", "Talk.", nil, 0)
		if one != two || len(one) < 10 {
			t.Errorf("%q, then %q", one, two)
		}
		if at := control(one); at >= 0 {
			t.Errorf("%q has a control code", one)
		}
	})
	t.Run("random talk meets a schema", func(t *testing.T) {
		different := map[string]bool{}
		for i := range 40 { // half of them where a model may go round in circles
			text := s.ask(t, "model-random", fmt.Sprintf("Talk of %d.", i), schema, float64(i%2))
			var answer struct {
				Names []string
				Count *int
			}
			if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Count == nil || answer.Names == nil {
				t.Errorf("%q: %v", text, err)
			}
			different[text] = true
		}
		if len(different) < 10 {
			t.Errorf("of 40 answers, %d differ", len(different))
		}
	})
	t.Run("the endless model continues to the limit", func(t *testing.T) {
		_, last := s.chat(t, api.ChatRequest{Model: "model-endless",
			Messages: []api.Message{{Role: "user", Content: "Talk."}}, Options: map[string]any{"num_predict": 500}})
		if !last.Done || last.DoneReason != "length" {
			t.Errorf("%+v", last)
		}
	})
}

func (s *ollamaServer) ask(t *testing.T, model, prompt string, schema json.RawMessage, temperature float64) string {
	t.Helper()
	text, last := s.chat(t, api.ChatRequest{
		Model: model, Messages: []api.Message{{Role: "user", Content: prompt}}, Format: schema,
		Options: map[string]any{"temperature": temperature, "num_ctx": 8192, "num_predict": 2000},
	})
	if last.DoneReason != "stop" {
		t.Fatalf("%s did not end by itself: %s, %d tokens: %.200q", model, last.DoneReason, last.EvalCount, text)
	}
	return text
}

func (s *ollamaServer) chat(t *testing.T, r api.ChatRequest) (text string, last api.ChatResponse) {
	t.Helper()
	client, err := s.client()
	if err == nil {
		err = client.Chat(t.Context(), &r, func(c api.ChatResponse) error {
			text += c.Message.Content
			last = c
			return nil
		})
	}
	if err == nil && !last.Done {
		err = errors.New("the answer is cut off")
	}
	if err != nil {
		t.Fatalf("%s: %v", r.Model, err)
	}
	return text, last
}

// The check of connections reports a connection to another machine.
func TestOutsideReportsRemoteConnections(t *testing.T) {
	for name, c := range map[string]struct {
		line    string
		outside string
	}{
		"loopback":          {line: `12 connect(3, {sa_family=AF_INET, sin_port=htons(11434), sin_addr=inet_addr("127.0.0.1")}, 16) = 0`},
		"all of 127":        {line: `connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}, 16) = 0`},
		"loopback, IPv6":    {line: `connect(3, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::1", &sin6_addr), sin6_scope_id=0}, 28) = 0`},
		"a file":            {line: `connect(3, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT (No such file or directory)`},
		"no address":        {line: `sendto(3, "x", 1, 0, NULL, 0) = 1`},
		"a host":            {line: `connect(5, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.1")}, 16) = -1 EINPROGRESS`, outside: "192.0.2.1"},
		"a host, IPv6":      {line: `connect(5, {sa_family=AF_INET6, sin6_port=htons(443), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr)}, 28) = 0`, outside: "2001:db8::1"},
		"a name server":     {line: `sendto(6, "\x12", 31, 0, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.2")}, 16) = 31`, outside: "10.0.0.2"},
		"a kind of its own": {line: `connect(3, {sa_family=AF_VSOCK, svm_cid=2}, 16) = 0`, outside: "AF_VSOCK"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(outside(c.line+"\n"), " "); got != c.outside {
				t.Errorf("outside: %q, want %q", got, c.outside)
			}
		})
	}
}

// ollamaCondition adds [strace] and [netns]: whether connections can be logged, and whether a program can run without
// a network.
func ollamaCondition(name string) (bool, error) {
	switch name {
	case "strace":
		return canTrace(), nil
	case "netns":
		return canUnshare(), nil
	}
	return condition(name)
}

var canTrace = sync.OnceValue(func() bool {
	return exec.Command("strace", "-f", "-qq", "-e", "trace=connect", "-o", os.DevNull, "true").Run() == nil
})

var canUnshare = sync.OnceValue(func() bool {
	return exec.Command("unshare", "--user", "--map-root-user", "--net", "ip", "link", "set", "lo", "up").Run() == nil
})

// At least one tool that reveals connections to other machines works here.
func TestConnectionTracerIsAvailable(t *testing.T) {
	if canTrace() || canUnshare() {
		return
	}
	tooltest.Missing(t, errors.New("neither strace nor unshare --net works here"),
		"install strace, or else nobody sees whether data leaves this machine")
}
