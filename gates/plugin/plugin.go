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

import goplugin "github.com/hashicorp/go-plugin"

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
