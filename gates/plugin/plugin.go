// Package plugin runs gates that other people wrote as programs. Authors of a gate in Go use the module in sdk, see
// docs/plugins.md; other languages serve the protocol of gatev1/gate.proto.
//
// [Open] starts a plugin and makes a [gates.Gate] of it. A plugin is a separate process with the user's rights. Its
// environment contains no secrets unless the configuration names them. Its times to start and to answer are limited. It
// cannot control the host: its answers are data, which the host checks and limits. A crash, a hang or an invalid answer
// becomes the error of that gate, with the end of the plugin's standard error. When that error is returned, no process
// of the plugin is alive.
//
// The transport is hashicorp/go-plugin with gRPC. Only this package depends on it.
package plugin

import (
	"context"
	"errors"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/runplan/runplan/gates/plugin/gatev1"
)

// ProtocolVersion is the version of the protocol that this package speaks.
const ProtocolVersion = 1

// The magic cookie detects that a person started a plugin; the plugin then does not serve. The cookie is public and
// proves nothing.
const (
	CookieKey   = "RUNPLAN_GATE_PLUGIN"
	CookieValue = "8d1f0c52-gate-of-runplan"
)

func handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{MagicCookieKey: CookieKey, MagicCookieValue: CookieValue}
}

// versions lists the supported protocol versions.
func versions() map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{ProtocolVersion: {dispensed: transport{}}}
}

// dispensed is go-plugin's name for the one service of a plugin. It never leaves the process.
const dispensed = "gate"

// transport connects the service to go-plugin.
type transport struct {
	goplugin.NetRPCUnsupportedPlugin
}

// GRPCServer implements [goplugin.GRPCPlugin]. runplan only calls plugins.
func (transport) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return errors.ErrUnsupported }

// GRPCClient implements [goplugin.GRPCPlugin].
func (transport) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return gatev1.NewGateServiceClient(conn), nil
}
