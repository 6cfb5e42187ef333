// Package plugin runs gates that other people wrote as programs.
//
// A gate in Go becomes a plugin with three lines:
//
//	func main() {
//		plugin.Serve(todo{}) // todo implements gates.Gate
//	}
//
// Package plugintest tests it without a process. Other languages serve the same protocol, see gatev1/gate.proto and
// docs/plugins.md.
//
// [Open] is the other side: it starts a plugin and makes a [gates.Gate] of it. A plugin is a separate process with the
// user's rights. Its environment contains no secrets unless the configuration names them. Its times to start and to
// answer are limited. It cannot control the host: its answers are data, which the host checks and limits. A crash, a
// hang or an invalid answer becomes the error of that gate, with the end of the plugin's standard error. When that
// error is returned, no process of the plugin is alive.
//
// The transport is hashicorp/go-plugin with gRPC. Only this package depends on it.
package plugin

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/runplan/runplan/gates"
)

// ProtocolVersion is the version of the protocol that this package speaks on both sides.
const ProtocolVersion = 1

// The magic cookie detects that a person started a plugin; the plugin then does not serve. The cookie is public and
// proves nothing.
const (
	CookieKey   = "RUNPLAN_GATE_PLUGIN"
	CookieValue = "8d1f0c52-gate-of-runplan"
)

// Configurer is implemented by gates with settings. Other gates reject settings.
type Configurer interface {
	// Configure gets the plugin's settings, a JSON object, before any other call. The error names the wrong setting
	// and the allowed values.
	Configure(settings json.RawMessage) error
}

// Serve turns the program into a plugin, and never returns. The gate's standard output and error go to its log. The
// gate's [gates.Subject] has the environment of the plugin; LogDir, Redact and Reaper are not set.
func Serve(g gates.Gate) {
	if os.Getenv(CookieKey) != CookieValue {
		fmt.Fprintf(os.Stderr,
			"%s is a gate plugin of runplan and does nothing by itself; name it under [[gates.plugin]] in the configuration "+
				"of runplan\n",
			os.Args[0])
		os.Exit(2)
	}
	exitWithHost(os.Stdin)
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  handshake(),
		VersionedPlugins: versions(newServer(g, buildVersion(), keepStderr())),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			// A change may touch more files than fit into the 4 MiB that gRPC takes by default.
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(maxRequest))...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: os.Stderr}),
	})
	os.Exit(1) // it returns only if it could not listen, and has reported that
}

const maxRequest = 256 << 20

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

// keepStderr undoes what go-plugin does to [os.Stdout] and [os.Stderr]: it sends them through gRPC, so the last
// output of a crashing program would be lost. The returned function runs before the first call of the gate.
func keepStderr() func() {
	real := os.Stderr
	return func() { os.Stdout, os.Stderr = real, real }
}

func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

func handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{MagicCookieKey: CookieKey, MagicCookieValue: CookieValue}
}

// versions lists the supported protocol versions; s is nil on the host's side.
func versions(s *server) map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{ProtocolVersion: {dispensed: transport{server: s}}}
}

// dispensed is go-plugin's name for the one service of a plugin. It never leaves the process.
const dispensed = "gate"
