//go:build unix

package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/plugin/gatev1"
	"github.com/runplan/runplan/planparse"
)

// The test binary is also a plugin that is no gate of package sdk: started as "plugin.test plugin MODE".
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "plugin" {
		goplugin.Serve(&goplugin.ServeConfig{
			HandshakeConfig:  handshake(),
			VersionedPlugins: map[int]goplugin.PluginSet{1: {"gate": odd[os.Args[2]]}},
			GRPCServer:       goplugin.DefaultGRPCServer,
		})
		os.Exit(1)
	}
	status := m.Run()
	for _, b := range []*built{&actor, &goExamples, &node} {
		if b.dir != "" {
			_ = os.RemoveAll(b.dir)
		}
	}
	os.Exit(status)
}

// The programs that several tests need are built and installed once.
var actor, goExamples, node built

type built struct {
	once sync.Once
	dir  string
	err  error
}

// program returns the file of the program in the module at source.
func (b *built) program(t testing.TB, source string) string {
	t.Helper()
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "gate-plugin-"); b.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-C", source, "-ldflags=-w", "-o", filepath.Join(b.dir, "gate"), ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.err = fmt.Errorf("build %s: %w\n%s", source, err, out)
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return filepath.Join(b.dir, "gate")
}

// odd has the plugins that sdk/gate cannot make, by mode.
var odd = map[string]goplugin.Plugin{"no such service": nothing{}, "garbage for an answer": garbler{}}

// transport has what a plugin does not use to serve.
type transport struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (transport) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.ErrUnsupported
}

// nothing is a plugin that serves no gate.
type nothing struct{ transport }

func (nothing) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return nil }

// garbler answers Info with bytes that are not a valid message.
type garbler struct{ transport }

func (garbler) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "runplan.gate.v1.GateService", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Info",
			Handler: func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
				return &gatev1.InfoRequest{Host: "\x0b\xff"}, nil // the field number of a string, with invalid UTF-8
			}}},
	}, nil)
	return nil
}

// asked holds the part of a subject that is sent to a plugin.
type asked struct {
	Dir, Base, Tree string
	Changed         []string
	Batch           planparse.Batch
	Before          *gates.TestCount
	Timeout         time.Duration
}

// stage returns the settings of a plugin in a mode, with a mark in its environment that identifies its processes.
func stage(t testing.TB, mode string) Config {
	t.Helper()
	command := []string{actor.program(t, "../../tools/pluginactor"), mode}
	if odd[mode] != nil {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		command = []string{self, "plugin", mode}
	}
	mark := "GATE_TEST_MARK=" + strings.ReplaceAll(t.Name(), "/", ".") + fmt.Sprint(time.Now().UnixNano())
	t.Cleanup(func() { nothingLeft(t, mark) })
	return Config{
		Name: "actor", Command: command, StartTimeout: 10 * time.Second, CallTimeout: 10 * time.Second,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", mark}, Env: []string{"GATE_TEST_MARK"},
	}
}

// nothingLeft fails if a process with the mark is alive.
func nothingLeft(t testing.TB, mark string) {
	if runtime.GOOS != "linux" {
		return
	}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err == nil && strings.Contains("\x00"+string(data), "\x00"+mark+"\x00") {
			cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
			t.Errorf("%s is left: %q", filepath.Dir(f), cmd)
		}
	}
}

func open(t testing.TB, c Config) *Plugin {
	t.Helper()
	p, err := Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}
