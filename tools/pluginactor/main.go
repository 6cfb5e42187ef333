//go:build unix

// Command pluginactor is a gate plugin for tests: it misbehaves in the way that its argument names.
package main

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
	"strings"
	"syscall"
	"time"

	"github.com/runplan/runplan/sdk/gate"
)

func main() {
	mode := os.Args[1]
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
		greet("1|2|unix|/tmp/none|grpc|")
	case "version 0":
		greet("1|0|unix|/tmp/none|grpc|")
	case "core 2":
		greet("2|1|unix|/tmp/none|grpc|")
	case "net/rpc":
		greet("1|1|unix|/tmp/none|netrpc|")
	case "far away":
		greet("1|1|tcp|192.0.2.1:80|grpc|")
	case "nobody listens":
		greet("1|1|unix|/tmp/there-is-no-such-socket|grpc|")
	case "listens and says nothing":
		l, err := net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
		if err != nil {
			panic(err)
		}
		greet(fmt.Sprintf("1|1|unix|%s|grpc|", l.Addr()))
	case "deaf to TERM":
		signal.Ignore(syscall.SIGTERM)
	}
	gate.Serve(&actor{mode: mode})
}

func greet(line string) {
	fmt.Println(line)
	time.Sleep(time.Hour)
}

// actor is a gate that behaves by its mode.
type actor struct{ mode string }

func (a *actor) Info() gate.Info {
	if a.mode == "hang in Info" {
		time.Sleep(time.Hour)
	}
	return gate.Info{Name: "actor", Blocking: true}
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

func (a *actor) Check(_ context.Context, s gate.Subject) (gate.Report, error) {
	pass := gate.Report{Status: gate.Pass}
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
				gate.Finding{Rule: "r", Message: strings.Repeat("x", 1<<10), Severity: gate.Note})
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
			pass.Findings = append(pass.Findings, gate.Finding{Rule: "env", Message: kv, Severity: gate.Note})
		}
		pass.Output, _ = os.Getwd()
	case "tells what it was asked":
		data, err := json.Marshal(s)
		if err != nil {
			return pass, err
		}
		pass.Output = string(data)
	case "fails":
		pass.Findings = []gate.Finding{{Rule: "r", Path: "a.go", Line: 1, Message: "m", Severity: gate.Error}}
	}
	return pass, nil
}
