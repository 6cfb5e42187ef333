package gatetest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/runplan/runplan/sdk/gate"
	"github.com/runplan/runplan/sdk/internal/gatev1"
)

// host calls a gate as runplan does.
type host struct {
	infoCall  *connect.Client[gatev1.InfoRequest, gatev1.InfoResponse]
	checkCall *connect.Client[gatev1.CheckRequest, gatev1.CheckResponse]
	settings  string
}

// serve starts a server for g, which ends with the test.
func serve(t testing.TB, g gate.Gate, settings map[string]any) *host {
	t.Helper()
	h := &host{settings: "{}"}
	if len(settings) > 0 {
		data, err := json.Marshal(settings)
		if err != nil {
			t.Fatalf("encode the settings: %v", err)
		}
		h.settings = string(data)
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := httptest.NewUnstartedServer(gate.Handler(g))
	server.Config.Protocols = protocols
	server.Start()
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	t.Cleanup(client.CloseIdleConnections)
	url := server.URL + "/runplan.gate.v1.GateService/"
	h.infoCall = connect.NewClient[gatev1.InfoRequest, gatev1.InfoResponse](client, url+"Info", connect.WithGRPC())
	h.checkCall = connect.NewClient[gatev1.CheckRequest, gatev1.CheckResponse](client, url+"Check", connect.WithGRPC())
	return h
}

// info requests the gate's description, which also configures the gate.
func (h *host) info(ctx context.Context) error {
	req := &gatev1.InfoRequest{Host: "runplan", Settings: h.settings}
	addUnknownField(req)
	_, err := h.infoCall.CallUnary(ctx, connect.NewRequest(req))
	return reason(err)
}

func (h *host) check(ctx context.Context, s gate.Subject) (gate.Report, error) {
	req := &gatev1.CheckRequest{
		Dir: s.Dir, Base: s.Base, Tree: s.Tree, ChangedKnown: s.Changed != nil, Changed: s.Changed, Settings: h.settings,
		TimeoutMs: time.Minute.Milliseconds(),
	}
	if b := s.Batch; b != nil {
		req.Batch = &gatev1.Batch{Key: b.Key, Number: b.Number, Title: b.Title, Files: &gatev1.Files{
			Create: b.Files.Create, Modify: b.Files.Modify, Test: b.Files.Test, Delete: b.Files.Delete}}
	}
	if c := s.Before; c != nil {
		req.Before = &gatev1.TestCount{Passed: int32(c.Passed), Failed: int32(c.Failed), Skipped: int32(c.Skipped)}
	}
	addUnknownField(req)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	res, err := h.checkCall.CallUnary(ctx, connect.NewRequest(req))
	if err != nil {
		return gate.Report{}, reason(err)
	}
	return reportFrom(res.Msg.Report)
}

// addUnknownField makes sure that a gate tolerates the fields of later versions, as runplan does.
func addUnknownField(m proto.Message) {
	field := protowire.AppendTag(nil, 1000, protowire.BytesType) // reserved for this in gate.proto
	m.ProtoReflect().SetUnknown(protowire.AppendString(field, "unknown"))
}

// reason returns the error of a call without its gRPC status.
func reason(err error) error {
	if e := new(connect.Error); errors.As(err, &e) {
		return errors.New(e.Message())
	}
	return err
}

func reportFrom(in *gatev1.Report) (gate.Report, error) {
	statuses := map[gatev1.Status]gate.Status{gatev1.Status_STATUS_PASS: gate.Pass, gatev1.Status_STATUS_FAIL: gate.Fail,
		gatev1.Status_STATUS_WARN: gate.Warn, gatev1.Status_STATUS_SKIPPED: gate.Skipped}
	severities := map[gatev1.Severity]gate.Severity{gatev1.Severity_SEVERITY_ERROR: gate.Error,
		gatev1.Severity_SEVERITY_WARNING: gate.Warning, gatev1.Severity_SEVERITY_INFO: gate.Note}
	if in == nil {
		return gate.Report{}, errors.New("the answer contains no report")
	}
	status, ok := statuses[in.Status]
	if !ok {
		return gate.Report{}, errors.New("the report has no status; it must be pass, fail, warn or skipped")
	}
	rep := gate.Report{Status: status, Note: in.Note, Output: in.Output}
	if c := in.Tests; c != nil {
		rep.Tests = &gate.TestCount{Passed: int(c.Passed), Failed: int(c.Failed), Skipped: int(c.Skipped)}
	}
	for _, f := range in.Findings {
		rep.Findings = append(rep.Findings, gate.Finding{Rule: f.Rule, Path: f.Path, Line: int(f.Line),
			Col: int(f.Col), Severity: severities[f.Severity], Message: f.Message, Fix: f.Fix})
	}
	return rep, nil
}
