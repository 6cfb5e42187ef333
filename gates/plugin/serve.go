package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"sync"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/plugin/gatev1"
)

// server implements the plugin's side of the protocol for a gate, with or without a separate process.
type server struct {
	gatev1.UnimplementedGateServiceServer
	gate    gates.Gate
	version string
	prepare func() // before the first call

	mu       sync.Mutex
	settings *string // the settings that the gate has
}

func newServer(g gates.Gate, version string, prepare func()) *server {
	return &server{gate: g, version: version, prepare: sync.OnceFunc(prepare)}
}

// Info implements the service.
func (s *server) Info(_ context.Context, req *gatev1.InfoRequest) (res *gatev1.InfoResponse, err error) {
	s.prepare()
	defer recovered(&err)
	if err := s.configure(req.GetSettings()); err != nil {
		return nil, err
	}
	info := s.gate.Info()
	return &gatev1.InfoResponse{
		Name: valid(info.Name), Version: valid(s.version), Kind: valueOf(kinds, info.Kind), Cost: valueOf(costs, info.Cost),
		Blocking: info.Blocking,
	}, nil
}

// Check implements the service.
func (s *server) Check(ctx context.Context, req *gatev1.CheckRequest) (res *gatev1.CheckResponse, err error) {
	s.prepare()
	defer recovered(&err)
	if err := s.configure(req.GetSettings()); err != nil {
		return nil, err
	}
	rep, err := s.gate.Check(ctx, subjectFrom(req))
	if err != nil {
		return nil, status.Error(codes.FailedPrecondition, valid(err.Error()))
	}
	return &gatev1.CheckResponse{Report: reportTo(rep)}, nil
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
		return status.Errorf(codes.InvalidArgument, "the settings are not a JSON object: %v", err)
	}
	if c, ok := s.gate.(Configurer); ok {
		if err := c.Configure(json.RawMessage(settings)); err != nil {
			return status.Errorf(codes.InvalidArgument, "settings: %v", err)
		}
	} else if len(names) > 0 {
		return status.Error(codes.InvalidArgument, "settings: the gate has none")
	}
	s.settings = &settings
	return nil
}

// recovered turns a panic of a gate into an error, so that people see the reason and not only the log.
func recovered(err *error) {
	if p := recover(); p != nil {
		fmt.Fprintf(os.Stderr, "panic: %v\n\n%s", p, debug.Stack())
		*err = status.Errorf(codes.Aborted, "it panicked: %s", valid(fmt.Sprint(p)))
	}
}

// transport connects the service to go-plugin, on both sides.
type transport struct {
	goplugin.NetRPCUnsupportedPlugin
	server *server
}

// GRPCServer implements [goplugin.GRPCPlugin].
func (t transport) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	gatev1.RegisterGateServiceServer(s, t.server)
	return nil
}

// GRPCClient implements [goplugin.GRPCPlugin].
func (transport) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return gatev1.NewGateServiceClient(conn), nil
}
