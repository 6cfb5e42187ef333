//go:build unix

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/plugin/gatev1"
	"github.com/runplan/runplan/planparse"
)

// The test binary is also the misbehaving plugin: started as "plugin.test plugin MODE".
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "plugin" {
		misbehave(os.Args[2])
	}
	status := m.Run()
	for _, dir := range []string{goBuild.dir, node.dir} {
		if dir != "" {
			_ = os.RemoveAll(dir)
		}
	}
	os.Exit(status)
}

// The examples are built and installed once, for all tests that need them.
var goBuild, node built

type built struct {
	once sync.Once
	dir  string
	err  error
}

// misbehave acts by its mode. Other modes are left to a gate that acts when it is called.
func misbehave(mode string) {
	switch mode {
	case "exit at start":
		fmt.Fprintln(os.Stderr, "no database: set DB_URL")
		os.Exit(3)
	case "panic at start":
		panic("the cupboard is bare")
	case "hang at start":
		fmt.Fprintln(os.Stderr, "waiting for the moon")
		time.Sleep(time.Hour)
	case "no handshake, stdout closed":
		_ = os.Stdout.Close()
		time.Sleep(time.Hour)
	case "noise":
		fmt.Println("\x1b[31mWelcome\x1b[0m to my gate!")
	case "noise without end":
		for {
			fmt.Print(strings.Repeat("x", 1<<16))
		}
	case "version 2":
		fmt.Println("1|2|unix|/tmp/none|grpc|")
		time.Sleep(time.Hour)
	case "version 0":
		fmt.Println("1|0|unix|/tmp/none|grpc|")
		time.Sleep(time.Hour)
	case "core 2":
		fmt.Println("2|1|unix|/tmp/none|grpc|")
		time.Sleep(time.Hour)
	case "net/rpc":
		fmt.Println("1|1|unix|/tmp/none|netrpc|")
		time.Sleep(time.Hour)
	case "far away":
		fmt.Println("1|1|tcp|192.0.2.1:80|grpc|")
		time.Sleep(time.Hour)
	case "nobody listens":
		fmt.Println("1|1|unix|/tmp/there-is-no-such-socket|grpc|")
		time.Sleep(time.Hour)
	case "listens and says nothing":
		l, err := net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
		if err != nil {
			panic(err)
		}
		fmt.Printf("1|1|unix|%s|grpc|\n", l.Addr())
		time.Sleep(time.Hour)
	case "no such service":
		goplugin.Serve(&goplugin.ServeConfig{
			HandshakeConfig:  handshake(),
			VersionedPlugins: map[int]goplugin.PluginSet{1: {"other": nothing{}}},
			GRPCServer:       goplugin.DefaultGRPCServer,
		})
	case "garbage for an answer":
		goplugin.Serve(&goplugin.ServeConfig{
			HandshakeConfig:  handshake(),
			VersionedPlugins: map[int]goplugin.PluginSet{1: {"gate": garbler{}}},
			GRPCServer:       goplugin.DefaultGRPCServer,
		})
	case "deaf to TERM":
		signal.Ignore(syscall.SIGTERM)
	}
	Serve(&actor{mode: mode})
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

// actor is a gate that behaves by its mode.
type actor struct {
	mode  string
	calls int
}

func (a *actor) Info() gates.Info {
	if a.mode == "hang in Info" {
		time.Sleep(time.Hour)
	}
	return gates.Info{Name: "actor", Kind: gates.Static, Cost: gates.Cheap, Blocking: true}
}

func (a *actor) Configure(settings json.RawMessage) error {
	var s struct{ Word string }
	if err := json.Unmarshal(settings, &s); err != nil {
		return err
	}
	if s.Word == "wrong" {
		return errors.New("word is wrong; it may be right")
	}
	return nil
}

func (a *actor) Check(ctx context.Context, s gates.Subject) (gates.Report, error) {
	a.calls++
	pass := gates.Report{Status: gates.Pass}
	switch a.mode {
	case "crash in call":
		fmt.Fprintln(os.Stderr, "about to fall")
		go panic("nil map")
		select {}
	case "exit in call":
		fmt.Fprintln(os.Stderr, "license has expired")
		os.Exit(7)
	case "killed in call":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "panic in call":
		panic("the map is upside down")
	case "hang in call":
		fmt.Fprintln(os.Stderr, "counting to infinity")
		time.Sleep(time.Hour)
	case "cannot look":
		fmt.Fprintln(os.Stderr, "tried three times")
		return pass, errors.New("the server is away; secret hunter2")
	case "10 MB answer":
		for range 10 << 10 {
			pass.Findings = append(pass.Findings,
				gates.Finding{Rule: "r", Message: strings.Repeat("x", 1<<10), Severity: gates.Note})
		}
	case "dies after each answer":
		go func() { time.Sleep(5 * time.Millisecond); os.Exit(9) }()
	case "noise in call":
		fmt.Println("this goes to stdout")
		fmt.Fprintln(os.Stderr, "this goes to stderr, token=hunter2hunter2")
	case "raw noise in call":
		for range 160 { // far more than a pipe holds
			_, _ = syscall.Write(1, []byte(strings.Repeat("x", 1<<16)))
		}
	case "leaves a child":
		child := exec.Command("sleep", "600")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // out of session and group
		if err := child.Start(); err != nil {
			return pass, err
		}
	case "tells its environment":
		for _, kv := range os.Environ() {
			pass.Findings = append(pass.Findings, gates.Finding{Rule: "env", Message: kv, Severity: gates.Note})
		}
		dir, _ := os.Getwd()
		pass.Output = dir
	case "tells what it was asked":
		data, err := json.Marshal(asked{s.Dir, s.Base, s.Tree, s.Changed, s.Batch, s.Before, s.Timeout})
		if err != nil {
			return pass, err
		}
		pass.Output = string(data)
	case "fails":
		pass.Findings = []gates.Finding{{Rule: "r", Path: "a.go", Line: 1, Message: "m", Severity: gates.Error}}
	}
	return pass, nil
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
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mark := "GATE_TEST_MARK=" + strings.ReplaceAll(t.Name(), "/", ".") + fmt.Sprint(time.Now().UnixNano())
	t.Cleanup(func() { nothingLeft(t, mark) })
	return Config{
		Name: "actor", Command: []string{self, "plugin", mode}, StartTimeout: 10 * time.Second, CallTimeout: 10 * time.Second,
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
