package teamtest

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/runplan/runplan/internal/lists"
)

// Service is a fake Temporal service with scripted answers, over the wire. A nil error is a plain answer.
type Service struct {
	workflowservice.UnimplementedWorkflowServiceServer
	Namespace, Describe, Start error

	mu   sync.Mutex
	keys []string
}

// Serve makes the service answer on the loopback interface until the test ends, and returns its address.
func (s *Service) Serve(t *testing.T, options ...grpc.ServerOption) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	workflowservice.RegisterWorkflowServiceServer(server, s)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return l.Addr().String()
}

// Keys returns the distinct API keys of the callers.
func (s *Service) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.keys)
}

// GetSystemInfo answers the first request of a client.
func (s *Service) GetSystemInfo(context.Context,
	*workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

// DescribeNamespace returns the answer of Namespace.
func (s *Service) DescribeNamespace(ctx context.Context,
	_ *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	about, _ := metadata.FromIncomingContext(ctx)
	s.mu.Lock()
	for _, key := range about.Get("authorization") {
		s.keys = lists.Add(s.keys, key)
	}
	s.mu.Unlock()
	return &workflowservice.DescribeNamespaceResponse{}, onWire(s.Namespace)
}

// DescribeWorkflowExecution returns the answer of Describe.
func (s *Service) DescribeWorkflowExecution(context.Context,
	*workflowservice.DescribeWorkflowExecutionRequest) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{}, onWire(s.Describe)
}

// StartWorkflowExecution returns the answer of Start.
func (s *Service) StartWorkflowExecution(context.Context,
	*workflowservice.StartWorkflowExecutionRequest) (*workflowservice.StartWorkflowExecutionResponse, error) {
	return &workflowservice.StartWorkflowExecutionResponse{}, onWire(s.Start)
}

// onWire is an error as the service sends it.
func onWire(err error) error {
	if err == nil {
		return nil
	}
	return serviceerror.ToStatus(err).Err()
}
