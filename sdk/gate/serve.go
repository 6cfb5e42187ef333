package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"

	"connectrpc.com/connect"

	"github.com/runplan/runplan/sdk/internal/gatev1"
)

// ProtocolVersion is the version of the protocol that this package speaks.
const ProtocolVersion = 1

// The magic cookie detects that a person started a plugin; the plugin then does not serve. The cookie is public and
// proves nothing.
const (
	cookieKey   = "RUNPLAN_GATE_PLUGIN"
	cookieValue = "8d1f0c52-gate-of-runplan"
)

// Serve turns the program into a plugin, and never returns. What the gate prints on standard output or standard error
// goes to the log of the plugin. The program exits when runplan ends.
func Serve(g Gate) {
	if os.Getenv(cookieKey) != cookieValue {
		fmt.Fprintf(os.Stderr, "%s is a gate plugin of runplan and does nothing by itself; name it under [[gates.plugin]] "+
			"in the configuration of runplan\n", os.Args[0])
		os.Exit(2)
	}
	stdout := os.Stdout
	os.Stdout = os.Stderr // only the handshake line belongs on standard output
	exitWithHost(os.Stdin)
	l, err := listen()
	if err == nil {
		_, err = fmt.Fprintf(stdout, "1|%d|%s|%s|grpc\n", ProtocolVersion, l.Addr().Network(), l.Addr())
	}
	if err == nil {
		server := http.Server{Handler: Handler(g), Protocols: new(http.Protocols)}
		server.Protocols.SetUnencryptedHTTP2(true)
		err = server.Serve(l)
	}
	fmt.Fprintln(os.Stderr, "serve the gate:", err)
	os.Exit(1)
}

// listen opens the socket on which runplan calls the plugin.
func listen() (net.Listener, error) {
	if runtime.GOOS == "windows" {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	dir, err := os.MkdirTemp(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "g") // runplan removes it
	if err != nil {
		return nil, err
	}
	return net.Listen("unix", filepath.Join(dir, "s"))
}

// exitWithHost ends this program when the host process ends: only the host holds the other end of in.
func exitWithHost(in *os.File) {
	fi, err := in.Stat()
	if err != nil || fi.Mode()&os.ModeNamedPipe == 0 {
		return // another host without that promise
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(0)
	}()
}

// Handler serves the protocol for g, over HTTP/2. [Serve] uses it; a test may serve it without a process.
func Handler(g Gate) http.Handler {
	s := &server{gate: g}
	mux := http.NewServeMux()
	const service = "/runplan.gate.v1.GateService/"
	mux.Handle(service+"Info", connect.NewUnaryHandler(service+"Info", s.info))
	mux.Handle(service+"Check", connect.NewUnaryHandler(service+"Check", s.check))
	return mux
}

// server answers the calls of the host. It is safe for concurrent use if the gate is.
type server struct {
	gate Gate

	mu       sync.Mutex
	settings *string // the settings that the gate has
}

func (s *server) info(_ context.Context, req *connect.Request[gatev1.InfoRequest]) (
	_ *connect.Response[gatev1.InfoResponse], err error) {
	defer recovered(&err)
	if err := s.configure(req.Msg.Settings); err != nil {
		return nil, err
	}
	info := s.gate.Info()
	return connect.NewResponse(&gatev1.InfoResponse{
		Name: valid(info.Name), Version: buildVersion(), Kind: kinds[info.Kind], Cost: costs[info.Cost],
		Blocking: info.Blocking,
	}), nil
}

func (s *server) check(ctx context.Context, req *connect.Request[gatev1.CheckRequest]) (
	_ *connect.Response[gatev1.CheckResponse], err error) {
	defer recovered(&err)
	if err := s.configure(req.Msg.Settings); err != nil {
		return nil, err
	}
	if _, err := os.Stat(req.Msg.Dir); err != nil {
		return nil, failed(connect.CodeFailedPrecondition, "read the tree: %v", err)
	}
	rep, err := s.gate.Check(ctx, subjectFrom(req.Msg))
	if err != nil {
		return nil, failed(connect.CodeFailedPrecondition, "%v", err)
	}
	return connect.NewResponse(&gatev1.CheckResponse{Report: reportTo(rep)}), nil
}

// configure passes settings to the gate, unless it already has them.
func (s *server) configure(settings string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings != nil && *s.settings == settings {
		return nil
	}
	var names map[string]json.RawMessage
	if err := json.Unmarshal([]byte(settings), &names); err != nil {
		return failed(connect.CodeInvalidArgument, "the settings are not a JSON object: %v", err)
	}
	if c, ok := s.gate.(Configurer); ok {
		if err := c.Configure(json.RawMessage(settings)); err != nil {
			return failed(connect.CodeInvalidArgument, "settings: %v", err)
		}
	} else if len(names) > 0 {
		return failed(connect.CodeInvalidArgument, "settings: the gate has none")
	}
	s.settings = &settings
	return nil
}

// recovered turns a panic of a gate into an error, so that people see the reason and not only the log.
func recovered(err *error) {
	if p := recover(); p != nil {
		fmt.Fprintf(os.Stderr, "panic: %v\n\n%s", p, debug.Stack())
		*err = failed(connect.CodeAborted, "it panicked: %v", p)
	}
}

func failed(code connect.Code, format string, args ...any) error {
	return connect.NewError(code, errors.New(valid(fmt.Sprintf(format, args...))))
}

func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
