package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/plugin/gatev1"
	"github.com/runplan/runplan/internal/phrase"
)

// hostName is the name that runplan gives to plugins.
const hostName = "runplan"

// client calls a gate through the protocol.
type client struct {
	conn     grpc.ClientConnInterface
	settings string
	hide     func(string) string // removes secrets from errors; nil keeps them
	asked    atomic.Int64        // counter for [grease]
}

// info requests the gate's description.
func (c *client) info(ctx context.Context) (gates.Info, string, error) {
	req, res := &gatev1.InfoRequest{Host: hostName, Settings: c.settings}, &gatev1.InfoResponse{}
	if err := c.call(ctx, "Info", req, res); err != nil {
		return gates.Info{}, "", newCallError("Info", err, c.hide)
	}
	info, err := infoFrom(res)
	return info, line(res.Version, maxRule), err
}

// check has the gate check s, which may take until limit.
func (c *client) check(ctx context.Context, s gates.Subject, limit time.Duration) (gates.Report, error) {
	req, lost := requestTo(s, c.settings, limit)
	res := &gatev1.CheckResponse{}
	if err := c.call(ctx, "Check", req, res); err != nil {
		return gates.Report{}, newCallError("Check", err, c.hide, s.Redact)
	}
	r := reader{dir: s.Dir, hide: s.Redact}
	rep, err := r.report(res.Report)
	if err == nil && lost > 0 {
		note(&rep, "%d changed paths are not UTF-8 and were not passed to the plugin", lost)
		rep.Note = phrase.Fit(rep.Note, maxMessage)
	}
	return rep, err
}

// call makes one call of the service in gate.proto.
func (c *client) call(ctx context.Context, method string, req, res proto.Message) error {
	c.grease(req)
	return c.conn.Invoke(ctx, "/runplan.gate.v1.GateService/"+method, req, res)
}

// callError is a call without an answer.
type callError struct {
	method string
	text   string
	err    error // has a gRPC status
}

func newCallError(method string, err error, hide ...func(string) string) *callError {
	text := status.Convert(err).Message()
	for _, f := range hide {
		if f != nil {
			text = f(text)
		}
	}
	return &callError{method: method, text: line(text, maxMessage), err: err}
}

func (e *callError) Error() string { return e.text }
func (e *callError) Unwrap() error { return e.err }

// grease adds an unknown field to a request. A plugin that does not tolerate unknown fields would break with the
// first new field of the protocol, so this breaks it during development instead.
func (c *client) grease(m proto.Message) {
	number := protowire.Number(1000 + c.asked.Add(1)*7%1000) // reserved for this in gate.proto
	field := protowire.AppendTag(nil, number, protowire.BytesType)
	m.ProtoReflect().SetUnknown(protowire.AppendString(field, "grease"))
}

// settingsJSON returns the settings as they are sent to a plugin.
func settingsJSON(settings map[string]any) (string, error) {
	if len(settings) == 0 {
		return "{}", nil
	}
	data, err := json.Marshal(settings)
	if err != nil {
		return "", fmt.Errorf("encode its settings as JSON: %w", err)
	}
	return string(data), nil
}

// tree is [gates.Tree] for a plugin.
func tree(dir string) (string, error) {
	abs, err := gates.Tree(dir)
	if !utf8.ValidString(abs) {
		return "", fmt.Errorf("check the tree: the path %q is not UTF-8 and cannot be passed to a plugin; move the tree",
			abs)
	}
	return abs, err
}
