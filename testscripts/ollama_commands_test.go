//go:build unix

package testscripts

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/runplan/runplan/tools/tinymodel"
)

// ollamaScripts holds the state that the scripts under testdata/ollama share. $OLLAMA is the address of the server.
type ollamaScripts struct {
	program string
	shared  *ollamaServer
	mu      sync.Mutex
	models  map[string]string // on the shared server: by name, the script that made it
	own     map[string]*ollamaServer
}

func (o *ollamaScripts) commands() map[string]func(*testscript.TestScript, bool, []string) {
	all := allCommands()
	// tiny NAME [endless] [window=N] [seed=N] [RULES]: create a model. RULES is a file: a line "@@ PHRASE", and below
	// it the answer to a prompt that contains PHRASE; "@@" without a phrase is for all other prompts. Without RULES
	// the model generates random text.
	all["tiny"] = o.cmdTiny
	// ollama start|stop|kill: start a server for this script, at $OLLAMA from then on; stop it; or kill it.
	all["ollama"] = o.cmdOllama
	// front FILE: send all requests to $OLLAMA through a proxy from then on, which logs them to FILE, one JSON object
	// per line: event "request" with the body, "streaming" once the answer of a model has begun (FILE.MODEL exists
	// then), "end" with the whole answer.
	all["front"] = cmdFront
	// local FILE: check that this strace log shows no connection to another machine. ! local: check that it shows
	// one.
	all["local"] = cmdLocal
	return all
}

func (o *ollamaScripts) server(ts *testscript.TestScript) *ollamaServer {
	o.mu.Lock()
	defer o.mu.Unlock()
	if own := o.own[ts.Name()]; own != nil {
		return own
	}
	return o.shared
}

func (o *ollamaScripts) cmdTiny(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: tiny NAME [endless] [window=N] [seed=N] [RULES]")
	}
	name := args[0]
	var m tinymodel.Model
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		n, err := strconv.Atoi(value)
		switch {
		case key == "window" && err == nil:
			m.Window = n
		case key == "seed" && err == nil:
			m.Seed = uint64(n)
		case arg == "endless":
			m.Endless = true
		default:
			m.Rules, err = tinyRules(ts.ReadFile(arg))
			ts.Check(err)
		}
	}
	server := o.server(ts)
	if server == o.shared {
		o.mu.Lock()
		owner, taken := o.models[name]
		if o.models == nil {
			o.models = map[string]string{}
		}
		o.models[name] = ts.Name()
		o.mu.Unlock()
		if taken {
			ts.Fatalf("script %s has a model %s on the same server: take another name", owner, name)
		}
	}
	ts.Check(server.create(context.Background(), name, m))
}

func (o *ollamaScripts) cmdOllama(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ollama start|stop|kill")
	}
	if args[0] == "start" {
		dir := filepath.Join(ts.Getenv("WORK"), "ollama")
		ts.Check(os.MkdirAll(dir, 0o755))
		own, err := startOllama(o.program, dir)
		ts.Check(err)
		ts.Defer(own.kill)
		ts.Setenv("OLLAMA", own.url)
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.own == nil {
			o.own = map[string]*ollamaServer{}
		}
		o.own[ts.Name()] = own
		return
	}
	own := o.server(ts)
	if own == o.shared {
		ts.Fatalf("ollama %s: the script has no server of its own", args[0])
	}
	switch args[0] {
	case "stop":
		ts.Check(own.stop())
	case "kill":
		own.kill()
	default:
		ts.Fatalf("ollama %s: no such command", args[0])
	}
}

func cmdFront(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: front FILE")
	}
	to, err := url.Parse(ts.Getenv("OLLAMA"))
	ts.Check(err)
	file, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	server := httptest.NewServer((&wireLog{file: file}).front(to))
	ts.Setenv("OLLAMA", server.URL)
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
		file.Close()
	})
}

// wireLog logs the traffic between runplan and the server.
type wireLog struct {
	mu   sync.Mutex
	file *os.File
}

type wireLine struct {
	Event  string          `json:"event"`
	Path   string          `json:"path"`
	Model  string          `json:"model,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Answer string          `json:"answer,omitempty"`
}

func (l *wireLog) add(line wireLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = json.NewEncoder(l.file).Encode(line)
}

func (l *wireLog) front(to *url.URL) http.Handler {
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ErrorLog = log.New(io.Discard, "", 0) // connections break here, that is what it is for
	proxy.ModifyResponse = func(r *http.Response) error {
		model, _ := r.Request.Context().Value(modelKey{}).(string)
		r.Body = &watchedBody{ReadCloser: r.Body, log: l, line: wireLine{Path: r.Request.URL.Path, Model: model}}
		return nil
	}
	// If the server breaks a connection, the proxy breaks the client's connection too.
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var asked struct{ Model string }
		line := wireLine{Event: "request", Path: r.URL.Path}
		if json.Unmarshal(body, &asked) == nil {
			line.Model, line.Body = asked.Model, body
		}
		l.add(line)
		r = r.WithContext(context.WithValue(r.Context(), modelKey{}, asked.Model))
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
		proxy.ServeHTTP(w, r)
	})
}

type modelKey struct{}

// watchedBody logs when an answer is in progress, and when it has been read.
type watchedBody struct {
	io.ReadCloser
	log  *wireLog
	line wireLine
	text []byte
	ends sync.Once
}

const underWay = 1000 // bytes, which are several pieces of an answer

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	before := len(b.text)
	b.text = append(b.text, p[:n]...)
	if b.line.Path == "/api/chat" && before < underWay && len(b.text) >= underWay {
		b.tell("streaming", "")
		_ = os.WriteFile(b.log.file.Name()+"."+b.line.Model, nil, 0o644)
	}
	if err != nil {
		b.ends.Do(func() { b.tell("end", string(b.text)) })
	}
	return n, err
}

func (b *watchedBody) tell(event, answer string) {
	line := b.line
	line.Event, line.Answer = event, answer
	b.log.add(line)
}

func cmdLocal(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: local FILE")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, "sa_family=") {
		ts.Fatalf("%s: nothing connected to anything: was it watched?", args[0])
	}
	switch found := outside(text); {
	case len(found) > 0 && !neg:
		ts.Fatalf("%s: not only this machine was talked to: %s", args[0], strings.Join(found, " "))
	case len(found) == 0 && neg:
		ts.Fatalf("%s: only this machine was talked to", args[0])
	}
}

var (
	family    = regexp.MustCompile(`sa_family=(AF_\w+)`)
	inet      = regexp.MustCompile(`inet_addr\("([^"]*)"\)|inet_pton\(AF_INET6, "([^"]*)"`)
	loopbacks = regexp.MustCompile(`^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$`)
)

// outside lists the addresses in a strace log that are not on this machine. An unknown address family counts as one.
func outside(log string) []string {
	var found []string
	for line := range strings.Lines(log) {
		kind := family.FindStringSubmatch(line)
		if kind == nil {
			continue
		}
		switch kind[1] {
		case "AF_UNIX", "AF_NETLINK", "AF_UNSPEC":
			continue
		case "AF_INET", "AF_INET6":
			at := inet.FindStringSubmatch(line)
			if at != nil && loopbacks.MatchString(at[1]+at[2]) {
				continue
			}
			if at != nil {
				found = append(found, at[1]+at[2])
				continue
			}
		}
		found = append(found, kind[1])
	}
	slices.Sort(found)
	return slices.Compact(found)
}
